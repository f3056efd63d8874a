// Works with the console in a browser: node suite.js SERVER [PART…], where SERVER is the
// program of the server. See README.md.
import fs from 'node:fs/promises'
import path from 'node:path'
import { Api } from '../sdk/js/lib/api.js'
import { Checks } from '../sdk/js/lib/checks.js'
import { Browser, findings, Site, walk, ways } from './lib/browser.js'
import { shrink } from './lib/png.js'
import { Server } from './lib/server.js'
import { losses } from './losses.js'
import { looks, member, pictures, states, visitor } from './screens.js'
import { Task, tasks } from './tasks.js'

const [program, ...given] = process.argv.slice(2)
const parts = ['screens', ...Object.keys(ways), 'losses', 'pictures']
const screens = [...visitor, ...member].map(([name]) => name)
for (const name of given) {
	if (!parts.includes(name) && !screens.includes(name)) {
		console.error(`there is no part ${name}; there are ${parts.join(', ')}, and the screens ${screens.join(', ')}`)
		process.exit(2)
	}
}
const chosenScreens = given.filter((name) => screens.includes(name))
const chosen = given.filter((name) => parts.includes(name))
if (chosenScreens.length > 0) chosen.push('screens')
const folder = process.env.FLAGSTAFF_SCREENSHOTS

// limit is the time limit of all parts, in milliseconds.
const limit = 600_000
const timer = setTimeout(() => end(1, `FAIL suite ends within ${limit / 1000} s`), limit)

// end ends the suite at once, and says why.
function end(status, why) {
	Server.end()
	console.log(why)
	process.exit(status)
}

const server = await Server.start(program)
const site = await Site.start()
const api = new Api({ url: server.url, projectKey: 'phc_demo', personalKey: 'phx_demo' })
const { id: project } = await api.get('/')
const browser = await Browser.start(server.url, (why) => end(3, `FAIL console browser: ${why}, so that nothing more can be said of the console`))
const suite = { server, site, browser, api, project, url: server.url }
const all = []

// part runs one part with checks of its own.
async function part(name, run) {
	if (chosen.length > 0 ? !chosen.includes(name) : name === 'pictures') return
	const checks = new Checks(`console-${name}`)
	all.push(checks)
	await checks.step('Z99', 'runs to its end', () => run(checks))
}

// look opens a screen in all looks.
async function look(checks, person, name, open) {
	if (chosenScreens.length > 0 && !chosenScreens.includes(name)) return
	const t = new Task(suite, person, checks)
	const { page } = t
	await checks.step(name, 'is shown', async () => {
		for (const width of new Set(looks.map((l) => l.width))) {
			await page.setViewportSize({ width, height: 900 })
			await open(t)
			const wide = await page.evaluate(() => (document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 120)).slice(0, 4)))
			checks.equal(`${name} ${width}`, 'nothing is wider than the page', wide, [])
			checks.equal(`${name} ${width}`, 'a keyboard reaches everything, and shows where it is', await walk(page), [])
			await unroll(page, width)
			for (const { scheme } of looks.filter((l) => l.width === width)) {
				await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
				checks.equal(`${name} ${width} ${scheme}`, 'axe finds nothing', await findings(page, { colours: scheme === 'dark' }), [])
				if (folder) await fs.writeFile(path.join(folder, `${name}-${scheme}-${width}.png`), shrink(await page.screenshot()))
			}
		}
	})
}

try {
	if (folder) await fs.mkdir(folder, { recursive: true })
	// People look at screens while others work: a part mostly waits for its browser.
	const seen = part('screens', async (checks) => {
		const stranger = await browser.person('mouse')
		for (const [name, open] of visitor) await look(checks, stranger, name, open)
		await join(stranger.page)
		const state = await stranger.context.storageState()
		await stranger.context.close()
		const left = [...member]
		await Promise.all(Array.from({ length: 2 }, async () => {
			const owner = await browser.person('mouse', { state })
			for (let screen; (screen = left.shift());) await look(checks, owner, ...screen)
			await owner.context.close()
		}))
	})
	await Promise.all([seen, part('losses', lose), ...Object.keys(ways).map((way) => part(way, async (checks) => {
		await addUser(`${way}@example.com`)
		const person = await browser.person(way)
		const t = new Task(suite, person, checks)
		for (const [id, text, run] of tasks) await checks.step(id, text, () => run(t))
		await person.context.close()
	}))])
	await part('pictures', async (checks) => {
		const width = 1180
		const owner = await browser.person('mouse')
		await join(owner.page)
		const to = new URL('../../docs/console/', import.meta.url)
		await fs.rm(to, { recursive: true, force: true })
		await fs.mkdir(to, { recursive: true })
		for (const [name, screen, height = 760] of pictures) {
			await owner.page.setViewportSize({ width, height })
			await member.find(([other]) => other === screen)[1](new Task(suite, owner, checks))
			// What has just changed may scroll the page once more, so that the field with the focus is seen.
			await owner.page.evaluate(() => new Promise((seen) => {
				document.activeElement?.blur()
				const up = (left) => { scrollTo(0, 0); left > 0 ? requestAnimationFrame(() => up(left - 1)) : seen() }
				up(10)
			}))
			const picture = shrink(await owner.page.screenshot())
			await fs.writeFile(new URL(`${name}.png`, to), picture)
			checks.ok(name, `has ${picture.length} bytes`, picture.length < 100_000)
		}
	})
} finally {
	await browser.close()
	site.close()
	await server.stop()
	clearTimeout(timer)
}

const last = new Checks('console')
last.equal('E01', 'no page had an error, and no policy refused anything', browser.problems, [])
last.ok('E02', 'something was checked', all.some(({ passed }) => passed > 0))
for (const checks of all) {
	last.passed += checks.passed
	last.failed += checks.failed
}
last.finish()

// lose works with a server of its own, which it ends and starts again.
async function lose(checks) {
	const other = await Server.start(program)
	try {
		const api = new Api({ url: other.url, projectKey: 'phc_demo', personalKey: 'phx_demo' })
		const person = await browser.person('mouse', { url: other.url })
		await join(person.page, other.link)
		const t = new Task({ ...suite, server: other, url: other.url, api, project: (await api.get('/')).id }, person, checks)
		await losses(t, other, states)
		await person.context.close()
	} finally {
		await other.stop()
	}
}

// unroll makes the window as high as the page, so that nothing is behind a bar that stays in
// sight while one scrolls.
async function unroll(page, width) {
	const height = await page.evaluate(() => {
		document.activeElement?.blur()
		return document.documentElement.scrollHeight
	})
	await page.setViewportSize({ width, height: Math.max(height, 900) })
}

// join signs the owner in, as the link of a demo does when it is opened.
async function join(page, link = server.link) {
	await page.goto(link)
	await page.getByRole('heading', { level: 1, name: 'Flags' }).waitFor()
}

// addUser makes an account without a password, as an administrator of the organization.
async function addUser(email) {
	const answer = await fetch(`${server.url}/api/organizations/@current/members/`, {
		method: 'POST', headers: { authorization: `Bearer ${api.personalKey}`, 'content-type': 'application/json' }, body: JSON.stringify({ email, first_name: email.split('@')[0], level: 8 }),
	})
	if (!answer.ok) throw new Error(`adding ${email} answered ${answer.status}: ${await answer.text()}`)
}
