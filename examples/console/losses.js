// Nothing typed is lost (management.md §5.11): every button of every page is pressed when the
// session has ended, when the browser is offline, and when the server is down. The form stays
// as it is, and the same button works afterwards.
import fs from 'node:fs/promises'
import { member } from './screens.js'
import { Task } from './tasks.js'

// together is how many pages are open at once. All of them have the same trouble at the same
// time, so that the server is ended and started seldom.
const together = 20

// patience is how long a page has for what it does after a button was pressed, in milliseconds.
const patience = 30_000

// losses presses all buttons. They are found in the markup of the screens and states, and
// those of the templates that no page has had are reported.
export async function losses(t, server, states) {
	const { checks, context } = t
	const done = new Set()
	const verbs = new Set()
	let cookies
	const trouble = {
		ended: {
			title: 'You are signed out',
			begin: async () => {
				cookies = await context.cookies()
				await context.addCookies(cookies.map((c) => ({ ...c, value: 'ended' })))
			},
			end: () => context.addCookies(cookies),
		},
		offline: { title: 'The server cannot be reached', begin: () => context.setOffline(true), end: () => context.setOffline(false) },
		restarted: { title: 'The server cannot be reached', begin: () => server.down(), end: () => server.up() },
	}
	let screens = []

	// suffer makes all open pages have all trouble, and closes them.
	async function suffer() {
		for (const [name, { title, begin, end }] of Object.entries(trouble)) {
			await begin()
			try {
				await each(name, 'a form stays as it is', async ({ page, fresh }, lost) => {
					for (const { id, index } of fresh) {
						const { why, seen, kept } = await page.evaluate(`(${pressHeld})(${index}, ${press}, ${patience})`)
						if (why !== title || kept !== seen) lost.push(`${id}: ${why}, ${kept === seen ? 'kept' : `${seen} became ${kept}`}`)
					}
				})
			} finally {
				await end()
			}
			await each(`${name}, then`, 'the same button works', async (s, idle) => {
				for (const { id, index } of s.fresh) {
					s.sent = []
					const typed = await s.page.evaluate(`(${press})(${index})`)
					const first = typed.split('&').filter((pair) => !pair.includes('%0') && pair)[0] ?? ''
					const raw = decodeURIComponent((first.split('=')[1] ?? '').replaceAll('+', ' '))
					// The page may send the form before once more, because it has changed meanwhile.
					const has = (body) => body.includes(first) || body.includes(raw)
					const caught = new Promise((resume) => (s.caught = () => s.sent.some(has) && resume(true)))
					s.caught()
					let timer
					const late = new Promise((resume) => (timer = setTimeout(resume, patience, false)))
					if (!(await Promise.race([caught, late]))) idle.push(`${id}: sent ${s.sent.map((body) => body.slice(0, 80))}, want ${first}`)
					clearTimeout(timer)
					await s.page.evaluate(() => document.querySelector('#held').close())
				}
			})
		}
		await Promise.all(screens.map(({ page }) => page.close({ runBeforeUnload: false })))
		screens = []
	}

	// each does something with all open pages, and checks that it has found no faults.
	const each = (name, text, work) => Promise.all(screens.map((s) => checks.step(s.screen, `${name}: ${text}`, async () => {
		const faults = []
		await work(s, faults)
		checks.equal(`${s.screen} ${name}`, `${text}, with each of ${s.fresh.length} buttons`, faults, [])
	})))

	for (const [screen, open] of [...member, ...states]) {
		await checks.step(screen, 'all buttons are found', async () => {
			const page = await t.browser.tab(context)
			await open(new Task(t.suite, { context, page, way: t.way, hand: new t.hand.constructor(page), script: t.script }, checks))
			await page.locator('html.scripted').waitFor()
			const found = await page.evaluate(find)
			for (const { verb } of found) verbs.add(verb)
			const fresh = found.filter(({ id }) => !done.has(id))
			if (fresh.length === 0) {
				await page.close()
				return
			}
			for (const { id } of fresh) done.add(id)
			const s = { screen, page, fresh, sent: [], caught: () => {} }
			screens.push(s)
			await page.route('**', async (route) => { // no form reaches the server from now on
				const request = route.request()
				if (request.method() !== 'POST') return route.fallback()
				const body = request.postDataBuffer()?.toString('utf8') ?? ''
				await route.fulfill({ status: 204 })
				if (/(^|&)do=preview(&|$)/.test(body)) return
				s.sent.push(body)
				s.caught()
			})
		})
		if (screens.length === together) await suffer()
	}
	await suffer()

	const folder = new URL('../../server/console/', import.meta.url)
	const missing = []
	for (const name of await fs.readdir(folder, { recursive: true })) {
		if (!name.endsWith('.html')) continue
		for (const [, verb] of (await fs.readFile(new URL(name, folder), 'utf8')).matchAll(/<button[^>]* name="do" value="([a-z-]+)/g)) {
			if (!verbs.has(verb)) missing.push(`${name}: ${verb}`)
		}
	}
	checks.equal('M01', 'every button of the templates was on a page', missing, [])
	checks.ok('M02', `${done.size} buttons were pressed`, done.size > 60, done.size)
}

// find returns the buttons that post something. What is the same but for IDs is one.
function find() {
	const out = [], ids = new Set()
	const buttons = [...document.querySelectorAll('form[method="post"]:not([data-anytime]) button')]
	buttons.forEach((button, index) => {
		const action = new URL(button.form.getAttribute('action') ?? location.pathname, location.href).pathname
		const verb = button.value.split(' ')[0]
		const id = `${action.replace(/[0-9a-f]{8}-[0-9a-f-]+|\d+/g, 'N')} ${button.name}=${button.name === 'do' ? verb : ''}`
		if (ids.has(id)) return
		ids.add(id)
		out.push({ id, index, verb })
	})
	return out
}

// press types something and presses a button. It returns the form as it is then.
function press(index) {
	const button = [...document.querySelectorAll('form[method="post"]:not([data-anytime]) button')][index]
	const form = button.form
	for (const field of form.elements) {
		if (!/^(text|search|url|email|password|textarea)$/.test(field.type) || field.hidden || field.readOnly || field.disabled) continue
		if (field.value === '' && field.required) field.value = field.type === 'email' ? 'typed@example.com' : 'typed'
	}
	const text = [...form.elements].find((f) => /^(text|textarea)$/.test(f.type) && !f.hidden && !f.disabled)
	if (text) text.value = `typed ${index}`
	window.pressed = form
	window.snapshot = () => String(new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.name ?? value])))
	const seen = window.snapshot()
	button.click()
	return seen
}

// pressHeld presses a button and waits for the dialog that says why the form stays, which it
// closes. It returns the form as it was, and as it is then, or that it is gone.
async function pressHeld(index, press, patience) {
	const held = document.querySelector('#held')
	const opened = new Promise((resume) => {
		const watch = new MutationObserver(() => held.open && resume(held.querySelector('h2').textContent))
		watch.observe(held, { attributes: true })
		setTimeout(() => resume('no dialog'), patience)
	})
	const seen = press(index)
	const why = await opened
	const kept = window.pressed?.isConnected ? window.snapshot() : 'gone'
	held.close()
	return { why, seen, kept }
}
