package reference

import (
	"encoding/json"
	"fmt"
)

// targetCases returns rows 128–182, the table of §16.4: cohorts, groups,
// dependencies and requests.
func targetCases() []Case {
	return append(append(cohortCases(), groupCases()...), append(dependencyCases(), requestCases()...)...)
}

func inCohort(id string) string {
	return `{"key":"id","type":"cohort","operator":"in","value":` + id + `}`
}

func cohortCases() []Case {
	nested := withMember(caseDocument(caseFlag("k", conditions(where(filterJSON("region", "exact", `"USA"`), inCohort("98"))))), `"cohorts":{
		"98":{"type":"OR","values":[{"key":"id","type":"cohort","value":1},{"key":"nation","type":"person","operator":"exact","value":"UK"}]},
		"1":{"type":"AND","values":[{"key":"other","type":"person","operator":"exact","value":"thing","negation":true}]}}`)
	usa := func(more string) *Request { return caseRequest("user-1", person(`{"region":"USA"`+more+`}`)) }
	plan := filterJSON("plan", "exact", `"x"`)
	one := func(filter, cohorts string) string {
		return withMember(caseDocument(caseFlag("k", conditions(where(filter)))), `"cohorts":`+cohorts)
	}
	const everybody = `{"98":{"type":"OR","values":[{"type":"AND","values":[]}]}}`
	anyone := caseRequest("user-1")
	return []Case{
		{128, "neither branch", nested, usa(`,"other":"thing"`), []Want{off("k", codeNoMatch, 0).description("No matching condition set")}, false},
		{129, "other thing", nested, usa(`,"other":"thing2"`), []Want{wantOn("k", 0)}, false},
		{130, "missing and negated", nested, usa(``), []Want{wantOn("k", 0)}, false},
		{131, "second branch", nested, usa(`,"nation":"UK"`), []Want{wantOn("k", 0)}, false},
		{
			132, "unknown cohort", caseDocument(caseFlag("k", conditions(where(inCohort("999"))))), anyone,
			[]Want{failed("k", codeCohortNotFound).description("Cohort dependency not found")},
			true,
		},
		{
			133, "unknown cohort after a mismatch", caseDocument(caseFlag("k", conditions(where(plan, inCohort("999"))))),
			caseRequest("user-1", person(`{"plan":"y"}`)),
			[]Want{off("k", codeNoMatch, 0)},
			false,
		},
		{
			133, "cohorts come last", caseDocument(caseFlag("k", conditions(where(inCohort("999"), plan)))),
			caseRequest("user-1", person(`{"plan":"y"}`)),
			[]Want{off("k", codeNoMatch, 0)},
			false,
		},
		{
			134, "unknown nested cohort", one(inCohort("5"), `{"5":{"type":"OR","values":[`+filterJSON("plan", "exact", `"pro"`)+`,{"key":"id","type":"cohort","value":999}]}}`),
			caseRequest("user-1", person(`{"plan":"pro"}`)),
			[]Want{failed("k", codeCohortNotFound)},
			true,
		},
		{
			135, "cohort in itself", one(inCohort("1"), `{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":1}]}}`), anyone,
			[]Want{failed("k", codeCohortCycle).description("Cohort dependency cycle detected")},
			true,
		},
		{136, "empty AND", one(inCohort("98"), `{"98":{"type":"AND","values":[]}}`), anyone, []Want{off("k", codeNoMatch, 0)}, false},
		{137, "empty OR", one(inCohort("98"), `{"98":{"type":"OR","values":[]}}`), anyone, []Want{off("k", codeNoMatch, 0)}, false},
		{
			138, "exact on a cohort", one(`{"key":"id","type":"cohort","operator":"exact","value":98}`, everybody), anyone,
			[]Want{off("k", codeNoMatch, 0)},
			false,
		},
		{
			139, "not_in, a member", one(`{"key":"id","type":"cohort","operator":"not_in","value":98}`, everybody), anyone,
			[]Want{off("k", codeNoMatch, 0)},
			false,
		},
		{
			140, "static, unknown person", one(`{"key":"id","type":"cohort","operator":"not_in","value":7}`, `[{"id":7,"is_static":true}]`), anyone,
			[]Want{wantOn("k", 0)},
			false,
		},
		{
			140, "static, a member", one(`{"key":"id","type":"cohort","operator":"not_in","value":7}`, `[{"id":7,"is_static":true}]`),
			caseRequest("user-1", func(r *Request) { r.Cohorts = []int64{7} }),
			[]Want{off("k", codeNoMatch, 0)},
			false,
		},
	}
}

