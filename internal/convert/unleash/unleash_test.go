package unleash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/unleash"
)

// converted converts a document.
func converted(t testing.TB, document string, o convert.Options) *convert.Project {
	t.Helper()
	p, err := unleash.Convert([]byte(document), &o)
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return p
}

// value returns the value of a flag as JSON.
func value(t testing.TB, s *flags.Snapshot, key, id string, properties map[string]any) string {
	t.Helper()
	r, err := s.Flag(key, &flags.Request{DistinctID: id, PersonProperties: properties})
	if err != nil || r.Failed {
		t.Fatalf("%s: %v, %s", key, err, r.Reason.Description)
	}
	if r.JSON() == nil {
		return "null"
	}
	return string(r.JSON())
}

// withStrategies returns a document with one flag, f.
func withStrategies(strategies string) string {
	return `{"version": 2, "features": [{"name": "f", "enabled": true, "strategies": [` + strategies + `]}]}`
}

// TestEnds compares the ends of splits with the formulas of Unleash, at the last result within
// them and the first beyond.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		rollout string
		percent float64
	}{{`"0"`, 0}, {`"0.99"`, 0.99}, {`"1"`, 1}, {`33`, 33}, {`"33.7"`, 33.7}, {`"50"`, 50}, {`"99"`, 99}, {`99.999`, 99.999}} {
		p := converted(t, withStrategies(`{"name": "flexibleRollout", "parameters": {"rollout": `+test.rollout+`, "stickiness": "default", "groupId": "g"}}`), convert.Options{})
		for _, rule := range p.Flags[0].Rules.Rules {
			end := rule.Split.Ends[0]
			included := func(h uint64) bool { return test.percent > 0 && float64(h+1) <= test.percent }
			if included(end) || end > 0 && !included(end-1) {
				t.Errorf("%s: the end is %d", test.rollout, end)
			}
		}
	}
	for _, weights := range [][]int{{1}, {500, 500}, {333, 333, 334}, {0, 1, 0, 999, 0}, {1, 1}, {100, 0, 7}} {
		var list []string
		total := 0
		for i, w := range weights {
			list = append(list, fmt.Sprintf(`{"name": "v%d", "weight": %d}`, i, w))
			total += w
		}
		p := converted(t, `{"features": [{"name": "f", "enabled": true, "variants": [`+strings.Join(list, ",")+`]}]}`, convert.Options{})
		drawn := func(h int) string {
			counter := 0
			for i, w := range weights {
				if counter += w; counter >= h+1 {
					return fmt.Sprintf(`"v%d"`, i)
				}
			}
			return ""
		}
		for _, rule := range p.Flags[0].Rules.Rules {
			if rule.Split == nil {
				if got := string(rule.Value); got != drawn(0) || got != drawn(total-1) {
					t.Errorf("%v: all get %s", weights, got)
				}
				continue
			}
			if rule.Split.Modulus != uint64(total) || rule.Split.Ends[len(rule.Split.Ends)-1] != uint64(total) {
				t.Errorf("%v: modulus %d, ends %d", weights, rule.Split.Modulus, rule.Split.Ends)
			}
			for i, end := range rule.Split.Ends {
				if got := string(rule.Split.Values[i]); got != drawn(int(end)-1) || got == drawn(int(end)) {
					t.Errorf("%v: %s ends at %d", weights, got, end)
				}
			}
		}
	}
}

