package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

const (
	surveysPath = "/api/projects/1/surveys/"
	personsPath = "/api/projects/1/persons/"
	groupsPath  = "/api/projects/1/groups"

	response = "00000000-0000-7000-8000-0000000000e1" // of ada to the survey
)

// importBody is a document with a flag and cohorts that can be imported, and flags that
// cannot.
const importBody = `{"flags":[{"id":7,"key":"beta","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}],"rollout_percentage":50}]}},` +
	`{"id":8,"key":"new-checkout","active":true,"filters":{"groups":[{}]}},{"id":9,"key":"old","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":4}]}]}}],` +
	`"cohorts":[{"id":5,"name":"Free","is_static":false,"filters":{"properties":{"type":"OR","values":[{"key":"plan","type":"person","operator":"exact","value":"free"}]}}},{"id":6,"name":"Listed","is_static":true}]}`

// paywallFirst and paywallSecond are rules of a flag, which paywall makes the filters of.
const (
	paywallFirst  = `{"rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","type":"person","value":"pro"}]},"value":"lab"}`
	paywallSecond = `{"rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default",` +
		`"assignment_algorithm":"sha1_60_v1","variants":[{"key":"a","weight":100,"value":"short"},{"key":"b","weight":0,"value":"long"}],"holdout":{"id":null,"exclusion_percentage":0}}`
)

func paywall(rules ...string) string {
	return `{"version":2,"return_type":"string","default_value":"classic","rules":[` + strings.Join(rules, ",") + `]}`
}

var paywallBody = `{"key":"paywall","filters":` + paywall(paywallFirst, paywallSecond) + `}`

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// onPaywall makes the flag, and returns a request on it whose body has its rules.
func onPaywall(method, path string, body func(first, second string) string) func(*managedSite) call {
	return func(a *managedSite) call {
		rules := a.ok(api("POST", flagsPath, paywallBody))["filters"].(map[string]any)["rules"].([]any)
		return api(method, flagsPath+"paywall/"+path, body(asJSON(rules[0]), asJSON(rules[1])))
	}
}

// A managedSite is an apiServer whose project has one thing of each kind, persons,
// a group, and responses to its survey. The fields are their paths.
type managedSite struct {
	*apiServer
	flag, dynamic, static, early, survey, person string
}

