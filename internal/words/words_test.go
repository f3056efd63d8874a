package words_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

// TestOperators: each operator has words of its own among those for one kind of filter
// (evaluation.md §4.2), and a filter says them, with a value if it takes one.
func TestOperators(t *testing.T) {
	values := map[operators.Operand]string{
		operators.OperandAny: `["pro","team"]`, operators.OperandNone: `null`, operators.OperandText: `"pro"`, operators.OperandTexts: `["pro","team"]`,
		operators.OperandNumber: `5`, operators.OperandRange: `[1,5]`, operators.OperandDate: `"-7d"`, operators.OperandVersion: `"1.2"`,
		operators.OperandPattern: `"^a"`, operators.OperandCohort: `3`, operators.OperandFlagValue: `true`,
	}
	says := map[operators.Operand]string{
		operators.OperandAny: " pro or team", operators.OperandNone: "", operators.OperandText: " pro", operators.OperandTexts: " pro or team",
		operators.OperandNumber: " 5", operators.OperandRange: " 1 and 5", operators.OperandDate: " 7 days ago", operators.OperandVersion: " 1.2",
		operators.OperandPattern: " ^a", operators.OperandCohort: " Beta", operators.OperandFlagValue: " true",
	}
	names := words.NewNames()
	names.Cohorts["3"] = "Beta"
	seen := make(map[string]string)
	for o := range operators.All() {
		f := flags.Filter{Key: "plan", Operator: o.Name, Value: json.RawMessage(values[o.Operand])}
		before := "plan "
		switch o.For {
		case operators.CohortFilter:
			f.Key, f.Type, before = "id", "cohort", ""
		case operators.FlagFilter:
			f.Type, before = "flag", "flag plan "
		}
		got, want := names.Filter(&f), before+o.Words+says[o.Operand]
		if o.Words == "" || got != want {
			t.Errorf("a filter with operator %s, whose words are %q: %q, want %q", o.Name, o.Words, got, want)
		}
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s are both said as %q", other, o.Name, got)
		}
		seen[got] = o.Name
		if got := names.Value("filters/groups/0/properties/0/operator", `"`+o.Name+`"`); got != o.Words {
			t.Errorf("a change to the operator %s is said as %q, want %q", o.Name, got, o.Words)
		}
	}
}

