// Drives posthog-node against a server: flags, payloads, local evaluation,
// events of each kind. With POSTHOG_CAPTURE_MODE=v1 in the environment the SDK
// sends its events to /i/v1/analytics/events, and all checks must pass as well.
import { PostHog } from 'posthog-node'
import { poll } from './lib/checks.js'
import { events, names } from './lib/recorder.js'
import { suite } from './lib/suite.js'

const v1 = process.env.POSTHOG_CAPTURE_MODE === 'v1'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const isFlags = (exchange) => exchange.path === '/flags/'
const isDefinitions = (exchange) => exchange.path === '/flags/definitions'
const isCapture = (exchange) => names(exchange).length > 0

// In v1 mode, a few values are in another place on the wire.
const capturePath = v1 ? '/i/v1/analytics/events' : '/batch/'
const setOf = (event, name = '$set') => event.properties?.[name] ?? event[name]

await suite(v1 ? 'nodev1' : 'node', async ({ checks, api, fixture, recorder }) => {
	const { key, id } = { key: fixture.key.bind(fixture), id: fixture.id.bind(fixture) }
	const errors = []
	const clients = []

	// client makes a client that sends only on flush. Its errors fail the
	// suite.
	function client(options = {}, { projectKey = api.projectKey, expected } = {}) {
		const made = new PostHog(projectKey, {
			host: recorder.url, flushAt: 1000, flushInterval: 600_000, fetchRetryDelay: 10, ...options,
		})
		made.on('error', (error) => (expected ?? errors).push(error))
		clients.push(made)
		return made
	}

	// sent flushes a client and waits until an event has arrived.
	async function sent(from, mark, event, satisfies) {
		const arrived = recorder.untilEvent(event, mark, satisfies)
		await from.flush()
		return arrived
	}

	const main = client()

	await checks.step('C00', 'events', async () => {
		const exchange = await captured()
		checks.equal('Q01', 'nothing is sent before there is something to send', recorder.exchanges[0], exchange)
		checks.equal('C01', `events go to ${capturePath}`, exchange.path, capturePath)
		checks.equal('C02', 'the SDK names itself in the User-Agent', exchange.headers['user-agent'], 'posthog-node/5.70.0')
		checks.equal('C03', 'the body is compressed and says so', [exchange.forms, exchange.headers['content-encoding']], [['gzip'], 'gzip'])
		checks.equal('C04', 'the answer is 200', exchange.status, 200)
		checks.equal('C05', 'the answer is JSON', exchange.answerHeaders['content-type'], 'application/json')
		if (v1) analyticsEnvelope(exchange)
		else {
			checks.equal('C06', 'the envelope has the project key', exchange.body.api_key, api.projectKey)
			checks.ok('C07', 'the envelope has the time of sending', Date.parse(exchange.body.sent_at) > 0, exchange.body.sent_at)
			checks.equal('C08', 'the answer says what SDKs look for', exchange.answer, { status: 1 })
		}
	})

	async function captured() {
		const mark = recorder.mark
		main.capture({ distinctId: id('anon'), event: 'page visited', properties: { n: 1, $set: { seen: 'yes' } } })
		main.identify({ distinctId: id('u1'), properties: { $set: { plan: 'pro', extra: 'x' }, $set_once: { first: 'yes' }, $anon_distinct_id: id('anon') } })
		main.alias({ distinctId: id('u1'), alias: id('u1-alias') })
		main.groupIdentify({ groupType: 'company', groupKey: id('acme'), properties: { tier: 'enterprise' } })
		main.setPersonProperties({ distinctId: id('u1'), properties: { city: 'Oslo' }, propertiesOnce: { once: 1, first: 'no' } })
		main.unsetPersonProperties({ distinctId: id('u1'), properties: ['extra'] })
		main.capture({ distinctId: id('u1'), event: 'with a group', groups: { company: id('acme') } })
		main.captureException(new Error('boom'), id('u1'))
		await poll(() => main.flush().then(() => recorder.events(mark).some((event) => event.event === '$exception')))
		const kinds = new Set(recorder.events(mark).map((event) => event.event))
		const want = ['page visited', '$identify', '$create_alias', '$groupidentify', '$set', 'with a group', '$exception']
		for (const kind of want) checks.ok('C10', `${kind} is on the wire`, kinds.has(kind), [...kinds])
		const identify = recorder.events(mark).find((event) => event.event === '$identify')
		checks.equal('C11', '$identify tells the anonymous ID', identify.properties.$anon_distinct_id, id('anon'))
		checks.equal('C12', '$identify carries what to set', [setOf(identify), setOf(identify, '$set_once')], [{ plan: 'pro', extra: 'x' }, { first: 'yes' }])
		const unset = recorder.events(mark).find((event) => event.properties?.$unset)
		checks.equal('C13', 'what to forget is on the wire', unset?.properties.$unset, ['extra'])
		return recorder.since(mark, isCapture)[0]
	}

	function analyticsEnvelope(exchange) {
		const { headers, body, answer } = exchange
		checks.equal('V01', 'the project key is a bearer token', headers.authorization, `Bearer ${api.projectKey}`)
		checks.equal('V02', 'the SDK tells what it is', headers['posthog-sdk-info'], 'posthog-node/5.70.0')
		checks.equal('V03', 'the first attempt is number 1', headers['posthog-attempt'], '1')
		checks.ok('V04', 'the request has an ID', uuid.test(headers['posthog-request-id']), headers['posthog-request-id'])
		checks.ok('V05', 'the request has a time', Date.parse(headers['posthog-request-timestamp']) > 0, headers['posthog-request-timestamp'])
		checks.equal('V06', 'the answer repeats the ID', exchange.answerHeaders['posthog-request-id'], headers['posthog-request-id'])
		const want = Object.fromEntries(body.batch.map((event) => [event.uuid, { result: 'ok' }]))
		checks.equal('V07', 'the answer has a result for each event', answer, { results: want })
		checks.equal('V08', 'nothing has to be sent again', exchange.answerHeaders['retry-after'], undefined)
	}

	await checks.step('P00', 'persons and groups', async () => {
		const person = await poll(() => api.person(id('u1')), (known) => known && known.properties.city && !('extra' in known.properties))
		checks.equal('P01', '$set and $set_once are kept, $unset is gone', [person.properties.plan, person.properties.first, person.properties.city, person.properties.once, 'extra' in person.properties], ['pro', 'yes', 'Oslo', 1, false])
		checks.equal('P02', 'the anonymous ID and the alias are the same person', [...person.distinct_ids].sort(), [id('anon'), id('u1'), id('u1-alias')].sort())
		checks.equal('P03', 'what was known of the anonymous ID is kept', person.properties.seen, 'yes')
		checks.equal('P04', 'the person is identified', person.is_identified, true)
		const group = await poll(() => api.group(fixture.companyIndex, id('acme')))
		checks.equal('P05', 'the group has its properties', group?.group_properties?.tier, 'enterprise')
	})

	await checks.step('F00', 'flags', async () => {
		const mark = recorder.mark
		checks.equal('F01', 'a boolean flag is on', await main.getFeatureFlag(key('bool'), id('u2')), true)
		const exchange = await recorder.until('flags request', mark, isFlags)
		checks.equal('F02', 'the request is POST /flags/?v=2', [exchange.method, exchange.path, exchange.query.get('v')], ['POST', '/flags/', '2'])
		checks.equal('F03', 'the SDK counts as a server', [exchange.headers['user-agent'], exchange.body.evaluation_runtime], ['posthog-node/5.70.0', 'server'])
		checks.equal('F04', 'the request asks for one flag', exchange.body.flag_keys_to_evaluate, [key('bool')])
		checks.equal('F05', 'the answer has that flag and no other', Object.keys(exchange.answer.flags), [key('bool')])
		checks.equal('F06', 'the answer is 200 and JSON', [exchange.status, exchange.answerHeaders['content-type']], [200, 'application/json'])
		const { requestId, evaluatedAt, errorsWhileComputingFlags } = exchange.answer
		checks.ok('F07', 'the answer has an ID', uuid.test(requestId), requestId)
		checks.ok('F08', 'the answer has its time', Math.abs(evaluatedAt - Date.now()) < 60_000, evaluatedAt)
		checks.equal('F09', 'nothing went wrong', [errorsWhileComputingFlags, exchange.answer.quotaLimited], [false, undefined])
		const detail = exchange.answer.flags[key('bool')]
		checks.equal('F10', 'the detail has integers and the payload as text', [detail.metadata.id, detail.metadata.version, detail.metadata.payload], [fixture.flags.bool.id, 1, '{"color":"blue"}'])

		const values = {
			variant: await main.getFeatureFlag(key('variant'), id('u2')),
			off: await main.getFeatureFlag(key('off'), id('u2')),
			client: await main.getFeatureFlag(key('client'), id('u2')),
			server: await main.isFeatureEnabled(key('server'), id('u2')),
			dependent: await main.isFeatureEnabled(key('dependent'), id('u2')),
			missing: await main.getFeatureFlag(key('missing'), id('u2')),
		}
		checks.equal('F11', 'a multivariate flag has its variant', values.variant, 'test')
		checks.equal('F12', 'a flag that is off is false', values.off, false)
		checks.ok('F13', 'a flag for clients is not there', !values.client, values.client)
		checks.equal('F14', 'a flag for servers is on', values.server, true)
		checks.equal('F15', 'a flag that depends on another is on', values.dependent, true)
		checks.ok('F16', 'a flag that does not exist is not there', !values.missing, values.missing)
		checks.equal('F17', 'the payload of a boolean flag', await main.getFeatureFlagPayload(key('bool'), id('u2')), { color: 'blue' })
		checks.equal('F18', 'the payload of a variant', await main.getFeatureFlagPayload(key('variant'), id('u2')), { n: 1 })
		const result = await main.getFeatureFlagResult(key('variant'), id('u2'))
		checks.equal('F19', 'value and payload at once', [result.enabled, result.variant, result.payload], [true, 'test', { n: 1 }])
		const all = await main.getAllFlags(id('u2'))
		checks.equal('F20', 'all flags are those for servers, and no others', fixture.keysOf(Object.keys(all)), await fixture.keysFor('server'))
	})

	await checks.step('F30', 'targeting', async () => {
		const on = (name, who, options) => main.isFeatureEnabled(key(name), id(who), { sendFeatureFlagEvents: false, ...options })
		checks.equal('F31', 'stored properties of the user', await on('person', 'u1'), true)
		checks.equal('F32', 'stored properties by the anonymous ID', await on('person', 'anon'), true)
		checks.equal('F33', 'stored properties by the alias', await on('person', 'u1-alias'), true)
		checks.equal('F34', 'nobody knows this person', await on('person', 'nobody'), false)
		checks.equal('F35', 'properties in the request', await on('person', 'nobody', { personProperties: { plan: 'pro' } }), true)
		checks.equal('F36', 'the request wins over what is stored', await on('person', 'u1', { personProperties: { plan: 'free' } }), false)
		checks.equal('F37', 'a cohort by a stored property', await on('cohort', 'u1'), true)
		checks.equal('F38', 'stored properties of a group', await on('group', 'u2', { groups: { company: id('acme') } }), true)
		checks.equal('F39', 'no group', await on('group', 'u2'), false)
		checks.equal('F40', 'properties of a group in the request', await on('group', 'u2', { groups: { company: id('other') }, groupProperties: { company: { tier: 'enterprise' } } }), true)
		const tagged = async (evaluationContexts) => key('tagged') in (await client({ evaluationContexts }).getAllFlags(id('u2')))
		checks.equal('F41', 'evaluation contexts let a flag in and keep it out', [await tagged(['checkout', 'other']), await tagged(['other'])], [true, false])
	})

	await checks.step('F50', 'exposures', async () => {
		const mark = recorder.mark
		const from = client()
		await from.getFeatureFlag(key('variant'), id('u3'))
		const asked = await recorder.until('flags request', mark, isFlags)
		const { exchange, event } = await sent(from, mark, '$feature_flag_called')
		const { properties } = event
		const detail = asked.answer.flags[key('variant')]
		checks.equal('F51', 'the exposure is accepted', exchange.status, 200)
		checks.equal('F52', 'flag and value', [properties.$feature_flag, properties.$feature_flag_response, properties[`$feature/${key('variant')}`]], [key('variant'), 'test', 'test'])
		checks.equal('F53', 'id, version and reason are those of the answer', [properties.$feature_flag_id, properties.$feature_flag_version, properties.$feature_flag_reason], [detail.metadata.id, detail.metadata.version, detail.reason.description])
		checks.equal('F54', 'request and time are those of the answer', [properties.$feature_flag_request_id, properties.$feature_flag_evaluated_at], [asked.answer.requestId, asked.answer.evaluatedAt])
		checks.equal('F55', 'experiment or not', properties.$feature_flag_has_experiment, detail.metadata.has_experiment)
		checks.equal('F56', 'not evaluated locally, without errors', [properties.locally_evaluated, properties.$feature_flag_error], [false, undefined])
		await from.getFeatureFlag(key('missing'), id('u3'))
		const missing = await sent(from, mark, '$feature_flag_called', (e) => e.properties.$feature_flag === key('missing'))
		checks.equal('F57', 'a missing flag is told as an error', missing.event.properties.$feature_flag_error, 'flag_missing')
	})

	await checks.step('F60', 'snapshots', async () => {
		const mark = recorder.mark
		const from = client()
		const snapshot = await from.evaluateFlags(id('u1'))
		checks.equal('F61', 'a snapshot has all values', [snapshot.getFlag(key('variant')), snapshot.isEnabled(key('person')), snapshot.getFlagPayload(key('bool'))], ['test', true, { color: 'blue' }])
		from.capture({ distinctId: id('u1'), event: 'with a snapshot', flags: snapshot })
		const { event } = await sent(from, mark, 'with a snapshot')
		checks.equal('F62', 'an event carries the values of a snapshot', [event.properties[`$feature/${key('variant')}`], event.properties[`$feature/${key('bool')}`], event.properties[`$feature/${key('off')}`]], ['test', true, false])
		checks.ok('F63', 'an event lists the active flags', event.properties.$active_feature_flags.includes(key('bool')) && !event.properties.$active_feature_flags.includes(key('off')), event.properties.$active_feature_flags)
		checks.equal('F64', 'one request did for all of it', recorder.since(mark, isFlags).length, 1)
	})

	await checks.step('D00', 'local evaluation', async () => {
		const mark = recorder.mark
		const local = client({ secretKey: api.secretKey, enableLocalEvaluation: true, featureFlagsPollingInterval: 100 })
		checks.equal('D01', 'definitions are loaded', await local.waitForLocalEvaluationReady(10_000), true)
		const first = await recorder.until('definitions', mark, isDefinitions)
		checks.equal('D02', 'they are asked for with token and cohorts', [first.method, first.query.get('token'), first.query.has('send_cohorts')], ['GET', api.projectKey, true])
		checks.equal('D03', 'the secret key is a bearer token', first.headers.authorization, `Bearer ${api.secretKey}`)
		checks.ok('D04', 'the answer has a weak ETag', /^W\/".+"$/.test(first.answerHeaders.etag), first.answerHeaders.etag)
		checks.equal('D05', 'the answer has its three parts', [Array.isArray(first.answer.flags), typeof first.answer.group_type_mapping, typeof first.answer.cohorts], [true, 'object', 'object'])
		const second = await recorder.until('second poll', mark, (e) => isDefinitions(e) && e.headers['if-none-match'])
		checks.equal('D06', 'a poll that finds nothing new is 304, empty, with the same ETag', [second.headers['if-none-match'], second.status, second.answerText, second.answerHeaders.etag], [first.answerHeaders.etag, 304, '', first.answerHeaders.etag])

		const locally = { onlyEvaluateLocally: true, sendFeatureFlagEvents: false }
		const value = (name, who, options) => local.getFeatureFlag(key(name), id(who), { ...locally, ...options })
		checks.equal('D07', 'boolean, variant and off', [await value('bool', 'u4'), await value('variant', 'u4'), await value('off', 'u4')], [true, 'test', false])
		checks.equal('D08', 'payload', await local.getFeatureFlagPayload(key('variant'), id('u4'), undefined, { onlyEvaluateLocally: true }), { n: 1 })
		checks.equal('D09', 'properties, cohort, dependency', [await value('person', 'u4', { personProperties: { plan: 'pro' } }), await value('cohort', 'u4', { personProperties: { plan: 'pro' } }), await value('dependent', 'u4')], [true, true, true])
		checks.equal('D10', 'group', await value('group', 'u4', { groups: { company: id('acme') }, groupProperties: { company: { tier: 'enterprise' } } }), true)
		const people = Array.from({ length: 40 }, (_, n) => `split-${n}`)
		const here = await Promise.all(people.map((who) => value('split', who)))
		const there = await Promise.all(people.map(async (who) => {
			const { flags } = await api.flags({ distinct_id: id(who), flag_keys: [key('split')] })
			return flags[key('split')].variant ?? flags[key('split')].enabled
		}))
		checks.equal('D11', 'people fall where the server puts them', here, there)
		checks.ok('D12', 'and not all in the same place', new Set(here).size > 2, here)
		checks.equal('D13', 'no flags request was needed', recorder.since(mark, isFlags).length, 0)

		await local.getFeatureFlag(key('bool'), id('u4'))
		const { event } = await sent(local, mark, '$feature_flag_called')
		checks.equal('D14', 'the exposure says that it was local', [event.properties.locally_evaluated, event.properties.$feature_flag_request_id], [true, undefined])
		checks.ok('D15', 'and when the definitions were loaded', event.properties.$feature_flag_definitions_loaded_at > 0, event.properties.$feature_flag_definitions_loaded_at)

		await api.patch(`/feature_flags/${fixture.flags.off.id}/`, { filters: { groups: [{ properties: [], rollout_percentage: 100 }] } })
		checks.equal('D16', 'a change arrives with the next poll', await poll(() => value('off', 'u4')), true)
		const changed = recorder.since(mark, (e) => isDefinitions(e) && e.status === 200).at(-1)
		checks.ok('D17', 'with another ETag', changed.answerHeaders.etag !== first.answerHeaders.etag, changed.answerHeaders.etag)
		await api.patch(`/feature_flags/${fixture.flags.off.id}/`, { filters: { groups: [{ properties: [], rollout_percentage: 0 }] } })
		await local.shutdown()
	})

	// The SDK does not know rule sets: it evaluates what condition sets can say, and asks for the rest.
	await checks.step('R00', 'flags with rule sets', async () => {
		const pro = { targeting: { properties: [{ key: 'plan', type: 'person', operator: 'exact', value: 'pro' }] }, rule_type: 'targeted_release' }
		for (const [name, kind, fallback, value] of [['rule-text', 'string', 'classic', 'lab'], ['rule-number', 'number', null, 7], ['rule-object', 'object', {}, { n: [1] }], ['rule-exact', 'boolean', false, true]]) {
			const flag = await fixture.flag(name, { version: 2, return_type: kind, default_value: fallback, rules: [{ ...pro, value }] })
			await api.patch(`/feature_flags/${flag.id}/`, { active: true, version: flag.version })
		}
		const personProperties = { plan: 'pro' }
		const value = (from, name, properties) => from.getFeatureFlag(key(name), id('r1'), { personProperties: properties, sendFeatureFlagEvents: false })
		const payload = (name) => main.getFeatureFlagPayload(key(name), id('r1'), undefined, { personProperties })
		checks.equal('R01', 'remote values', [await value(main, 'rule-text', personProperties), await value(main, 'rule-number', personProperties), await value(main, 'rule-exact', personProperties)], ['lab', true, true])
		checks.equal('R02', 'remote defaults', [await value(main, 'rule-text'), await value(main, 'rule-number'), await value(main, 'rule-object'), await value(main, 'rule-exact')], ['classic', false, true, false])
		checks.equal('R03', 'a number and an object are payloads', [await payload('rule-number'), await payload('rule-object')], [7, { n: [1] }])
		const mark = recorder.mark
		const local = client({ secretKey: api.secretKey, enableLocalEvaluation: true })
		await local.waitForLocalEvaluationReady(10_000)
		const { answer } = await recorder.until('definitions', mark, isDefinitions)
		const keys = answer.flags.map((flag) => flag.key)
		checks.equal('R04', 'definitions have what condition sets can say, and no other', ['rule-exact', 'rule-text', 'rule-number', 'rule-object'].map((name) => keys.includes(key(name))), [true, false, false, false])
		checks.equal('R05', 'which is evaluated here', [await value(local, 'rule-exact', personProperties), await value(local, 'rule-exact', { plan: 'free' }), recorder.since(mark, isFlags).length], [true, false, 0])
		checks.equal('R06', 'the server answers for the others', [await value(local, 'rule-text', personProperties), await value(local, 'rule-number', personProperties), recorder.since(mark, isFlags).length], ['lab', true, 2])
		await local.shutdown()
	})

	await checks.step('D20', 'remote configuration', async () => {
		const cases = [
			['D21', 'with the project secret key', api.secretKey],
			['D22', 'with a personal key', api.personalKey],
		]
		for (const [row, what, secretKey] of cases) {
			const mark = recorder.mark
			const payload = await client({ secretKey, enableLocalEvaluation: false }).getRemoteConfigPayload(key('remote'))
			const exchange = await recorder.until('payload', mark, (e) => e.path.endsWith('/remote_config'))
			checks.equal(row, `the payload, ${what}`, typeof payload === 'string' ? JSON.parse(payload) : payload, { k: 'v' })
			checks.equal(row, `is JSON in a JSON string, ${what}`, exchange.answer, '{"k":"v"}')
		}
	})

	await checks.step('C20', 'options', async () => {
		let mark = recorder.mark
		const plain = client({ disableCompression: true })
		plain.capture({ distinctId: id('u5'), event: 'not compressed' })
		let { exchange } = await sent(plain, mark, 'not compressed')
		checks.equal('C21', 'without compression', [exchange.forms, exchange.headers['content-encoding'], exchange.status], [[], undefined, 200])

		mark = recorder.mark
		const history = client({ historicalMigration: true })
		history.capture({ distinctId: id('u5'), event: 'long ago', timestamp: new Date('2020-02-03T04:05:06Z'), properties: { $set: { joined: '2020' } } })
		;({ exchange } = await sent(history, mark, 'long ago'))
		checks.equal('C22', 'a migration of old events', [exchange.body.historical_migration, exchange.status], [true, 200])
		checks.equal('C23', 'applies what they set', (await poll(() => api.person(id('u5')), (p) => p?.properties.joined)).properties.joined, '2020')

		mark = recorder.mark
		const immediate = client()
		await immediate.captureImmediate({ distinctId: id('u5'), event: 'at once' })
		checks.equal('C24', 'an event that is not queued', recorder.since(mark, isCapture).flatMap(events).map((e) => e.event), ['at once'])

		mark = recorder.mark
		main.capture({ distinctId: id('u5'), event: '$ai_generation', properties: { $ai_model: 'm', $ai_trace_id: 't' } })
		;({ exchange } = await sent(main, mark, '$ai_generation'))
		checks.equal('C25', 'an AI event', [exchange.status, exchange.answer], [200, { status: 1 }])

		mark = recorder.mark
		for (let n = 0; n < 60; n++) main.capture({ distinctId: id('many'), event: 'one of many', properties: { n, $set: { last: n } } })
		await main.flush()
		await poll(() => recorder.events(mark).length >= 60)
		checks.equal('C26', 'many events', [recorder.events(mark).length, (await poll(() => api.person(id('many')), (p) => p?.properties.last === 59))?.properties.last], [60, 59])
	})

	const expectedFrom = recorder.mark
	checks.equal('Z02', 'every request was answered 200 or 304', recorder.since(0, (e) => ![200, 304].includes(e.status)).map((e) => `${e.path} ${e.status}`), [])

	await checks.step('E00', 'wrong keys', async () => {
		let expected = []
		const wrongToken = client({ fetchRetryCount: 0 }, { projectKey: 'phc_nobody_has_this', expected })
		checks.ok('E01', 'flags of an unknown project are not there', !(await wrongToken.getFeatureFlag(key('bool'), id('u6'), { sendFeatureFlagEvents: false })))
		checks.equal('E02', 'the answer was 401 and JSON', recorder.since(expectedFrom, isFlags).map((e) => [e.status, typeof e.answer]), [[401, 'object']])
		let mark = recorder.mark
		wrongToken.capture({ distinctId: id('u6'), event: 'for nobody' })
		await wrongToken.flush().catch((error) => expected.push(error))
		const refused = await recorder.until('refused events', mark, (e) => e.path === capturePath)
		checks.equal('E03', 'events of an unknown project are refused, once', [refused.status, recorder.since(mark, (e) => e.path === capturePath).length], [401, 1])
		checks.ok('E04', 'the SDK tells its user', expected.length > 0, expected)

		expected = []
		mark = recorder.mark
		const wrongSecret = client({ secretKey: 'phs_nobody_has_this', enableLocalEvaluation: true, featureFlagsPollingInterval: 60_000 }, { expected })
		const { status, answer } = await recorder.until('refused definitions', mark, isDefinitions)
		checks.equal('E05', 'definitions need a key that exists', [status, answer.type, typeof answer.detail], [401, 'authentication_error', 'string'])
		checks.ok('E06', 'the SDK tells its user', await poll(() => expected.length > 0), expected)
		checks.equal('E07', 'flags still work, by asking the server', await wrongSecret.getFeatureFlag(key('variant'), id('u6'), { sendFeatureFlagEvents: false }), 'test')

		mark = recorder.mark
		const payload = await client({ secretKey: api.secretKey, enableLocalEvaluation: false }, { expected }).getRemoteConfigPayload(key('missing')).catch((error) => error)
		const unknown = await recorder.until('no payload', mark, (e) => e.path.endsWith('/remote_config'))
		checks.equal('E08', 'a flag that does not exist has no payload', [unknown.status, typeof payload === 'string'], [404, false])
	})

	await Promise.all(clients.map((made) => made.shutdown(5_000).catch(() => {})))
	checks.equal('Z03', 'no error but those of wrong keys', errors.map(String), [])
})
