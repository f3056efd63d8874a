// Works with the console in a browser: node suite.js SERVER [PART…], where SERVER is the
// program of the server. See README.md.
import fs from 'node:fs/promises'
import path from 'node:path'
import { Api } from '../sdk/js/lib/api.js'
import { Checks } from '../sdk/js/lib/checks.js'
import { Browser, debug, findings, Site, walk, ways } from './lib/browser.js'
import { jumps, Looks, mistakes, most, sizes, still, style, tall } from './lib/looks.js'
import { shrink } from './lib/png.js'
import { Server } from './lib/server.js'
import { losses } from './losses.js'
import { looks, member, pictures, states, visitor } from './screens.js'
import { Task, tasks } from './tasks.js'

const [program, ...given] = process.argv.slice(2)
const parts = ['screens', 'looks', ...Object.keys(ways), 'losses', 'pictures']
const screens = [...visitor, ...member].map(([name]) => name)
const accept = given.includes('looks') && given.includes('accept')
for (const name of given) {
	if (!parts.includes(name) && !screens.includes(name) && !(accept && name === 'accept')) {
		console.error(`there is no part ${name}; there are ${parts.join(', ')}, looks accept, and the screens ${screens.join(', ')}`)
		process.exit(2)
	}
}
const chosenScreens = given.filter((name) => screens.includes(name))
const chosen = given.filter((name) => parts.includes(name))
if (chosenScreens.length > 0 && !chosen.includes('looks')) chosen.push('screens')
const folder = process.env.FLAGSTAFF_SCREENSHOTS

// together is how many screens have their pictures taken at the same time.
const together = 3

// limit is the time limit of all parts, in milliseconds.
const limit = 900_000
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
			checks.equal(`${name} ${width}`, 'nothing is wider than the page', await wider(page), [])
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
	await Promise.all([seen, part('looks', compare), part('losses', lose), ...Object.keys(ways).map((way) => part(way, async (checks) => {
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

// compare compares the looks of all screens with the pictures of the repository. One person opens
// them in the same order each time, and nobody else works with the server.
async function compare(checks) {
	const other = await Server.start(program)
	const looks = new Looks(new URL('looks', import.meta.url).pathname, accept)
	await looks.know(browser.chromium.version())
	try {
		const api = new Api({ url: other.url, projectKey: 'phc_demo', personalKey: 'phx_demo' })
		const here = { ...suite, server: other, url: other.url, api, project: (await api.get('/')).id }
		const busy = new Set()
		const go = async (screens, person) => {
			for (const [name, open] of screens) {
				await checks.step(name, 'is shown', async () => {
					const page = await browser.tab(person.context)
					await page.setViewportSize({ width: sizes[0], height: 900 })
					await open(new Task(here, { ...person, page, hand: new person.hand.constructor(page) }, checks))
					const picture = chosenScreens.length > 0 && !chosenScreens.includes(name) ? page.close() : checks.step(name, 'has its picture', () => take(checks, looks, page, name))
					busy.add(picture)
					picture.then(() => busy.delete(picture))
					if (busy.size === together) await Promise.race(busy)
				})
			}
			await Promise.all(busy)
			await person.context.close()
		}
		await go(visitor, await browser.person('mouse', { url: other.url }))
		const owner = await browser.person('mouse', { url: other.url })
		await join(owner.page, other.link)
		await go(member, owner)
	} finally {
		await other.stop()
	}
	if (chosenScreens.length === 0) checks.equal('L98', 'every picture has its screen', await looks.spare(), [])
	const bytes = await looks.bytes()
	checks.ok('L97', `the pictures have ${bytes} bytes, of at most ${most}`, bytes <= most)
	if (looks.faults.length > 0) checks.ok('L99', `what has changed is in ${await looks.report()}; examples/console/run looks accept takes it over`, !looks.binding)
}

// take compares a screen in all sizes. One session sets the size and takes the picture, because one
// that has not set it gets pictures of the size that the window has.
async function take(checks, looks, page, name) {
	const moved = await page.evaluate(jumps)
	checks.ok(name, 'nothing jumps while the page is loaded', moved < 0.05, moved)
	await page.evaluate(still)
	await debug(page, async (session) => {
		const resize = async (width) => {
			for (let height = 900, last = 0; last !== height;) {
				await session.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
				last = height
				height = await page.evaluate(tall, { width, height })
			}
		}
		const capture = async () => Buffer.from((await session.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true })).data, 'base64')
		for (const width of sizes) {
			await resize(width)
			checks.equal(`${name} ${width}`, 'nothing is wider than the page', await wider(page), [])
			for (const scheme of width === 1440 ? ['light', 'dark'] : ['light']) {
				await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
				const { same, share } = await looks.see([name, width, ...(scheme === 'dark' ? [scheme] : [])].join('-'), await capture())
				checks.ok(`${name} ${width} ${scheme}`, 'looks as before', accept || same || !looks.binding, `${share} of the picture differs`)
			}
		}
		for (const [what, rules] of name === 'flags' ? Object.entries(mistakes) : []) {
			await resize(1440)
			await page.evaluate(style, rules)
			const { same, share } = await looks.compare('flags-1440', await capture())
			checks.ok(`${name} mistake`, `${what} is ${rules ? '' : 'not '}noticed`, same === !rules, share)
		}
	})
	await page.close({ runBeforeUnload: false })
}

// wider returns what is wider than the page.
function wider(page) {
	return page.evaluate(() => (document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 120)).slice(0, 4)))
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