// TestRules has what strategies become: the rules that people see.
func TestRules(t *testing.T) {
	const half = `"hash":"murmur3_32","modulus":"100","prefix":"g:"`
	for _, test := range []struct{ strategy, want string }{
		{`{"name": "default"}`, `targeted_release []`},
		{
			`{"name": "userWithId", "parameters": {"userIds": "a, b,c"}}`,
			`targeted_release [{"key":"distinct_id","value":["a","b","c"],"operator":"exact","type":"person","case_sensitive":true}]`,
		},
		{`{"name": "flexibleRollout", "parameters": {"rollout": "100", "stickiness": "default", "groupId": "g"}}`, `targeted_release []`},
		{
			`{"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "default", "groupId": "g"}}`,
			`split [] {` + half + `,"ends":["50"],"values":[true],"rest":"return_default","no_subject":"continue"}` + "\n" +
				`split [] {` + half + `,"subject":"sessionId","ends":["50"],"values":[true],"rest":"continue","no_subject":"continue"}`,
		},
		{
			`{"name": "flexibleRollout", "parameters": {"rollout": "100", "stickiness": "company", "groupId": "g"}}`,
			`split [] {` + half + `,"subject":"company","ends":["100"],"values":[true],"rest":"continue","no_subject":"continue"}`,
		},
		{
			`{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}, {"contextName": "userId", "operator": "NOT_IN", "values": ["a", "b"]}]}`,
			`targeted_release [{"key":"plan","value":"pro","operator":"exact","type":"person","case_sensitive":true},` +
				`{"key":"distinct_id","value":["a","b"],"operator":"is_not","type":"person","case_sensitive":true}]`,
		},
		{
			`{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "inverted": true, "values": ["pro"]}, {"contextName": "plan", "operator": "IN", "values": ["null"]}]}`,
			`targeted_release [{"key":"plan","value":"pro","operator":"is_not","type":"person","case_sensitive":true},` +
				`{"key":"plan","value":["null"],"operator":"IN","type":"person","dialect":"unleash"}]`,
		},
		{
			`{"name": "default", "constraints": [{"contextName": "email", "operator": "STR_ENDS_WITH", "values": ["@a.b"]}, {"contextName": "email", "operator": "STR_CONTAINS", "values": ["x", "y"]}]}`,
			`targeted_release [{"key":"email","value":"@a.b","operator":"ends_with","type":"person","case_sensitive":true,"must_be_set":true},` +
				`{"key":"email","value":["x","y"],"operator":"STR_CONTAINS","type":"person","dialect":"unleash"}]`,
		},
		{
			`{"name": "default", "constraints": [{"contextName": "email", "operator": "STR_ENDS_WITH", "values": ["@a.b"], "caseInsensitive": true, "inverted": true}, {"contextName": "age", "operator": "NUM_GT", "value": "5"}]}`,
			`targeted_release [{"key":"email","value":{"values":["@a.b"],"caseInsensitive":true,"inverted":true},"operator":"STR_ENDS_WITH","type":"person","dialect":"unleash"},` +
				`{"key":"age","value":"5","operator":"NUM_GT","type":"person","dialect":"unleash"}]`,
		},
		{
			`{"name": "remoteAddress", "parameters": {"IPs": "1.2.3.4, 10.0.0.0/8"}}`,
			`targeted_release [{"key":"remoteAddress","value":["1.2.3.4","10.0.0.0/8"],"operator":"IN_CIDR","type":"person","dialect":"unleash"}]`,
		},
		{`{"name": "default", "title": "Staff", "constraints": [{"contextName": "age", "operator": "NUM_GT", "value": "old"}]}, {"name": "default"}`, `targeted_release []`},
	} {
		p := converted(t, withStrategies(test.strategy), convert.Options{})
		f := &p.Flags[0]
		if len(f.Problems) > 0 {
			t.Errorf("%s: %q", test.strategy, f.Problems)
		}
		document, err := f.Filters()
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Rules []struct {
				Type      string `json:"rule_type"`
				Targeting struct{ Properties json.RawMessage }
				Split     json.RawMessage
			}
		}
		if err := json.Unmarshal(document, &set); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range set.Rules {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Type, string(r.Targeting.Properties), string(r.Split))))
		}
		if got := strings.Join(got, "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.strategy, got, test.want)
		}
	}
}

