// The tasks: what people come to the console for. Each runs in every way of working, for
// a user of its own, and says what it has seen.
import { createHmac } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import { poll } from '../sdk/js/lib/checks.js'
import { darkly } from './screens.js'

export const password = 'correct horse battery staple'

// A Task is one person at work. Steps name what they act on as users see it.
export class Task {
	constructor(suite, person, checks) {
		Object.assign(this, suite, person, { suite, checks })
		this.address = `${person.way}@example.com`
		this.main = this.page.locator('main')
	}

	// key names a thing so that no other way of working meets it.
	key(name) {
		return `${name}-${this.way}`
	}

	button(name, within = this.main) {
		return within.getByRole('button', { name, exact: true })
	}

	link(name, within = this.main) {
		return within.getByRole('link', { name, exact: true }).first()
	}

	field(name, within = this.main) {
		return within.getByLabel(name, { exact: true })
	}

	group(name, within = this.main) {
		return within.getByRole('group', { name, exact: true })
	}

	// screen follows the menu.
	async screen(name) {
		await this.hand.press(this.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }))
		await this.title(name)
	}

	// title waits for the heading of a page.
	title(name) {
		return this.page.getByRole('heading', { level: 1, name }).waitFor()
	}

	// sees checks that a text is on the page, or comes.
	async sees(id, text, what) {
		const locator = typeof what === 'string' || what instanceof RegExp ? this.main.getByText(what).first() : what
		const found = await locator.waitFor().then(() => true, () => false)
		this.checks.ok(id, text, found, found ? undefined : (await this.main.innerText().catch(() => '')).replace(/\s+/g, ' ').slice(0, 600))
	}

	// leaves does what leads to another page, which may look the same, and waits for that.
	async leaves(work) {
		const old = await this.main.elementHandle()
		await work()
		const left = await poll(() => old.evaluate((main) => !main.isConnected).catch(() => true))
		if (!left) throw new Error(`the page stays: ${this.page.url()}`)
		await this.main.waitFor()
	}

	// open goes to a page of the project by its address, as from a bookmark.
	open(path) {
		return this.page.goto(`/console/projects/${this.project}${path}`)
	}

	// flag returns a flag as the API has it.
	flag(key) {
		return this.api.get(`/feature_flags/${key}/`)
	}
}

