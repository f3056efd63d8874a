package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// fullConditions has every member of management.md §9.4.
const fullConditions = `{"url":"/pricing","urlMatchType":"icontains","selector":"#buy","seenSurveyWaitPeriodInDays":14,` +
	`"events":{"values":[{"name":"order placed","propertyFilters":{"plan":{"values":["pro"],"operator":"exact"}}}],"repeatedActivation":false},` +
	`"cancelEvents":{"values":[{"name":"checkout started"}]},` +
	`"actions":{"values":[{"id":5,"name":"Clicked upgrade","steps":[]}]},` +
	`"deviceTypes":["Desktop","Mobile","Tablet"],"deviceTypesMatchType":"exact","linkedFlagVariant":"any"}`

// TestConditions follows management.md §9.4.
func TestConditions(t *testing.T) {
	for _, tt := range []struct{ name, raw string }{
		{"none", `{}`},
		{"all", fullConditions},
		{"null is not set", `{"url":null,"urlMatchType":null,"selector":null,"seenSurveyWaitPeriodInDays":null,"events":null,"cancelEvents":null,"actions":null,"deviceTypes":null,"deviceTypesMatchType":null,"linkedFlagVariant":null}`},
		{"empty is not set", `{"url":"","selector":"","events":{},"cancelEvents":{"values":null},"actions":{"values":[]},"deviceTypes":[],"linkedFlagVariant":""}`},
		{"unknown members", `{"x":1,"events":{"x":2,"values":[{"name":"a","x":3,"propertyFilters":{"p":{"x":4,"values":[1,true,"a"],"operator":"gt"}}}]}}`},
		{"regular expressions", `{"url":"^https://example\\.com/(?:a|b)$","urlMatchType":"regex","deviceTypes":["^(Desktop|Mobile)$"],"deviceTypesMatchType":"not_regex","events":{"values":[{"name":"a","propertyFilters":{"p":{"values":["^a+$"],"operator":"regex"}}}]}}`},
		{"no expression where texts are compared", `{"url":"(","urlMatchType":"exact","deviceTypes":["("],"deviceTypesMatchType":"icontains","events":{"values":[{"name":"a","propertyFilters":{"(":{"values":["("],"operator":"is_not"}}}]}}`},
		{"no address for an expression yet", `{"urlMatchType":"regex","deviceTypesMatchType":"regex"}`},
		{"an expression of 1000 bytes", `{"url":"` + strings.Repeat("a", 1000) + `","urlMatchType":"regex"}`},
		{"whatever actions are", `{"actions":{"values":[{"id":"x","steps":{"a":["<script>"]}}],"x":1}}`},
		{"the longest wait", `{"seenSurveyWaitPeriodInDays":9999}`},
	} {
		t.Run(tt.name, func(t *testing.T) { kept(t, rules.Conditions, tt.raw, "") })
	}
}

