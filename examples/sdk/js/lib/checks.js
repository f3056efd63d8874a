import { isDeepStrictEqual, inspect } from 'node:util'

// Checks prints a line for each assertion and counts them. A failed assertion
// does not end the suite, because the other failures help to find the cause.
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

	// step runs assertions that depend on each other. If one throws, the step
	// counts as failed and the suite goes on.
	async step(id, text, run) {
		try {
			await run()
		} catch (error) {
			this.ok(id, text, false, error?.stack ?? error)
		}
	}

	// finish prints the totals and sets the exit code of the process.
	finish() {
		console.log(`${this.suite}: ${this.passed} ok, ${this.failed} failed`)
		process.exitCode = this.failed === 0 && this.passed > 0 ? 0 : 1
	}
}

function show(value) {
	return typeof value === 'string' ? value : inspect(value, { depth: 6, compact: true, breakLength: Infinity, maxStringLength: 400 })
}

// poll asks until an answer satisfies the condition, or until the deadline
// passes. Then it returns the last answer.
export async function poll(ask, satisfies = Boolean, milliseconds = 10_000) {
	const deadline = Date.now() + milliseconds
	for (;;) {
		const answer = await ask()
		if (satisfies(answer) || Date.now() > deadline) return answer
		await new Promise((resume) => setTimeout(resume, 25))
	}
}