func newManagedSite(t *testing.T) *managedSite {
	t.Helper()
	a := &managedSite{apiServer: newAPI(t, apiSetup{
		management: func(c *management.Config) { c.Data = c.Store.(sqlstore.Storage) },
		surveys:    func(c *surveys.Config) { c.Summarizer = summary.Extractive{} },
		server:     allRoutes,
	})}
	create := func(path, body string) string {
		t.Helper()
		return path + fmt.Sprint(a.ok(api("POST", path, body))["id"]) + "/"
	}
	a.flag = create(flagsPath, `{"key":"new-checkout","name":"New checkout","tags":["shop"],"filters":{"groups":[`+
		`{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":100,"variant":"test"},{"properties":[],"rollout_percentage":50}],`+
		`"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},"payloads":{"test":"{\"columns\":2}"}}}`)
	a.dynamic = create(cohortsPath, `{"name":"Pro","filters":{"properties":{"type":"OR","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}}}`)
	a.static = create(cohortsPath, `{"name":"Testers","is_static":true}`)
	a.early = create(earlyPath, earlyBody)
	a.survey = create(surveysPath, `{"name":"NPS","type":"popover","start_date":"2026-02-01T00:00:00Z","questions":[`+
		`{"id":"q-rating","type":"rating","scale":10,"display":"number","question":"How likely are you to recommend us?","isNpsQuestion":true},`+
		`{"id":"q-open","type":"open","question":"Why?","optional":true}],"appearance":{"backgroundColor":"#fff"}}`)

	event := func(id, name, distinctID string, hour int, properties string) capture.Event {
		return capture.Event{
			Project: 1, UUID: uuid.MustParse(id), Name: name, DistinctID: distinctID,
			Time: time.Date(2026, 2, 3, hour, 0, 0, 0, time.UTC), Received: apiTime, Properties: json.RawMessage(properties),
		}
	}
	about := `"$survey_id":"` + strings.TrimPrefix(strings.TrimSuffix(a.survey, "/"), surveysPath) + `"`
	if err := a.surveys.Sink(a.store).Write(t.Context(), []capture.Event{
		event("00000000-0000-7000-8000-0000000000e0", "$identify", "ada", 6, `{"$set":{"email":"ada@acme.example","plan":"pro"}}`),
		event("00000000-0000-7000-8000-0000000000e4", "$groupidentify", "ada", 6, `{"$group_type":"company","$group_key":"acme","$group_set":{"tier":"enterprise"}}`),
		event("00000000-0000-7000-8000-0000000000e2", "survey shown", "ada", 7, `{`+about+`}`),
		event("00000000-0000-7000-8000-0000000000e5", "survey shown", "eve", 7, `{`+about+`}`),
		event(response, "survey sent", "ada", 8, `{`+about+`,"$survey_response_q-rating":9,"$survey_response_q-open":"It is <fast>, and stays so.","$current_url":"https://acme.example/"}`),
		event("00000000-0000-7000-8000-0000000000e3", "survey sent", "eve", 9, `{`+about+`,"$survey_response_q-rating":3,"$survey_response_q-open":"The search is slow."}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.DefineEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.person = personsPath + a.ok(api("GET", personsPath+"?distinct_id=ada", ""))["results"].([]any)[0].(map[string]any)["uuid"].(string) + "/"
	return a
}

// reportFlag stores what a client reports of a flag.
func (a *managedSite) reportFlag(key, value, sdk string) {
	a.t.Helper()
	err := a.store.Write(a.t.Context(), []capture.Event{{
		Project: 1, UUID: capture.NewUUID(apiTime), Name: "$feature_flag_called", DistinctID: "ada", Time: apiTime, Received: apiTime,
		Properties: fmt.Appendf(nil, `{"$feature_flag":%q,"$feature_flag_response":%s,"$lib":%q}`, key, value, sdk),
	}})
	if err != nil {
		a.t.Fatal(err)
	}
}

// TestManagedGolden keeps a request and response pair for each operation on what a
// project serves, and for the errors that only these have.
func TestManagedGolden(t *testing.T) {
	csv := []string{"Content-Type", "text/csv"}
	for _, tt := range []struct {
		name   string
		before []func(*managedSite) call
		call   func(*managedSite) call
	}{
		{name: "flags", call: requestTo("GET", flagsPath+"?active=true&search=checkout", "")},
		{name: "flags-activity", call: requestTo("GET", flagsPath+"activity/?limit=1", "")},
		{name: "flags-bulk-delete", call: requestTo("POST", flagsPath+"bulk_delete/", `{"ids":[1,99]}`)},
		{name: "flags-bulk-keys", call: requestTo("POST", flagsPath+"bulk_keys/", `{"ids":[1,99]}`)},
		{name: "flags-facets", call: requestTo("GET", flagsPath+"facets/", "")},
		{name: "flags-matching", call: requestTo("GET", flagsPath+"matching_ids/?tags=%5B%22shop%22%5D", "")},
		{name: "flags-mine", call: requestTo("GET", flagsPath+"my_flags/", "")},
		{name: "flags-preview", call: requestTo("POST", flagsPath+"preview/", `{"key":"new-checkout","filters":{"groups":[{"rollout_percentage":0}]}}`)},
		{name: "flags-radius", call: requestTo("POST", flagsPath+"user_blast_radius/", `{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":50}}`)},
		{name: "flags-reasons-body", call: requestTo("POST", flagsPath+"evaluation_reasons/", `{"distinct_id":"ada","person_properties":{"plan":"pro"}}`)},
		{name: "flags-reasons", call: requestTo("GET", flagsPath+"evaluation_reasons/?distinct_id=ada", "")},
		{name: "import", call: requestTo("POST", "/api/projects/1/import/", importBody)},
		{name: "apply", call: requestTo("POST", "/api/projects/1/apply/?dry_run=true", `{"flags":[{"key":"beta","active":true,"filters":{"groups":[{"rollout_percentage":7}]}},{"key":"made","filters":{"groups":[{}]}}]}`)},
		{name: "apply-refused", call: requestTo("POST", "/api/projects/1/apply/", `{"flags":[{"key":"a b","active":true,"filters":{"groups":[{}]}},{"key":"half","active":true,"filters":{"groups":[{"rollout_percentage":101}]}}]}`)},
		{name: "import-dry-run", call: requestTo("POST", "/api/projects/1/import/?dry_run=true", importBody)},
		{name: "export", call: requestTo("GET", "/api/projects/1/export/?archived=true", "")},
		{name: "export-lists", call: requestTo("GET", "/api/projects/1/export/?lists=true", "")},
		{name: "import-error", call: requestTo("POST", "/api/projects/1/import/", `{"flags":7}`)},
		{name: "flag", call: requestOn(flagOf, "GET", "", "")},
		{name: "flag-create", call: requestTo("POST", flagsPath, `{"key":"dark-mode","filters":{"groups":[{"rollout_percentage":25}]}}`)},
		{name: "flag-create-error", call: requestTo("POST", flagsPath, `{"key":"dark-mode","filters":{"groups":[{"properties":[{"key":"age","type":"person","operator":"almost","value":1}]}]}}`)},
		{name: "flag-create-taken", call: requestTo("POST", flagsPath, flagBody)},
		{name: "flag-patch", call: requestOn(flagOf, "PATCH", "", `{"active":false,"version":1}`)},
		{name: "flag-patch-stale", call: requestOn(flagOf, "PATCH", "", `{"active":false}`, "If-Match", `"7"`)},
		{name: "flag-patch-conflict", before: calls(requestOn(flagOf, "PATCH", "", `{"name":"Checkout"}`)), call: requestOn(flagOf, "PATCH", "", `{"name":"Basket","version":1,"original_flag":{"name":"New checkout"}}`)},
		{name: "flag-activity", before: calls(requestOn(flagOf, "PATCH", "", `{"active":false}`)), call: requestOn(flagOf, "GET", "activity/", "")},
		{name: "flag-status", call: requestOn(flagOf, "GET", "status/", "")},
		{name: "flag-usage", call: func(a *managedSite) call {
			a.reportFlag("new-checkout", `"test"`, "posthog-node")
			return api("GET", a.flag+"usage/?days=2", "")
		}},
		{name: "flag-usage-error", call: requestOn(flagOf, "GET", "usage/?days=401", "")},
		{name: "flag-explain", call: requestOn(flagOf, "POST", "explain/", `{"distinct_id":"ada"}`)},
		{name: "flag-explain-text", call: requestTo("POST", flagsPath+"new-checkout/explain/", `{"distinct_id":"ada"}`, "Accept", "text/plain")},
		{name: "flag-by-key", call: requestTo("GET", flagsPath+"new-checkout/", "")},
		{name: "flag-rollout", call: requestOn(flagOf, "POST", "rollout/", `{"rollout_percentage":25,"condition":1}`)},
		{name: "flag-rollout-error", call: requestOn(flagOf, "POST", "rollout/", `{"rollout_percentage":25}`)},
		{name: "flag-versions", before: calls(requestOn(flagOf, "PATCH", "", `{"name":"Checkout","filters":{"early_exit":true}}`), requestOn(flagOf, "POST", "revert/", `{"version":1}`)), call: requestOn(flagOf, "GET", "versions/?limit=2&offset=1", "")},
		{name: "flag-version", before: calls(requestOn(flagOf, "PATCH", "", `{"name":"Checkout"}`)), call: requestOn(flagOf, "GET", "versions/1/", "")},
		{name: "flag-version-error", call: requestOn(flagOf, "GET", "versions/2/", "")},
		{name: "flag-revert", before: calls(requestOn(flagOf, "PATCH", "", `{"name":"Checkout","active":false}`)), call: requestOn(flagOf, "POST", "revert/", `{"version":1,"current_version":2}`)},
		{name: "flag-revert-error", call: requestOn(flagOf, "POST", "revert/", `{"version":2}`)},
		{name: "flag-revert-conflict", call: requestOn(flagOf, "POST", "revert/", `{"version":1,"current_version":2}`)},
		{name: "flag-revert-activity", before: calls(requestOn(flagOf, "PATCH", "", `{"active":false}`), requestOn(flagOf, "POST", "revert/", `{"version":1}`)), call: requestOn(flagOf, "GET", "activity/?limit=1", "")},
		{name: "flag-disable", call: requestOn(flagOf, "POST", "disable/", "")},
		{name: "flag-enable", call: requestOn(flagOf, "POST", "enable/", "")},
		{name: "flag-archive", call: requestOn(flagOf, "POST", "archive/", "")},
		{name: "flag-unarchive", call: requestOn(flagOf, "POST", "unarchive/", "")},

		{name: "rules-create", call: requestTo("POST", flagsPath, paywallBody)},
		{name: "rules-create-active", call: requestTo("POST", flagsPath, strings.Replace(paywallBody, `{`, `{"active":true,`, 1))},
		{name: "rules-create-member", call: requestTo("POST", flagsPath, strings.Replace(paywallBody, `"paused"`, `"stopped":false,"paused"`, 1))},
		{name: "rules-create-limited", before: calls(requestTo("PATCH", "/api/projects/1/", `{"posthog_rules_only":true}`)), call: requestTo("POST", flagsPath, strings.NewReplacer(`"experiment_id":null`, `"experiment_id":9`, `{"id":null`, `{"id":4`).Replace(paywallBody))},
		{name: "rules-read", before: calls(requestTo("POST", flagsPath, paywallBody)), call: requestTo("GET", flagsPath+"paywall/", "")},
		{name: "rules-update", call: onPaywall("PATCH", "", func(first, second string) string { return `{"version":1,"filters":` + paywall(second, first) + `}` })},
		{name: "rules-update-seed", call: onPaywall("PATCH", "", func(first, second string) string {
			return `{"version":1,"filters":` + paywall(strings.Replace(second, `"seed":"`, `"seed":"x`, 1)) + `}`
		})},
		{name: "rules-update-version", call: onPaywall("PATCH", "", func(_, _ string) string { return `{"filters":` + paywall() + `}` })},
		{name: "rules-update-stale", call: onPaywall("PATCH", "", func(_, _ string) string { return `{"version":2,"filters":` + paywall() + `}` })},
		{name: "rules-update-language", call: onPaywall("PATCH", "", func(_, _ string) string { return `{"version":1,"filters":{"version":3,"rules":[]}}` })},
		{name: "rules-rollout", before: calls(requestTo("POST", flagsPath, paywallBody)), call: requestTo("POST", flagsPath+"paywall/rollout/", `{"rollout_percentage":25}`)},
		{name: "rules-preview", before: calls(requestTo("POST", flagsPath, paywallBody), requestTo("POST", flagsPath+"paywall/enable/", "")), call: func(a *managedSite) call {
			f := a.ok(api("GET", flagsPath+"paywall/", ""))
			rules := f["filters"].(map[string]any)["rules"].([]any)
			return api("POST", flagsPath+"preview/", `{"id":`+fmt.Sprint(f["id"])+`,"version":2,"filters":`+paywall(asJSON(rules[1]), asJSON(rules[0]))+`}`)
		}},
		{name: "rules-explain", before: calls(requestTo("POST", flagsPath, paywallBody), requestTo("POST", flagsPath+"paywall/enable/", "")), call: requestTo("POST", flagsPath+"paywall/explain/", `{"distinct_id":"ada","person_properties":{"plan":"pro"}}`)},
		{name: "rules-activity", before: calls(requestTo("POST", flagsPath, paywallBody), requestTo("PATCH", flagsPath+"paywall/", `{"version":1,"filters":`+paywall(paywallFirst)+`}`)), call: requestTo("GET", flagsPath+"activity/?limit=1", "")},

		{name: "manifest", before: calls(cliSends("POST", "/flags", `{"defaultValue":{"columns":2},"description":"The grid","key":"grid","type":"object"}`)), call: cliSends("GET", "", "")},
		{name: "manifest-secret", call: requestTo("GET", manifestPath, "", "Authorization", "Bearer "+acmeSecret)},
		{name: "manifest-create", call: cliSends("POST", "/flags", `{"defaultValue":false,"description":"Dark mode","key":"dark-mode","type":"boolean"}`)},
		{name: "manifest-create-taken", call: cliSends("POST", "/flags", `{"defaultValue":"control","key":"new-checkout","type":"string"}`)},
		{name: "manifest-create-error", call: cliSends("POST", "/flags", `{"defaultValue":"3","key":"seats","type":"integer"}`)},
		{name: "manifest-create-member", call: requestTo("POST", manifestPath+"/flags", `{"key":"seats","flagType":"integer","defaultValue":3}`)},
		{name: "manifest-update", call: cliSends("PUT", "/flags/new-checkout", `{"defaultValue":"control","description":"The checkout of 2026","key":"new-checkout","type":"string"}`)},
		{name: "manifest-update-type", call: cliSends("PUT", "/flags/new-checkout", `{"defaultValue":false,"key":"new-checkout","type":"boolean"}`)},
		{name: "manifest-update-unknown", call: cliSends("PUT", "/flags/nothing", `{"defaultValue":false,"key":"nothing","type":"boolean"}`)},
		{name: "manifest-delete", call: requestTo("DELETE", manifestPath+"/flags/new-checkout", "")},
		{name: "manifest-delete-archived", before: calls(requestOn(flagOf, "POST", "archive/", "")), call: requestTo("DELETE", manifestPath+"/flags/new-checkout", "")},
		{name: "manifest-error-not-authenticated", call: requestTo("GET", manifestPath, "", "Authorization", "")},
		{name: "manifest-error-secret", call: requestTo("POST", manifestPath+"/flags", "{}", "Authorization", "Bearer "+acmeSecret)},
		{name: "manifest-error-method", call: requestTo("POST", manifestPath, "{}")},
		{name: "manifest-options", call: requestTo("OPTIONS", manifestPath+"/flags/new-checkout", "", "Authorization", "")},

		{name: "cohorts", call: requestTo("GET", cohortsPath+"?search=pro", "")},
		{name: "cohort", call: requestOn(dynamicOf, "GET", "", "")},
		{name: "cohort-create", call: requestTo("POST", cohortsPath, `{"name":"Beta","filters":{"properties":{"type":"AND","values":[{"key":"email","type":"person","operator":"icontains","value":"@acme.example"}]}}}`)},
		{name: "cohort-create-error", call: requestTo("POST", cohortsPath, `{"name":"Beta","filters":{"properties":{"type":"NOR","values":[]}}}`)},
		{name: "cohort-uses", call: requestTo("GET", cohortsPath+"uses/", "")},
		{name: "cohort-preview", call: requestTo("POST", cohortsPath+"preview/", `{"name":"Free","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"free"}]}}}`)},
		{name: "cohort-preview-error", call: requestTo("POST", cohortsPath+"preview/", `{"name":"Free","limmit":1}`)},
		{name: "cohort-patch", call: requestOn(dynamicOf, "PATCH", "", `{"description":"Who pays"}`)},
		{name: "cohort-members", call: requestOn(staticOf, "POST", "members/", "distinct_id\nada\nbob\nada\n", csv...)},
		{name: "cohort-members-error", call: requestOn(dynamicOf, "POST", "members/", "ada\n", csv...)},
		{name: "cohort-persons", before: calls(requestOn(staticOf, "POST", "members/", "ada\n", csv...)), call: requestOn(staticOf, "GET", "persons/", "")},
		{name: "cohort-add", call: func(a *managedSite) call {
			return api("PATCH", a.static+"add_persons_to_static_cohort/", `{"person_ids":["`+a.personID()+`"]}`)
		}},
		{name: "cohort-remove", call: func(a *managedSite) call {
			a.ok(api("PATCH", a.static+"add_persons_to_static_cohort/", `{"person_ids":["`+a.personID()+`"]}`))
			return api("PATCH", a.static+"remove_person_from_static_cohort/", `{"person_id":"`+a.personID()+`"}`)
		}},

		{name: "early-access-features", call: requestTo("GET", earlyPath, "")},
		{name: "early-access-feature", call: requestOn(earlyOf, "GET", "", "")},
		{name: "early-access-enrollments", call: requestOn(earlyOf, "GET", "enrollments/?opted_out=true", "")},
		{name: "early-access-feature-create", call: requestTo("POST", earlyPath, `{"name":"Dark mode","stage":"alpha","description":"Easier on the eyes"}`)},
		{name: "early-access-feature-create-error", call: requestTo("POST", earlyPath, `{"name":"Dark mode","stage":"soon"}`)},
		{name: "early-access-feature-patch", call: requestOn(earlyOf, "PATCH", "", `{"stage":"general-availability"}`)},
		{name: "early-access-feature-delete", call: requestOn(earlyOf, "DELETE", "", "")},

		{name: "surveys", call: requestTo("GET", surveysPath+"?search=nps", "")},
		{name: "surveys-activity", call: requestTo("GET", surveysPath+"activity/", "")},
		{name: "surveys-labels", call: requestTo("GET", surveysPath+"question_labels/", "")},
		{name: "surveys-responses-count", call: requestTo("GET", surveysPath+"responses_count/", "")},
		{name: "surveys-stats", call: requestTo("GET", surveysPath+"stats/", "")},
		{name: "survey", call: requestOn(surveyOf, "GET", "", "")},
		{name: "survey-create", call: requestTo("POST", surveysPath, `{"name":"Why <b>us</b>?","type":"api","questions":[{"type":"single_choice","question":"How did you find us?","choices":["Search","A friend"]}],`+
			`"targeting_flag_filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":100}]}}`)},
		{name: "survey-create-error", call: requestTo("POST", surveysPath, `{"name":"Why?","type":"popover","questions":[{"type":"single_choice","question":"How did you find us?"}]}`)},
		{name: "survey-patch", call: requestOn(surveyOf, "PATCH", "", `{"description":"Each quarter","responses_limit":100}`)},
		{name: "survey-delete", call: requestOn(surveyOf, "DELETE", "", "")},
		{name: "survey-activity", before: calls(requestOn(surveyOf, "POST", "stop/", "")), call: requestOn(surveyOf, "GET", "activity/", "")},
		{name: "survey-launch-error", before: calls(requestOn(surveyOf, "POST", "stop/", "")), call: requestOn(surveyOf, "POST", "launch/", "")},
		{name: "survey-launch", call: func(a *managedSite) call {
			created := a.ok(api("POST", surveysPath, `{"name":"Why?","type":"popover","questions":[{"id":"q-open","type":"open","question":"Why?"}]}`))
			return api("POST", surveysPath+created["id"].(string)+"/launch/", "")
		}},
		{name: "survey-stop", call: requestOn(surveyOf, "POST", "stop/", "")},
		{name: "survey-stats", call: requestOn(surveyOf, "GET", "stats/?include_per_question_stats=true&include_per_day_stats=true", "")},
		{name: "survey-stats-error", call: requestOn(surveyOf, "GET", "stats/?date_from=yesterday", "")},
		{name: "survey-responses", call: requestOn(surveyOf, "GET", "responses/?limit=1&search=o", "")},
		{name: "survey-responses-csv", call: requestOn(surveyOf, "GET", "responses/?format=csv", "")},
		{name: "survey-response-archive", call: requestOn(surveyOf, "POST", "responses/"+response+"/archive/", "")},
		{name: "survey-response-unarchive", call: requestOn(surveyOf, "POST", "responses/"+response+"/unarchive/", "")},
		{name: "survey-responses-archived", before: calls(requestOn(surveyOf, "POST", "responses/"+response+"/archive/", "")), call: requestOn(surveyOf, "GET", "archived-response-uuids/", "")},
		{name: "survey-summary", before: calls(approve), call: requestOn(surveyOf, "POST", "summarize_responses/?question_id=q-open", "")},
		{name: "survey-headline", before: calls(approve), call: requestOn(surveyOf, "POST", "summary_headline/", "")},
		{name: "survey-summary-error", call: requestOn(surveyOf, "POST", "summarize_responses/?question_id=q-open", "")},
		{name: "survey-copy", call: requestOn(surveyOf, "POST", "duplicate_to_projects/", `{"target_team_ids":[1]}`)},

		{name: "persons", call: requestTo("GET", personsPath+"?search=ada", "")},
		{name: "person-search", call: requestTo("GET", "/api/projects/1/person_search/?search=da&properties=%5B%7B%22key%22%3A%22plan%22%2C%22type%22%3A%22person%22%2C%22value%22%3A%22pro%22%7D%5D", "")},
		{name: "person-search-error", call: requestTo("GET", "/api/projects/1/person_search/?properties=plan", "")},
		{name: "person-events", call: requestOn(personOf, "GET", "events/", "")},
		{name: "person-cohorts", call: requestOn(personOf, "GET", "cohorts/", "")},
		{name: "person", call: requestOn(personOf, "GET", "", "")},
		{name: "person-error", call: requestTo("GET", personsPath+"00000000-0000-7000-8000-000000000000/", "")},
		{name: "person-set", call: requestOn(personOf, "POST", "update_property/", `{"key":"plan","value":"free"}`)},
		{name: "person-unset", call: requestOn(personOf, "POST", "delete_property/", `{"$unset":"plan"}`)},
		{name: "person-delete", call: requestOn(personOf, "DELETE", "", "")},
		{name: "person-delete-events", call: requestOn(personOf, "DELETE", "?delete_events=true", "")},
		{name: "events", call: requestTo("GET", "/api/projects/1/events/?person_id=ada&limit=2&after=2026-02-03T06:00:00Z", "")},
		{name: "events-page", call: requestTo("GET", "/api/projects/1/events/?event=survey+shown&limit=1", "")},
		{name: "events-error", call: requestTo("GET", "/api/projects/1/events/?before=yesterday", "")},
		{name: "events-cursor-error", call: requestTo("GET", "/api/projects/1/events/?cursor=2", "")},
		{name: "event", call: requestTo("GET", "/api/projects/1/events/"+response+"/", "")},
		{name: "event-error", call: requestTo("GET", "/api/projects/1/events/00000000-0000-7000-8000-000000000000/", "")},
		{name: "events-export", call: requestTo("GET", "/api/projects/1/events/export/?event=survey+shown", "")},
		{name: "events-export-csv", call: requestTo("GET", "/api/projects/1/events/export/?event=survey+shown&format=csv", "")},
		{name: "events-export-exposures", call: requestTo("GET", "/api/projects/1/events/export/?exposures=true&format=csv", "")},
		{name: "events-export-error", call: requestTo("GET", "/api/projects/1/events/export/?format=xml", "")},
		{name: "event-definitions", call: requestTo("GET", "/api/projects/1/event_definitions/?search=survey&limit=2", "")},
		{name: "property-definitions", call: requestTo("GET", "/api/projects/1/property_definitions/?limit=3", "")},
		{name: "property-definitions-person", call: requestTo("GET", "/api/projects/1/property_definitions/?type=person", "")},
		{name: "property-definitions-error", call: requestTo("GET", "/api/projects/1/property_definitions/?type=group", "")},
		{name: "group-types", call: requestTo("GET", "/api/projects/1/groups_types/", "")},
		{name: "groups", call: requestTo("GET", groupsPath+"/?group_type_index=0", "")},
		{name: "groups-error", call: requestTo("GET", groupsPath+"/", "")},
		{name: "group", call: requestTo("GET", groupsPath+"/find/?group_type_index=0&group_key=acme", "")},
		{name: "group-set", call: requestTo("POST", groupsPath+"/update_property/?group_type_index=0&group_key=acme", `{"key":"tier","value":"basic"}`)},
		{name: "group-unset", call: requestTo("POST", groupsPath+"/delete_property/?group_type_index=0&group_key=acme", `{"$unset":"tier"}`)},
		{name: "group-delete", call: requestTo("DELETE", groupsPath+"/find/?group_type_index=0&group_key=acme", "")},

		{name: "activity", call: requestTo("GET", "/api/projects/1/activity_log/?limit=2&page=2", "")},
		{name: "activity-error", call: requestTo("GET", "/api/projects/1/activity_log/?page=0", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newManagedSite(t)
			for _, c := range tt.before {
				a.ok(c(a))
			}
			c := tt.call(a)
			golden(t, "managed-"+tt.name, scrub(dump(t, c.request(), c.do(a))))
		})
	}
}

func (a *managedSite) personID() string {
	return strings.TrimSuffix(strings.TrimPrefix(a.person, personsPath), "/")
}

func flagOf(a *managedSite) string    { return a.flag }
func dynamicOf(a *managedSite) string { return a.dynamic }
func staticOf(a *managedSite) string  { return a.static }
func earlyOf(a *managedSite) string   { return a.early }
func surveyOf(a *managedSite) string  { return a.survey }
func personOf(a *managedSite) string  { return a.person }

func requestTo(method, target, body string, header ...string) func(*managedSite) call {
	return func(*managedSite) call { return api(method, target, body, header...) }
}

// requestOn is requestTo for the path of one thing and what follows it.
func requestOn(thing func(*managedSite) string, method, path, body string, header ...string) func(*managedSite) call {
	return func(a *managedSite) call { return api(method, thing(a)+path, body, header...) }
}

const manifestPath = "/openfeature/v0/manifest"

// cliSends is a request of the program openfeature v0.4.1, as examples/manifest has seen it.
func cliSends(method, path, body string) func(*managedSite) call {
	header := []string{"User-Agent", "openfeature-cli/sync", "Accept", "application/json"}
	return requestTo(method, manifestPath+path, body, header...)
}

func calls(list ...func(*managedSite) call) []func(*managedSite) call { return list }

// approve lets answers be handed to Config.Summarizer (management.md §11.5).
var approve = requestTo("PATCH", "/api/organizations/@current/", `{"is_ai_data_processing_approved":true}`)
