package flags_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// paywall is the example of rules.md §8.
const paywall = `{"version": 2, "return_type": "string", "default_value": "classic", "rules": [
  {"id": "11111111-1111-4111-8111-111111111111", "rule_type": "targeted_release",
   "targeting": {"properties": [{"key": "plan", "type": "person", "value": "staff"}]}, "value": "lab"},
  {"id": "22222222-2222-4222-8222-222222222222", "rule_type": "experiment", "experiment_id": null, "paused": false,
   "targeting": {"properties": []}, "rollout_percentage": 80, "on_rollout_miss": "return_default",
   "assignment_algorithm": "sha1_60_v1", "seed": "s-rollout",
   "variants": [{"key": "a", "weight": 50, "value": "short"}, {"key": "b", "weight": 50, "value": "long"}],
   "holdout": {"id": null, "seed": "h-1", "exclusion_percentage": 25}}]}`

// ruled compiles a flag with filters.
func ruled(t testing.TB, key, filters string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(fmt.Sprintf(`{"flags":[{"id":7,"key":%q,"active":true,"version":3,"filters":%s}]}`, key, filters)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Problems() {
		if p.Severity == flags.SeverityError {
			t.Fatal(p)
		}
	}
	return s
}

// fully evaluates without the short cut.
func fully(t testing.TB, s *flags.Snapshot, key, id string, person map[string]any) flags.Result {
	t.Helper()
	var in flags.Input
	in.Reset(s, id, runtime.Filter{}, time.Now())
	if properties, err := json.Marshal(person); err != nil {
		t.Fatal(err)
	} else if person != nil {
		if err := in.PersonJSON(properties); err != nil {
			t.Fatal(err)
		}
	}
	r, err := in.Flag(key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRulePatterns: rules.md §3.2. A pattern that does not compile, or whose match is given up, fails
// the flag, if it is reached.
func TestRulePatterns(t *testing.T) {
	long := strings.Repeat("a", 70_000) // too long for look-around
	for _, tt := range []struct{ filter, value, want string }{
		{`"operator":"regex","value":"(?=a)a+$"`, "aaa", "true targeting_match"},
		{`"operator":"regex","value":"(?=a)a+$"`, long, "null error"},
		{`"operator":"not_regex","value":"(?=a)a+$"`, long, "null error"},
		{`"operator":"regex","value":"(?=a)a+$","negation":true`, long, "null error"},
		{`"operator":"not_regex","value":"(?=a)a+$","strict_type":true,"any_element":true`, long, "null error"},
		{`"operator":"regex","value":"("`, "aaa", "null error"},
		{`"operator":"not_regex","value":"("`, "aaa", "null error"},
		{`"operator":"not_regex","value":"("`, "", "true targeting_match"},
		{`"operator":"not_regex","value":"(","must_be_set":true`, "", "null no_rule_match"},
		{`"operator":"not_regex","value":"(","must_be_set":true`, "aaa", "null error"},
	} {
		d, err := flags.Decode(strings.NewReader(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"version":2,"return_type":"boolean","rules":[
			{"rule_type":"targeted_release","value":true,"targeting":{"properties":[{"key":"p",` + tt.filter + `}]}}]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var person map[string]any
		if tt.value != "" {
			person = map[string]any{"p": tt.value}
		}
		checkBoth(t, s, "ada", person, tt.want)
	}
}

// TestPartial: rules.md §3.2. The ninth row of the examples of the contract is the second one here.
func TestPartial(t *testing.T) {
	s := ruled(t, "f", paywall)
	negated := ruled(t, "f", `{"version":2,"return_type":"boolean","rules":[
		{"rule_type":"targeted_release","value":true,"targeting":{"properties":[{"key":"a","value":1},{"key":"b","operator":"is_not_set"}]}}]}`)
	for _, tt := range []struct {
		name   string
		s      *flags.Snapshot
		person map[string]any
		want   string
	}{
		{"there", s, map[string]any{"plan": "staff"}, `"lab" targeting_match false`},
		{"not there", s, nil, "null error true"},
		{"a miss before", negated, map[string]any{"a": 2}, "null no_rule_match false"},
		{"is_not_set", negated, map[string]any{"a": 1}, "null error true"},
	} {
		for _, list := range []bool{false, true} {
			r := flags.Request{DistinctID: "ada", PersonProperties: tt.person, Partial: true}
			if list {
				r.PersonProperties = nil
				for k, v := range tt.person {
					r.Person = append(r.Person, flags.AnyProperty(k, v))
				}
			}
			result, err := tt.s.Flag("f", &r)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(string(result.JSON()), " ", result.Reason.Code, " ", result.Failed); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
			if all, _ := tt.s.Evaluate(&r).Get("f"); all.Reason.Code != result.Reason.Code {
				t.Errorf("%s, with all flags: %s, want %s", tt.name, all.Reason.Code, result.Reason.Code)
			}
		}
	}
}

func TestRuleSetExample(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(paywall, old, with, 1) }
	staff := map[string]any{"plan": "staff"}
	for _, test := range []struct {
		name, filters, id string
		person            map[string]any
		want              string // value, code, index, rule type
	}{
		{"first rule", paywall, "ada", staff, `"lab" targeting_match 0 targeted_release`},
		{"second variant", paywall, "ada", nil, `"long" targeting_match 1 experiment`},
		{"first variant", paywall, "bob", nil, `"short" targeting_match 1 experiment`},
		{"holdout", paywall, "mia", nil, `"classic" holdout 1 experiment`},
		{"rollout miss", paywall, "lea", nil, `"classic" rollout_miss 1 experiment`},
		{"miss and on", change("return_default", "continue"), "lea", nil, `"classic" no_rule_match -1 `},
		{"empty identifier", paywall, "", nil, `"classic" rollout_miss 1 experiment`},
		{"paused", change(`"paused": false`, `"paused": true`), "mia", nil, `"classic" experiment_paused 1 experiment`},
		{"no rules", `{"version":2,"return_type":"string","default_value":null,"rules":[]}`, "ada", nil, `null no_rule_match -1 `},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := ruled(t, "paywall", test.filters)
			quick, err := s.Flag("paywall", &flags.Request{DistinctID: test.id, PersonProperties: test.person})
			if err != nil {
				t.Fatal(err)
			}
			for way, r := range map[string]flags.Result{"quick": quick, "full": fully(t, s, "paywall", test.id, test.person)} {
				kind := ""
				if r.Rule != nil {
					kind = r.Rule.Type
				}
				if got := fmt.Sprintf("%s %s %d %s", r.JSON(), r.Reason.Code, r.Reason.ConditionIndex, kind); got != test.want {
					t.Errorf("%s: %s, want %s", way, got, test.want)
				}
			}
		})
	}
}

// TestRecords: rules.md §4.3.
func TestRecords(t *testing.T) {
	s := ruled(t, "paywall", paywall)
	linked := strings.NewReplacer(`"experiment_id": null`, `"experiment_id": 9`, `"id": null`, `"id": 4`).Replace(paywall)
	for _, test := range []struct {
		s        *flags.Snapshot
		id, want string
	}{
		{s, "ada", `{"key":"paywall","value":"long","reason":{"code":"targeting_match","condition_index":1,"description":"Matched rule 2"},` +
			`"metadata":{"id":7,"version":3,"config_version":2,"description":null,"payload":null,"has_experiment":false,"rule_type":"experiment","rule_id":"22222222-2222-4222-8222-222222222222"}}`},
		{s, "lea", `{"key":"paywall","value":"classic","reason":{"code":"rollout_miss","condition_index":1,"description":"Rule 2 rollout miss"},` +
			`"metadata":{"id":7,"version":3,"config_version":2,"description":null,"payload":null,"has_experiment":false,"rule_type":"experiment","rule_id":"22222222-2222-4222-8222-222222222222"}}`},
		{ruled(t, "paywall", linked), "ada", `{"key":"paywall","value":"long","reason":{"code":"experiment_split","condition_index":1,"description":"Matched rule 2"},` +
			`"metadata":{"id":7,"version":3,"config_version":2,"description":null,"payload":null,"has_experiment":true,"rule_type":"experiment","rule_id":"22222222-2222-4222-8222-222222222222","experiment_id":9,"variant_key":"b"}}`},
		{ruled(t, "paywall", linked), "mia", `{"key":"paywall","value":"classic","reason":{"code":"holdout","condition_index":1,"description":"Rule 2 holdout"},` +
			`"metadata":{"id":7,"version":3,"config_version":2,"description":null,"payload":null,"has_experiment":true,"rule_type":"experiment","rule_id":"22222222-2222-4222-8222-222222222222","experiment_id":9,"holdout_id":4}}`},
		{
			ruled(t, "paywall", `{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"b","rollout_percentage":100}]},"payloads":{"b":"[1]"}}`), "ada",
			`{"key":"paywall","value":"b","reason":{"code":"condition_match","condition_index":0,"description":"Matched condition set 1"},` +
				`"metadata":{"id":7,"version":3,"config_version":1,"description":null,"payload":"[1]","variant_key":"b","has_experiment":true}}`,
		},
	} {
		var in flags.Input
		in.Reset(test.s, test.id, runtime.Filter{}, time.Now())
		got, out := in.AppendRecords(nil)
		want := `{"paywall":` + test.want + `}`
		if string(got) != want || out.Flags != 1 || out.Partial {
			t.Errorf("%s: %s\nwant %s", test.id, got, want)
		}
	}
}

func TestExplainRuleSet(t *testing.T) {
	s := ruled(t, "paywall", paywall)
	for id, want := range map[string]string{
		"ada": `paywall = "long" (Matched rule 2)
  needs what only the server knows: stored properties of the person (plan)
  rule 1, by person: no_condition_match
    person plan is "staff", seen absent: no match
  rule 2, by person: condition_match
    holdout: "ada" falls at 0.645202, threshold 0.250000: out
    rollout: "ada" falls at 0.117182, threshold 0.800000: in
    variant: 0.897987 among a < 0.500000 b < 1.000000: b
  why: rule 2 is the first that gave a value
`,
		"lea": `paywall = "classic" (Rule 2 rollout miss)
  needs what only the server knows: stored properties of the person (plan)
  rule 1, by person: no_condition_match
    person plan is "staff", seen absent: no match
  rule 2, by person: out_of_rollout_bound
    holdout: "lea" falls at 0.633759, threshold 0.250000: out
    rollout: "lea" falls at 0.879333, threshold 0.800000: out
  why: the filters of rule 2 matched, its rollout did not, and the rule ends with the default
`,
	} {
		trace, err := s.Explain("paywall", &flags.Request{DistinctID: id})
		if err != nil || trace.String() != want {
			t.Errorf("%v\n%s\nwant\n%s", err, trace, want)
		}
	}
	held, err := s.Explain("paywall", &flags.Request{DistinctID: "mia"})
	if err != nil || held.Conditions[1].Outcome != "holdout" {
		t.Errorf("%v\n%s", err, held)
	}
}

// TestExplainEnds: rules without a rollout are explained as what they came to.
func TestExplainEnds(t *testing.T) {
	s := ruled(t, "f", `{"version": 2, "return_type": "number", "rules": [
		{"rule_type": "split", "split": {"hash": "crc32", "subject": "user", "modulus": "2", "ends": ["1"], "values": [1], "rest": "continue", "no_subject": "continue"}},
		{"rule_type": "experiment", "rollout_percentage": 50, "experiment_id": null, "paused": true, "variants": [{"key": "a", "weight": 50, "value": 2}, {"key": "b", "weight": 50, "value": 3}]},
		{"rule_type": "targeted_release", "value": 4}]}`)
	for user, want := range map[string][]string{
		"":  {"null", "out_of_rollout_bound", "experiment_paused", "not_reached"},
		"a": {"null", "out_of_rollout_bound", "experiment_paused", "not_reached"},
		"d": {"1", "condition_match", "not_reached", "not_reached"},
	} {
		r := &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{}}
		if user != "" {
			r.PersonProperties["user"] = user
		}
		trace, err := s.Explain("f", r)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{string(trace.Result.JSON())}
		for _, c := range trace.Conditions {
			if got = append(got, c.Outcome); c.Matched != (c.Outcome == "condition_match") {
				t.Errorf("user %q: rule %d is %q, matched %v", user, c.Index+1, c.Outcome, c.Matched)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("user %q (-want +got)\n%s", user, diff)
		}
		var written struct{ Value json.RawMessage }
		if raw, err := json.Marshal(trace); err != nil || json.Unmarshal(raw, &written) != nil || string(written.Value) != want[0] {
			t.Errorf("user %q: as JSON %s, %v", user, raw, err)
		}
	}
}