// TestInexact has flags that cannot be kept as they are, what is said of them, and what those
// get whom it concerns.
func TestInexact(t *testing.T) {
	const variants = `, "variants": [{"name": "a", "weight": 1, "stickiness": "random"}, {"name": "b", "weight": 1}]`
	for _, test := range []struct{ feature, problem, want string }{
		{`"strategies": [{"name": "ours"}]`, `The strategy "ours" is not known: it never matches.`, "false"},
		{`"strategies": [{"name": "ours"}, {"name": "default"}]`, `The strategy "ours" is not known: it never matches.`, "true"},
		{`"strategies": [{"name": "default", "constraints": [{"contextName": "a", "operator": "IS"}]}]`, `The operator "IS" is not known: the strategy never matches.`, "false"},
		{`"strategies": [{"name": "default", "constraints": [{"operator": "IN", "inverted": true}]}]`, "A constraint with the operator IN names no field of the context", "false"},
		{`"strategies": [{"name": "applicationHostname", "parameters": {"hostNames": "a,b"}}]`, "The strategy applicationHostname asks for the name of the machine", "false"},
		{`"strategies": [{"name": "gradualRolloutRandom", "parameters": {"percentage": 99}}]`, "The strategy gradualRolloutRandom draws anew at each call", "true"},
		{`"strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "99", "stickiness": "random"}}]`, "The stickiness random draws anew at each call", "true"},
		{`"strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "100", "stickiness": 5}}]`, "The parameter stickiness of the strategy flexibleRollout is not a text", "false"},
		{`"strategies": [{"name": "default", "disabled": true}]`, "The strategy default is disabled.", "false"},
		{`"strategies": [{"name": "default", "rollout": 5}]`, `In the flag or in a part of it the member "rollout" is not known`, "true"},
		{`"variants": [{"name": "a", "weight": 1, "stickiness": "random"}, {"name": "b", "weight": 1}]`, "The variants are drawn anew at each call", `"a"`},
		{`"variants": [{"name": "", "weight": 1}]`, `"" cannot be a value: here the variant is "disabled".`, `"disabled"`},
		{`"variants": [{"name": "a", "weight": -1}, {"name": "b", "weight": 1}]`, `The weight of the variant "a" is negative or too large`, `"b"`},
		{
			`"strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "100", "groupId": "g", "stickiness": "default"}, "variants": [{"name": "a", "weight": 1, "stickiness": "plan"}, {"name": "b", "weight": 1}]}]`,
			`Version 5 of the Go SDK draws the variants of a strategy by the stickiness "plan" of the first one, version 6 by "default" of the strategy.`, `"a"`,
		},
		{`"dependencies": [{"feature": "odd", "enabled": false}]`, "The flag odd, which has to be off, has a strategy with a fault.", "true"},
		{`"dependencies": [{"feature": "odd"}]`, "It depends on the flag odd, which cannot be kept as it is.", "false"},
	} {
		odd := `{"name": "odd", "enabled": true, "strategies": [{"name": "ours"}, {"name": "userWithId", "parameters": {"userIds": "x"}` + variants + `}]}`
		p := converted(t, `{"features": [{"name": "f", "enabled": true, `+test.feature+`}, `+odd+`]}`, convert.Options{})
		f := &p.Flags[0]
		if !slices.ContainsFunc(f.Problems, func(s string) bool { return strings.HasPrefix(s, test.problem) }) {
			t.Errorf("%s: problems %q, want %s", test.feature, f.Problems, test.problem)
		}
		if got := value(t, converttest.Compile(t, p), "f", "u1", map[string]any{"plan": "pro"}); got != test.want {
			t.Errorf("%s: %s, want %s", test.feature, got, test.want)
		}
		// Of a flag that is off nothing is inexact.
		p = converted(t, `{"features": [{"name": "f", "enabled": false, `+test.feature+`}, {"name": "odd", "enabled": true}]}`, convert.Options{})
		if f := &p.Flags[0]; len(f.Problems) > 0 {
			t.Errorf("%s: off, and yet %q", test.feature, f.Problems)
		}
	}
}

// TestVersions has a flag that the versions of the Go SDK draw in different ways.
func TestVersions(t *testing.T) {
	document := withStrategies(`{"name": "flexibleRollout", "parameters": {"rollout": "100", "groupId": "g", "stickiness": "default"},
		"variants": [{"name": "a", "weight": 1, "stickiness": "plan"}, {"name": "b", "weight": 1}]}`)
	for version, subject := range map[string]string{"5": "plan", "6": ""} {
		p := converted(t, document, convert.Options{Version: version})
		if f := &p.Flags[0]; len(f.Problems) > 0 || f.Rules.Rules[0].Split.Subject != subject {
			t.Errorf("version %s: drawn by %q, %q", version, f.Rules.Rules[0].Split.Subject, f.Problems)
		}
	}
	if _, err := unleash.Convert([]byte(document), &convert.Options{Version: "7"}); err == nil || !strings.Contains(err.Error(), "must be 5 or 6") {
		t.Errorf("version 7: %v", err)
	}
}

