// A hand works with a page as one kind of user does. All hands have the same methods, and
// take locators of what a user sees: fields by their labels, buttons by their names.

// limit is how many presses of Tab may lie between two controls of a page.
const limit = 400

// Pointer works with a mouse, and without JavaScript, too.
export class Pointer {
	constructor(page) {
		this.page = page
	}

	press(target) {
		return target.click()
	}

	async write(target, text) {
		await target.click()
		await target.press('ControlOrMeta+a')
		if (text === '') await target.press('Delete')
		else await this.page.keyboard.insertText(text)
	}

	// choose takes an option by its label. The list that opens belongs to the system, not
	// to the page, so that no mouse of a test reaches it.
	choose(target, label) {
		return target.selectOption({ label })
	}

	check(target) {
		return target.check()
	}

	attach(target, file) {
		return target.setInputFiles(file)
	}
}

// Keyboard never touches a mouse: it reaches everything with Tab.
export class Keyboard {
	constructor(page) {
		this.page = page
	}

	async reach(target) {
		await target.waitFor({ state: 'attached' })
		for (let n = 0; n < limit; n++) {
			if (await target.evaluate((element) => element === document.activeElement)) return
			await this.page.keyboard.press('Tab')
		}
		throw new Error(`Tab does not reach ${target}`)
	}

	async press(target) {
		await this.reach(target)
		await this.page.keyboard.press('Enter')
	}

	async write(target, text) {
		await this.reach(target)
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
			await this.page.keyboard.press(at < to ? 'ArrowDown' : 'ArrowUp')
			if (loads) await this.page.waitForFunction((id) => !document.getElementById(id)?.dataset.old, await target.getAttribute('id'))
			if (!(await target.evaluate((element) => element === document.activeElement))) throw new Error(`${target} lost the focus while its value changed`)
		}
	}

	// check ticks a box, or goes to one of several choices with the arrow keys: Tab stops at
	// the one that is chosen.
	async check(target) {
		if ((await target.getAttribute('type')) === 'radio') {
			await this.reach(this.page.locator(`input[name="${await target.getAttribute('name')}"]:checked`))
			for (let n = 0; n < 20 && !(await target.isChecked()); n++) await this.page.keyboard.press('ArrowDown')
			return
		}
		await this.reach(target)
		if (!(await target.isChecked())) await this.page.keyboard.press('Space')
	}

	// attach gives a field a file. The dialog that opens belongs to the system.
	async attach(target, file) {
		await this.reach(target)
		await target.setInputFiles(file)
	}
}
