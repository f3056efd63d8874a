// Drives OpenFeature's provider for browsers in headless Chromium, on a page of another
// origin than the server, with its polling off: an event stream alone tells it of changes
// (wire.md §7.4). The page reaches the server itself, because a recorder holds back answers
// that do not end.
import { Browser, quiet } from './lib/browser.js'
import { suite } from './lib/suite.js'

await suite('push', async ({ checks, api, fixture }) => {
	const off = fixture.key('off')
	const browser = await Browser.start()
	try {
		await checks.step('P00', 'a visit', async () => {
			const visit = await browser.openFeature()
			const { page } = visit
			const streams = []
			page.on('response', (response) => {
				if (new URL(response.url()).pathname.startsWith('/ofrep/v1/streams/')) streams.push(response)
			})
			const opened = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith('/ofrep/v1/streams/'))
			const first = await page.evaluate(async ([baseUrl, key, targetingKey, flag]) => {
				const provider = new window.OFREPWebProvider({
					baseUrl, headers: [['X-API-Key', key]], cacheMode: 'disabled', pollInterval: 0, disableVisibilityRefresh: true,
				})
				window.changes = []
				provider.events.addHandler('PROVIDER_CONFIGURATION_CHANGED', (event) => window.changes.push({ at: Date.now(), flags: event.flagsChanged }))
				await window.OpenFeature.setContext({ targetingKey })
				await window.OpenFeature.setProviderAndWait(provider)
				return window.OpenFeature.getClient().getBooleanValue(flag, true)
			}, [api.url, api.projectKey, fixture.id('ada'), off])
			checks.equal('P01', 'a flag that is off', first, false)
			const stream = await opened
			checks.equal('P02', 'a stream is opened', [stream.status(), stream.headers()['content-type']], [200, 'text/event-stream'])
			checks.ok('P03', 'whose address does not have the key', !stream.url().includes(api.projectKey), stream.url())

			// switchTo changes the flag, and returns how long the page takes to have it.
			const switchTo = async (percentage, value) => {
				await page.evaluate(() => { window.changes = [] })
				await api.patch(`/feature_flags/${fixture.flags.off.id}/`, { filters: { groups: [{ properties: [], rollout_percentage: percentage }] } })
				const changed = Date.now()
				await page.waitForFunction(([flag, want]) => window.OpenFeature.getClient().getBooleanValue(flag, !want) === want, [off, value], { polling: 5 })
				const { at, flags } = await page.evaluate((flag) => window.changes.find((change) => change.flags.includes(flag)) ?? {}, off)
				return { took: at - changed, flags }
			}
			const { took, flags } = await switchTo(100, true)
			checks.ok('P04', 'a change is there within a second', took < 1000, took)
			checks.ok('P05', 'and the provider tells of it', flags.includes(off), flags)
			checks.ok('P06', 'the next one, too', (await switchTo(0, false)).took < 1000)
			checks.equal('P07', 'all by one stream', streams.length, 1)
			await page.evaluate(() => window.OpenFeature.close())
			checks.equal('P08', 'no errors on the page', quiet(visit), [])
		})
	} finally {
		await browser.close()
	}
})
