// Drives the providers of OpenFeature's remote evaluation protocol (wire.md §7)
// against a server: the provider for servers requests one flag at a time, the
// provider for browsers all flags of one person.
import { OpenFeature as Server } from '@openfeature/server-sdk'
import { OFREPProvider } from '@openfeature/ofrep-provider'
import { OpenFeature as Web } from '@openfeature/web-sdk'
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
import { suite } from './lib/suite.js'

const single = (exchange) => exchange.path.startsWith('/ofrep/v1/evaluate/flags/')
const bulk = (exchange) => exchange.path === '/ofrep/v1/evaluate/flags'

await suite('ofrep', async ({ checks, api, fixture, recorder }) => {
	const key = fixture.key.bind(fixture)
	const ada = { targetingKey: fixture.id('ada'), plan: 'pro', groups: { company: 'acme' }, groupProperties: { company: { tier: 'enterprise' } } }

	await checks.step('S00', 'the provider for servers', async () => {
		const options = { baseUrl: recorder.url, headers: [['Authorization', `Bearer ${api.secretKey}`]] }
		await Server.setProviderAndWait(new OFREPProvider(options))
		const client = Server.getClient()
		const bool = await client.getBooleanDetails(key('bool'), false, ada)
		checks.equal('S01', 'a boolean flag is on', [bool.value, bool.reason, bool.errorCode], [true, 'STATIC', undefined])
		checks.equal('S02', 'its payload is in the metadata', bool.flagMetadata.payload, '{"color":"blue"}')
		const variant = await client.getStringDetails(key('variant'), 'none', ada)
		checks.equal('S03', 'a variant is value and variant', [variant.value, variant.variant, variant.reason], ['test', 'test', 'TARGETING_MATCH'])
		checks.equal('S04', 'a flag that is off', await client.getBooleanValue(key('off'), true, ada), false)
		checks.equal('S05', 'properties of the person come from the context', await client.getBooleanValue(key('person'), false, ada), true)
		checks.equal('S06', 'without them the flag is off', await client.getBooleanValue(key('person'), true, { targetingKey: ada.targetingKey }), false)
		checks.equal('S07', 'groups and their properties', await client.getBooleanValue(key('group'), false, ada), true)
		checks.equal('S08', 'remote configuration is an object', await client.getObjectValue(key('remote'), {}, ada), { k: 'v' })
		checks.equal('S09', 'flags for servers are seen', await client.getBooleanValue(key('server'), false, ada), true)
		const client2 = await client.getBooleanDetails(key('client'), false, ada)
		checks.equal('S10', 'flags for browsers are not', [client2.value, client2.errorCode], [false, 'FLAG_NOT_FOUND'])
		const unknown = await client.getBooleanDetails(key('none'), true, ada)
		checks.equal('S11', 'an unknown flag is the default', [unknown.value, unknown.reason, unknown.errorCode], [true, 'ERROR', 'FLAG_NOT_FOUND'])
		const nobody = await client.getBooleanDetails(key('bool'), false, {})
		checks.equal('S12', 'nobody has no flags', [nobody.value, nobody.errorCode], [false, 'TARGETING_KEY_MISSING'])
		const wrong = await client.getStringDetails(key('bool'), 'none', ada)
		checks.equal('S13', 'a flag of another type is the default', [wrong.value, wrong.errorCode], ['none', 'TYPE_MISMATCH'])
		const statuses = recorder.since(0, single).map(({ status }) => status)
		checks.equal('S14', 'each evaluation is one request', statuses, [200, 200, 200, 200, 200, 200, 200, 200, 404, 404, 400, 200])
	})

	await checks.step('S20', 'a server with a key that is wrong', async () => {
		await Server.setProviderAndWait(new OFREPProvider({ baseUrl: recorder.url, headers: [['X-API-Key', 'phc_nobody']] }))
		const refused = await Server.getClient().getBooleanDetails(key('bool'), false, ada)
		checks.equal('S21', 'is given its defaults', [refused.value, refused.reason], [false, 'ERROR'])
		checks.equal('S22', 'and told 401', recorder.exchanges.at(-1).status, 401)
	})

	await checks.step('W00', 'the provider for browsers', async () => {
		const mark = recorder.mark
		const changes = []
		await Web.setContext(ada)
		const provider = new OFREPWebProvider({
			baseUrl: recorder.url, headers: [['X-API-Key', api.projectKey]], cacheMode: 'disabled', pollInterval: 50, disableVisibilityRefresh: true,
		})
		provider.events.addHandler('PROVIDER_CONFIGURATION_CHANGED', (event) => changes.push(event))
		await Web.setProviderAndWait(provider)
		const client = Web.getClient()
		const first = recorder.since(mark, bulk)[0]
		checks.equal('W01', 'one request for all flags', [first.status, first.body.context.targetingKey], [200, ada.targetingKey])
		checks.ok('W02', 'the answer has an entity tag', /^(W\/)?".+"$/.test(first.answerHeaders.etag ?? ''), first.answerHeaders.etag)
		checks.equal('W03', 'a boolean flag is on', client.getBooleanValue(key('bool'), false), true)
		checks.equal('W04', 'a variant', client.getStringDetails(key('variant'), 'none').variant, 'test')
		checks.equal('W05', 'a flag that is off', client.getBooleanValue(key('off'), true), false)
		checks.equal('W06', 'properties of the person', client.getBooleanValue(key('person'), false), true)
		checks.equal('W07', 'an unknown flag is the default', client.getBooleanDetails(key('none'), true).errorCode, 'FLAG_NOT_FOUND')

		const unchanged = await recorder.until('304', mark, (e) => bulk(e) && e.status === 304)
		checks.equal('W08', 'a poll without a change is answered without a body', unchanged.answerText, '')
		await api.patch(`/feature_flags/${fixture.flags.off.id}/`, { filters: { groups: [{ properties: [], rollout_percentage: 100 }] } })
		const changed = recorder.mark
		await recorder.until('the change', changed, (e) => bulk(e) && e.status === 200)
		await recorder.until('a poll after it', recorder.mark, bulk)
		checks.equal('W09', 'a change of a flag is seen', client.getBooleanValue(key('off'), false), true)
		checks.ok('W10', 'and told', changes.some((event) => event.flagsChanged?.includes(key('off'))), changes)
		await Web.setContext({ targetingKey: fixture.id('eve') })
		checks.equal('W11', 'another person has other flags', client.getBooleanValue(key('person'), true), false)
		checks.ok('W12', 'no request is refused', recorder.since(mark, bulk).every(({ status }) => status === 200 || status === 304), recorder.since(mark, bulk).map(({ status }) => status))
		await Web.close()
	})
	await Server.close()
})
