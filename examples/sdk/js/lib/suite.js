import { Api } from './api.js'
import { Checks } from './checks.js'
import { Fixture } from './fixture.js'
import { Recorder } from './recorder.js'

// limit is the time limit of a suite in milliseconds.
const limit = 90_000

// suite runs one suite with a recorder in front of the server that the
// environment names, and exits with the result.
export async function suite(name, run) {
	const checks = new Checks(name)
	const timer = setTimeout(() => {
		checks.ok('Z00', `ends within ${limit / 1000} s`, false)
		checks.finish()
		process.exit()
	}, limit)
	const api = new Api({
		url: required('FLAGSTAFF_URL').replace(/\/$/, ''),
		projectKey: process.env.FLAGSTAFF_PROJECT_KEY ?? 'phc_demo',
		personalKey: process.env.FLAGSTAFF_PERSONAL_KEY ?? 'phx_demo',
		secretKey: process.env.FLAGSTAFF_SECRET_KEY ?? 'phs_demo',
	})
	let fixture, recorder
	await checks.step('Z01', 'runs to its end', async () => {
		fixture = await Fixture.make(api)
		recorder = await Recorder.start(api.url)
		await run({ checks, api, fixture, recorder })
	})
	recorder?.close()
	await fixture?.remove()
	clearTimeout(timer)
	checks.finish()
	// An SDK may leave timers behind, which would delay the end.
	process.exit()
}

function required(variable) {
	const value = process.env[variable]
	if (value) return value
	console.error(`${variable} is not set; it is the address of the server, such as http://127.0.0.1:8000`)
	process.exit(2)
}
