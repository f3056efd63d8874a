import http from 'node:http'
import zlib from 'node:zlib'

// Recorder is a proxy between the SDK and the server that records each request
// and its answer. It passes all headers on unchanged, including Host and
// Origin, so that the server sees the SDK's request.
export class Recorder {
	static async start(target) {
		const recorder = new Recorder(new URL(target))
		await new Promise((listening) => recorder.server.listen(0, '127.0.0.1', listening))
		recorder.url = `http://127.0.0.1:${recorder.server.address().port}`
		return recorder
	}

	constructor(target) {
		this.target = target
		this.exchanges = []
		this.waiting = new Set()
		this.agent = new http.Agent({ keepAlive: true })
		this.server = http.createServer((request, response) => this.#pass(request, response))
	}

	#pass(request, response) {
		const chunks = []
		request.on('data', (chunk) => chunks.push(chunk))
		request.on('end', () => {
			const body = Buffer.concat(chunks)
			const onward = http.request({
				agent: this.agent,
				host: this.target.hostname,
				port: this.target.port || 80,
				method: request.method,
				path: request.url,
				headers: request.rawHeaders,
				setHost: false,
			})
			onward.on('response', (answer) => this.#answer(request, body, answer, response))
			onward.on('error', (error) => this.#record(request, body, 0, {}, Buffer.from(String(error)), () => response.destroy()))
			onward.end(body)
		})
	}

	#answer(request, body, answer, response) {
		const chunks = []
		answer.on('data', (chunk) => chunks.push(chunk))
		answer.on('end', () => {
			const text = Buffer.concat(chunks)
			this.#record(request, body, answer.statusCode, answer.headers, text, () => {
				response.writeHead(answer.statusCode, answer.rawHeaders)
				response.end(text)
			})
		})
	}

	// The exchange is recorded before its answer is passed on, so that a test
	// that has seen the answer finds the exchange.
	#record(request, raw, status, headers, text, passOn) {
		const url = new URL(request.url, this.url)
		const exchange = {
			method: request.method,
			path: url.pathname,
			query: url.searchParams,
			headers: request.headers,
			status,
			answerHeaders: headers,
			answerText: text.toString(),
			...decode(raw, request.headers),
		}
		try {
			exchange.answer = JSON.parse(exchange.answerText)
		} catch {
			exchange.answer = undefined
		}
		this.exchanges.push(exchange)
		passOn()
		for (const wake of [...this.waiting]) wake(exchange)
	}

	get mark() {
		return this.exchanges.length
	}

	// since lists the exchanges after a mark that satisfy a condition.
	since(mark, satisfies = () => true) {
		return this.exchanges.slice(mark).filter(satisfies)
	}

	// until waits for an exchange after a mark that satisfies a condition, and
	// returns it.
	until(what, mark, satisfies, milliseconds = 15_000) {
		const found = this.since(mark, satisfies)[0]
		if (found) return Promise.resolve(found)
		return new Promise((resolve, reject) => {
			const wake = (exchange) => {
				if (!satisfies(exchange)) return
				this.waiting.delete(wake)
				clearTimeout(timer)
				resolve(exchange)
			}
			const timer = setTimeout(() => {
				this.waiting.delete(wake)
				const seen = this.since(mark).map((e) => `${e.method} ${e.path} ${e.status} ${names(e).join(' ')}`)
				reject(new Error(`no ${what} within ${milliseconds} ms; seen: ${seen.join(', ') || 'nothing'}`))
			}, milliseconds)
			this.waiting.add(wake)
		})
	}

	// untilEvent waits for an event with a name, and returns it with its
	// exchange.
	async untilEvent(name, mark, satisfies = () => true) {
		const has = (e) => events(e).find((event) => event.event === name && satisfies(event))
		const exchange = await this.until(`event ${name}`, mark, has)
		return { exchange, event: has(exchange) }
	}

	// events lists the events captured since a mark.
	events(mark = 0) {
		return this.since(mark).flatMap(events)
	}

	close() {
		this.agent.destroy()
		this.server.closeAllConnections()
		this.server.close()
	}
}

// events lists the events in a request, whatever their envelope.
export function events(exchange) {
	if (exchange.method !== 'POST' || /\/(flags|decide)\/?$/.test(exchange.path)) return []
	const { body } = exchange
	if (Array.isArray(body)) return body
	if (Array.isArray(body?.batch)) return body.batch
	return body?.event ? [body] : []
}

export const names = (exchange) => events(exchange).map((event) => event.event)

// decode detects the encoding of a body by looking at the body, as the server
// must.
function decode(raw, headers) {
	let bytes = raw
	const forms = []
	if (/x-www-form-urlencoded/.test(headers['content-type'] ?? '')) {
		const data = new URLSearchParams(bytes.toString()).get('data') ?? ''
		bytes = Buffer.from(data.replaceAll(' ', '+'), 'base64')
		forms.push('form', 'base64')
	}
	if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
		bytes = zlib.gunzipSync(bytes)
		forms.push('gzip')
	}
	try {
		return { forms, body: JSON.parse(bytes.toString()) }
	} catch {
		return { forms, body: undefined }
	}
}