func groupCases() []Case {
	const companies = `"group_type_mapping":{"0":"company"}`
	groupFlag := func(percentage string) string {
		return withMember(caseDocument(caseFlag("group-flag", `"aggregation_group_type_index":0,`+conditions(rollout(percentage)))), companies)
	}
	const onGroup = `"aggregation_group_type_index":0`
	groupKey := withMember(caseDocument(caseFlag("k", conditions(where(
		`{"key":"$group_key","type":"group","group_type_index":0,"operator":"exact","value":"acme"}`)))), companies)
	acme := group("company", `"acme"`)
	email := filterJSON("email", "icontains", `"@acme.com"`)
	enterprise := `{` + onGroup + `,"properties":[{"key":"plan","type":"group","group_type_index":0,"operator":"exact","value":"enterprise"}],"rollout_percentage":100}`
	mixed := withMember(caseDocument(caseFlag("mixed", conditions(enterprise,
		`{"aggregation_group_type_index":null,"properties":[`+email+`],"rollout_percentage":50}`))), companies)
	const ok = `{"email":"a@acme.com"}`
	return []Case{
		{141, "no groups", groupFlag("100"), caseRequest("user-1"), []Want{off("group-flag", codeNoGroup, 0).description("No group type")}, false},
		{142, "one person", groupFlag("10"), caseRequest("user-1", acme), []Want{wantOn("group-flag", 0)}, false},
		{142, "another person", groupFlag("10"), caseRequest("user-2", acme), []Want{wantOn("group-flag", 0)}, false},
		{142, "nobody in particular", groupFlag("10"), caseRequest("", acme), []Want{wantOn("group-flag", 0)}, false},
		{142, "below the hash", groupFlag("6"), caseRequest("user-1", acme), []Want{off("group-flag", codeOutOfRollout, 0)}, false},
		{143, "number, above its hash", groupFlag("18.6"), caseRequest("user-1", group("company", `12`)), []Want{wantOn("group-flag", 0)}, false},
		{143, "number, below its hash", groupFlag("18.5"), caseRequest("user-1", group("company", `12`)), []Want{off("group-flag", codeOutOfRollout, 0)}, false},
		{144, "empty key", groupFlag("100"), caseRequest("user-1", group("company", `""`)), []Want{off("group-flag", codeNoGroup, 0)}, false},
		{145, "boolean key", groupFlag("100"), caseRequest("user-1", group("company", `true`)), []Want{off("group-flag", codeNoGroup, 0)}, false},
		{146, "$group_key is there", groupKey, caseRequest("user-1", acme), []Want{wantOn("k", 0)}, false},
		{147, "$group_key is overwritten", groupKey, caseRequest("user-1", acme, groupProperties("company", `{"$group_key":"x"}`)), []Want{wantOn("k", 0)}, false},
		{
			148, "unmapped index", withMember(caseDocument(caseFlag("k", `"aggregation_group_type_index":3,`+conditions(rollout("100")))), companies),
			caseRequest("user-1", acme),
			[]Want{off("k", codeNoGroup, 0)},
			false,
		},
		{149, "person condition matches", mixed, caseRequest("user-2", person(ok)), []Want{wantOn("mixed", 1)}, false},
		{149, "person condition out of rollout", mixed, caseRequest("user-1", person(ok)), []Want{off("mixed", codeOutOfRollout, 1)}, false},
		{
			150, "two group conditions", withMember(caseDocument(caseFlag("mixed", conditions(enterprise, `{`+onGroup+`}`))), companies), caseRequest("user-1"),
			[]Want{off("mixed", codeNoGroup, 1)},
			false,
		},
		{
			151, "no group, no match", mixed, caseRequest("user-2", person(`{"email":"a@x.io"}`)),
			[]Want{off("mixed", codeNoMatch, 1).description(noMatchWithoutGroup)},
			false,
		},
		{152, "explicit null is person", withMember(caseDocument(caseFlag("beta-feature", onGroup+`,`+conditions(
			`{"aggregation_group_type_index":null,"rollout_percentage":50}`))), companies), caseRequest("user-4"), []Want{wantOn("beta-feature", 0)}, false},
		{
			152, "and hashed by the person", withMember(caseDocument(caseFlag("beta-feature", onGroup+`,`+conditions(
				`{"aggregation_group_type_index":null,"rollout_percentage":50}`))), companies), caseRequest("user-1", acme),
			[]Want{off("beta-feature", codeOutOfRollout, 0)},
			false,
		},
	}
}

// dependsOn returns a flag filter that names its target by id.
func dependsOn(id, value string) string {
	return `{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":` + value + `}`
}

