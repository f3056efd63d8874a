// Drives older versions of posthog-js that are still in use, each in headless
// Chromium. Versions differ most in what they send (wire.md §1.5). Each must
// get its flags and have its events accepted.
import { Browser, quiet } from './lib/browser.js'
import { poll } from './lib/checks.js'
import { Recorder, names } from './lib/recorder.js'
import { suite } from './lib/suite.js'

// The versions, with the path of their flags and the way they send their last
// events.
const beacon = ['1', 204]
const versions = [
	{ row: 'L1', version: '1.57.2', file: 'posthog-js-1-57/dist/es.js', flags: '/decide/', v: '3', leave: [null, 200] },
	{ row: 'L2', version: '1.131.4', file: 'posthog-js-1-131/dist/es.js', flags: '/decide/', v: '3', leave: beacon },
	{ row: 'L3', version: '1.180.1', file: 'posthog-js-1-180/dist/module.js', flags: '/decide/', v: '3', leave: beacon },
	{ row: 'L4', version: '1.236.7', file: 'posthog-js-1-236/dist/module.js', flags: '/decide/', v: '4', leave: beacon },
	{ row: 'L5', version: '1.310.1', file: 'posthog-js-1-310/dist/module.js', flags: '/flags/', v: '2', leave: beacon },
]

await suite('old', async ({ checks, api, fixture }) => {
	const { key, id } = { key: fixture.key.bind(fixture), id: fixture.id.bind(fixture) }
	const browser = await Browser.start()

	// The versions spend most of their time waiting, so all run at once, each
	// with its own recorder.
	await Promise.all(versions.map((of) => checks.step(`${of.row}00`, `posthog-js ${of.version}`, async () => {
		const recorder = await Recorder.start(api.url)
		await drive(of, recorder)
		recorder.close()
	})))

	async function drive({ row, version, file, flags, v, leave }, recorder) {
		const say = (n, text) => [`${row}${n}`, `${version}: ${text}`]
		const who = id(`old-${version}`)
		const mark = recorder.mark
		const seen = await browser.open(file)
		const run = (f, argument) => seen.page.evaluate(f, argument)
		await run(([token, config]) => new Promise((ready) => {
			window.posthog.init(token, config)
			window.posthog.onFeatureFlags(() => ready())
		}), [api.projectKey, {
			api_host: recorder.url, opt_out_useragent_filter: true, request_queue_config: { flush_interval_ms: 250 }, person_profiles: 'always',
		}])
		const loaded = await recorder.until('flags', mark, (e) => e.path === flags && e.method === 'POST')
		checks.equal(...say('01', `asks ${flags}?v=${v} in a form`), [loaded.query.get('v'), loaded.query.get('ver'), loaded.forms], [v, version, ['form', 'base64']])
		checks.equal(...say('02', 'is answered'), [loaded.status, loaded.answer.errorsWhileComputingFlags], [200, false])
		// The oldest versions send no person properties with their request, and
		// the request may overtake the event. Only a later request is sure to
		// see the effect of the event, so this one repeats it.
		const reloaded = async (name) => {
			await run(() => window.posthog.reloadFeatureFlags())
			return poll(() => value(name))
		}
		const value = (name) => run((k) => window.posthog.getFeatureFlag(k, { send_event: false }), key(name))
		checks.equal(...say('03', 'has boolean, variant and off'), [await value('bool'), await value('variant'), !!await value('off')], [true, 'test', false])
		checks.ok(...say('04', 'has no flags for servers'), !await value('server'))
		checks.equal(...say('05', 'has payloads'), await run((k) => window.posthog.getFeatureFlagPayload(k), key('bool')), { color: 'blue' })

		await run((k) => window.posthog.getFeatureFlag(k), key('variant'))
		const { exchange, event } = await recorder.untilEvent('$feature_flag_called', mark)
		checks.equal(...say('06', 'tells what was seen'), [event.properties.$feature_flag_response, exchange.status], ['test', 200])

		await run((user) => window.posthog.identify(user, { plan: 'pro' }, { first: 'yes' }), who)
		await recorder.untilEvent('$identify', mark)
		const person = await poll(() => api.person(who), (p) => p?.properties.plan)
		checks.equal(...say('07', 'identifies'), [person?.properties.plan, person?.properties.first, person?.distinct_ids.length > 1], ['pro', 'yes', true])
		checks.equal(...say('08', 'then has what the person gets'), await reloaded('person'), true)

		await run((company) => window.posthog.group('company', company, { tier: 'enterprise' }), id(`old-co-${version}`))
		await recorder.untilEvent('$groupidentify', mark)
		checks.equal(...say('09', 'then has what the group gets'), await reloaded('group'), true)

		await run(() => { for (let n = 0; n < 3; n++) window.posthog.capture('one of three', { n }) })
		await recorder.untilEvent('one of three', mark, (e) => e.properties.n === 2)
		checks.equal(...say('10', 'has all its events accepted'), recorder.since(mark, (e) => names(e).length > 0 && e.status !== 200).map((e) => e.status), [])

		const features = await run(() => new Promise((done) => window.posthog.getEarlyAccessFeatures((list) => done(list), true)))
		checks.ok(...say('11', 'lists early access features'), features.some((feature) => feature.flagKey === fixture.flags.beta.key), features)

		const leaving = recorder.mark
		await seen.page.goto(`${browser.origin}/`)
		const left = await recorder.untilEvent('$pageleave', leaving)
		checks.equal(...say('12', 'tells when it leaves'), [left.exchange.query.get('beacon'), left.exchange.status], leave)
		checks.equal(...say('13', 'is refused nothing'), recorder.since(mark, (e) => (e.status === 0 || e.status >= 400) && !e.path.startsWith('/static/')).map((e) => `${e.path} ${e.status}`), [])
		checks.equal(...say('14', 'makes no errors on the page'), quiet(seen), [])
		await seen.context.close()
	}

	await browser.close()
})