// code is what an authenticator shows, some steps of 30 s from now.
export function code(secret, steps = 0) {
	const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
	let bits = ''
	for (const sign of secret.replaceAll('=', '')) bits += alphabet.indexOf(sign).toString(2).padStart(5, '0')
	const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
	const counter = Buffer.alloc(8)
	counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
	const sum = createHmac('sha1', key).update(counter).digest()
	const at = sum.at(-1) & 15
	return String((sum.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

async function signIn(t) {
	const { page, hand } = t
	await page.goto('/console/')
	await t.title('Sign in')
	t.checks.ok('S01', 'whoever is not signed in comes to the form', new URL(page.url()).pathname === '/console/signin', page.url())

	await hand.press(t.link('Forgotten password'))
	await hand.write(t.field('E-mail address'), t.address)
	await hand.press(t.button('Send me a link'))
	await t.sees('S02', 'a forgotten password is asked for', 'If there is an account')
	const link = await poll(() => t.server.letter('password_reset', t.address))
	t.checks.ok('S03', 'the mail has a link', !!link)
	await page.goto(link)
	await hand.write(t.field('New password'), 'short')
	await hand.press(t.button('Save'))
	await t.sees('S04', 'a short password is refused beside its field', t.main.locator('#password-error'))
	await hand.write(t.field('New password'), password)
	await hand.press(t.button('Save'))
	await t.sees('S05', 'another password is chosen', 'The password is changed.')
	await page.goto(link)
	await t.sees('S06', 'the link is good once', 'The link is not valid any more')

	await page.goto('/console/signin')
	await hand.write(t.field('E-mail address'), t.address)
	await hand.write(t.field('Password'), 'wrong')
	await hand.press(t.button('Sign in'))
	await t.sees('S07', 'a wrong password is refused', t.main.getByRole('alert'))
	t.checks.equal('S08', 'the address stays, the password does not', [await t.field('E-mail address').inputValue(), await t.field('Password').inputValue()], [t.address, ''])
	await hand.write(t.field('Password'), password)
	await hand.press(t.button('Sign in'))
	await t.title('Flags')
	t.checks.ok('S09', 'the right one opens the flags', /\/projects\/\d+\/flags$/.test(page.url()), page.url())
}

async function tour(t) {
	const { hand } = t
	const key = t.key('toured')
	const panel = t.main.getByRole('region', { name: 'Tour' })
	const step = (id, text, n) => t.sees(id, text, panel.getByText(`step ${n} of 4`))
	const height = async () => Math.round((await panel.boundingBox()).height)
	await step('T01', 'who has made no flag has a tour', 1)
	t.checks.ok('T02', 'which leaves room for the flags', (await height()) <= 120, await height())
	await hand.press(panel.locator('summary'))
	t.checks.ok('T03', 'and folds to one line', (await height()) <= 36, await height())
	await hand.press(panel.locator('summary'))
	await hand.press(t.link('Make a flag', panel))
	await t.title('New flag')
	await hand.write(t.main.locator('#key'), key)
	await hand.press(t.button('Create flag'))
	await step('T04', 'a flag that is made is a step', 2)
	await hand.press(t.link('See who gets it', panel))
	await t.title('Explain')
	t.checks.equal('T05', 'the tour leads to the flag', await t.field('Flag').inputValue(), key)
	await t.screen('Flags')
	await step('T06', 'so is to see who gets it', 3)
	await hand.press(t.link('Ask for it from code', panel))
	await t.title(key)
	await hand.press(t.button('Switch on'))
	await t.sees('T07', 'a switch on asks first', /Of the \d+ persons/)
	await hand.press(t.button('Switch on'))
	await t.title(key)
	const lines = await t.main.locator('#code pre').last().innerText()
	const [, url, body] = /^curl '([^']+)'[^]* -d '([^']+)'$/.exec(lines) ?? []
	const ask = async () => (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
	t.checks.equal('T08', 'the lines for curl ask for the flag', Object.entries((await poll(ask, ({ flags }) => flags[key])).flags).map(([k, f]) => [k, f.enabled]), [[key, true]])
	await poll(async () => { // the server knows of requests by the second
		await ask()
		await t.page.reload()
		return panel.getByText('step 4 of 4').isVisible()
	})
	await step('T09', 'a request that has come is a step', 4)
	await hand.press(t.button('Switch off'))
	await t.sees('T10', 'a switch off asks first', /Of the \d+ persons/)
	await hand.press(t.button('Switch off'))
	await t.sees('T11', 'then all steps are done', panel.getByText('all steps are done'))
	await t.screen('Flags')
	t.checks.equal('T12', 'and the tour does not come again', await panel.count(), 0)
}

async function makeFlag(t) {
	const { hand } = t
	const key = t.key('made')
	await t.screen('Flags')
	await hand.press(t.link('New flag'))
	await t.title('New flag')
	await hand.write(t.field('Key', t.main.locator('#form')), 'no blanks')
	await hand.press(t.button('Review changes'))
	await t.sees('F01', 'a wrong key is refused beside its field', t.main.locator('#key-error'))
	t.checks.equal('F02', 'what was typed stays', await t.main.locator('#key').inputValue(), 'no blanks')
	await hand.write(t.main.locator('#key'), key)
	await hand.write(t.main.locator('#name'), 'Made by hand')

	const first = t.group('Condition set 1')
	await hand.press(t.button('property', first))
	const filter = t.group('Filter', first)
	await hand.write(t.field('Property', filter), 'plan')
	await hand.choose(t.field('Comparison', filter), 'is not')
	await hand.write(t.field('Value', filter).first(), 'free')
	await hand.press(t.button('Add condition set'))
	const second = t.group('Condition set 2')
	await hand.write(t.field('Rollout percentage', second), '25')
	await hand.press(t.button('Add variants'))
	await hand.choose(t.field('Variant override', first), 'test')
	await hand.press(t.button('Review changes'))
	await t.title('Review changes')
	await t.sees('F03', 'the page says who gets it', /the \d+ persons who were seen last/)
	await hand.press(t.button('Create flag'))
	await t.sees('F04', 'the flag is made', 'The flag was created.')
	const { name, filters } = await t.flag(key)
	t.checks.equal('F05', 'with two conditions and variants', [name, filters.groups.map((g) => [g.properties.map((p) => [p.key, p.operator, p.value]), g.rollout_percentage ?? 100, g.variant ?? null]), filters.multivariate.variants.map((v) => [v.key, v.rollout_percentage])], [
		'Made by hand', [[[['plan', 'is_not', 'free']], 100, 'test'], [[], 25, null]], [['control', 50], ['test', 50]],
	])
}

async function makeRules(t) {
	const { hand } = t
	const key = t.key('typed')
	const rule = (n) => t.group(`Rule ${n}`)
	const value = (n) => t.main.locator(`[id="r${n - 1}.value"]`)
	await t.screen('Flags')
	await hand.press(t.link('New flag'))
	await t.title('New flag')
	await hand.write(t.main.locator('#key'), key)
	await hand.choose(t.main.locator('#type'), 'Text')
	if (!t.script) await hand.press(t.button('Update the form'))
	await hand.write(t.field('Default value'), 'Your order')
	await hand.press(t.button('Add rule'))
	await hand.press(t.button('property', rule(1)))
	await hand.write(t.field('Property', rule(1)), 'plan')
	await hand.write(t.field('Value', t.group('Filter', rule(1))).first(), 'team')
	await hand.write(value(1), 'Ready for your team')
	await hand.press(t.button('Create flag'))
	await t.sees('R01', 'a flag whose value is a text is made', 'The flag was created.')
	await t.sees('R02', 'its page says who gets what', 'everyone where plan is team: Ready for your team')
	await hand.press(t.button('Switch on'))
	await t.sees('R03', 'a switch on asks first', /Of the \d+ persons .* gain it/)
	await hand.press(t.button('Switch on'))
	await t.sees('R04', 'then it is on', 'The flag is on.')

	await hand.press(t.link('Edit'))
	await t.title(`Edit ${key}`)
	await hand.press(t.button('Add rule'))
	await hand.choose(t.field('What it does', rule(2)), 'release to a percentage')
	if (!t.script) await hand.press(t.button('Update the form'))
	await hand.write(value(2), 'Almost there')
	await hand.write(t.field('Percentage', rule(2)), '50')
	await hand.press(t.button('Move rule 2 up'))
	await t.sees('R05', 'a rule is moved', rule(1).getByText('50% of everyone: Almost there'))
	if (t.script) await t.sees('R06', 'the page says whose value changes by that', t.page.locator('#effect').getByText(/Of the \d+ persons .* get another value/))
	await hand.press(t.button('Save'))
	await t.title('Review changes')
	await t.sees('R07', 'so it does before saving', /Of the \d+ persons .* get another value/)
	await hand.press(t.button('Save'))
	await t.title(key)
	await t.sees('R08', 'the page says who gets what now', '50% of everyone: Almost there')
	const { filters } = await t.flag(key)
	t.checks.equal('R09', 'the rules are as they were written', [filters.return_type, filters.default_value, filters.rules.map((r) => [r.rule_type, r.value, r.rollout_percentage ?? null])], [
		'string', 'Your order', [['percentage_rollout', 'Almost there', 50], ['targeted_release', 'Ready for your team', null]],
	])
	t.checks.ok('R10', 'no page shows a seed', !(await t.page.content()).includes('seed'))
}

async function preview(t) {
	const { hand } = t
	const key = t.key('preview')
	await t.api.post('/feature_flags/', { key, active: true, filters: { groups: [{ properties: [], rollout_percentage: 10 }] } })
	await t.screen('Flags')
	await hand.write(t.main.getByRole('searchbox'), key)
	if (!t.script) await hand.press(t.button('Apply'))
	await t.main.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
	await hand.press(t.link(key))
	await t.title(key)
	await t.sees('P06', 'the page of the flag says in words who gets it', '10% of everyone')
	await hand.press(t.link('Edit'))
	await t.title(`Edit ${key}`)
	await hand.write(t.field('Rollout percentage', t.group('Condition set 1')), '60')
	if (t.script) await t.sees('P01', 'the page says who changes while one edits', t.page.locator('#effect').getByText(/Of the \d+ persons .* gain it/))
	await hand.press(t.button('Review changes'))
	await t.title('Review changes')
	const lead = await t.main.locator('.lead').innerText()
	const { changed } = await t.api.post('/feature_flags/preview/', { id: (await t.flag(key)).id, filters: { groups: [{ properties: [], rollout_percentage: 60 }] } })
	t.checks.ok('P02', `${changed} persons gain it, as the API says`, lead.includes(`${changed} gain it`), lead)
	await hand.press(t.button('Continue editing'))
	t.checks.equal('P03', 'back in the form, nothing is lost', await t.field('Rollout percentage', t.group('Condition set 1')).inputValue(), '60')
	await hand.press(t.button('Review changes'))
	await t.title('Review changes')
	await hand.press(t.button('Save'))
	await t.sees('P04', 'the change is saved', 'Saved.')
	await t.sees('P07', 'and the page says what it is now', '60% of everyone')
	t.checks.equal('P05', 'as it was shown', (await t.flag(key)).filters.groups[0].rollout_percentage, 60)
}

async function conflict(t) {
	const { hand } = t
	const key = t.key('conflict')
	const share = (n) => ({ filters: { groups: [{ properties: [], rollout_percentage: n }] } })
	const { id } = await t.api.post('/feature_flags/', { key, active: true, ...share(10) })
	await t.open(`/flags/${id}/edit`)
	await hand.write(t.field('Rollout percentage', t.group('Condition set 1')), '70')
	await t.api.patch(`/feature_flags/${id}/`, share(20))
	await hand.press(t.button('Review changes'))
	await t.title('Somebody else changed this flag')
	await t.sees('C01', 'what they changed is there', t.main.locator('section', { hasText: 'Their changes' }).getByText('20%', { exact: true }))
	await t.sees('C02', 'and what saving would change', t.main.locator('section', { hasText: 'Your changes' }).locator('ins').getByText('70%', { exact: true }))
	t.checks.equal('C03', 'nothing is overwritten', (await t.flag(key)).filters.groups[0].rollout_percentage, 20)
	await hand.press(t.button('Continue editing'))
	await t.title(key)
	t.checks.equal('C04', 'what was typed is still there', await t.field('Rollout percentage', t.group('Condition set 1')).inputValue(), '70')
	await hand.press(t.button('Review changes'))
	await t.title('Review changes')
	await t.api.patch(`/feature_flags/${id}/`, share(30))
	await hand.press(t.button('Save'))
	await t.title('Somebody else changed this flag')
	await hand.press(t.button('Overwrite with mine'))
	await t.sees('C05', 'whoever chooses that saves over theirs', 'Saved.')
	t.checks.equal('C06', 'and it is saved', (await t.flag(key)).filters.groups[0].rollout_percentage, 70)

	await t.open(`/flags/${id}/edit`)
	await hand.write(t.field('Rollout percentage', t.group('Condition set 1')), '75')
	await hand.write(t.main.locator('#name'), 'Mine')
	await t.api.patch(`/feature_flags/${id}/`, { ...share(35), tags: ['theirs'] })
	await hand.press(t.button('Review changes'))
	await t.title('Somebody else changed this flag')
	await hand.check(t.main.getByRole('radio', { name: /^Theirs/ }))
	await hand.press(t.button('Continue with these values'))
	await t.title(`Edit ${key}`)
	t.checks.equal('C07', 'the form has what was chosen of each field', [await t.field('Rollout percentage', t.group('Condition set 1')).inputValue(), await t.main.locator('#name').inputValue(), await t.main.locator('#tags').inputValue()], ['35', 'Mine', 'theirs'])
	await hand.press(t.button('Save'))
	await t.sees('C08', 'and it is saved', 'Saved.')
	const { name, version, filters } = await t.flag(key)
	t.checks.equal('C09', 'as it was chosen', [name, filters.groups[0].rollout_percentage], ['Mine', 35])

	await hand.press(t.link('History'))
	await t.title(`History of ${key}`)
	await hand.press(t.button('Compare the chosen versions'))
	await t.sees('C10', 'two versions stand side by side', t.main.locator('tr', { hasText: 'description' }).getByText('Mine'))
	const chosen = new URL(t.page.url()).searchParams
	t.checks.equal('C11', 'of the two newest ones', [chosen.get('from'), chosen.get('to')], [String(version - 1), String(version)])
}

async function switchFlag(t) {
	const { hand } = t
	const key = t.key('switched')
	const { id } = await t.api.post('/feature_flags/', { key, active: true, filters: { groups: [{ properties: [], rollout_percentage: 100 }] } })
	await t.screen('Flags')
	await hand.press(t.button(`Switch ${key} off`))
	await t.sees('W01', 'a switch that reaches everybody asks', /Of the \d+ persons/)
	await hand.press(t.link('Cancel'))
	await t.title('Flags')
	t.checks.equal('W02', 'cancelled, it stays on', (await t.flag(key)).active, true)
	await hand.press(t.button(`Switch ${key} off`))
	await t.sees('W03', 'it asks again', /Of the \d+ persons/)
	await hand.press(t.button('Switch off'))
	await t.sees('W04', 'confirmed, it is off', 'The flag is off.')
	await hand.press(t.button('Undo'))
	await t.sees('W10', 'the change is undone with one button', 'It is as it was before.')
	t.checks.equal('W11', 'and it is on again', (await t.flag(key)).active, true)
	await t.leaves(() => hand.press(t.button('Undo')))
	await t.sees('W12', 'which is undone as well', 'It is as it was before.')
	t.checks.equal('W05', 'and off for programs', (await t.flag(key)).active, false)

	await t.open(`/flags/${id}/history`)
	await hand.press(t.button('Go back to this version').first())
	await t.sees('W13', 'it says first who changes', /Of the \d+ persons/)
	await hand.press(t.button('Go back'))
	await t.sees('W06', 'its history leads back', 'The earlier version is back.')
	t.checks.equal('W07', 'and it is on', (await t.flag(key)).active, true)
	await t.screen('Audit log')
	await t.sees('W08', 'the activity has it', t.main.locator('.log').getByText(key).first())
}

async function keepTyped(t) {
	const { hand, page } = t
	const { id } = await t.api.post('/feature_flags/', { key: t.key('kept'), active: false, filters: { groups: [{ properties: [], rollout_percentage: 10 }] } })
	await t.open(`/flags/${id}/edit`)
	await hand.write(t.main.locator('#name'), 'Typed before')
	await page.request.post('/console/signout', { maxRedirects: 0 }) // as another tab does
	await hand.press(t.button('Add condition set'))
	const signIn = async (on) => {
		await on.getByLabel('E-mail address').fill(t.address)
		await on.getByLabel('Password').fill(password)
		await on.getByRole('button', { name: 'Sign in' }).click()
		await on.getByRole('heading', { name: 'You are signed in' }).waitFor()
	}
	if (t.script) {
		const held = page.locator('#held[open]')
		await t.sees('K01', 'a form stays when the session has ended', held.getByText('You are signed out'))
		const [tab] = await Promise.all([t.context.waitForEvent('page'), hand.press(held.getByRole('link', { name: 'Sign in' }))])
		await signIn(tab)
		await tab.close()
		await page.bringToFront()
		if (await held.isVisible()) await hand.press(t.button('Try again', held)).catch(() => {}) // it closes by itself where the tab tells
		if (!(await t.group('Condition set 2').waitFor({ timeout: 2000 }).then(() => true, () => false))) await hand.press(t.button('Add condition set'))
	} else {
		await t.sees('K01', 'a form is kept when the session has ended', 'What you have sent is kept')
		await signIn(page)
		await hand.press(t.button('Send it now'))
	}
	await t.sees('K02', 'and does what it was for afterwards', t.group('Condition set 2'))
	t.checks.equal('K03', 'with what was typed', await t.main.locator('#name').inputValue(), 'Typed before')
	await hand.press(t.button('Save'))
	await t.sees('K04', 'which is saved', 'Saved.')
	t.checks.equal('K05', 'as it was typed', (await t.flag(t.key('kept'))).name, 'Typed before')
}

async function why(t) {
	const { hand } = t
	const who = 'user-007'
	const { flags } = await t.api.flags({ distinct_id: who, flag_keys: ['new-dashboard', 'checkout-button'] })
	const value = (key) => (flags[key].variant ?? (flags[key].enabled ? 'on' : 'off'))
	await t.screen('Explain')
	await hand.write(t.field('Person'), who)
	await hand.press(t.button('Explain'))
	const row = t.main.locator('tbody tr', { has: t.link('checkout-button', t.page) })
	await t.sees('Y01', 'all flags of a person are listed', row)
	t.checks.ok('Y02', 'with the values that programs get', (await row.innerText()).includes(value('checkout-button')), await row.innerText())
	await hand.press(t.link('new-dashboard'))
	await t.main.locator('.trace').waitFor()
	const trace = await t.main.locator('.trace h2').innerText()
	t.checks.ok('Y03', 'one flag has its value', trace.includes(value('new-dashboard')), trace)
	await t.sees('Y04', 'and its steps: what was asked for', t.main.getByRole('region', { name: 'Filters of condition set 1' }).getByText('plan'))
	t.checks.ok('Y05', 'a link to it can be sent', new URL(t.page.url()).searchParams.get('person') === who, t.page.url())
	await hand.write(t.field('Person'), 'user-00')
	await hand.press(t.button('Explain'))
	await t.sees('Y06', 'somebody unknown is said to be unknown', 'No person with the distinct ID, address or name user-00 is known.')
	t.checks.equal('Y07', 'and has no flags', await t.main.locator('.trace, tbody').count(), 0)
}

// several changes two flags at once, and takes that back.
async function several(t) {
	const { hand } = t
	const keys = [t.key('several-a'), t.key('several-b')]
	for (const key of keys) await t.api.post('/feature_flags/', { key, filters: { groups: [{ properties: [], rollout_percentage: 100 }] } })
	const tags = async () => Promise.all(keys.map(async (key) => (await t.flag(key)).tags.join()))
	await t.open(`/flags?q=several-`)
	t.checks.ok('G01', 'nothing is offered before a flag is selected', !(await t.button('Add tag').isVisible()))
	for (const key of keys) await hand.check(t.field(`Select ${key}`))
	await hand.write(t.field('Tag to add or remove'), 'together')
	await hand.press(t.button('Add tag'))
	await t.title('Add the tag to 2 flags?')
	t.checks.equal('G02', 'nothing is changed before it is confirmed', await tags(), ['', ''])
	await hand.press(t.button('Add tag'))
	await t.sees('G03', 'a notice says what was done', 'The flags were changed.')
	t.checks.equal('G04', 'both flags have the tag', await tags(), ['together', 'together'])
	await hand.press(t.button('Undo'))
	await t.sees('G05', 'Undo takes it back', 'It is as it was before.')
	t.checks.equal('G06', 'of both', await tags(), ['', ''])
}

// shortcuts leads from page to page by keys, or, without a script, by the link that a key stands for.
async function shortcuts(t) {
	const { page, hand } = t
	await t.open('/cohorts')
	if (!t.script) {
		await hand.press(page.getByRole('link', { name: 'Find' }))
		await t.title('Find')
		await hand.write(t.main.getByRole('searchbox'), 'checkout-b')
		await hand.press(t.button('Find'))
		await t.sees('L01', 'a flag is found from any page', t.main.getByRole('link', { name: /^checkout-button/ }))
		return
	}
	const keys = (...names) => names.reduce((before, name) => before.then(() => page.keyboard.press(name)), Promise.resolve())
	await keys('ControlOrMeta+k')
	await page.keyboard.type('checkout-b')
	await page.getByRole('dialog').getByRole('link', { name: /^checkout-button/ }).waitFor()
	await keys('Enter')
	await t.title('checkout-button')
	await keys('e')
	await t.main.locator('#form').waitFor()
	t.checks.ok('L01', 'e edits', page.url().endsWith('/edit#targeting'), page.url())
	await hand.write(t.main.locator('#name'), 'Typed')
	let asked
	page.once('dialog', (dialog) => {
		asked = dialog.type()
		dialog.dismiss()
	})
	await keys('Escape', 'Escape')
	await poll(() => asked)
	t.checks.equal('L02', 'Escape asks before what was typed is lost', asked, 'beforeunload')
	t.checks.equal('L03', 'and nothing of it is', await t.main.locator('#name').inputValue(), 'Typed')
	page.once('dialog', (dialog) => dialog.accept())
	await keys('Escape')
	await t.title('checkout-button')
	t.checks.ok('L04', 'Escape leaves for the page above', /\/flags\/[^/]+$/.test(page.url()), page.url())
	await keys('g', 'c')
	await t.title('Cohorts')
	await keys('?')
	await t.sees('L05', 'the keys are listed', page.getByRole('dialog').getByText('Go to Cohorts'))
	await keys('Escape')
}

async function signOut(t) {
	await t.hand.press(t.page.getByRole('button', { name: 'Sign out', exact: true }))
	await t.title('Sign in')
	await t.page.goto(`/console/projects/${t.project}/flags`)
	await t.title('Sign in')
	t.checks.ok('Z02', 'signed out, nothing opens', new URL(t.page.url()).searchParams.get('next') === `/projects/${t.project}/flags`, t.page.url())
}

async function bringIn(t) {
	const { hand } = t
	const key = t.key('brought')
	const file = path.join(t.server.folder, `${t.way}.json`)
	await fs.writeFile(file, JSON.stringify({ flags: [{ id: 1, key, active: true, filters: { groups: [{ rollout_percentage: 40 }] } }] }))
	await t.screen('Flags')
	await hand.press(t.link('Import and export'))
	await t.title('Import and export')
	await hand.attach(t.field('File'), file)
	await hand.press(t.button('Preview import'))
	await t.title('Import preview')
	await t.sees('I01', 'first it says what it would do', /1 flag would be imported/)
	t.checks.equal('I02', 'and stores nothing', await t.flag(key).then(() => 'there', (error) => error.status), 404)
	await hand.press(t.button(/^Import /))
	await t.sees('I03', 'then it does it', /1 flag imported/)
	t.checks.equal('I04', 'and the flag is there', (await t.flag(key)).filters.groups[0].rollout_percentage, 40)
	await hand.press(t.button('Undo'))
	await t.sees('I05', 'the import is undone with one button', 'It is as it was before.')
	t.checks.equal('I06', 'and the flag is gone', await t.flag(key).then(() => 'there', (error) => error.status), 404)
}

async function bringFromElsewhere(t) {
	const { hand } = t
	const exact = t.key('exact'), inexact = t.key('inexact')
	await t.open('/import')
	await hand.choose(t.field('From'), 'LaunchDarkly')
	await hand.write(t.field('Or paste it'), darkly(exact, inexact))
	await hand.press(t.button('Preview import'))
	await t.title('Import preview')
	await t.sees('I11', 'flags of another product are previewed', /1 flag would be created, 1 flag left out/)
	await hand.check(t.field(`Take ${inexact} all the same`))
	await hand.press(t.button('Import 1 flag'))
	await t.sees('I12', 'what was chosen is shown before it is imported', /2 flags would be created/)
	await hand.press(t.button('Import 2 flags'))
	await t.sees('I13', 'then it is imported', /2 flags created/)
	t.checks.ok('I14', 'what is not exact says so', (await t.flag(inexact)).name.includes('Not imported exactly'))
	await hand.press(t.button('Undo'))
	await t.sees('I15', 'the import is undone with one button', 'It is as it was before.')
	t.checks.equal('I16', 'and the flags are gone', await t.flag(exact).then(() => 'there', (error) => error.status), 404)
}

async function uploadCohort(t) {
	const { hand } = t
	const name = t.key('Readers')
	const file = path.join(t.server.folder, `${t.way}.csv`)
	await fs.writeFile(file, `distinct_id\nuser-001\nuser-002\nuser-003\nnobody-${t.way}\n`)
	await t.screen('Cohorts')
	await hand.press(t.link('New cohort'))
	await t.title('New cohort')
	await hand.write(t.field('Name'), name)
	await hand.check(t.field(/^Static: /))
	await hand.press(t.button('Create cohort'))
	await t.title(name)
	await hand.attach(t.field('Or a file'), file)
	await hand.press(t.button('Add them'))
	await t.sees('H01', 'those who are known are in it', t.main.getByText('user-002').first())
	await t.sees('H02', 'what was not found is said', '1 of the distinct IDs was not found')
	const cohort = (await t.api.get('/cohorts/?limit=1000')).results.find((c) => c.name === name)
	const persons = (await t.api.get(`/cohorts/${cohort.id}/persons/`)).results
	t.checks.ok('H03', 'the API has them', [1, 2, 3].every((n) => persons.some((p) => p.distinct_ids.includes(`user-00${n}`))), persons.map((p) => p.distinct_ids))
	await t.api.post('/feature_flags/', { key: t.key('reads'), active: true, filters: { groups: [{ properties: [{ key: 'id', type: 'cohort', operator: 'in', value: cohort.id }], rollout_percentage: 100 }] } })
	await t.open(`/cohorts/${cohort.id}`)
	await t.sees('H04', 'it cannot be deleted while a flag uses it', 'It cannot be deleted while this uses it')
	const members = async () => (await t.api.get(`/cohorts/${cohort.id}/`)).count
	await hand.write(t.field('Or many, by their distinct IDs'), 'user-004')
	await hand.press(t.button('Add them'))
	await t.title('Review changes')
	t.checks.equal('H05', 'a list for it shows first who changes, and stores nothing', await members(), 4)
	await hand.press(t.button('Add them'))
	await t.sees('H06', 'then it does it', 'The persons of the list are in the cohort.')
	t.checks.equal('H07', 'and the person is in it', await members(), 5)
	await hand.press(t.button('Undo'))
	await t.sees('H08', 'the list is undone with one button', 'It is as it was before.')
	t.checks.equal('H09', 'and the person is not in it', await members(), 4)
}

async function deletePerson(t) {
	const { hand } = t
	const who = t.key('gone')
	await t.api.capture({ event: 'came by', distinct_id: who, properties: { $set: { email: `${who}@example.net` } } })
	await poll(() => t.api.person(who))
	await t.screen('Persons')
	await hand.write(t.main.getByRole('searchbox'), who)
	await hand.press(t.button('Search'))
	const row = t.main.locator('tbody').getByRole('link').first()
	await row.getByText(who).waitFor()
	await hand.press(row)
	await t.sees('D01', 'a person has properties and events', t.main.getByText('came by').first())
	await hand.press(t.main.locator('summary', { hasText: 'Delete the person' }))
	await hand.write(t.main.locator('#typed'), 'somebody else')
	await hand.press(t.button('Delete'))
	await t.sees('D02', 'another name does not delete it', t.main.locator('#typed-error'))
	t.checks.ok('D03', 'and the person is still there', !!(await t.api.person(who)))
	await hand.check(t.field('Delete all events of the person as well'))
	await hand.write(t.main.locator('#typed'), await t.main.locator('label[for="typed"] code').innerText())
	await hand.press(t.button('Delete'))
	await t.title('Persons')
	t.checks.equal('D04', 'confirmed, the person is gone', await poll(() => t.api.person(who), (person) => !person), undefined)
}

async function survey(t) {
	const { hand } = t
	const name = t.key('Docs')
	await t.screen('Surveys')
	await hand.press(t.link('New survey'))
	await t.title('New survey')
	await hand.write(t.field('Name'), name)
	await hand.write(t.field('Question', t.group('Question 2')), 'What is missing?')
	await hand.press(t.button('Save and launch'))
	await t.sees('U01', 'the survey runs', 'The survey runs.')
	const { results } = await t.api.get('/surveys/?limit=1000')
	const made = results.find((s) => s.name === name)
	const answered = await answer(t, made, 'More examples')
	t.checks.equal('U02', 'posthog-js shows it to programs', answered, 'What is missing?')
	await poll(() => t.api.get(`/surveys/${made.id}/responses/`), (page) => page.results?.length > 0)
	await t.open(`/surveys/${made.id}/results`)
	await t.sees('U03', 'the chart has the response', t.main.getByText('Responses over time').first())
	await t.sees('U04', 'and the answer', 'More examples')
}

// answer answers a survey on a page of another origin, through posthog-js.
async function answer(t, survey, text) {
	const { context, page } = await t.browser.person('mouse')
	await page.goto(t.site.url)
	await page.waitForFunction(() => window.posthog)
	const seen = await page.evaluate(async ([token, host, id, text]) => {
		const { posthog } = window
		posthog.init(token, { api_host: host, opt_out_useragent_filter: true, request_batching: false, autocapture: false, disable_session_recording: true, disable_surveys: false, advanced_disable_toolbar_metrics: true })
		const list = await new Promise((done) => posthog.getSurveys(done, true))
		const found = list.find((s) => s.id === id)
		const open = found.questions.find((q) => q.type === 'open')
		posthog.capture('survey shown', { $survey_id: id })
		posthog.capture('survey sent', { $survey_id: id, $survey_completed: true, [`$survey_response_${open.id}`]: text })
		return open.question
	}, [t.api.projectKey, t.url, survey.id, text])
	await poll(() => t.api.get(`/surveys/${survey.id}/responses/`), (list) => list.results?.length > 0)
	await context.close()
	return seen
}

async function enrol(t) {
	const { hand } = t
	const name = t.key('Beta')
	const who = 'user-011'
	await t.screen('Early access')
	await hand.press(t.link('New feature'))
	await t.title('New feature')
	await hand.write(t.field('Name'), name)
	await hand.choose(t.field('Stage'), 'Beta')
	await hand.press(t.button('Create feature'))
	await t.title(name)
	const key = await t.main.locator('.facts code').first().innerText()
	const on = async () => (await t.api.flags({ distinct_id: who, flag_keys: [key] })).flags[key]?.enabled ?? false
	t.checks.equal('N01', 'a feature has a flag, which is off for who has not enrolled', await on(), false)
	await hand.write(t.field('Person'), who)
	await hand.press(t.button('Enrol'))
	await t.sees('N02', 'the person is listed', t.main.locator('tbody').getByText(who).first())
	t.checks.equal('N03', 'and has the flag', await poll(on), true)
}

// another opens a second browser, for somebody who works in the same way.
async function another(t, work) {
	const person = await t.browser.person(t.way)
	try {
		return await work(new Task(t.suite, person, t.checks))
	} finally {
		await person.context.close()
	}
}

// enter fills in the form of those who sign in.
async function enter(t) {
	await t.title('Sign in')
	await t.hand.write(t.field('E-mail address'), t.address)
	await t.hand.write(t.field('Password'), password)
	await t.hand.press(t.button('Sign in'))
}

async function invite(t) {
	const { hand } = t
	const guest = `guest-${t.way}@example.com`
	await t.screen('Settings')
	await hand.press(t.link('Members'))
	await t.title(/^Members of/)
	await hand.write(t.field('E-mail address'), 'somebody')
	await hand.press(t.button('Invite'))
	t.checks.ok('J01', 'what is not an address is not sent', !(await t.main.locator('#value').isVisible()))
	await hand.write(t.field('E-mail address'), guest)
	await hand.choose(t.field('Level'), 'administrator')
	await hand.press(t.button('Invite'))
	const shown = t.main.locator('#value')
	await t.sees('J02', 'the link is shown', shown)
	const link = await shown.inputValue()
	t.checks.ok('J03', 'and mailed', !!(await poll(() => t.server.letter('invitation', guest))))
	await another(t, async (g) => {
		await g.page.goto(link)
		await g.title(/^Join/)
		await g.hand.write(g.field('First name'), 'Grace')
		await g.hand.write(g.field('Choose a password'), 'short')
		await g.hand.press(g.button('Join'))
		await g.sees('J04', 'a short password is refused beside its field', g.main.locator('#password-error'))
		t.checks.equal('J05', 'the name stays', await g.field('First name').inputValue(), 'Grace')
		await g.hand.write(g.field('Choose a password'), password)
		await g.hand.press(g.button('Join'))
		await g.title('Flags')
		const panel = g.main.getByRole('region', { name: 'Tour' })
		await g.sees('J09', 'the guest has a tour', panel)
		await g.leaves(() => g.hand.press(g.button('Leave the tour', panel)))
		await g.screen('Flags')
		t.checks.equal('J10', 'and leaves it for ever', await panel.count(), 0)
		await g.page.goto(link)
		await g.sees('J06', 'the link is good once', 'The link is not valid any more')
	})
	await t.open('/settings/members')
	const row = t.main.locator('tbody tr', { hasText: guest })
	await t.sees('J07', 'the guest is a member', row.getByText('Grace'))
	await hand.press(row.getByRole('link', { name: `Remove ${guest}` }))
	await hand.press(t.main.getByRole('button', { name: /^Remove/ }))
	await t.title(/^Members of/)
	t.checks.equal('J08', 'and removed is none', await row.count(), 0)
}

async function endSession(t) {
	const { hand } = t
	await another(t, async (o) => {
		await o.page.goto('/console/')
		await enter(o)
		await o.title('Flags')
		await t.page.goto('/console/me')
		await t.title('Your account')
		await t.leaves(() => hand.press(t.button('End')))
		await t.sees('X01', 'the session is not in the list any more', t.main.getByText('this one'))
		t.checks.equal('X02', 'only this one is', await t.button('End').count(), 0)
		await o.page.reload()
		await o.title('Sign in')
		t.checks.ok('X03', 'the other browser is signed out', new URL(o.page.url()).pathname === '/console/signin', o.page.url())
	})
}

async function secondFactor(t) {
	const { page, hand } = t
	await page.goto('/console/me')
	await hand.press(t.button('Turn it on'))
	await t.title('Connect an authenticator')
	const secret = (await t.main.locator('.hint code').innerText()).replace(/\s/g, '')
	await hand.write(t.field('Code'), '000000')
	await hand.press(t.button('Turn it on'))
	await t.sees('A01', 'a wrong code is refused beside its field', t.main.locator('#code-error'))
	const step = () => Math.floor(Date.now() / 30_000)
	const used = step()
	await hand.write(t.field('Code'), code(secret))
	await hand.press(t.button('Turn it on'))
	const codes = t.main.locator('.codes li')
	await t.sees('A02', 'backup codes are shown', codes.nth(9))
	const [backup] = await codes.allInnerTexts()

	await hand.press(page.getByRole('button', { name: 'Sign out', exact: true }))
	await enter(t)
	await t.title('Enter a code')
	await page.goto(`/console/projects/${t.project}/flags`)
	await t.title('Sign in')
	t.checks.ok('A03', 'the password alone opens nothing', new URL(page.url()).pathname === '/console/signin', page.url())
	await enter(t)
	await t.title('Enter a code')
	// A code is good once. That of the next step is taken in the same step only: if a step ended
	// while the first code was on its way, the server takes the authenticator's clock for slow.
	await hand.write(t.field('Code'), code(secret, step() > used ? 0 : 1))
	await hand.press(t.button('Sign in'))
	await t.title('Flags')
	t.checks.ok('A04', 'the code of the authenticator opens', page.url().endsWith('/flags'), page.url())

	await page.goto('/console/me')
	await hand.press(t.link('Turn it off…'))
	await hand.write(t.main.locator('#code'), backup.trim())
	await hand.press(t.main.getByRole('button', { name: /^Turn it off/ }))
	await t.sees('A05', 'a backup code turns it off', t.button('Turn it on'))
}

// effort does what docs/console.md compares with other products, from the list of flags, and
// counts what it takes.
async function effort(t) {
	if (!t.script) return
	const { hand } = t
	const key = t.key('effort')
	const set = t.group('Condition set 1')
	const keys = (...names) => names.reduce((before, name) => before.then(() => hand.key(name)), Promise.resolve())
	const by = { mouse: (press) => press(), keyboard: (_, ...names) => keys(...names) }[t.way]
	const press = (target, ...names) => by(() => hand.press(target), ...names)
	const open = async () => {
		await press(t.link(key), 'j', 'Enter')
		await t.title(key)
	}
	const edit = async () => {
		await open()
		await press(t.link('Edit targeting'), 'e')
		await t.title(`Edit ${key}`)
	}
	const save = async (name) => {
		await press(t.button(name), 'Enter')
		await t.title('Review changes')
		await press(t.button(name), 'ControlOrMeta+Enter')
		await t.title(key)
	}
	const targeting = async () => (await t.flag(key)).filters.groups.map((g) => [g.properties.map((p) => [p.key, p.operator, p.value]), g.rollout_percentage])
	const works = [
		async () => {
			await press(t.link('New flag'), 'n')
			await t.title('New flag')
			await hand.write(t.main.locator('#key'), key)
			await hand.check(t.field('Turn it on when it is created'))
			await save('Create flag')
			t.checks.equal('M01', 'a new flag is on', (await t.flag(key)).active, true)
		},
		async () => {
			await edit()
			await hand.write(t.field('Rollout percentage', set), '25')
			await save('Save')
			t.checks.equal('M02', 'it is for 25 %', await targeting(), [[[], 25]])
			await t.api.patch(`/feature_flags/${(await t.flag(key)).id}/`, { filters: { groups: [{ properties: [], rollout_percentage: 100 }] } })
		},
		async () => {
			await edit()
			await press(t.button('property', set), 'Shift+Tab', 'Shift+Tab', 'Shift+Tab', 'Enter')
			await hand.write(t.field('Property', set), 'plan')
			await hand.write(t.field('Value', set).first(), 'pro')
			await save('Save')
			t.checks.equal('M03', 'it is for a plan', await targeting(), [[[['plan', 'exact', 'pro']], 100]])
		},
		async () => {
			await open()
			const last = await t.main.locator('.entries li').first().innerText()
			t.checks.ok('M04', 'its page says who changed it last, and what', last.startsWith(t.way) && last.includes('plan is pro'), last)
		},
		async () => {
			await press(t.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Explain', exact: true }), 'g', 'x')
			await t.title('Explain')
			await hand.write(t.field('Person'), 'user-007')
			await press(t.button('Explain'), 'Enter')
			const row = await t.main.locator('tbody tr', { has: t.link(key, t.page) }).innerText()
			const { reason } = (await t.api.flags({ distinct_id: 'user-007', flag_keys: [key] })).flags[key]
			t.checks.ok('M05', 'a person has its value for the reason that programs get', row.includes(reason.description), [row, reason])
		},
		async () => {
			await press(t.button(`Switch ${key} off`), 'j', 'Shift+Tab', 'Enter')
			await t.title(/off/)
			await press(t.button('Switch off'), 'ControlOrMeta+Enter')
			await t.title('Flags')
			t.checks.equal('M06', 'it is off', (await t.flag(key)).active, false)
		},
	]
	const text = await fs.readFile(new URL('../../docs/console.md', import.meta.url), 'utf8')
	const rows = [...text.matchAll(/^\| (.+) \| (\d+) \((\d+)\) \| (.+) \|$/gm)]
	t.checks.equal('M10', 'the documentation has each of them', rows.length, works.length)
	for (const [n, work] of works.entries()) {
		const [, name, mouse, keyboard, others] = rows[n]
		const documented = { mouse: Number(mouse), keyboard: Number(keyboard) }
		await t.open('/flags')
		hand.effort = 0
		await work()
		t.checks.equal(`M1${n + 1}`, `${name}: it takes what is documented`, hand.effort, documented[t.way])
		const least = Math.min(...[...others.matchAll(/\[(\d+)\]/g)].map((m) => Number(m[1])))
		const confirmed = name === 'off' ? 1 : 0 // who loses the flag is shown first
		t.checks.ok(`M2${n + 1}`, `${name}: other products take ${least}`, documented.mouse <= least + confirmed, mouse)
	}
}

// tasks are in the order in which a person does them.
export const tasks = [
	['S00', 'sign in', signIn],
	['T00', 'take the tour', tour],
	['F00', 'make a flag with two conditions and variants', makeFlag],
	['R00', 'make a flag with rules', makeRules],
	['P00', 'preview and save', preview],
	['C00', 'resolve a conflict', conflict],
	['W00', 'switch a flag, and go back', switchFlag],
	['K00', 'lose nothing that is typed', keepTyped],
	['G00', 'tag several flags', several],
	['L00', 'go by keys', shortcuts],
	['Y00', 'find out why', why],
	['H00', 'upload a cohort', uploadCohort],
	['U00', 'launch a survey, answer it, and read the chart', survey],
	['N00', 'enrol in early access', enrol],
	['D00', 'delete a person', deletePerson],
	['I00', 'import', bringIn],
	['I10', 'import from another product', bringFromElsewhere],
	['J00', 'invite and join', invite],
	['X00', 'end a session', endSession],
	['A00', 'turn a second factor on, and sign in with it', secondFactor],
	['M00', 'do much with few clicks, and as few as is documented', effort],
	['Z00', 'sign out', signOut],
]
