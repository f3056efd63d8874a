import fs from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { Keyboard, Pointer } from './hands.js'

const require = createRequire(import.meta.url)

// These turn off the requests that Chromium makes by itself, and what makes pictures
// differ from machine to machine.
const flags = [
	'--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
	'--disable-lcd-text', '--font-render-hinting=none', '--hide-scrollbars',
]

// The three ways in which people work.
export const ways = {
	mouse: { script: true, hand: Pointer },
	keyboard: { script: true, hand: Keyboard },
	noscript: { script: false, hand: Pointer },
}

// Browser is headless Chromium. It keeps what pages complain about.
export class Browser {
	// start calls died if Chromium ends before it is closed, or one of its pages crashes.
	static async start(url, died) {
		const browser = new Browser()
		browser.url = url
		browser.died = died
		browser.problems = []
		browser.chromium = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags })
		browser.chromium.on('disconnected', () => browser.closing || died('Chromium has ended by itself'))
		return browser
	}

	// person opens the console for somebody who works in one of the ways. A state of
	// another context, which has its cookies, is where it goes on.
	async person(way, { url = this.url, state, viewport = { width: 1280, height: 900 }, colorScheme = 'light' } = {}) {
		const { script, hand } = ways[way]
		const context = await this.chromium.newContext({
			baseURL: url, javaScriptEnabled: script, storageState: state, viewport, colorScheme, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC',
		})
		context.setDefaultTimeout(30_000)
		const page = await this.tab(context)
		return { context, page, way, hand: new hand(page), script }
	}

	// tab opens another page for the same person.
	async tab(context) {
		const page = await context.newPage()
		this.watch(page)
		return page
	}

	// watch keeps exceptions, errors of the console, and what the Content-Security-Policy
	// has refused, which Chromium reports as such an error. An answer that refuses a form,
	// or says that there is no such page, is none.
	watch(page) {
		page.on('crash', () => this.died(`Chromium's page ${page.url()} has crashed`))
		page.on('pageerror', (error) => this.problems.push(`${page.url()}: exception ${error.message}`))
		page.on('console', (message) => {
			if (!['error', 'warning'].includes(message.type()) || !page.url().startsWith(this.url)) return // of other sites
			const refused = /^Failed to load resource: the server responded with a status of 4\d\d /.test(message.text()) && !message.location().url.includes('/static/')
			if (!refused) this.problems.push(`${page.url()}: ${message.text()}`)
		})
	}

	close() {
		this.closing = true
		return this.chromium.close()
	}
}

// debug runs something with a session of the debugger. What fails in it is said, and not that
// its session has ended with the page.
export async function debug(page, run) {
	const session = await page.context().newCDPSession(page)
	try {
		return await run(session)
	} finally {
		await session.detach().catch(() => {})
	}
}

const axe = await fs.readFile(require.resolve('axe-core/axe.min.js'), 'utf8')

// findings returns what axe has to say about a page, by WCAG 2.2 AA and what is good
// practice besides, or by the rules about colours alone. It runs through the debugger,
// because the policy of the pages allows no script of others.
export async function findings(page, { colours = false } = {}) {
	const rules = colours ? { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } : { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
	return debug(page, async (session) => {
		const evaluate = async (expression) => {
			const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression, awaitPromise: true })
			if (exceptionDetails) throw new Error(`axe failed: ${JSON.stringify(exceptionDetails).slice(0, 400)}`)
			return result.value
		}
		if (!(await evaluate('!!globalThis.axe'))) await evaluate(`${axe}; true`)
		return JSON.parse(await evaluate(`axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations.map(
			({ id, nodes }) => [id, nodes.slice(0, 4).map(({ html, any, all, none }) => html.slice(0, 160) + ' ' + [...any, ...all, ...none].map((c) => c.message).join('; '))])))`))
	})
}

// walk presses Tab until it is round. It returns what a keyboard does not reach, and where it
// cannot be seen: what has the focus without an outline, or is behind something else. A field
// for a date has a stop for each of its parts.
export async function walk(page) {
	await page.evaluate(() => new Promise((ready) => { // a field with autofocus may get the focus late
		const wait = (frames) => {
			const late = frames > 0 && document.activeElement === document.body && document.querySelector('[autofocus]')
			if (late) requestAnimationFrame(() => wait(frames - 1))
			else ready()
		}
		wait(60)
	}))
	await page.evaluate(() => {
		// What has lost the focus is still where Tab goes on from, unless it is gone.
		const top = document.createElement('span')
		top.tabIndex = -1
		;(document.querySelector('dialog[open]') ?? document.body).prepend(top)
		top.focus()
		top.remove()
		const walked = new Set(), faults = []
		let ends = 0, over = false, judged = true, lately
		const judge = () => {
			if (over || judged) return
			judged = true
			const element = document.activeElement
			if (element === document.body) {
				over = ++ends === 3
				return
			}
			if (element === lately && element.type === 'date') return
			if (walked.has(element)) {
				over = true
				return
			}
			walked.add(lately = element)
			const name = element.outerHTML.slice(0, 120)
			const style = getComputedStyle(element)
			const box = element.getClientRects()[0]
			if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) === 0) faults.push(`no outline: ${name}`)
			else if (box.width < 4 || box.height < 4) faults.push(`nothing to see: ${name}`)
			else {
				const [x, y] = [box.left + Math.min(box.width, innerWidth) / 2, Math.min(box.top + box.height / 2, box.top + 12)]
				const top = document.elementFromPoint(x, y)
				if (!top || !(element.contains(top) || top.contains(element))) faults.push(`behind ${top?.outerHTML.slice(0, 60)}: ${name}`)
			}
		}
		addEventListener('keydown', () => { // where the Tab before has led to
			judge()
			judged = false
		}, true)
		window.walk = { over: () => (judge(), over), walked, faults }
	})
	await debug(page, async (session) => {
		const tab = (type) => session.send('Input.dispatchKeyEvent', { type, key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 })
		for (let n = 0; n < stops; n += atOnce) {
			await Promise.all(Array.from({ length: atOnce }, () => [tab('rawKeyDown'), tab('keyUp')]).flat())
			if (await page.evaluate(() => window.walk.over())) break
		}
	})
	return page.evaluate(() => {
		const { walked, faults } = window.walk
		const within = document.querySelector('dialog[open]') ?? document
		const missed = [...within.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter((e) =>
			e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }) && !walked.has(e) && !(e.type === 'radio' && !e.checked))
		return [...faults, ...missed.map((e) => `not reached: ${e.outerHTML.slice(0, 120)}`)]
	})
}

// atOnce is how many times Tab is pressed before the page is asked whether that was all.
const atOnce = 20

// stops is how many stops of Tab a page may have.
const stops = 400

// Site is a web site of another origin that has posthog-js, as a product's own pages have.
export class Site {
	static async start() {
		const site = new Site()
		const sdk = await fs.readFile(require.resolve('posthog-js/dist/module.js'))
		site.server = http.createServer((request, response) => {
			if (request.url === '/sdk.js') {
				response.writeHead(200, { 'content-type': 'text/javascript' }).end(sdk)
				return
			}
			response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Shop</title><link rel="icon" href="data:,"><script type="module">import posthog from "/sdk.js"; window.posthog = posthog</script>')
		})
		await new Promise((listening) => site.server.listen(0, 'localhost', listening))
		site.url = `http://localhost:${site.server.address().port}`
		return site
	}

	close() {
		this.server.closeAllConnections()
		this.server.close()
	}
}
