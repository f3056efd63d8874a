// Nothing typed is lost (management.md §5.11): every button of every page is pressed when the
// session has ended, when the browser is offline, and when the server is down. The form stays
// as it is, and the same button works afterwards.
import fs from 'node:fs/promises'
import { member } from './screens.js'

// losses presses all buttons. They are found in the markup of the screens and states, and
// those of the templates that no page has had are reported.
export async function losses(t, server, states) {
	const { page, checks } = t
	const { context } = t
	const done = new Set()
	const verbs = new Set()
	const trouble = {
		ended: {
			title: 'You are signed out',
			begin: async () => {
				t.cookies = await context.cookies()
				await context.addCookies(t.cookies.map((c) => ({ ...c, value: 'ended' })))
			},
			end: () => context.addCookies(t.cookies),
		},
		offline: { title: 'The server cannot be reached', begin: () => context.setOffline(true), end: () => context.setOffline(false) },
		restarted: { title: 'The server cannot be reached', begin: () => server.down(), end: () => server.up() },
	}
	let sent
	await page.route('**', async (route) => {
		const request = route.request()
		if (request.method() !== 'POST' || !t.catching) return route.fallback()
		const body = request.postDataBuffer()?.toString('utf8') ?? ''
		if (!/(^|&)do=preview(&|$)/.test(body)) sent = { url: new URL(request.url()).pathname, body }
		await route.fulfill({ status: 204 })
	})

	for (const [screen, open] of [...member, ...states]) {
		await checks.step(screen, 'all buttons are pressed', async () => {
			await open(t)
			await page.locator('html.scripted').waitFor()
			const found = await page.evaluate(find)
			for (const { verb } of found) verbs.add(verb)
			const fresh = found.filter(({ id }) => !done.has(id))
			if (fresh.length === 0) return
			for (const { id } of fresh) done.add(id)
			for (const [name, { title, begin, end }] of Object.entries(trouble)) {
				await begin()
				const lost = []
				try {
					for (const { id, index } of fresh) {
						const seen = await page.evaluate(press, { index })
						const why = await page.locator('#held[open] h2').textContent({ timeout: 3000 }).catch(() => 'no dialog')
						const kept = await page.evaluate(look)
						if (why !== title || kept !== seen) lost.push(`${id}: ${why}, ${kept === seen ? 'kept' : `${seen} became ${kept}`}`)
						await page.evaluate(() => document.querySelector('#held').close())
					}
				} finally {
					await end()
				}
				checks.equal(`${screen} ${name}`, `a form stays as it is, with each of ${fresh.length} buttons`, lost, [])
				t.catching = true
				const idle = []
				for (const { id, index } of fresh) {
					sent = undefined
					const typed = await page.evaluate(press, { index })
					for (let n = 0; n < 200 && !sent; n++) await page.waitForTimeout(10)
					const first = typed.split('&').filter((pair) => !pair.includes('%0') && pair)[0] ?? ''
					const raw = decodeURIComponent((first.split('=')[1] ?? '').replaceAll('+', ' '))
					if (!sent || !(sent.body.includes(first) || sent.body.includes(raw))) idle.push(`${id}: sent ${sent?.body.slice(0, 80)}, want ${first}`)
					await page.evaluate(() => document.querySelector('#held').close())
				}
				t.catching = false
				checks.equal(`${screen} ${name}, then`, 'the same button works', idle, [])
			}
		})
	}
	await page.unroute('**')

	const folder = new URL('../../server/console/templates/', import.meta.url)
	const missing = []
	for (const name of [...await fs.readdir(folder), ...(await fs.readdir(new URL('partials/', folder))).map((n) => `partials/${n}`)]) {
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
function press({ index }) {
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

// look returns the form as it is, or that it is gone.
function look() {
	return window.pressed?.isConnected ? window.snapshot() : 'gone'
}