// TestOff has flags that are off: a boolean one serves false, and one with variants what the
// caller falls back on.
func TestOff(t *testing.T) {
	p := converted(t, `{"features": [
		{"name": "a", "enabled": false, "strategies": [{"name": "default"}]},
		{"name": "b", "enabled": false, "variants": [{"name": "x", "weight": 1}]},
		{"name": "c", "enabled": false, "variants": [{"name": "x", "weight": 1, "payload": {"type": "string", "value": "y"}}]},
		{"name": "d", "enabled": true, "dependencies": [{"feature": "c"}]},
		{"name": "e", "enabled": true, "dependencies": [{"feature": "c", "enabled": false}]}]}`, convert.Options{})
	s := converttest.Compile(t, p)
	for i, want := range []struct {
		active bool
		rules  int
		value  string
	}{{true, 2, "false"}, {false, 1, "null"}, {true, 2, "null"}, {true, 1, "false"}, {true, 1, "true"}} {
		f := &p.Flags[i]
		if got := value(t, s, f.Key, "u1", nil); f.Active != want.active || len(f.Rules.Rules) != want.rules || got != want.value {
			t.Errorf("%s: active %t, %d rules, %s; want %v", f.Key, f.Active, len(f.Rules.Rules), got, want)
		}
	}
}

// TestNames has what is kept of flags, and where properties come from.
func TestNames(t *testing.T) {
	p := converted(t, `{"version": 2, "segments": [{"id": 7, "name": "Nordics", "constraints": [{"contextName": "country", "operator": "IN", "values": ["no"]}]},
			{"id": 8, "constraints": [{"contextName": "sessionId", "operator": "IN", "values": ["s"]}]}, {"id": 9, "constraints": []}],
		"features": [{"name": "b", "enabled": true}, {"name": "a", "type": "experiment", "description": "Text", "enabled": true, "stale": true, "strategies": [
			{"name": "gradualRolloutUserId", "parameters": {"groupId": "g", "percentage": "50"}, "segments": [7, 8, 9]}]}]}`,
		convert.Options{Properties: map[string]string{"country": "$geoip_country_code", "sessionId": "$session_id", "userId": "account"}})
	if keys := []string{p.Flags[0].Key, p.Flags[1].Key}; !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("keys %q", keys)
	}
	f := &p.Flags[0]
	if f.Description != "Text" || !slices.Equal(f.Tags, []string{"experiment", "stale"}) || !f.Experiment || !f.Active {
		t.Errorf("%+v", f)
	}
	rule := &f.Rules.Rules[0]
	var keys []string
	for _, filter := range rule.Targeting {
		keys = append(keys, filter.Type+" "+filter.Key+" "+string(filter.Value))
	}
	if want := []string{"cohort id 7", `person $session_id "s"`}; !slices.Equal(keys, want) || rule.Split.Subject != "account" {
		t.Errorf("filters %q, drawn by %s", keys, rule.Split.Subject)
	}
	if len(p.Cohorts) != 1 || p.Cohorts[0].ID != 7 || p.Cohorts[0].Name != "Nordics" || len(p.Cohorts[0].Problems) > 0 {
		t.Errorf("cohorts %+v", p.Cohorts)
	}
}

