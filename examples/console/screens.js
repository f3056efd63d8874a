// The screens: each page of the console, in light and dark, narrow and wide.
// looks are how a page is looked at.
export const looks = [1440, 360].flatMap((width) => ['light', 'dark'].map((scheme) => ({ width, scheme })))

// versions makes two versions of a flag that differ, and returns the newer one.
async function versions(t) {
	await t.api.patch('/feature_flags/7/', { tags: ['motion'], filters: { groups: [{ properties: [], rollout_percentage: 10 }] } })
	return (await t.api.patch('/feature_flags/7/', { tags: [], filters: { groups: [{ properties: [{ key: 'plan', type: 'person', operator: 'exact', value: 'team' }], rollout_percentage: 100 }, { properties: [], rollout_percentage: 10 }] } })).version
}

// settled ends the tour of the owner, which would be on the pages of flags otherwise.
const settled = (t) => t.api.patch('/../../users/@me/', { has_seen_product_intro_for: { flagstaff_tour: true } })

const evening = (n) => ({ groups: [{ properties: [], rollout_percentage: n }] })

// darkly is a file of LaunchDarkly: a flag for everybody, and flags that need members of a big segment, which the file does not have.
export const darkly = (exact, ...inexact) => JSON.stringify({
	segments: { big: { key: 'big', unbounded: true } },
	flags: Object.fromEntries([exact, ...inexact].map((key) => [key, {
		key, on: true, variations: [true, false], fallthrough: { variation: 0 },
		rules: key === exact ? [] : [{ id: '1', variation: 1, clauses: [{ op: 'segmentMatch', values: ['big'] }] }],
	}])),
})

let invited = 0

// visitor returns the screens of somebody who is not signed in.
export const visitor = [
	['signin', (t) => t.page.goto('/console/signin')],
	['signin-refused', async (t) => {
		await t.page.goto('/console/signin')
		await t.field('E-mail address').fill('nobody@example.com')
		await t.field('Password').fill('wrong')
		await t.button('Sign in').click()
		await t.main.getByRole('alert').waitFor()
	}],
	['forgot', (t) => t.page.goto('/console/forgot')],
	['forgot-sent', async (t) => {
		await t.page.goto('/console/forgot')
		await t.field('E-mail address').fill('nobody@example.com')
		await t.button('Send me a link').click()
		await t.main.getByRole('status').waitFor()
	}],
	['link-used', (t) => t.page.goto('/console/join/used')],
	['join', async (t) => {
		const answer = await fetch(`${t.url}/api/organizations/@current/invites/`, {
			method: 'POST', headers: { authorization: `Bearer ${t.api.personalKey}`, 'content-type': 'application/json' },
			body: JSON.stringify({ target_email: `invited-${invited++}@example.com`, show_link: true }),
		})
		await t.page.goto((await answer.json()).link)
		await t.title(/^Join/)
	}],
	['tour', async (t) => { // of who has just joined
		await t.page.context().clearCookies()
		await visitor.find(([name]) => name === 'join')[1](t)
		await t.field('Choose a password').fill('correct horse battery staple')
		await t.button('Join').click()
		await t.main.getByRole('region', { name: 'Tour' }).waitFor()
	}],
]

