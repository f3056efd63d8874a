import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

// Server is the demo, with a store and a folder for mail of its own.
export class Server {
	static #running = new Set()

	// end ends all servers at once, for a suite that ends itself.
	static end() {
		for (const server of Server.#running) {
			server.process?.kill('SIGKILL')
			rmSync(server.folder, { recursive: true, force: true, maxRetries: 5 })
		}
	}

	static async start(program) {
		const server = new Server()
		server.program = program
		server.folder = await fs.mkdtemp(path.join(os.tmpdir(), 'console-'))
		Server.#running.add(server)
		server.store = path.join(server.folder, 'demo.db')
		server.mail = path.join(server.folder, 'mail')
		await server.up('127.0.0.1:0')
		return server
	}

	// up starts the program at an address, with the store as it is.
	async up(address = new URL(this.url).host) {
		// The environment would change its settings.
		const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FLAGSTAFF_')))
		// No balancer has to notice that it ends.
		const settings = ['-demo', '-addr', address, '-store', this.store, '-mail-dir', this.mail, '-drain', '0s']
		this.process = spawn(this.program, settings, { env, stdio: ['ignore', 'ignore', 'pipe'] })
		let log = ''
		await new Promise((started, failed) => {
			this.process.stderr.setEncoding('utf8').on('data', (chunk) => {
				log += chunk
				this.url = log.match(/^listening on (\S+)$/m)?.[1] ?? this.url
				this.link ??= log.match(/^console +(\S+)$/m)?.[1]
				if (/^listening on /m.test(log) && this.link) started()
			})
			this.process.once('exit', () => failed(new Error(`the server did not start: ${log}`)))
		})
	}

	// down ends the program, as a restart does.
	async down() {
		this.process.kill()
		await once(this.process, 'exit')
	}

	// key makes a personal API key for a user, on the machine of the server.
	async key(address) {
		const { stdout } = await promisify(execFile)(this.program, ['-store', this.store, '-create-key', address])
		return stdout.match(/phx_\w+/)[0]
	}

	// letter returns the link in the newest mail of a kind to an address, or undefined.
	async letter(kind, address) {
		const names = await fs.readdir(this.mail).catch(() => [])
		for (const name of names.filter((n) => n.includes(kind)).sort().reverse()) {
			const text = await fs.readFile(path.join(this.mail, name), 'utf8')
			if (text.includes(address)) return text.match(/https?:\/\/[^\s"<>]+/)?.[0]
		}
	}

	async stop() {
		await this.down()
		await fs.rm(this.folder, { recursive: true, force: true })
		Server.#running.delete(this)
	}
}