func TestConditionErrors(t *testing.T) {
	filter := func(f string) string {
		return `{"events":{"values":[{"name":"a"},{"name":"b","propertyFilters":{"p":` + f + `}}]}}`
	}
	for _, tt := range []struct{ name, raw, detail string }{
		{"url", `{"url":1}`, "url: must be a string."},
		{"long url", `{"url":"` + strings.Repeat("a", 4001) + `"}`, "url: must have no more than 4000 characters."},
		{"match type", `{"urlMatchType":"contains"}`, "urlMatchType: must be one of exact, is_not, icontains, not_icontains, regex, not_regex."},
		{"match type of properties", `{"urlMatchType":"gt"}`, "urlMatchType: must be one of"},
		{"no expression", `{"url":"(","urlMatchType":"regex"}`, "url: must be a regular expression in the syntax of RE2."},
		{"look-ahead", `{"url":"(?!a)","urlMatchType":"not_regex"}`, "RE2"},
		{"expression of 1001 bytes", `{"urlMatchType":"regex","url":"` + strings.Repeat("a", 1001) + `"}`, "no more than 1000 bytes"},
		{"selector", `{"selector":["#a"]}`, "selector: must be a string."},
		{"wait as text", `{"seenSurveyWaitPeriodInDays":"14"}`, "seenSurveyWaitPeriodInDays: must be an integer from 0 to 9999."},
		{"wait below 0", `{"seenSurveyWaitPeriodInDays":-1}`, "must be an integer"},
		{"half a day", `{"seenSurveyWaitPeriodInDays":0.5}`, "must be an integer"},
		{"wait beyond relative dates", `{"seenSurveyWaitPeriodInDays":10000}`, "must be an integer"},
		{"events a list", `{"events":[]}`, "events: must be an object."},
		{"values an object", `{"events":{"values":{}}}`, "events/values: must be a list of at most 200 elements."},
		{"event a name", `{"events":{"values":["a"]}}`, "events/values/0: must be an object."},
		{"event null", `{"cancelEvents":{"values":[null]}}`, "cancelEvents/values/0: must be an object."},
		{"event without a name", `{"cancelEvents":{"values":[{}]}}`, "cancelEvents/values/0/name: must be a string that is not blank."},
		{"201 events", `{"events":{"values":[` + strings.Repeat(`{"name":"a"},`, 200) + `{"name":"a"}]}}`, "at most 200"},
		{"repeated", `{"events":{"repeatedActivation":"no"}}`, "events/repeatedActivation: must be true or false."},
		{"filters a list", `{"events":{"values":[{"name":"a","propertyFilters":[]}]}}`, "events/values/0/propertyFilters: must be an object"},
		{"filter a value", filter(`"pro"`), "events/values/1/propertyFilters/p: must be an object."},
		{"filter null", filter(`null`), "propertyFilters/p: must be an object."},
		{"filter with one value", filter(`{"values":"pro"}`), "propertyFilters/p/values: must be a list"},
		{"filter with an object", filter(`{"values":[{}]}`), "propertyFilters/p/values/0: must be a string."},
		{"operator", filter(`{"values":["a"],"operator":"gte"}`), "propertyFilters/p/operator: must be one of exact, is_not, icontains, not_icontains, regex, not_regex, gt, lt."},
		{"no expression in a filter", filter(`{"values":["a","["],"operator":"not_regex"}`), "propertyFilters/p/values/1: must be a regular expression"},
		{"actions a list", `{"actions":[]}`, "actions: must be an object."},
		{"action a number", `{"actions":{"values":[5]}}`, "actions/values/0: must be an object."},
		{"devices a text", `{"deviceTypes":"Desktop"}`, "deviceTypes: must be a list"},
		{"device a number", `{"deviceTypes":["Desktop",1]}`, "deviceTypes/1: must be a string."},
		{"device match type", `{"deviceTypesMatchType":1}`, "deviceTypesMatchType: must be one of"},
		{"no expression of devices", `{"deviceTypesMatchType":"regex","deviceTypes":["a","*"]}`, "deviceTypes/1: must be a regular expression"},
		{"variant", `{"linkedFlagVariant":true}`, "linkedFlagVariant: must be a string."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, rules.Conditions, tt.raw, "conditions", "invalid_input", tt.detail)
		})
	}
}

func TestLinkedVariantAndWaitDays(t *testing.T) {
	for _, tt := range []struct {
		conditions, variant string
		days                int
	}{
		{fullConditions, "any", 14},
		{`{"linkedFlagVariant":"a\u00e9","seenSurveyWaitPeriodInDays":3.0}`, "aé", 3},
		{`{"linkedFlagVariant":null,"seenSurveyWaitPeriodInDays":null}`, "", 0},
		{`{"linkedFlagVariant":1,"seenSurveyWaitPeriodInDays":"1"}`, "", 0},
		{`{"seenSurveyWaitPeriodInDays":-1}`, "", 0},
		{`{}`, "", 0},
		{`null`, "", 0},
		{``, "", 0},
	} {
		raw := json.RawMessage(tt.conditions)
		if got := rules.LinkedVariant(raw); got != tt.variant {
			t.Errorf("LinkedVariant(%s) = %q, want %q", raw, got, tt.variant)
		}
		if got := rules.WaitDays(raw); got != tt.days {
			t.Errorf("WaitDays(%s) = %d, want %d", raw, got, tt.days)
		}
	}
}