// member returns the screens of the owner.
export const member = [
	['parts', (t) => t.page.goto('/console/parts')],
	['overview', (t) => t.open('/overview')],
	['find', (t) => t.open('/find?q=check')],
	['find-anywhere', async (t) => {
		await t.open('/cohorts')
		await t.page.keyboard.press('Control+k')
		await t.page.getByRole('dialog').getByRole('link', { name: 'Overview' }).waitFor()
	}],
	['flags', async (t) => {
		await settled(t)
		await t.open('/flags')
	}],
	['flags-keys', async (t) => {
		await settled(t)
		await t.open('/flags')
		await t.page.keyboard.press('?')
		await t.page.getByRole('dialog').waitFor()
	}],
	['flags-none', async (t) => {
		await settled(t)
		await t.open('/flags?q=nothing+is+like+this')
	}],
	['flag', async (t) => {
		await settled(t)
		await t.open('/flags/2')
	}],
	['flag-edit', (t) => t.open('/flags/2/edit')],
	['flag-new', (t) => t.open('/flags/new')],
	['flag-wrong', async (t) => {
		await t.open('/flags/2/edit')
		await t.main.locator('[name="c0.f0.value"]').first().fill('')
		await t.main.locator('[name="c1.share"]').fill('101')
		await t.button('Review changes').click()
		await t.main.locator('.wrong').first().waitFor()
	}],
	['flag-nobody', async (t) => {
		await t.api.post('/feature_flags/', { key: 'for-nobody', filters: {} }).catch(() => {}) // it is there already
		await t.open('/flags/for-nobody/edit')
	}],
	['flag-json', async (t) => {
		await t.open('/flags/2/edit')
		await t.button('Edit as JSON').click()
		await t.main.locator('#json').waitFor()
		await t.page.locator('#effect:not([aria-busy]) .lead').waitFor()
	}],
	['flag-edited', async (t) => {
		await t.open('/flags/1/edit')
		await t.main.locator('[name="c1.share"]').fill('80')
		await t.page.locator('#effect:not([aria-busy]) .lead').waitFor()
	}],
	['flag-review', async (t) => {
		await t.open('/flags/1/edit')
		await t.main.locator('[name="c1.share"]').fill('80')
		await t.button('Review changes').click()
		await t.title('Review changes')
	}],
	['flag-conflict', async (t) => {
		await t.open('/flags/6/edit')
		await t.main.locator('[name="c0.share"]').fill('80')
		const shares = [30, 40]
		const now = (await t.flag('bulk-export')).filters.groups[0].rollout_percentage
		await t.api.patch('/feature_flags/6/', { filters: evening(shares.find((n) => n !== now)) })
		await t.button('Review changes').click()
		await t.title('Somebody else changed this flag')
	}],
	['flag-rules', async (t) => {
		await settled(t)
		await t.open('/flags/welcome-headline')
	}],
	['flag-rules-edit', async (t) => {
		await t.open('/flags/welcome-headline/edit')
		await t.main.locator('[name="r1.share"]').fill('40')
		await t.button('Move rule 2 up').click()
		await t.main.locator('[name="r0.share"][value="40"]').waitFor()
		await t.page.locator('#effect:not([aria-busy]) .lead').waitFor()
	}],
	['flag-switch', async (t) => {
		await t.open('/flags/2')
		await t.button('Switch off').click()
		await t.title(/^Switch checkout-button off/)
	}],
	['flag-history', async (t) => {
		await versions(t)
		await t.open('/flags/7/history')
	}],
	['flag-compare', async (t) => {
		const now = await versions(t)
		await t.open(`/flags/7/compare?from=${now - 1}&to=${now}`)
	}],
	['explain', (t) => t.open('/explain')],
	['explain-all', (t) => t.open('/explain?person=user-007')],
	['explain-one', (t) => t.open('/explain?person=user-007&flag=checkout-button')],
	['audit-log', (t) => t.open('/audit-log')],
	['problems', (t) => t.open('/problems')],
	['cohorts', (t) => t.open('/cohorts')],
	['cohort', (t) => t.open('/cohorts/1')],
	['cohort-compare', (t) => t.open('/cohorts/compare?one=1&other=2')],
	['cohort-new', (t) => t.open('/cohorts/new')],
	['cohort-review', async (t) => {
		await t.open('/cohorts/1')
		await t.main.locator('input[name$=".value"]').first().fill('50')
		await t.button('Review changes').click()
		await t.title('Review changes')
	}],
	['cohort-list', async (t) => {
		const { results } = await t.api.get('/cohorts/?limit=1000')
		const made = results.find((c) => c.is_static) ?? await t.api.post('/cohorts/', { name: 'Readers of the letter', is_static: true })
		await t.open(`/cohorts/${made.id}`)
		await t.field('Or many, by their distinct IDs').fill('user-001\nuser-002\nnobody-at-all')
		await t.button('Add them').click()
		await t.main.locator('.note[role="status"]').waitFor() // how far the list is sent is said before that
	}],
	['features', (t) => t.open('/features')],
	['feature', async (t) => {
		const { results } = await t.api.get('/early_access_feature/')
		const made = results.find((f) => f.name === 'Answers') ?? await t.api.post('/early_access_feature/', { name: 'Answers', description: 'Answers questions about your orders.', stage: 'beta' })
		await t.open(`/features/${made.id}`)
	}],
	['persons', (t) => t.open('/persons')],
	['persons-search', (t) => t.open('/persons?property=plan&operator=exact&value=pro')],
	['person', async (t) => {
		await t.open('/persons?q=user-007')
		await t.main.locator('tbody').getByRole('link').first().click()
		await t.main.locator('.events').waitFor()
	}],
	['groups', (t) => t.open('/groups/0')],
	['group', async (t) => {
		await t.open('/groups/0')
		await t.main.locator('tbody').getByRole('link').first().click()
		await t.main.getByText('Distinct IDs').or(t.main.getByText('Properties')).first().waitFor()
	}],
	['surveys', (t) => t.open('/surveys')],
	['survey-results', async (t) => {
		const { results } = await t.api.get('/surveys/')
		await t.open(`/surveys/${results.at(-1).id}/results`)
	}],
	['import', (t) => t.open('/import')],
	['import-check', async (t) => {
		await t.open('/import')
		await t.field('Or paste it').fill(JSON.stringify({ flags: [{ id: 1, key: 'brought', active: true, filters: { groups: [{}] } }, { id: 2, key: 'no blanks', filters: {} }] }))
		await t.button('Preview import').click()
		await t.title('Import preview')
	}],
	['import-foreign', async (t) => {
		await t.open('/import')
		await t.field('From').selectOption('launchdarkly')
		await t.field('Or paste it').fill(darkly('checkout-button', 'large'))
		await t.main.getByText('For another product', { exact: true }).click()
		await t.field('Other names of attributes').fill('country')
		await t.button('Preview import').click()
		await t.main.locator('#map-error').waitFor()
	}],
	['import-foreign-check', async (t) => {
		await t.open('/import')
		await t.field('From').selectOption('launchdarkly')
		await t.field('Or paste it').fill(darkly('checkout-button', 'large', 'vast'))
		await t.button('Preview import').click()
		await t.title('Import preview')
		await t.field('Take large all the same').check()
		await t.button('Preview with these choices').click()
		await t.main.getByText('Not exact, taken all the same').waitFor()
	}],
	['survey', async (t) => {
		const { results } = await t.api.get('/surveys/')
		await t.open(`/surveys/${results.at(-1).id}`)
	}],
	['survey-new', (t) => t.open('/surveys/new')],
	['settings', (t) => t.open('/settings')],
	['settings-wrong', async (t) => {
		await t.open('/settings')
		await t.field('Time zone').fill('Mars')
		await t.button('Save').click()
		await t.main.locator('#timezone-error').waitFor()
	}],
	['members', (t) => t.open('/settings/members')],
	['project-delete', (t) => t.open('/settings/delete')],
	['account', (t) => t.page.goto('/console/me')],
	['keys', (t) => t.page.goto('/console/me/keys')],
	['two-factor', async (t) => {
		await t.page.goto('/console/me')
		await t.button('Turn it on').click()
		await t.title('Connect an authenticator')
	}],
	['projects', (t) => t.page.goto('/console/projects')],
	['connect', (t) => t.open('/connect')],
	['no-page', (t) => t.open('/nothing')],
]