func dependencyCases() []Case {
	anyone := caseRequest("user-1")
	everyone, nobody := conditions(rollout("100")), conditions(rollout("0"))
	b := func(value string) string { return caseFlagID(2, "b", conditions(where(dependsOn("1", value)))) }
	half := multivariate("control", "0", "test", "100")
	const missingText = "Flag cannot be evaluated due to missing dependency"
	cycle := caseDocument(
		caseFlagID(1, "a", conditions(where(dependsOn("2", "true")))),
		caseFlagID(2, "b", conditions(where(dependsOn("1", "true")))),
		caseFlagID(3, "c", conditions(where(dependsOn("1", "true")))),
		caseFlagID(4, "d", everyone))
	mismatch := off("b", codeNoMatch, 0)
	onClient := func(r *Request) { r.Kind = "client" }
	return []Case{
		{153, "target off", caseDocument(caseFlag("a", nobody), b("true")), anyone, []Want{mismatch}, false},
		{153, "target on", caseDocument(caseFlag("a", everyone), b("true")), anyone, []Want{wantOn("b", 0)}, false},
		{
			154, "inactive target", caseDocument(`{"id":1,"key":"a","active":false,"filters":{"groups":[{}]}}`, b("false")), anyone,
			[]Want{absent("a"), wantOn("b", 0)},
			false,
		},
		{155, "held-out target", caseDocument(caseFlag("a", everyone+`,"holdout":{"id":42,"exclusion_percentage":100}`), b("true")), anyone, []Want{wantOn("b", 0)}, false},
		{156, "variants are case-sensitive", caseDocument(caseFlag("a", everyone+","+half), b(`"Test"`)), anyone, []Want{mismatch}, false},
		{156, "exact variant", caseDocument(caseFlag("a", everyone+","+half), b(`"test"`)), anyone, []Want{wantOn("b", 0)}, false},
		{157, "the string true", caseDocument(caseFlag("a", everyone), b(`"true"`)), anyone, []Want{mismatch}, false},
		{
			158, "deleted id", caseDocument(`{"id":1,"key":"a","active":true,"deleted":true,"filters":{"groups":[{}]}}`, b("true")), anyone,
			[]Want{absent("a"), off("b", codeMissingDependency, -1).description(missingText)},
			false,
		},
		{
			158, "in a condition that is not reached", caseDocument(caseFlagID(2, "b", conditions(rollout("100"), where(dependsOn("1", "true"))))), anyone,
			[]Want{off("b", codeMissingDependency, -1)},
			false,
		},
		{
			159, "transitively missing", caseDocument(b("true"), caseFlagID(3, "c", conditions(where(dependsOn("2", "false"))))), anyone,
			[]Want{off("b", codeMissingDependency, -1), off("c", codeMissingDependency, -1)},
			false,
		},
		{160, "cycle", cycle, anyone, []Want{absent("a"), absent("b"), absent("c"), wantOn("d", 0)}, true},
		{160, "cycle that was not asked for", cycle, caseRequest("user-1", keys("d")), []Want{absent("a"), absent("b"), absent("c"), wantOn("d", 0)}, false},
		{161, "exact on a flag", caseDocument(caseFlag("a", everyone),
			caseFlagID(2, "b", conditions(where(`{"key":"1","type":"flag","operator":"exact","value":true}`)))), anyone, []Want{mismatch}, false},
		{
			162, "target of another runtime", caseDocument(withMember(caseFlag("a", everyone), `"evaluation_runtime":"server"`), b("false")),
			caseRequest("user-1", onClient),
			[]Want{absent("a"), wantOn("b", 0)},
			false,
		},
		{
			163, "dependencies are returned", caseDocument(caseFlagID(1, "a", everyone), caseFlagID(2, "b", everyone),
				caseFlagID(3, "c", conditions(where(dependsOn("2", "true"))))), caseRequest("user-1", keys("c")),
			[]Want{absent("a"), wantOn("b", 0), wantOn("c", 0)},
			false,
		},
		{164, "no keys", caseDocument(caseFlag("a", everyone)), caseRequest("user-1", keys()), []Want{absent("a")}, false},
		{165, "unknown key", caseDocument(caseFlag("a", everyone)), caseRequest("user-1", keys("nope")), []Want{absent("a"), absent("nope")}, false},
	}
}

// keys sets flag_keys.
func keys(list ...string) func(*Request) {
	return func(r *Request) { r.Keys, r.HasKeys = list, true }
}

