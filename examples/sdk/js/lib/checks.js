import { isDeepStrictEqual, inspect } from 'node:util'

// Checks prints a line for each assertion and counts them. A failed one does not
// end a suite: what else fails tells what is wrong.
export class Checks {
	constructor(suite) {
		this.suite = suite
		this.passed = 0
		this.failed = 0
	}

	ok(id, text, condition, seen) {
		if (condition) {
			this.passed++
			console.log(`ok ${this.suite} ${id} ${text}`)
			return
		}
		this.failed++
		const tail = seen === undefined ? '' : `: saw ${show(seen)}`
		console.log(`FAIL ${this.suite} ${id} ${text}${tail}`)
	}

	equal(id, text, got, want) {
		const same = isDeepStrictEqual(got, want)
		this.ok(id, same ? text : `${text}: want ${show(want)}`, same, got)
	}

	// step runs assertions that stand or fall together: one that throws counts as
	// failed, and the suite goes on.
	async step(id, text, run) {
		try {
			await run()
		} catch (error) {
			this.ok(id, text, false, error?.stack ?? error)
		}
	}

	// finish prints the totals and makes them the exit code of the process.
	finish() {
		console.log(`${this.suite}: ${this.passed} ok, ${this.failed} failed`)
		process.exitCode = this.failed === 0 && this.passed > 0 ? 0 : 1
	}
}

function show(value) {
	return typeof value === 'string' ? value : inspect(value, { depth: 6, compact: true, breakLength: Infinity, maxStringLength: 400 })
}

// poll asks until an answer satisfies, or until the deadline; then the last answer
// is as good as it gets.
export async function poll(ask, satisfies = Boolean, milliseconds = 10_000) {
	const deadline = Date.now() + milliseconds
	for (;;) {
		const answer = await ask()
		if (satisfies(answer) || Date.now() > deadline) return answer
		await new Promise((resume) => setTimeout(resume, 25))
	}
}
