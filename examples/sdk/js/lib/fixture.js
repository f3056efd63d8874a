import { randomUUID } from 'node:crypto'

const everybody = [{ properties: [], rollout_percentage: 100 }]
const plan = { key: 'plan', type: 'person', operator: 'exact', value: ['pro'] }

// Fixture has everything that a suite needs in a project: flags of each kind, a
// cohort, an early access feature and a survey, all under names of their own,
// so that a suite runs on any project and leaves it as it was.
export class Fixture {
	static async make(api) {
		const fixture = new Fixture(api)
		try {
			await fixture.#make()
		} catch (error) {
			await fixture.remove()
			throw error
		}
		return fixture
	}

	constructor(api) {
		this.api = api
		this.prefix = `sdk-${randomUUID().slice(0, 8)}`
		this.flags = {}
		this.undo = []
	}

	// key returns the key of the flag with a short name.
	key(name) {
		return `${this.prefix}-${name}`
	}

	// id makes an ID for a person or group that no other suite uses.
	id(name) {
		return `${this.prefix}.${name}`
	}

	async flag(name, filters, more = {}) {
		const flag = await this.api.post('/feature_flags/', { key: this.key(name), name: `Flag ${name} of a suite`, filters, ...more })
		this.flags[name] = flag
		this.undo.push(async () => {
			const { version } = await this.api.get(`/feature_flags/${flag.id}/`) // without it no rule set is changed
			await this.api.patch(`/feature_flags/${flag.id}/`, { deleted: true, version })
		})
		return flag
	}

	async #make() {
		this.companyIndex = await this.#groupType('company')
		const { api } = this
		const { id } = await this.flag('bool', { groups: everybody, payloads: { true: '{"color":"blue"}' } })
		await this.flag('variant', {
			groups: [{ properties: [], rollout_percentage: 100, variant: 'test' }],
			multivariate: { variants: [{ key: 'control', rollout_percentage: 50 }, { key: 'test', rollout_percentage: 50 }] },
			payloads: { test: '{"n":1}' },
		})
		await this.flag('split', {
			groups: [{ properties: [], rollout_percentage: 80 }],
			multivariate: { variants: [{ key: 'a', rollout_percentage: 30 }, { key: 'b', rollout_percentage: 30 }, { key: 'c', rollout_percentage: 40 }] },
		})
		await this.flag('off', { groups: [{ properties: [], rollout_percentage: 0 }] })
		await this.flag('person', { groups: [{ properties: [plan], rollout_percentage: 100 }] })
		await this.flag('group', {
			aggregation_group_type_index: this.companyIndex,
			groups: [{
				properties: [{ key: 'tier', type: 'group', group_type_index: this.companyIndex, operator: 'exact', value: 'enterprise' }],
				rollout_percentage: 100,
			}],
		})
		await this.flag('server', { groups: everybody }, { evaluation_runtime: 'server' })
		await this.flag('client', { groups: everybody }, { evaluation_runtime: 'client' })
		await this.flag('tagged', { groups: everybody }, { evaluation_contexts: ['checkout'] })
		await this.flag('remote', { groups: everybody, payloads: { true: '{"k":"v"}' } }, { is_remote_configuration: true })
		const cohort = await api.post('/cohorts/', {
			name: `Cohort ${this.prefix}`,
			filters: { properties: { type: 'OR', values: [{ type: 'AND', values: [plan] }] } },
		})
		this.undo.push(() => api.patch(`/cohorts/${cohort.id}/`, { deleted: true }))
		await this.flag('cohort', {
			groups: [{ properties: [{ key: 'id', type: 'cohort', operator: 'in', value: cohort.id }], rollout_percentage: 100 }],
		})
		await this.flag('dependent', {
			groups: [{ properties: [{ key: String(id), type: 'flag', operator: 'flag_evaluates_to', value: true }], rollout_percentage: 100 }],
		})
		this.feature = await api.post('/early_access_feature/', { name: `${this.prefix} beta`, description: 'A feature of a suite', stage: 'beta' })
		const betaFlag = this.feature.feature_flag
		this.flags.beta = betaFlag
		this.undo.push(() => api.patch(`/feature_flags/${betaFlag.id}/`, { deleted: true }))
		this.undo.push(() => api.delete(`/early_access_feature/${this.feature.id}/`))
		this.survey = await api.post('/surveys/', {
			name: `${this.prefix} survey`,
			type: 'api',
			start_date: '2026-01-01T00:00:00Z',
			questions: [{ type: 'open', question: 'What should we do better?' }],
		})
		this.undo.push(() => api.delete(`/surveys/${this.survey.id}/`))
	}

	// The first group of a type makes the type known to the project.
	async #groupType(name) {
		for (let attempt = 0; ; attempt++) {
			const known = (await this.api.get('/groups_types/')).find((type) => type.group_type === name)
			if (known) return known.group_type_index
			if (attempt > 0) throw new Error(`the project has no group type ${name} after $groupidentify`)
			await this.api.capture({
				event: '$groupidentify', distinct_id: this.id('first'), properties: { $group_type: name, $group_key: this.id('first'), $group_set: {} },
			})
		}
	}

	// keysFor lists the flags of the whole project that a runtime may see.
	// Flags that belong to surveys are not among the definitions, so only the
	// flag of the fixture's survey is added.
	async keysFor(runtime) {
		const { flags } = await this.api.definitions()
		const listed = flags.filter((flag) => flag.active && [runtime, 'all'].includes(flag.evaluation_runtime ?? 'all')).map((flag) => flag.key)
		return this.keysOf([...listed, this.survey.internal_targeting_flag.key])
	}

	// keysOf returns sorted keys without the flags of other surveys.
	keysOf(keys) {
		const ours = this.survey.internal_targeting_flag.key
		return keys.filter((name) => name === ours || !name.startsWith('survey-targeting-')).sort()
	}

	// remove deletes everything again, the newest first, because newer objects
	// depend on older ones.
	async remove() {
		for (const undo of this.undo.reverse()) {
			await undo().catch((error) => console.error(`could not clean up: ${error.message}`))
		}
	}
}
