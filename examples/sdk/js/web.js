// Drives posthog-js in headless Chromium, on a page of another origin than the
// server.
import { Browser, quiet } from './lib/browser.js'
import { poll } from './lib/checks.js'
import { names } from './lib/recorder.js'
import { suite } from './lib/suite.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const isFlags = (exchange) => exchange.path === '/flags/' && exchange.method === 'POST'
const isCapture = (exchange) => names(exchange).length > 0
const isPreflight = (exchange) => exchange.method === 'OPTIONS'
const isConfig = (exchange) => /^\/array\/.*\/config/.test(exchange.path)

// allowed tells whether a page may read an answer.
const allowed = ({ headers, answerHeaders: h }) => h['access-control-allow-origin'] === '*' ||
	h['access-control-allow-origin'] === headers.origin && h['access-control-allow-credentials'] === 'true' && /origin/i.test(h.vary ?? '')

// allows tells whether a preflight allows a header.
const allows = ({ answerHeaders: h }, name) => h['access-control-allow-headers'].toLowerCase().split(/, */).includes(name)

await suite('web', async ({ checks, api, fixture, recorder }) => {
	const { key, id } = { key: fixture.key.bind(fixture), id: fixture.id.bind(fixture) }
	const browser = await Browser.start()

	// scene runs a step and closes its pages, even if the step fails.
	async function scene(row, text, play) {
		await checks.step(row, text, play)
		await browser.leave()
	}

	// visit opens the page, starts the SDK, and waits for the flags unless they
	// are disabled.
	async function visit(options = {}, { projectKey = api.projectKey, before, flags = true } = {}) {
		const mark = recorder.mark
		const opened = await browser.open()
		await before?.(opened.page)
		await opened.page.evaluate(([token, config, wait]) => new Promise((ready) => {
			const started = window.posthog.init(token, config)
			if (wait) started.onFeatureFlags(() => ready())
			else ready()
		}), [projectKey, {
			api_host: recorder.url, opt_out_useragent_filter: true, request_queue_config: { flush_interval_ms: 250 }, ...options,
		}, flags])
		const loaded = flags ? await recorder.until('flags request', mark, isFlags) : undefined
		return { ...opened, mark, loaded, run: (f, argument) => opened.page.evaluate(f, argument) }
	}

	// calm checks that a visit had no errors, and ends it.
	async function calm(row, visited) {
		checks.equal(row, 'no errors on the page', quiet(visited), [])
		await visited.context.close()
	}

	const value = (visited, name) => visited.run((k) => window.posthog.getFeatureFlag(k, { send_event: false }), key(name))

	await scene('A00', 'a visit', async () => {
		const seen = await visit({ person_profiles: 'identified_only' })
		const { mark, loaded } = seen
		await start(seen)
		const anonymous = loaded.body.distinct_id
		await flagValues(seen)
		await exposure(seen)
		await identify(seen, anonymous)
		await clicks(seen)
		await earlyAccess(seen)
		await surveys(seen)
		checks.equal('X01', 'no preflight was needed', recorder.since(mark, isPreflight).map((e) => e.path), [])
		await leave(seen)
		checks.equal('C01', 'events were answered exactly 200, or the beacon without content', recorder.since(mark, (e) => isCapture(e) && e.status !== 200 && !(e.status === 204 && e.query.get('beacon') === '1')).map((e) => e.status), [])
		checks.equal('Z02', 'nothing but scripts was answered 4xx or 5xx', recorder.since(mark, (e) => (e.status === 0 || e.status >= 400) && !e.path.startsWith('/static/')).map((e) => `${e.path} ${e.status}`), [])
		await calm('Z03', seen)
	})

	async function start({ mark, loaded, run }) {
		const config = await recorder.until('config', mark, isConfig)
		checks.equal('A01', 'config.js is loaded', [config.path, config.status, config.headers['sec-fetch-dest']], [`/array/${api.projectKey}/config.js`, 200, 'script'])
		checks.equal('A02', 'it may be used from another origin', [config.headers.origin, allowed(config)], [browser.origin, true])
		const global = await run((token) => window._POSTHOG_REMOTE_CONFIG[token].config, api.projectKey)
		checks.ok('A03', 'it names compressions, and where events go', global.supportedCompression.includes('gzip-js') && global.analytics.endpoint === '/i/v0/e/', global)
		checks.ok('A04', 'it has the surveys', Array.isArray(global.surveys) && global.surveys.some((s) => s.id === fixture.survey.id), global.surveys)
		checks.equal('F01', 'the flags request is compressed text', [loaded.query.get('v'), loaded.headers['content-type'], loaded.forms], ['2', 'text/plain', ['gzip']])
		checks.equal('F02', 'the request has token and IDs', [loaded.body.token, uuid.test(loaded.body.distinct_id), uuid.test(loaded.body.$device_id)], [api.projectKey, true, true])
		checks.equal('F03', 'the answer is 200 and JSON, for this origin', [loaded.status, loaded.answerHeaders['content-type'], allowed(loaded)], [200, 'application/json', true])
		checks.equal('F04', 'the answer has an ID, a time and no error', [uuid.test(loaded.answer.requestId), Math.abs(loaded.answer.evaluatedAt - Date.now()) < 60_000, loaded.answer.errorsWhileComputingFlags], [true, true, false])
		const { event } = await recorder.untilEvent('$pageview', mark)
		checks.equal('C02', '$pageview is on the wire', [event.properties.$current_url.startsWith(browser.origin), event.properties.$lib], [true, 'web'])
	}

	async function flagValues(seen) {
		const { loaded, run } = seen
		checks.equal('F10', 'boolean, variant, off', [await value(seen, 'bool'), await value(seen, 'variant'), await value(seen, 'off')], [true, 'test', false])
		checks.equal('F11', 'a flag for clients is on, one for servers is not there', [await value(seen, 'client'), await value(seen, 'server')], [true, undefined])
		checks.equal('F12', 'the flags are those for clients, and no others', fixture.keysOf(Object.keys(loaded.answer.flags)), await fixture.keysFor('client'))
		checks.equal('F13', 'payloads', await run((keys) => keys.map((k) => window.posthog.getFeatureFlagPayload(k)), [key('bool'), key('variant')]), [{ color: 'blue' }, { n: 1 }])
		const result = await run((k) => window.posthog.getFeatureFlagResult(k, { send_event: false }), key('variant'))
		checks.equal('F14', 'value and payload at once', [result.enabled, result.variant, result.payload], [true, 'test', { n: 1 }])
	}

	async function exposure({ mark, loaded, run }) {
		await run((k) => window.posthog.getFeatureFlag(k), key('variant'))
		const { exchange, event: { properties } } = await recorder.untilEvent('$feature_flag_called', mark, (e) => e.properties.$feature_flag === key('variant'))
		const detail = loaded.answer.flags[key('variant')]
		checks.equal('F20', 'the exposure is accepted', [exchange.status, exchange.answer], [200, { status: 1 }])
		checks.equal('F21', 'flag, value and payload', [properties.$feature_flag_response, properties.$feature_flag_payload, properties[`$feature/${key('variant')}`]], ['test', '{"n":1}', 'test'])
		checks.equal('F22', 'id, version and reason are those of the answer', [properties.$feature_flag_id, properties.$feature_flag_version, properties.$feature_flag_reason], [detail.metadata.id, detail.metadata.version, detail.reason.description])
		checks.equal('F23', 'request and time are those of the answer', [properties.$feature_flag_request_id, properties.$feature_flag_evaluated_at], [loaded.answer.requestId, loaded.answer.evaluatedAt])
		checks.equal('F24', 'nothing went wrong, nothing was bootstrapped', [properties.$feature_flag_error, properties.$used_bootstrap_value], [undefined, false])
		checks.equal('C03', 'events go where the config says, compressed, without preflight', [exchange.path, exchange.headers['content-type'], exchange.forms], ['/i/v0/e/', 'text/plain', ['gzip']])
		checks.equal('C04', 'IDs are in the properties alone', [typeof properties.token, typeof properties.distinct_id], ['string', 'string'])
		checks.ok('C05', 'the answer is for this origin', allowed(exchange), exchange.answerHeaders)
		await run(() => window.posthog.capture('bought', { price: 12 }))
		const { event } = await recorder.untilEvent('bought', mark)
		checks.equal('C06', 'an event carries all flags and lists the active ones', [event.properties[`$feature/${key('off')}`], event.properties.$active_feature_flags.includes(key('bool')), event.properties.$active_feature_flags.includes(key('off'))], [false, true, false])
	}

	async function identify(seen, anonymous) {
		const { run } = seen
		let mark = recorder.mark
		await run((who) => window.posthog.identify(who, { plan: 'pro' }, { first: 'yes' }), id('w1'))
		const reload = await recorder.until('reload', mark, (e) => isFlags(e) && e.body.distinct_id === id('w1'))
		checks.equal('P01', 'identify loads flags anew, with the anonymous ID', reload.body.$anon_distinct_id, anonymous)
		checks.equal('P02', 'and the properties', reload.body.person_properties.plan, 'pro')
		const { event } = await recorder.untilEvent('$identify', mark)
		checks.equal('P03', '$identify is on the wire', [event.properties.distinct_id, event.properties.$anon_distinct_id, event.$set.plan, event.$set_once.first], [id('w1'), anonymous, 'pro', 'yes'])
		checks.equal('P04', 'the flag is on', await poll(() => value(seen, 'person')), true)
		checks.equal('P05', 'and a cohort', await value(seen, 'cohort'), true)
		const person = await poll(() => api.person(id('w1')), (p) => p?.properties.plan)
		checks.equal('P06', 'the person is stored, with both IDs', [person.properties.plan, person.properties.first, [...person.distinct_ids].sort()], ['pro', 'yes', [id('w1'), anonymous].sort()])
		const stored = await api.flags({ distinct_id: anonymous, flag_keys: [key('person')] })
		checks.equal('P07', 'the flag is on for the anonymous ID too', stored.flags[key('person')].enabled, true)
		checks.ok('P08', 'the person has initial values', Object.keys(person.properties).some((name) => name.startsWith('$initial_')), person.properties)

		mark = recorder.mark
		await run(() => window.posthog.setPersonProperties({ city: 'Oslo' }, { once: 1 }))
		await recorder.untilEvent('$set', mark)
		checks.equal('P09', 'properties that are set are stored', (await poll(() => api.person(id('w1')), (p) => p.properties.city)).properties.city, 'Oslo')

		mark = recorder.mark
		await run((company) => window.posthog.group('company', company, { tier: 'enterprise' }), id('web-co'))
		const grouped = await recorder.until('reload', mark, (e) => isFlags(e) && e.body.groups?.company)
		checks.equal('P10', 'group loads flags anew', [grouped.body.groups, grouped.body.group_properties.company.tier], [{ company: id('web-co') }, 'enterprise'])
		checks.equal('P11', 'the anonymous ID is sent once', grouped.body.$anon_distinct_id, undefined)
		await recorder.untilEvent('$groupidentify', mark)
		checks.equal('P12', 'the flag is on', await poll(() => value(seen, 'group')), true)
		checks.equal('P13', 'the group is stored', (await poll(() => api.group(fixture.companyIndex, id('web-co'))))?.group_properties.tier, 'enterprise')

		mark = recorder.mark
		await run((alias) => window.posthog.alias(alias), id('w1-alias'))
		await recorder.untilEvent('$create_alias', mark)
		checks.ok('P14', 'the alias is the same person', (await poll(() => api.person(id('w1-alias'))))?.distinct_ids.includes(id('w1')))
	}

	async function clicks({ page }) {
		const mark = recorder.mark
		await page.click('#buy')
		const { event } = await recorder.untilEvent('$autocapture', mark)
		checks.equal('C10', '$autocapture tells the click', [event.properties.$event_type, typeof event.properties.$elements_chain], ['click', 'string'])
	}

	async function earlyAccess(seen) {
		const { run } = seen
		const beta = fixture.flags.beta.key
		let mark = recorder.mark
		const features = await run(() => new Promise((done) => window.posthog.getEarlyAccessFeatures((list) => done(list), true)))
		const ours = features.find((feature) => feature.flagKey === beta)
		checks.equal('A10', 'early access features are listed', [ours?.name, ours?.stage], [fixture.feature.name, 'beta'])
		const concepts = await run(() => new Promise((done) => window.posthog.getEarlyAccessFeatures((list) => done(list), true, ['concept'])))
		const request = await recorder.until('list', mark, (e) => e.path === '/api/early_access_features/' && e.query.has('stage'))
		checks.equal('A11', 'by stage', [request.query.getAll('stage'), concepts.some((feature) => feature.flagKey === beta)], [['concept'], false])
		checks.equal('A12', 'the flag is off before', await run((k) => !!window.posthog.isFeatureEnabled(k, { send_event: false }), beta), false)
		mark = recorder.mark
		await run((k) => window.posthog.updateEarlyAccessFeatureEnrollment(k, true, 'beta'), beta)
		const { event } = await recorder.untilEvent('$feature_enrollment_update', mark)
		checks.equal('A13', 'enrolment is an event', [event.properties.$feature_flag, event.properties.$feature_enrollment, (event.properties.$set ?? event.$set)[`$feature_enrollment/${beta}`]], [beta, true, true])
		const enrolled = await poll(() => api.flags({ distinct_id: id('w1'), flag_keys: [beta] }), (a) => a.flags[beta].enabled)
		checks.equal('A14', 'the flag is on, for enrolment', [enrolled.flags[beta].enabled, enrolled.flags[beta].reason.code], [true, 'super_condition_value'])
		mark = recorder.mark
		await run(() => window.posthog.reloadFeatureFlags())
		const reload = await recorder.until('reload', mark, isFlags)
		checks.equal('A15', 'and stays on when flags are loaded anew', [reload.answer.flags[beta].enabled, await run((k) => window.posthog.isFeatureEnabled(k, { send_event: false }), beta)], [true, true])
	}

	async function surveys(seen) {
		const { run } = seen
		const { survey } = fixture
		let mark = recorder.mark
		const listed = await run(() => new Promise((done) => window.posthog.getSurveys((list, context) => done({ list, context }), true)))
		const ours = listed.list.find((s) => s.id === survey.id)
		checks.equal('A20', 'surveys are listed', [ours?.name, ours?.questions[0].question, listed.context?.error], [survey.name, survey.questions[0].question, undefined])
		const request = await recorder.until('surveys', mark, (e) => e.path === '/api/surveys/')
		checks.equal('A21', 'by the token', [request.query.get('token'), request.status], [api.projectKey, 200])
		checks.ok('A22', 'what the survey is targeted by is among the flags', survey.internal_targeting_flag.key in (await api.flags({ distinct_id: id('w1') })).flags)

		mark = recorder.mark
		await run(({ id: surveyId, name }) => window.posthog.capture('survey shown', { $survey_id: surveyId, $survey_name: name }), survey)
		await run(({ id: surveyId, name, questions: [{ id: question }] }) => window.posthog.capture('survey sent', {
			$survey_id: surveyId, $survey_name: name, $survey_completed: true, [`$survey_response_${question}`]: 'More docs', $set: { [`$survey_responded/${surveyId}`]: true },
		}), survey)
		await recorder.untilEvent('survey sent', mark)
		const responses = await poll(() => api.get(`/surveys/${survey.id}/responses/`), (page) => page.results?.length > 0)
		checks.ok('A23', 'the answer has arrived', JSON.stringify(responses).includes('More docs'), responses)
		const { flags } = await poll(() => api.flags({ distinct_id: id('w1') }), (a) => !a.flags[survey.internal_targeting_flag.key].enabled)
		checks.equal('A24', 'who has answered is not asked again', flags[survey.internal_targeting_flag.key].enabled, false)
	}

	async function leave({ page }) {
		const mark = recorder.mark
		await page.goto(`${browser.origin}/`)
		const { exchange } = await recorder.untilEvent('$pageleave', mark)
		checks.equal('C20', 'leaving the page is told by a beacon', exchange.headers['sec-fetch-mode'], 'no-cors')
		checks.ok('C21', 'which is answered', [200, 204].includes(exchange.status), exchange.status)
	}

	await scene('A30', 'configuration as JSON', async () => {
		const before = (page) => page.route('**/config.js', (route) => route.fulfill({ status: 404, body: '' }))
		const seen = await visit({}, { before })
		const config = await recorder.until('config', seen.mark, isConfig)
		checks.equal('A31', 'without config.js the SDK takes the JSON', [config.path, config.status, config.answerHeaders['content-type']], [`/array/${api.projectKey}/config`, 200, 'application/json'])
		checks.equal('A32', 'and has flags', await value(seen, 'variant'), 'test')
		seen.problems = seen.problems.filter(({ url }) => !url?.endsWith('/config.js'))
		await calm('A33', seen)
	})

	await scene('X10', 'without compression', async () => {
		const seen = await visit({ disable_compression: true })
		checks.equal('X11', 'flags are asked for in JSON', [seen.loaded.headers['content-type'], seen.loaded.forms, seen.loaded.status], ['application/json', [], 200])
		const preflight = await recorder.until('preflight', seen.mark, (e) => isPreflight(e) && e.path === '/flags/')
		checks.equal('X12', 'after a preflight about the content type', [preflight.headers['access-control-request-headers'], preflight.status < 300], ['content-type', true])
		checks.ok('X13', 'which allows it', allows(preflight, 'content-type') && allowed(preflight), preflight.answerHeaders)
		const { exchange } = await recorder.untilEvent('$pageview', seen.mark)
		checks.equal('X14', 'events as well', [exchange.headers['content-type'], exchange.forms, exchange.status], ['application/json', [], 200])
		checks.equal('X15', 'values are the same', await value(seen, 'variant'), 'test')
		await calm('X16', seen)
	})

	await scene('X20', 'XMLHttpRequest with headers', async () => {
		const seen = await visit({ api_transport: 'XHR', request_headers: { 'x-custom': 'yes' } })
		checks.equal('X21', 'the header arrives', [seen.loaded.headers['x-custom'], seen.loaded.status], ['yes', 200])
		const preflight = await recorder.until('preflight', seen.mark, (e) => isPreflight(e) && e.path === '/flags/')
		checks.ok('X22', 'after a preflight that allows it', allows(preflight, 'x-custom') && allowed(preflight) && preflight.status < 300, preflight.answerHeaders)
		await recorder.untilEvent('$pageview', seen.mark)
		checks.equal('X23', 'values are the same', await value(seen, 'variant'), 'test')
		await calm('X24', seen)
	})

	await scene('F30', 'contexts and keys', async () => {
		const other = await visit({ evaluation_contexts: ['other'] })
		checks.equal('F31', 'another context keeps a flag out', [other.loaded.body.evaluation_contexts, await value(other, 'tagged'), await value(other, 'bool')], [['other'], undefined, true])
		await calm('F32', other)
		const checkout = await visit({ evaluation_contexts: ['checkout'] })
		checks.equal('F33', 'its context lets it in', await value(checkout, 'tagged'), true)
		await calm('F34', checkout)
		const chosen = await visit({ flag_keys: [key('bool')] })
		checks.equal('F35', 'only the flags that were asked for', [chosen.loaded.body.flag_keys, Object.keys(chosen.loaded.answer.flags)], [[key('bool')], [key('bool')]])
		await calm('F36', chosen)
	})

	await scene('A40', 'session recording', async () => {
		const seen = await visit()
		await seen.run(() => window.posthog.startSessionRecording())
		await seen.run(() => window.posthog.capture('after recording'))
		await recorder.untilEvent('after recording', seen.mark)
		checks.equal('A41', 'nothing is recorded', recorder.since(seen.mark, (e) => e.path === '/s/').map((e) => e.path), [])
		await calm('A42', seen)
	})

	await scene('F40', 'bootstrap', async () => {
		const seen = await visit({
			bootstrap: { distinctID: id('w2'), isIdentifiedID: true, featureFlags: { [key('variant')]: 'control' }, featureFlagPayloads: { [key('variant')]: { n: 0 } } },
			advanced_disable_feature_flags: true,
		}, { flags: false })
		checks.equal('F41', 'values are there at once', [await seen.run((k) => window.posthog.getFeatureFlag(k), key('variant')), await seen.run((k) => window.posthog.getFeatureFlagPayload(k), key('variant'))], ['control', { n: 0 }])
		const { event } = await recorder.untilEvent('$feature_flag_called', seen.mark)
		checks.equal('F42', 'the exposure says so', [event.properties.distinct_id, event.properties.$feature_flag_bootstrapped_response, event.properties.$used_bootstrap_value], [id('w2'), 'control', true])
		checks.equal('F43', 'without a flags request', recorder.since(seen.mark, isFlags).length, 0)
		await calm('F44', seen)
	})

	await scene('E00', 'a wrong key', async () => {
		const seen = await visit({}, { projectKey: 'phc_nobody_has_this', flags: false })
		const asked = await recorder.until('flags request', seen.mark, isFlags)
		checks.equal('E01', 'flags are refused, readably for the page', [asked.status, allowed(asked)], [401, true])
		const { exchange } = await recorder.untilEvent('$pageview', seen.mark)
		checks.equal('E02', 'events are refused, readably for the page', [exchange.status, allowed(exchange)], [401, true])
		await seen.run(() => window.posthog.capture('later'))
		await recorder.untilEvent('later', seen.mark)
		checks.equal('E03', 'and not sent again', recorder.events(seen.mark).filter((event) => event.event === '$pageview').length, 1)
		checks.equal('E04', 'the page goes on', [await value(seen, 'bool'), seen.problems.filter(({ what }) => what.startsWith('exception'))], [undefined, []])
	})

	await browser.close()
})