// TestEvents has a document as events, which come to the same.
func TestEvents(t *testing.T) {
	const (
		f = `{"name": "f", "enabled": true, "strategies": [{"name": "default", "segments": [1]}]}`
		g = `{"name": "g", "enabled": true}`
		s = `{"id": 1, "constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}]}`
	)
	want := converted(t, `{"version": 2, "features": [`+f+`], "segments": [`+s+`]}`, convert.Options{})
	got := converted(t, `{"events": [
		{"eventId": 1, "type": "feature-updated", "feature": {"name": "old", "enabled": true}},
		{"eventId": 2, "type": "hydration", "features": [`+g+`], "segments": [{"id": 2, "constraints": []}]},
		{"eventId": 3, "type": "feature-updated", "feature": `+f+`},
		{"eventId": 4, "type": "feature-removed", "featureName": "g", "project": "default"},
		{"eventId": 5, "type": "segment-updated", "segment": `+s+`},
		{"eventId": 6, "type": "segment-removed", "segmentId": 2}]}`, convert.Options{})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFaults(t *testing.T) {
	index := regexp.MustCompile(`\.\d+([."])`) // which some versions of encoding/json have in places
	for _, test := range []struct{ document, want string }{
		{``, "want what Unleash answers to GET /api/client/features"},
		{`[]`, "want what Unleash answers"},
		{`{}`, "want what Unleash answers"},
		{`{"features": [], "featureStrategies": []}`, `the member "featureStrategies" is not known`},
		{`{"version": 3, "features": []}`, "version: want 1 or 2"},
		{`{"features": [{"enabled": true}]}`, "features[0]: want a name"},
		{`{"features": [null]}`, "features[0]: want a name"},
		{`{"features": [{"name": "f", "strategies": [{"constraints": [{"values": [5]}]}]}]}`, `features[0]: the member "strategies.constraints.values": it is a number`},
		{`{"features": [{"name": "f", "variants": [{"weight": 33.3}]}]}`, `features[0]: the member "variants.weight": it is a number 33.3`},
		{`{"features": [], "segments": [{"id": "x"}]}`, `segments[0]: the member "id": it is a string`},
		{`{"events": [{"type": "hydration"}, {"type": "other"}]}`, "events[1]: type: want hydration, feature-updated, "},
		{`{"events": [{"type": "feature-updated"}]}`, "events[0]: "},
		{`{"features": []} {}`, "want what Unleash answers"},
	} {
		_, err := unleash.Convert([]byte(test.document), new(convert.Options))
		if err == nil || !strings.Contains(index.ReplaceAllString(err.Error(), "$1"), test.want) {
			t.Errorf("%s: %v, want %s", test.document, err, test.want)
		}
	}
}

// FuzzConvert wants that whatever is converted is a project that can be evaluated, and always the
// same one.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{
		`{"version": 2, "features": [{"name": "f", "enabled": true, "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "default"},
			"segments": [1], "variants": [{"name": "a", "weight": 1, "overrides": [{"contextName": "userId", "values": ["u"]}]}, {"name": "b", "weight": 2}]}],
			"dependencies": [{"feature": "g", "variants": ["a"]}]}, {"name": "g", "enabled": true, "variants": [{"name": "a", "weight": 1, "payload": {"type": "json", "value": "{}"}}]}],
			"segments": [{"id": 1, "constraints": [{"contextName": "a", "operator": "NUM_GT", "value": "5", "inverted": true}]}]}`,
		`{"events": [{"type": "hydration", "features": [{"name": "f", "enabled": false, "strategies": [{"name": "userWithId", "parameters": {"userIds": ","}}]}]}]}`,
		`{"features": [{"name": "f", "enabled": true, "strategies": [{"name": "default", "constraints": [{"contextName": "a", "operator": "REGEX", "value": "(", "inverted": true},
			{"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2020-01-01T00:00:00Z"}, {"contextName": "v", "operator": "SEMVER_LTE", "value": "1.2.3"}]}]}]}`,
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "5")
	}
	shop, err := os.ReadFile("testdata/flags.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shop, "6")
	f.Fuzz(func(t *testing.T, document []byte, version string) {
		p, err := unleash.Convert(document, &convert.Options{Version: version})
		if err != nil {
			return
		}
		if again, err := unleash.Convert(document, &convert.Options{Version: version}); err != nil || !reflect.DeepEqual(again, p) {
			t.Error("it does not always come to the same")
		}
		s := converttest.Compile(t, p)
		for i := range p.Flags {
			r, err := s.Flag(p.Flags[i].Key, &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"a": 6.0}})
			if err != nil || r.Failed {
				t.Errorf("%s: %v, %s", p.Flags[i].Key, err, r.Reason.Description)
			}
		}
	})
}