func requestCases() []Case {
	one := func(filter string) string { return caseDocument(caseFlag("k", conditions(where(filter)))) }
	distinct := one(filterJSON("distinct_id", "exact", `"user-1"`))
	planPro := one(filterJSON("plan", "exact", `"pro"`))
	stored := func(r *Request) { r.StoredPerson = json.RawMessage(`{"plan":"pro"}`) }
	docs := caseDocument(withMember(caseFlag("k", conditions(rollout("100"))), `"evaluation_contexts":["docs"]`))
	tags := func(list ...string) func(*Request) { return func(r *Request) { r.Tags = list } }
	geo := func(r *Request) {
		r.Geo = map[string]string{"$geoip_country_code": "US", "$geoip_city_name": "Mountain View"}
	}
	country := one(filterJSON("$geoip_country_code", "exact", `"US"`))
	kind := func(k string) *Request { return caseRequest("user-1", func(r *Request) { r.Kind = k }) }
	runtime := func(name string) string {
		return withMember(caseFlag("k-"+name, conditions(rollout("100"))), fmt.Sprintf(`"evaluation_runtime":%q`, name))
	}
	runtimes := caseDocument(runtime("client"), runtime("server"), runtime("all"), caseFlag("k-none", conditions(rollout("100"))), runtime("edge"))
	client, server := wantOn("k-client", 0), wantOn("k-server", 0)
	always := []Want{wantOn("k-all", 0), wantOn("k-none", 0), wantOn("k-edge", 0)}
	mismatch := []Want{off("k", codeNoMatch, 0)}
	match := []Want{wantOn("k", 0)}
	return []Case{
		{166, "injected distinct id", distinct, caseRequest("user-1"), match, false},
		{166, "another one", distinct, caseRequest("user-2"), mismatch, false},
		{167, "explicit property wins", distinct, caseRequest("user-1", person(`{"distinct_id":"x"}`)), mismatch, false},
		{168, "initial property is derived", one(filterJSON("$initial_utm_source", "exact", `"g"`)), caseRequest("user-1", person(`{"utm_source":"g"}`)), match, false},
		{
			168, "unless it is there", one(filterJSON("$initial_utm_source", "exact", `"g"`)),
			caseRequest("user-1", person(`{"utm_source":"g","$initial_utm_source":"h"}`)), mismatch, false,
		},
		{169, "$os from $os_name", one(filterJSON("$os", "exact", `"iOS"`)), caseRequest("user-1", person(`{"$os_name":"iOS"}`)), match, false},
		{169, "$os_name from $os", one(filterJSON("$os_name", "exact", `"iOS"`)), caseRequest("user-1", person(`{"$os":"iOS"}`)), match, false},
		{170, "overlay", planPro, caseRequest("user-1", stored, person(`{"city":"x"}`)), match, false},
		{170, "request wins", planPro, caseRequest("user-1", stored, person(`{"plan":"free"}`)), mismatch, false},
		{171, "stored properties not wanted", planPro, caseRequest("user-1", person(`{"city":"x"}`)), mismatch, false},
		{172, "contexts are case-sensitive", docs, caseRequest("user-1", tags("Docs")), []Want{absent("k")}, false},
		{172, "one of them", docs, caseRequest("user-1", tags("app", "docs")), match, false},
		{173, "no request contexts", docs, caseRequest("user-1", tags()), match, false},
		{174, "browser", runtimes, kind("client"), append([]Want{client, absent("k-server")}, always...), false},
		{175, "server SDK with Origin", runtimes, kind("server"), append([]Want{absent("k-client"), server}, always...), false},
		{176, "unknown agent", runtimes, kind("unknown"), append([]Want{absent("k-client"), absent("k-server")}, always...), false},
		{177, "no agent, Referer", runtimes, kind("client"), append([]Want{client, absent("k-server")}, always...), false},
		{178, "evaluation_runtime SERVER", runtimes, kind("server"), append([]Want{absent("k-client"), server}, always...), false},
		{179, "evaluation_runtime edge", runtimes, kind(""), append([]Want{client, server}, always...), false},
		{180, "request property wins", country, caseRequest("user-1", geo, person(`{"$geoip_country_code":"DE"}`)), mismatch, false},
		{
			180, "the rest comes from the look-up", one(filterJSON("$geoip_city_name", "exact", `"Mountain View"`)),
			caseRequest("user-1", geo, person(`{"$geoip_country_code":"DE"}`)), match, false,
		},
		{180, "stored property loses", country, caseRequest("user-1", geo, func(r *Request) {
			r.StoredPerson = json.RawMessage(`{"$geoip_country_code":"DE"}`)
		}), match, false},
		{181, "null is replaced", country, caseRequest("user-1", geo, person(`{"$geoip_country_code":null}`)), match, false},
		{182, "nothing looked up", country, caseRequest("user-1"), mismatch, false},
	}
}
