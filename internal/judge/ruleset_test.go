package judge_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// sentRules reads filters as a client sends them.
func sentRules(t testing.TB, document string) *flags.Filters {
	t.Helper()
	f := new(flags.Filters)
	if err := json.Unmarshal([]byte(document), f); err != nil {
		t.Fatal(err)
	}
	return f
}

// judgeSent judges filters as a new flag's.
func judgeSent(t testing.TB, document string, s judge.Subject, refs *judge.References) error {
	t.Helper()
	f := sentRules(t, document)
	if f.RuleSet != nil {
		if err := judge.Claim(f.RuleSet, nil); err != nil {
			t.Fatal(err)
		}
	}
	return judge.Judge(f, s, refs)
}

// refused returns the code and the place of an error, or "".
func refused(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*judge.Error](err)
	if !ok || e.Attr != "filters" {
		t.Fatalf("%+v", err)
	}
	return e.Code + " " + strings.Join(e.Path, "/")
}

const (
	ruleID  = "11111111-1111-4111-8111-111111111111"
	otherID = "22222222-2222-4222-8222-222222222222"
)

// boolean returns a boolean rule set with rules.
func boolean(rules ...string) string {
	return `{"version":2,"return_type":"boolean","default_value":false,"rules":[` + strings.Join(rules, ",") + `]}`
}

// release returns a rule with filters.
func release(filters string) string {
	return `{"rule_type":"targeted_release","targeting":{"properties":[` + filters + `]},"value":true}`
}