// states are pages that have buttons which no screen has.
export const states = [
	['tour', async (t) => { // at its third step, which has all buttons
		const made = await t.api.post('/feature_flags/', { key: 'toured', filters: { groups: [{}] } })
		await t.api.patch('/../../users/@me/', { has_seen_product_intro_for: { flagstaff_tour: { project: t.project, flag: made.id, explained: true } } })
		await t.open(`/flags/${made.id}`)
		await t.button('I did it').waitFor()
	}],
	['cohort-deleted', async (t) => {
		const made = await t.api.post('/cohorts/', { name: 'Deleted', filters: { properties: { type: 'AND', values: [{ key: 'plan', type: 'person', operator: 'exact', value: 'pro' }] } } })
		await t.api.patch(`/cohorts/${made.id}/`, { deleted: true })
		await t.open(`/cohorts/${made.id}`)
	}],
	['flag-deleted', async (t) => {
		const made = await t.api.post('/feature_flags/', { key: 'deleted', filters: { groups: [{}] } })
		await t.api.patch(`/feature_flags/${made.id}/`, { deleted: true })
		await t.open(`/flags/${made.id}`)
	}],
	['flag-archived', async (t) => {
		const made = await t.api.post('/feature_flags/', { key: 'archived', active: false, archived: true, filters: { groups: [{}] } })
		await t.open(`/flags/${made.id}`)
	}],
	['feature-enrolled', async (t) => {
		const made = await t.api.post('/early_access_feature/', { name: 'Enrolled', stage: 'beta' })
		await t.open(`/features/${made.id}`)
		await t.field('Person').fill('user-007')
		await t.button('Enrol').click()
		await t.main.locator('tbody').getByRole('button').first().waitFor()
	}],
	['survey-archived', async (t) => {
		const made = await t.api.post('/surveys/', { name: 'Archived', type: 'popover', questions: [{ type: 'open', question: 'Why?' }], archived: true })
		await t.open(`/surveys/${made.id}`)
	}],
	['survey-ended', async (t) => {
		const made = await t.api.post('/surveys/', { name: 'Ended', type: 'popover', questions: [{ type: 'open', question: 'Why?' }], start_date: '2024-01-01T00:00:00Z', end_date: '2024-02-01T00:00:00Z' })
		await t.open(`/surveys/${made.id}`)
	}],
	['answers-archived', async (t) => {
		const { results } = await t.api.get('/surveys/')
		await t.open(`/surveys/${results.at(-1).id}/results`)
		await t.main.locator('a[href*="/answers"]').first().click()
		await t.main.locator('button[value="archive"]').first().click()
		await t.main.getByRole('status').first().waitFor()
		await t.main.locator('#archived').check()
		await t.main.locator('button[value="unarchive"]').first().waitFor()
	}],
	['property', async (t) => {
		await t.open('/persons?q=user-007')
		await t.main.locator('tbody').getByRole('link').first().click()
		await t.main.locator('a[href*="edit="]').first().click()
		await t.main.locator('button[value="unset"]').waitFor()
	}],
	['flag-undo', async (t) => {
		const made = await t.api.post('/feature_flags/', { key: 'undone', active: false, filters: { groups: [{}] } })
		await t.open(`/flags/${made.id}`)
		await t.button('Archive').click()
		await t.button('Undo').waitFor()
	}],
]

// pictures are those of docs/console.md, by the screens that they show, with the height of the
// window if it is not the usual one.
export const pictures = [['flags', 'flags'], ['flag', 'flag', 1000], ['review', 'flag-review'], ['why', 'explain-one'], ['survey', 'survey-results']]
