// Api is the public HTTP API of a server. Suites use it to create what they
// need and to check what SDKs have done.
export class Api {
	constructor({ url, projectKey, personalKey, secretKey }) {
		Object.assign(this, { url, projectKey, personalKey, secretKey })
		this.project = `${url}/api/projects/@current`
	}

	async #ask(method, url, body) {
		const response = await fetch(url, {
			method,
			headers: { authorization: `Bearer ${this.personalKey}`, 'content-type': 'application/json' },
			body: body === undefined ? undefined : JSON.stringify(body),
			signal: AbortSignal.timeout(10_000),
		})
		const text = await response.text()
		if (!response.ok) {
			const error = new Error(`${method} ${url} answered ${response.status}: ${text}`)
			error.status = response.status
			throw error
		}
		return text === '' ? undefined : JSON.parse(text)
	}

	get(path) {
		return this.#ask('GET', this.project + path)
	}

	post(path, body) {
		return this.#ask('POST', this.project + path, body)
	}

	patch(path, body) {
		return this.#ask('PATCH', this.project + path, body)
	}

	delete(path) {
		return this.#ask('DELETE', this.project + path)
	}

	// person returns the person with a distinct ID, or undefined.
	async person(distinctId) {
		const { results } = await this.get(`/persons/?distinct_id=${encodeURIComponent(distinctId)}`)
		return results[0]
	}

	// group returns a group, or undefined.
	async group(typeIndex, key) {
		try {
			return await this.get(`/groups/find/?group_type_index=${typeIndex}&group_key=${encodeURIComponent(key)}`)
		} catch (error) {
			if (error.status === 404) return undefined
			throw error
		}
	}

	definitions() {
		return this.#ask('GET', `${this.url}/flags/definitions?token=${this.projectKey}&send_cohorts&rule_sets`)
	}

	capture(...batch) {
		return this.#ask('POST', `${this.url}/batch/`, { api_key: this.projectKey, batch })
	}

	// flags requests flags like no SDK in particular.
	flags(body) {
		return this.#ask('POST', `${this.url}/flags/?v=2`, { api_key: this.projectKey, ...body })
	}
}