func TestJudgeRuleSet(t *testing.T) {
	const rollout = `{"rule_type":"percentage_rollout","targeting":{"properties":[]},"value":true,"rollout_percentage":50,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1"}`
	text := strings.NewReplacer("boolean", "string", "false", `"no"`, "true", `"$true"`)
	d := &flags.Definitions{
		Flags: []flags.Flag{
			{ID: 1, Key: "sets", Active: true},
			{ID: 2, Key: "rules", Active: true, Filters: *sentRules(t, boolean())},
			{ID: 3, Key: "off"},
			{ID: 4, Key: "circle", Active: true, Filters: *sentRules(t, boolean(release(`{"type":"flag","key":"9","operator":"flag_evaluates_to","value":true}`)))},
		},
		Cohorts:    map[int64]flags.Cohort{5: {Stored: true}},
		GroupTypes: map[int]string{0: "company"},
	}
	refs := judge.NewReferences(d, nil)
	const filter = "rules/0/targeting/properties/0/"
	for _, test := range []struct{ section, filters, want string }{
		{"7.1", `{"version":1,"groups":[]}`, "reserved_config_version version"},
		{"7.1", `{"version":1.0,"groups":[]}`, "reserved_config_version version"},
		{"7.1", `{"version":3,"groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"version":0,"groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"version":2.5,"groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"version":"2","groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"version":true,"groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"version":null,"groups":[]}`, "unsupported_config_version version"},
		{"7.1", `{"groups":[{"properties":[{"type":"flag","key":"2","operator":"flag_evaluates_to","value":true}]}]}`, "unsupported_dependency_config_version groups/0/properties/0/key"},
		{"7.1", boolean(), ""},
		{"2", `{"version":2}`, "required return_type"},
		{"2", `{"version":2,"groups":[],"early_exit":"no"}`, "unknown_field groups"},
		{"2", boolean(rollout, strings.Replace(rollout, `,"on_rollout_miss":"continue"`, "", 1)), "required rules/1/on_rollout_miss"},
		{"2.7", `{"version":2,"return_type":"boolean","rules":[]}`, "required default_value"},
		{"7.3", text.Replace(boolean(release(""))), "invalid rules/0/value"},
		{"7.3", strings.Replace(text.Replace(boolean()), `"no"`, `"$false"`, 1), "invalid default_value"},
		{"7.3", boolean(release(`{"type":"person","key":"mail","operator":"regex","value":"(a"}`)), "invalid " + filter + "value"},
		{"7.3", boolean(release(`{"type":"person","key":"mail","operator":"regex","value":"(a)"}`)), ""},
		{"7.3", boolean(release(`{"type":"person","key":"mail","value":"a\u0000"}`)), "invalid " + filter + "value"},
		{"7.3", boolean(release(`{"type":"person","key":"mail","value":"` + strings.Repeat("a", 256<<10) + `"}`)), "limit_exceeded "},
		{"3.3", strings.Replace(boolean(), `"rules"`, `"aggregation_group_type_index":0,"rules"`, 1), ""},
		{"3.3", strings.Replace(boolean(), `"rules"`, `"aggregation_group_type_index":1,"rules"`, 1), "invalid aggregation_group_type_index"},
		{"3.3", boolean(release(`{"type":"group","group_type_index":0,"key":"size","value":1}`)), ""},
		{"3.3", boolean(release(`{"type":"group","group_type_index":4,"key":"size","value":1}`)), "invalid " + filter + "group_type_index"},
		{"3.3", boolean(release(`{"type":"group","key":"size","value":1}`)), "invalid " + filter + "group_type_index"},
		{"3.3", boolean(release(`{"type":"cohort","key":"id","value":5}`)), ""},
		{"3.3", boolean(release(`{"type":"cohort","key":"id","value":6}`)), "invalid " + filter + "value"},
		{"3.3", boolean(release(`{"type":"cohort","key":"id","value":"x"}`)), "invalid " + filter + "value"},
		{"3.3", boolean(release(`{"type":"cohort","key":"id","value":5,"operator":"exact"}`)), "invalid " + filter + "operator"},
		{"3.3", boolean(release(`{"type":"flag","key":"rules","operator":"flag_evaluates_to","value":true}`)), ""},
		{"3.3", boolean(release(`{"type":"flag","key":"1","operator":"flag_evaluates_to","value":"a"}`)), ""},
		{"3.3", boolean(release(`{"type":"flag","key":"1","operator":"flag_evaluates_to","value":1}`)), "invalid " + filter + "value"},
		{"3.3", boolean(release(`{"type":"flag","key":"none","operator":"flag_evaluates_to","value":true}`)), "invalid " + filter + "key"},
		{"3.3", boolean(release(`{"type":"flag","key":"off","operator":"flag_evaluates_to","value":true}`)), "invalid " + filter + "key"},
		{"3.3", boolean(release(`{"type":"flag","key":"circle","operator":"flag_evaluates_to","value":true}`)), "invalid " + filter + "key"},
	} {
		t.Run(test.section+" "+test.filters[:min(len(test.filters), 120)], func(t *testing.T) {
			err := judgeSent(t, test.filters, judge.Subject{ID: 9, Key: "new"}, refs)
			if got := refused(t, err); got != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// TestJudgeMadeRuleSet: what a program has made is read strictly, too.
func TestJudgeMadeRuleSet(t *testing.T) {
	set := &flags.RuleSet{ReturnType: "boolean", Rules: []flags.Rule{{Type: "targeted_release", Value: json.RawMessage(`"on"`)}}, Aggregation: flags.ByPerson}
	if err := judge.Claim(set, nil); err != nil {
		t.Fatal(err)
	}
	err := judge.Judge(&flags.Filters{Version: 2, RuleSet: set}, judge.Subject{Key: "f"}, judge.NewReferences(new(flags.Definitions), nil))
	if got := refused(t, err); got != "required rules/0/targeting/properties" && got != "invalid rules/0/value" {
		t.Error(got)
	}
}

// TestStoredPatterns: rules.md §7.3.
func TestStoredPatterns(t *testing.T) {
	refs := judge.NewReferences(new(flags.Definitions), nil)
	broken := release(`{"type":"person","key":"mail","operator":"regex","value":"(a"}`)
	stored := sentRules(t, boolean(broken)).RuleSet
	for document, want := range map[string]string{
		boolean(release(""), broken): "",
		boolean(broken, release(`{"type":"person","key":"mail","operator":"not_regex","value":"(b"}`)): "invalid rules/1/targeting/properties/0/value",
	} {
		err := judgeSent(t, document, judge.Subject{Key: "f", Stored: stored}, refs)
		if got := refused(t, err); got != want || strings.Contains(got, "(b") {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

// TestPublicOnly: rules.md §7.5.
func TestPublicOnly(t *testing.T) {
	refs := judge.NewReferences(&flags.Definitions{GroupTypes: map[int]string{0: "company"}, Cohorts: map[int64]flags.Cohort{5: {Stored: true}}}, nil)
	const experiment = `{"rule_type":"experiment","experiment_id":4,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1",
		"variants":[{"key":"a","weight":50,"value":true},{"key":"b","weight":50,"value":false}]}`
	const split = `{"rule_type":"split","targeting":{"properties":[]},"split":{"hash":"crc32","ends":["4294967296"],"values":[true],"rest":"continue","no_subject":"continue"}}`
	for document, want := range map[string]string{
		boolean(release(`{"type":"person","key":"a","value":"b"}`)):                                        "",
		strings.Replace(boolean(), `"rules"`, `"aggregation_group_type_index":0,"rules"`, 1):               "unsupported aggregation_group_type_index",
		boolean(release(""), experiment):                                                                   "unsupported rules/1/experiment_id",
		boolean(release(`{"type":"person","key":"a","value":"b"},{"type":"cohort","key":"id","value":5}`)): "unsupported rules/0/targeting/properties/1/type",
		boolean(split): "unsupported rules/0/rule_type",
	} {
		for _, test := range []struct {
			only, sent bool
			want       string
		}{{true, true, want}, {true, false, ""}, {false, true, ""}} {
			refs.PublicOnly = test.only
			got := refused(t, judgeSent(t, document, judge.Subject{Key: "f", Sent: test.sent}, refs))
			if got != test.want {
				t.Errorf("%s, %+v: %q", document, test, got)
			}
		}
	}
}

// TestClaim: rules.md §7.2.
func TestClaim(t *testing.T) {
	rule := func(kind, id, seed, rest string) string {
		r := `{"rule_type":"` + kind + `","targeting":{"properties":[]},`
		if id != "" {
			r += `"id":"` + id + `",`
		}
		if seed != "" {
			r += `"seed":"` + seed + `",`
		}
		if kind == "targeted_release" {
			return r + `"value":true}`
		}
		r += `"rollout_percentage":50,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1",`
		if kind == "percentage_rollout" {
			return r + `"value":true}`
		}
		return r + `"experiment_id":null,"paused":false,"variants":[{"key":"a","weight":50,"value":true},{"key":"b","weight":50,"value":false}]` + rest + `}`
	}
	holdout := func(seed string) string {
		if seed != "" {
			seed = `"seed":"` + seed + `",`
		}
		return `,"holdout":{"id":null,` + seed + `"exclusion_percentage":10}`
	}
	const kept = "s-kept"
	stored := boolean(rule("percentage_rollout", ruleID, kept, ""), rule("experiment", otherID, "s-other", holdout("h-other")))
	for _, test := range []struct{ name, stored, sent, want string }{
		{"new", "", boolean(rule("percentage_rollout", "", "", "")), "new new"},
		{"new without a draw", "", boolean(rule("targeted_release", "", "", "")), "new -"},
		{"new with a holdout", "", boolean(rule("experiment", "", "", holdout(""))), "new new new"},
		{"chosen ID", "", boolean(rule("targeted_release", ruleID, "", "")), "invalid rules/0/id"},
		{"chosen seed", "", boolean(rule("percentage_rollout", "", "mine", "")), "invalid rules/0/seed"},
		{"chosen seed of a holdout", "", boolean(rule("experiment", "", "", holdout("mine"))), "invalid rules/0/holdout/seed"},
		{"unknown ID", stored, boolean(rule("targeted_release", "33333333-3333-4333-8333-333333333333", "", "")), "invalid rules/0/id"},
		{"reordered", stored, boolean(rule("experiment", otherID, "", holdout("")), rule("percentage_rollout", ruleID, "", "")), "22222222 s-other h-other, 11111111 s-kept"},
		{"echoed", stored, boolean(rule("experiment", otherID, "s-other", holdout("h-other"))), "22222222 s-other h-other"},
		{"changed", stored, boolean(rule("percentage_rollout", ruleID, "s-other", "")), "invalid rules/0/seed"},
		{"becomes an experiment", stored, boolean(rule("experiment", ruleID, "", "")), "11111111 s-kept"},
		{"gets a holdout", stored, boolean(rule("experiment", ruleID, kept, holdout(""))), "11111111 s-kept new"},
		{"gets a chosen holdout", stored, boolean(rule("experiment", ruleID, kept, holdout(kept))), "invalid rules/0/holdout/seed"},
		{"stops drawing", stored, boolean(rule("targeted_release", ruleID, "", "")), "11111111 -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sent := sentRules(t, test.sent)
			var before *flags.RuleSet
			known := map[string]bool{}
			if test.stored != "" {
				before = sentRules(t, test.stored).RuleSet
				for _, text := range []string{"11111111", "22222222", kept, "s-other", "h-other"} {
					known[text] = true
				}
			}
			got := refused(t, judge.Claim(sent.RuleSet, before))
			if got == "" {
				var rules []string
				for _, r := range sent.RuleSet.Rules {
					parts := []string{r.ID[:8], r.Seed}
					if r.Holdout != nil {
						parts = append(parts, r.Holdout.Seed)
					}
					for i, part := range parts {
						switch {
						case part == "":
							parts[i] = "-"
						case !known[part]:
							parts[i] = "new"
						}
					}
					rules = append(rules, strings.Join(parts, " "))
				}
				got = strings.Join(rules, ", ")
				filters := flags.Filters{Version: 2, RuleSet: sent.RuleSet}
				document, err := filters.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := flags.DecodeRuleSet(document, false); err != nil {
					t.Errorf("%s: %v", document, err)
				}
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	twice := sentRules(t, boolean(rule("targeted_release", ruleID, "", ""), rule("targeted_release", ruleID, "", "")))
	if got := refused(t, judge.CheckReadable(twice)); got != "not_unique rules/1/id" {
		t.Error(got)
	}
}