// TestCheckExternal follows the last paragraph of management.md §9.4.
func TestCheckExternal(t *testing.T) {
	for _, tt := range []struct{ conditions, appearance, attr, detail string }{
		{``, ``, "", ""},
		{`null`, `null`, "", ""},
		{`{}`, `{}`, "", ""},
		{`{"url":"","urlMatchType":null,"selector":"","seenSurveyWaitPeriodInDays":0,"linkedFlagVariant":null,"deviceTypes":[],"actions":{"values":[]},"events":{"values":[],"repeatedActivation":true}}`, `{"surveyPopupDelaySeconds":0.0}`, "", ""},
		{`{"events":null,"actions":{},"cancelEvents":{"values":[{"name":"a"}]},"x":1}`, `{"surveyPopupDelaySeconds":null,"whiteLabel":true}`, "", ""},
		{`{"url":"/"}`, ``, "conditions", "url: must not"},
		{`{"urlMatchType":"exact"}`, ``, "conditions", "urlMatchType: must not"},
		{`{"selector":"#a"}`, ``, "conditions", "selector: must not"},
		{`{"seenSurveyWaitPeriodInDays":1}`, ``, "conditions", "seenSurveyWaitPeriodInDays: must not"},
		{`{"linkedFlagVariant":"any"}`, ``, "conditions", "linkedFlagVariant: must not"},
		{`{"deviceTypes":["Desktop"]}`, ``, "conditions", "deviceTypes: must not"},
		{`{"deviceTypesMatchType":"exact"}`, ``, "conditions", "deviceTypesMatchType: must not"},
		{`{"actions":{"values":[{}]}}`, ``, "conditions", "actions: must be empty"},
		{`{"events":{"values":[{"name":"a"}]}}`, ``, "conditions", "events: must be empty"},
		{`{}`, `{"surveyPopupDelaySeconds":1}`, "appearance", "surveyPopupDelaySeconds: must not"},
	} {
		err := rules.CheckExternal(json.RawMessage(tt.conditions), json.RawMessage(tt.appearance))
		if tt.attr == "" {
			if err != nil {
				t.Errorf("CheckExternal(%s, %s) = %v, want nil", tt.conditions, tt.appearance, err)
			}
			continue
		}
		checkFault(t, "CheckExternal("+tt.conditions+")", err, tt.attr, "invalid_input", tt.detail)
	}
}

func FuzzConditions(f *testing.F) {
	f.Add(fullConditions)
	f.Add(`{"url":"(","urlMatchType":"regex","deviceTypes":["a"],"deviceTypesMatchType":"regex","seenSurveyWaitPeriodInDays":1e2}`)
	f.Add(`{"events":{"values":[{"name":"a","propertyFilters":{"p":{"values":["^a+$",1],"operator":"regex"}}}]},"actions":{"values":[{"id":1}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		stored := fuzzed(t, rules.Conditions, raw)
		if days := rules.WaitDays(stored); days < 0 || days > 9999 {
			t.Errorf("WaitDays(%s) = %d", stored, days)
		}
		// The public form can be stored again.
		if public := rules.PublicConditions(stored); stored != nil {
			kept(t, rules.Conditions, string(public), "")
		}
	})
}

func TestWithoutLinkedVariant(t *testing.T) {
	for conditions, want := range map[string]string{
		``: ``, `null`: `null`, `{}`: `{}`, `{"url":"/","x":[1.0]}`: `{"url":"/","x":[1.0]}`,
		`{"url":"/","linkedFlagVariant":"test","selector":"#a"}`: `{"url":"/","selector":"#a"}`, `{"linkedFlagVariant":null}`: `{}`,
	} {
		if got := string(rules.WithoutLinkedVariant(json.RawMessage(conditions))); got != want {
			t.Errorf("WithoutLinkedVariant(%s) = %s, want %s", conditions, got, want)
		}
	}
}
