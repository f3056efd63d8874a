import fs from 'node:fs/promises'
import http from 'node:http'
import { chromium } from 'playwright-core'

// These turn off the requests that Chromium makes by itself.
const flags = [
	'--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
]

const modules = new URL('../node_modules/', import.meta.url)

// openFeatureModules says where a page finds the modules that OpenFeature's import.
const openFeatureModules = {
	'@openfeature/core': '/sdk/@openfeature/core/dist/esm/index.js',
	'@openfeature/web-sdk': '/sdk/@openfeature/web-sdk/dist/esm/index.js',
	'@openfeature/ofrep-web-provider': '/sdk/@openfeature/ofrep-web-provider/index.esm.js',
	'@openfeature/ofrep-core': '/sdk/@openfeature/ofrep-web-provider/node_modules/@openfeature/ofrep-core/index.esm.js',
}

// Browser is headless Chromium and a web site with the SDK. The site has its
// own origin, so that all requests of the SDK are cross-origin.
export class Browser {
	static async start() {
		const browser = new Browser()
		browser.site = http.createServer((request, response) => serve(request, response))
		await new Promise((listening) => browser.site.listen(0, 'localhost', listening))
		browser.origin = `http://localhost:${browser.site.address().port}`
		browser.chromium = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags })
		return browser
	}

	// open shows the site with an SDK to a new visitor, but does not start the
	// SDK.
	async open(sdk = 'posthog-js/dist/module.js') {
		return this.#visit(`sdk=${sdk}`, () => window.posthog)
	}

	// openFeature shows the site with OpenFeature's SDK and its provider for remote
	// evaluation, as window.OpenFeature and window.OFREPWebProvider.
	async openFeature() {
		return this.#visit('openfeature', () => window.OpenFeature)
	}

	async #visit(query, ready) {
		const context = await this.chromium.newContext()
		const page = await context.newPage()
		page.setDefaultTimeout(15_000)
		const visit = { page, context, problems: [] }
		page.on('pageerror', (error) => visit.problems.push({ what: `exception ${error.message}` }))
		page.on('console', (message) => {
			if (message.type() === 'error') visit.problems.push({ what: message.text(), url: message.location().url })
		})
		await page.goto(`${this.origin}/?${query}`)
		await page.waitForFunction(ready)
		return visit
	}

	// leave ends all visits.
	async leave() {
		for (const context of this.chromium.contexts()) await context.close()
	}

	async close() {
		await this.chromium.close()
		this.site.closeAllConnections()
		this.site.close()
	}
}

// quiet returns the problems of a visit, but for harmless ones: scripts that
// the server does not have (wire.md §0.14).
export const quiet = (visit) => visit.problems.filter(({ url }) => !/\/static\//.test(url ?? ''))

async function serve(request, response) {
	const url = new URL(request.url, 'http://site')
	if (url.pathname.startsWith('/sdk/')) {
		try {
			const script = await fs.readFile(new URL(url.pathname.slice('/sdk/'.length), modules))
			response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
		} catch {
			response.writeHead(404).end()
		}
		return
	}
	const sdk = url.searchParams.get('sdk')
	let script = sdk && `<script type="module">import posthog from '/sdk/${sdk}'; window.posthog = posthog</script>`
	if (url.searchParams.has('openfeature')) {
		script = `<script type="importmap">${JSON.stringify({ imports: openFeatureModules })}</script>
			<script type="module">
				import { OpenFeature } from '@openfeature/web-sdk'
				import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
				Object.assign(window, { OpenFeature, OFREPWebProvider })
			</script>`
	}
	response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>demo</title><link rel="icon" href="data:,">
		<button id="buy">Buy now</button>${script ?? ''}`)
}