func TestAudience(t *testing.T) {
	for filters, want := range map[string]string{
		`{}`:                                    "no one: it has no condition sets",
		`{"groups":[{}]}`:                       "everyone",
		`{"groups":[{"rollout_percentage":0}]}`: "no one",
		`{"groups":[{"rollout_percentage":0}],"feature_enrollment":true}`:                                                       "everyone who has enrolled",
		`{"groups":[{"rollout_percentage":2.5}]}`:                                                                               "2.5% of everyone",
		`{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":10}}`:                                                          "everyone; but 10% are held out",
		`{"groups":[{"aggregation_group_type_index":1}]}`:                                                                       "each group type 1",
		`{"groups":[{"rollout_percentage":5}],"aggregation_group_type_index":0}`:                                                "5% of company groups",
		`{"groups":[{"aggregation_group_type_index":null}],"aggregation_group_type_index":0}`:                                   "everyone",
		`{"groups":[{"variant":"test"},{"rollout_percentage":5}]}`:                                                              "everyone (always test); 5% of everyone",
		`{"groups":[{},{},{},{}]}`:                                                                                              "everyone; everyone; everyone; and more",
		where(`{"key":"id","type":"cohort","value":3}`):                                                                         "everyone where in cohort 3",
		where(`{"key":"id","type":"cohort","value":4,"cohort_name":"Beta","operator":"not_in"}`):                                "everyone where not in Beta",
		where(`{"key":"a","operator":"is_not_set"},{"key":"b","type":"group","operator":"min","value":5,"group_type_index":0}`): "everyone where a is not set and company b ≥ 5",
		where(`{"key":"a","value":["x","","y ",1,null]}`):                                                                       `everyone where a is x or "" or "y " or 2 more`,
		where(`{"key":"9","type":"flag","operator":"flag_evaluates_to","value":"test"}`):                                        "everyone where flag base is test",
		where(`{"key":"a","operator":"almost","value":1}`):                                                                      "everyone where a almost 1",
		where(`7`):     "no one: the filters cannot be read",
		`{"groups":7}`: "no one: the filters cannot be read",
		`7`:            "no one: the filters cannot be read",
		``:             "no one: the filters cannot be read",
	} {
		names := words.NewNames()
		names.GroupTypes["0"], names.Flags["9"] = "company", "base"
		if got := names.Audience(read(filters)); got != want {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
	}
}

func where(filters string) string { return `{"groups":[{"properties":[` + filters + `]}]}` }

// TestPlace: people count from 1.
func TestPlace(t *testing.T) {
	for path, want := range map[string]string{
		"active": "state", "name": "name", "filters/properties/values/0/value": "criterion 1, value", "tags": "tags", "bucketing_identifier": "bucket by",
		"filters/groups/1/properties/0/value":                "condition set 2, filter 1, value",
		"/filters/groups/1/properties/0":                     "condition set 2, filter 1",
		"groups/0/rollout_percentage":                        "condition set 1, rollout percentage",
		"filters/multivariate/variants/2/rollout_percentage": "variant 3, weight",
		"multivariate/variants/0/name":                       "variant 1, name",
		"filters/payloads/true":                              "payload of true",
		"filters/groups":                                     "condition sets",
		"filters/holdout/exclusion_percentage":               "holdout, holdout percentage",
		"filters/something_new":                              "something new",
		"filters/rules/0/on_rollout_miss":                    "rule 1, the others",
		"filters/rules/1/targeting/properties/0/value":       "rule 2, filter 1, value",
		"rules/0/variants/1/weight":                          "rule 1, variant 2, weight",
		"filters/default_value":                              "default value",
		"filters/rules/order":                                "order of the rules",
	} {
		if got := words.Place(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct{ path, value, want string }{
		{"active", "true", "on"},
		{"active", "false", "off"},
		{"archived", "true", "yes"},
		{"filters/groups/0/rollout_percentage", "12.5", "12.5%"},
		{"filters/groups/0/properties/0/operator", `"gte"`, "≥"},
		{"filters/groups/0/properties/0/operator", `"almost"`, "almost"},
		{"filters/groups/0/properties/0", `{"key":"plan","value":"pro"}`, "plan is pro"},
		{"filters/groups/0/properties", `[{"key":"plan","value":"pro"},{"key":"a","operator":"is_set"}]`, "plan is pro and a is set"},
		{"filters/groups", `[{},{"rollout_percentage":5}]`, "everyone; 5% of everyone"},
		{"filters/groups", `[7]`, "[7]"},
		{"filters/multivariate/variants/0", `{"key":"blue","rollout_percentage":25}`, "blue 25%"},
		{"tags", `["a","b"]`, "a, b"},
		{"name", `"cut …`, `"cut …`},
		{"name", "", ""},
		{"filters/rules/order", "[0,2,1]", "1, 3, 2"},
		{"filters/rules/0/rule_type", `"experiment"`, "split over variants"},
		{"filters/rules/0/rule_type", `"unheard"`, "unheard"},
		{"filters/rules/0/on_rollout_miss", `"return_default"`, "get the default value"},
		{"filters/rules/0/value", "true", "on"},
		{"filters/rules/0/targeting/properties/0/value", "true", "yes"},
		{"filters/default_value", "false", "off"},
		{"filters/rules/0/variants/1/weight", "12.5", "12.5%"},
		{"filters/rules/0/variants/1", `{"key":"a","weight":40,"value":{"a":1}}`, `40% {"a":1}`},
		{"filters/rules/0", rule(`"targeted_release","value":7`), "everyone: 7"},
		{"filters/rules", "[" + rule(`"targeted_release","value":true`) + "," + rule(`"targeted_release","value":"x"`) + "]", "everyone: on; everyone: x"},
		{ // as a list of changes has it, without what is empty
			"filters/rules/0",
			rule(`"experiment","rollout_percentage":80,"on_rollout_miss":"continue","paused":false,
				"variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}],"holdout":{"exclusion_percentage":5}`),
			"80% of everyone: 50% x, 50% y; but 5% are held out",
		},
		{"filters/rules/0", rule(`"targeted_release","value":null`), rule(`"targeted_release","value":null`)},
	} {
		if got := words.NewNames().Value(tt.path, tt.value); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.value, tt.path, got, tt.want)
		}
	}
}

func rule(members string) string { return `{"rule_type":` + members + `}` }

// TestRule: rules.md §3, in words.
func TestRule(t *testing.T) {
	const plan = `,"targeting":{"properties":[{"key":"plan","value":"pro"}]}`
	drawn := func(members string) string {
		return rule(`"experiment","experiment_id":null,"variants":[{"key":"a","weight":25,"value":1},{"key":"b","weight":75,"value":2}],` + members)
	}
	for _, tt := range []struct{ kind, group, value, rules, want string }{
		{"boolean", "", "null", "", "otherwise: the fallback of the program"},
		{"boolean", "", "false", rule(`"targeted_release","value":true` + plan), "everyone where plan is pro: on; otherwise: off"},
		{
			"boolean", "", "false",
			rule(`"targeted_release","value":true` + strings.Replace(plan, `"pro"`, `"pro","negation":true,"case_sensitive":true,"must_be_set":true`, 1)),
			"everyone where not (plan is pro) (letter case counts, only if it is set): on; otherwise: off",
		},
		{"string", "", `"a"`, rule(`"percentage_rollout","rollout_percentage":20,"value":"b"` + plan), "20% of everyone where plan is pro: b; otherwise: a"},
		{
			"string", "", `"a"`, rule(`"percentage_rollout","rollout_percentage":20,"value":"b","on_rollout_miss":"return_default"`),
			"20% of everyone: b; the others get the default; otherwise: a",
		},
		{"number", "", "0", drawn(`"paused":false,"rollout_percentage":100`), "everyone: 25% 1, 75% 2; otherwise: 0"},
		{"number", "", "0", drawn(`"paused":true,"rollout_percentage":100`), "everyone: paused, so they get the default; otherwise: 0"},
		{
			"number", `,"aggregation_group_type_index":0`, "0",
			drawn(`"paused":false,"rollout_percentage":50,"holdout":{"id":null,"exclusion_percentage":10}`),
			"50% of company groups: 25% 1, 75% 2; but 10% are held out; otherwise: 0",
		},
		{"object", "", `{"a":{}}`, rule(`"targeted_release","value":{"text":"` + strings.Repeat("x", 100) + `"}`), `everyone: {"text":"` + strings.Repeat("x", 71) + `…; otherwise: {"a":{}}`},
		{"boolean", "", "false", strings.Repeat(rule(`"targeted_release","value":true`)+",", 4) + rule(`"targeted_release","value":true`), "everyone: on; everyone: on; everyone: on; and more; otherwise: off"},
	} {
		names := words.NewNames()
		names.GroupTypes["0"] = "company"
		document := fmt.Sprintf(`{"version":2,"return_type":%q,"default_value":%s,"rules":[%s]%s}`, tt.kind, tt.value, tt.rules, tt.group)
		if got := names.Audience(read(document)); got != tt.want {
			t.Errorf("%s: %q, want %q", document, got, tt.want)
		}
	}
}

func TestCohort(t *testing.T) {
	const plan = `{"key":"plan","type":"person","value":"pro"}`
	for tree, want := range map[string]string{
		`{}`: "no one",
		group("AND", plan, `{"key":"id","type":"cohort","value":3}`):                 "plan is pro and in cohort 3",
		group("OR", plan, `{"key":"id","type":"cohort","value":3,"negation":true}`):  "plan is pro or not in cohort 3",
		group("AND", `{"key":"plan","type":"person","value":"pro","negation":true}`): "not (plan is pro)",
		group("AND", `{"key":"x","type":"behavioral","value":"performed_event"}`):    "a criterion on what a person did",
	} {
		if got := words.NewNames().Cohort(json.RawMessage(tree)); got != want {
			t.Errorf("%s: %q, want %q", tree, got, want)
		}
	}
	nested := `{"properties":{"type":"OR","values":[` + plan + `,{"type":"AND","values":[` + plan + `,{"key":"b","operator":"is_set","type":"person"}]}]}}`
	if got, want := words.NewNames().Cohort(json.RawMessage(nested)), "plan is pro or (plan is pro and b is set)"; got != want {
		t.Errorf("%s: %q, want %q", nested, got, want)
	}
}

func group(kind string, values ...string) string {
	return fmt.Sprintf(`{"properties":{"type":%q,"values":[%s]}}`, kind, strings.Join(values, ","))
}

// FuzzWords: no filters and no places panic, and each flag is for someone or for no one.
func FuzzWords(f *testing.F) {
	f.Add([]byte(where(`{"key":"a","type":"person","value":["x"]}`)), "filters/groups/0")
	f.Add([]byte(`{"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}`), "filters/multivariate/variants")
	f.Fuzz(func(t *testing.T, raw []byte, path string) {
		names := words.NewNames()
		filters := read(string(raw))
		if names.Audience(filters) == "" {
			t.Errorf("%q is for no one, but the words do not say so", raw)
		}
		words.Variants(filters)
		words.Place(path)
		names.Value(path, string(raw))
		names.Cohort(raw)
	})
}

func read(raw string) *flags.Filters {
	f, _ := flags.DecodeFilters([]byte(raw), "key") // a filter that cannot be read has an error of its own
	return &f
}
