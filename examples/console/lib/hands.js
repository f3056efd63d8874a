// A hand works with a page as one kind of user does. All hands have the same methods, and
// take locators of what a user sees: fields by their labels, buttons by their names. Their
// effort counts clicks, keys that are not text, and fields that are filled.

// limit is how many presses of Tab may lie between two controls of a page.
const limit = 400

const focused = (target) => target.evaluate((element) => element === document.activeElement)

// Pointer works with a mouse, and without JavaScript, too.
export class Pointer {
	effort = 0

	constructor(page) {
		this.page = page
	}

	press(target) {
		this.effort++
		return target.click()
	}

	async write(target, text) {
		this.effort++
		if (!(await focused(target))) await this.press(target)
		await target.press('ControlOrMeta+a')
		if (text === '') await target.press('Delete')
		else await this.page.keyboard.insertText(text)
	}

	// choose takes an option by its label. The list that opens belongs to the system, not
	// to the page, so that no mouse of a test reaches it.
	choose(target, label) {
		this.effort += 2
		return target.selectOption({ label })
	}

	check(target) {
		this.effort++
		return target.check()
	}

	attach(target, file) {
		return target.setInputFiles(file)
	}
}

// Keyboard never touches a mouse: it reaches everything with Tab.
export class Keyboard {
	effort = 0

	constructor(page) {
		this.page = page
	}

	key(name) {
		this.effort++
		return this.page.keyboard.press(name)
	}

	async reach(target) {
		await target.waitFor({ state: 'attached' })
		for (let n = 0; n < limit; n++) {
			if (await focused(target)) return
			await this.key('Tab')
		}
		throw new Error(`Tab does not reach ${target}`)
	}

	async press(target) {
		await this.reach(target)
		await this.key('Enter')
	}

	async write(target, text) {
		await this.reach(target)
		this.effort++
		await this.page.keyboard.press('ControlOrMeta+a')
		if (text === '') await this.page.keyboard.press('Delete')
		else await this.page.keyboard.type(text)
	}

	// choose goes to an option with the arrow keys. The form may be loaded anew with each
	// press, and must not take the focus away.
	async choose(target, label) {
		await this.reach(target)
		for (let n = 0; n < limit; n++) {
			const [at, to] = await target.evaluate((select, text) => [select.selectedIndex, [...select.options].findIndex((o) => o.label === text)], label)
			if (to < 0) throw new Error(`${target} has no option ${label}`)
			if (at === to) return
			const loads = await target.evaluate((select) => select.hasAttribute('data-refresh') && (select.dataset.old = 'yes'))
			await this.key(at < to ? 'ArrowDown' : 'ArrowUp')
			if (loads) await this.page.waitForFunction((id) => !document.getElementById(id)?.dataset.old, await target.getAttribute('id'))
			if (!(await focused(target))) throw new Error(`${target} lost the focus while its value changed`)
		}
	}

	// check ticks a box, or goes to one of several choices with the arrow keys: Tab stops at
	// the one that is chosen.
	async check(target) {
		if ((await target.getAttribute('type')) === 'radio') {
			await this.reach(this.page.locator(`input[name="${await target.getAttribute('name')}"]:checked`))
			for (let n = 0; n < 20 && !(await target.isChecked()); n++) await this.key('ArrowDown')
			return
		}
		await this.reach(target)
		if (!(await target.isChecked())) await this.key('Space')
	}

	// attach gives a field a file. The dialog that opens belongs to the system.
	async attach(target, file) {
		await this.reach(target)
		await target.setInputFiles(file)
	}
}
