package flags_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// withFilters wraps the filters of a single active flag into a document.
func withFilters(filters string) string {
	return `{"flags":[{"id":1,"key":"f","active":true,"filters":` + filters + `}],"group_type_mapping":{"0":"company"}}`
}

func property(filter string) string {
	return withFilters(`{"groups":[{"properties":[` + filter + `]}]}`)
}

func compiled(t testing.TB, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return s
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		severity       flags.Severity
		flag, path     string
		text           string // part of the error
		code           string // reason of flag f for an empty person, if not ""
	}{
		{"misspelt operator", property(`{"key":"a","type":"person","operator":"icontain","value":"x"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", `did you mean icontains? use one of exact, is_not`, flags.ErrorFlagData},
		{"operator of another product", property(`{"key":"a","type":"person","operator":"greater_than","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", `did you mean gt? use one of exact, is_not`, flags.ErrorFlagData},
		{"unknown operator", property(`{"key":"a","type":"person","operator":"foo","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", `unknown operator: "foo"`, flags.ErrorFlagData},
		{"operator of the wrong type", property(`{"key":"a","type":"person","operator":5,"value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", "must be a string, not a number", flags.ErrorFlagData},
		{"unknown filter type", property(`{"key":"a","type":"event","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/type", `unknown filter type: "event"`, flags.ErrorFlagData},
		{"filter without a key", property(`{"type":"person","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/key", "must be a string", flags.ErrorFlagData},
		{"invalid regexp", property(`{"key":"a","type":"person","operator":"regex","value":"?*"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "the pattern is invalid", flags.ReasonNoConditionMatch},
		{"look-around", property(`{"key":"distinct_id","type":"person","operator":"regex","value":"(?=a)b"}`), flags.SeverityNote, "f", "/filters/groups/0/properties/0/value", "look-around", flags.ReasonNoConditionMatch},
		{"back-reference", property(`{"key":"distinct_id","type":"person","operator":"regex","value":"(a)\\1"}`), flags.SeverityNote, "f", "/filters/groups/0/properties/0/value", "matched slowly", flags.ReasonNoConditionMatch},
		{"back-reference to nothing", property(`{"key":"a","type":"person","operator":"regex","value":"(a)\\2"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "the pattern is invalid: reference to undefined group number 2", flags.ReasonNoConditionMatch},
		{"long slow regexp", property(`{"key":"a","type":"person","operator":"regex","value":"(?=` + strings.Repeat("a", 1000) + `)"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "more than 1000 bytes", flags.ReasonNoConditionMatch},
		{"nested regexp", property(`{"key":"a","type":"person","operator":"regex","value":"` + strings.Repeat("(", 60) + strings.Repeat(")", 60) + `"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "more than 50 groups are nested", flags.ReasonNoConditionMatch},
		{"huge regexp", property(`{"key":"a","type":"person","operator":"regex","value":"` + strings.Repeat("a", 1<<20) + `"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "more than 4096 bytes", flags.ReasonNoConditionMatch},
		{"costly regexp", property(`{"key":"a","type":"person","operator":"regex","value":"` + strings.Repeat(`\\w{1000}`, 100) + `"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "instructions", flags.ReasonNoConditionMatch},
		{"missing cohort", property(`{"key":"id","type":"cohort","value":9}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "does not exist", "dependency_not_found_cohort"},
		{"cohort id of the wrong type", property(`{"key":"id","type":"cohort","value":{}}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "must be an integer", flags.ErrorCohortData},
		{"cohort cycle", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","value":1}]}]}}],"cohorts":{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":1}]}}}`, flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "refers to itself", "dependency_cycle_cohort"},
		{"malformed cohort", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","value":1}]}]}}],"cohorts":{"1":{"type":"XOR","values":[]}}}`, flags.SeverityError, "", "/cohorts/1/type", `unknown node type "XOR"`, flags.ErrorCohortData},
		{"deep cohort", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","value":1}]}]}}],"cohorts":{"1":` + strings.Repeat(`{"type":"AND","values":[`, 80) + strings.Repeat(`]}`, 80) + `}}`, flags.SeverityError, "", "/cohorts/1" + strings.Repeat("/values/0", 66) + "/values", "more than 66 groups", flags.ErrorCohortData},
		{"self dependency", property(`{"key":"f","type":"flag","operator":"flag_evaluates_to","value":true}`), flags.SeverityError, "f", "", "dependency cycle: f → f", ""},
		{"dependency on nothing", property(`{"key":"g","type":"flag","operator":"flag_evaluates_to","value":true}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/key", "does not exist", flags.ReasonMissingFlag},
		{"dependency on an inactive flag", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"g","type":"flag","operator":"flag_evaluates_to","value":false}]}]}},{"id":2,"key":"g"}]}`, flags.SeverityError, "f", "/filters/groups/0/properties/0/key", `"g" is inactive`, flags.ReasonConditionMatch},
		{"dependency on a variant that is none", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"g","type":"flag","operator":"flag_evaluates_to","value":"x"}]}]}},{"id":2,"key":"g","active":true}]}`, flags.SeverityWarning, "f", "/filters/groups/0/properties/0/value", `"g" never has this variant`, flags.ReasonNoConditionMatch},
		{"duplicate key", `{"flags":[{"id":1,"key":"f","active":true},{"id":2,"key":"f","active":true}]}`, flags.SeverityError, "f", "", "another flag has the same key", flags.ReasonNoGroupType},
		{"flag without a key", `{"flags":[{"id":1,"active":true},{"id":2,"key":"f","active":true}]}`, flags.SeverityError, "", "/flags/0/key", "must be a string that is not empty", flags.ReasonNoGroupType},
		{"flag that is not an object", `{"flags":[7,{"id":2,"key":"f","active":true}]}`, flags.SeverityError, "", "/flags/0", "must be an object, not a number", flags.ReasonNoGroupType},
		{"groups of the wrong type", withFilters(`{"groups":"all"}`), flags.SeverityError, "f", "/filters/groups", `must be an array, not a string: "all"`, flags.ErrorFlagData},
		{"filters of the wrong type", withFilters(`[]`), flags.SeverityError, "f", "/filters", "must be an object, not an array", flags.ErrorFlagData},
		{"rollout of the wrong type", withFilters(`{"groups":[{"rollout_percentage":"50"}]}`), flags.SeverityError, "f", "/filters/groups/0/rollout_percentage", `must be a number, not a string: "50"`, flags.ErrorFlagData},
		{"unknown language", withFilters(`{"version":3,"rules":[]}`), flags.SeverityError, "f", "/filters/version", "unknown configuration language: 3", flags.ErrorFlagData},
		{"too many condition sets", withFilters(`{"groups":[` + strings.Repeat("{},", 10_000) + `{}]}`), flags.SeverityError, "f", "/filters/groups", "more than 10000 condition sets", flags.ErrorFlagData},
		{"variant without a key", withFilters(`{"multivariate":{"variants":[{"rollout_percentage":100}]}}`), flags.SeverityError, "f", "/filters/multivariate/variants/0/key", "must be a string", flags.ErrorFlagData},
		{"unknown hash", `{"flags":[{"id":1,"key":"f","active":true,"bucketing_hash":"md5"}]}`, flags.SeverityError, "f", "/bucketing_hash", `unknown bucketing hash, sha1 is used: "md5"`, flags.ReasonNoGroupType},
		{"unknown hash of the document", `{"flags":[],"bucketing_hash":"md5"}`, flags.SeverityError, "", "/bucketing_hash", `unknown bucketing hash`, ""},

		{"shares below 100", withFilters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":10}]}}`), flags.SeverityError, "f", "/filters/multivariate/variants", "sum to 10", ""},
		{"unreachable variant", withFilters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b","rollout_percentage":5}]}}`), flags.SeverityWarning, "f", "/filters/multivariate/variants/1", "unreachable", ""},
		{"duplicate variant", withFilters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"a","rollout_percentage":50}]}}`), flags.SeverityError, "f", "/filters/multivariate/variants/1/key", "same key", ""},
		{"unreachable condition set", withFilters(`{"groups":[{},{"rollout_percentage":5}]}`), flags.SeverityWarning, "f", "/filters/groups/1", "condition set 1 matches everyone", flags.ReasonConditionMatch},
		{"unreachable after early exit", withFilters(`{"early_exit":true,"groups":[{"rollout_percentage":5},{}]}`), flags.SeverityWarning, "f", "/filters/groups/1", "exits early at condition set 1", ""},
		{"unknown pin", withFilters(`{"groups":[{"variant":"x"}]}`), flags.SeverityError, "f", "/filters/groups/0/variant", `pinned variant does not exist; a variant is drawn instead: "x"`, flags.ReasonConditionMatch},
		{"negation", property(`{"key":"a","type":"person","operator":"is_set","value":1,"negation":true}`), flags.SeverityWarning, "f", "/filters/groups/0/properties/0/negation", "ignored here", ""},
		{"number for a date", property(`{"key":"a","type":"person","operator":"is_date_after","value":5}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "can never match", ""},
		{"no date", property(`{"key":"a","type":"person","operator":"is_date_after","value":"soon"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", `wrong value for operator is_date_after: "soon"; want a date`, flags.ReasonNoConditionMatch},
		{"time without a day", property(`{"key":"a","type":"person","operator":"is_date_after","value":"4:00pm"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "want a time with its day", flags.ReasonNoConditionMatch},
		{"date without a year", property(`{"key":"a","type":"person","operator":"is_date_after","value":"May 6 at 9:24 PM"}`), flags.SeverityWarning, "f", "/filters/groups/0/properties/0", "the date has no year", ""},
		{"date without a day", property(`{"key":"a","type":"person","operator":"is_date_after","value":"2014.03"}`), flags.SeverityWarning, "f", "/filters/groups/0/properties/0", "the date has no day", ""},
		{"text for a number", property(`{"key":"a","type":"person","operator":"gt","value":"x"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "wrong value for operator gt", ""},
		{"bad version", property(`{"key":"a","type":"person","operator":"semver_eq","value":"1.2.3.4"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "wrong value for operator semver_eq", ""},
		{"bad bounds", property(`{"key":"a","type":"person","operator":"between","value":[5,1]}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "wrong value for operator between", ""},
		{"no value", property(`{"key":"a","type":"person","operator":"exact"}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/value", "has no value", flags.ReasonNoConditionMatch},
		{"cohort operator on a property", property(`{"key":"a","type":"person","operator":"in","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", "not for properties", ""},
		{"property operator on a cohort", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","operator":"exact","value":1}]}]}}],"cohorts":{"1":{"type":"AND","values":[]}}}`, flags.SeverityError, "f", "/filters/groups/0/properties/0/operator", "not for cohorts", flags.ReasonNoConditionMatch},
		{"no type", property(`{"key":"a","value":1}`), flags.SeverityWarning, "f", "/filters/groups/0/properties/0/type", "has no type", ""},
		{"list of booleans", property(`{"key":"a","type":"person","value":["true","false"]}`), flags.SeverityWarning, "f", "/filters/groups/0/properties/0/value", "truthiness, not membership", ""},
		{"unknown group type", withFilters(`{"aggregation_group_type_index":3,"groups":[{}]}`), flags.SeverityError, "f", "/filters/aggregation_group_type_index", "group type does not exist", flags.ReasonNoGroupType},
		{"group filter without group", property(`{"key":"a","type":"group","value":1}`), flags.SeverityError, "f", "/filters/groups/0/properties/0", "reads no known group", ""},
		{"payload of no value", withFilters(`{"groups":[{}],"payloads":{"nope":"1"}}`), flags.SeverityError, "f", "/filters/payloads/nope", "never has this value", ""},
		{
			"Ruling97: a group without values", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","key":"id","value":1}]}]}}],"cohorts":{"1":{"type":"OR"}}}`,
			flags.SeverityError, "", "/cohorts/1", "has no values and is nobody", flags.ReasonNoConditionMatch,
		},
		{
			"Ruling97: a legacy group without values", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","key":"id","value":1}]}]}}],"cohorts":[{"id":1,"groups":[{"properties":{"type":"OR"}}]}]}`,
			flags.SeverityError, "", "/cohorts/0/groups/0", "defines nothing and is nobody", flags.ReasonNoConditionMatch,
		},
		{"Ruling86: no condition sets", withFilters(`{"groups":[]}`), flags.SeverityNote, "f", "/filters/groups", "off for everybody", flags.ReasonNoGroupType},
		{"unknown runtime", `{"flags":[{"id":1,"key":"f","active":true,"evaluation_runtime":"edge"}]}`, flags.SeverityError, "f", "/evaluation_runtime", `counts as all: "edge"`, ""},
		{"incomplete holdout", withFilters(`{"groups":[{}],"holdout":{"id":1}}`), flags.SeverityError, "f", "/filters/holdout", "needs an id and an exclusion_percentage", ""},
		{"no id", `{"flags":[{"key":"f","active":true}]}`, flags.SeverityWarning, "f", "/id", "no id", ""},

		{"legacy holdout", withFilters(`{"groups":[{}],"holdout_groups":[{"properties":[],"rollout_percentage":100,"variant":"holdout-7"}]}`), flags.SeverityNote, "f", "/filters/holdout_groups", "converted", flags.ReasonHoldout},
		{"legacy early access", withFilters(`{"groups":[{}],"super_groups":[{"properties":[{"key":"$feature_enrollment/f","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}`), flags.SeverityNote, "f", "/filters/super_groups", "converted", flags.ReasonConditionMatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.document)
			found := false
			for _, p := range s.Problems() {
				if p.Severity == tt.severity && p.Flag == tt.flag && p.Path == tt.path && strings.Contains(p.DefinitionError.Error(), tt.text) {
					found = true
					if p.Severity != flags.SeverityNote && p.Hint == "" {
						t.Errorf("problem has no hint: %v", p)
					}
				}
				if len(p.Error()) > 1000 {
					t.Errorf("problem of %d bytes", len(p.Error()))
				}
			}
			if !found {
				t.Errorf("no %v of flag %q at %q with %q among:", tt.severity, tt.flag, tt.path, tt.text)
				for _, p := range s.Problems() {
					t.Errorf("  %v [%s %q]", p, p.Flag, p.Path)
				}
			}
			if tt.code != "" {
				r, err := s.Flag("f", &flags.Request{DistinctID: "u"})
				if err != nil || r.Reason.Code != tt.code {
					t.Errorf("Flag = %v, %v; want reason %s", r.Reason, err, tt.code)
				}
			}
		})
	}
}

func TestProblemsOfSoundDefinitions(t *testing.T) {
	s := compiled(t, withFilters(`{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]}],"rollout_percentage":33.3,"variant":null},
		{"rollout_percentage":50}],"multivariate":{"variants":[{"key":"a","rollout_percentage":33.33},{"key":"b","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.34}]},
		"payloads":{"a":"{\"x\":1}"},"holdout":{"id":1,"exclusion_percentage":10}}`))
	for _, p := range s.Problems() {
		t.Errorf("unexpected %v", p)
	}
}

func TestStrict(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(property(`{"key":"a","type":"person","operator":"foo","value":1}`)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = flags.Compile(d, flags.CompileOptions{Strict: true})
	if e, ok := errors.AsType[*flags.DefinitionError](err); !ok || e.Flag != "f" {
		t.Errorf("strict Compile = %v, want a DefinitionError of flag f", err)
	}
	d, _ = flags.Decode(strings.NewReader(withFilters(`{"groups":[]}`)))
	if _, err = flags.Compile(d, flags.CompileOptions{Strict: true}); err != nil {
		t.Errorf("strict Compile of a definition with warnings = %v, want nil", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, document, want string
		large                bool
	}{
		{"nothing", "", "not valid JSON", false},
		{"no JSON", "{flags", "not valid JSON", false},
		{"an array", "[]", "must be a JSON object", false},
		{"no flags", "{}", `must have an array "flags"`, false},
		{"flags of the wrong type", `{"flags":{}}`, `must have an array "flags", not an object`, false},
		{"NaN", `{"flags":[{"key":"f","version":NaN}]}`, "not valid JSON", false},
		{"trailing data", `{"flags":[]} x`, "not valid JSON", false},
		{"deep nesting", `{"flags":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "not valid JSON", false},
		{"100 MB", `{"flags":[],"x":"` + strings.Repeat("x", 100<<20) + `"}`, "more than 67108864 bytes", true},
		{"too many flags", `{"flags":[` + strings.Repeat(`{"key":"f"},`, 100_000) + `{"key":"f"}]}`, "more than 100000 flags", true},
		{"too many filters", withFilters(`{"groups":[{"properties":[` + strings.Repeat("{},", 2_000_000) + `{}]}]}`), "more than 2000000 elements", true},
		{"a huge list", property(`{"key":"a","type":"person","operator":"exact","value":[` + strings.Repeat("1,", fulltest.Count(2, 30)<<20) + `1]}`), "more than 2000000 elements", true},
		{"too many condition sets", `{"flags":[` + strings.Repeat(`{"key":"f","filters":{"groups":[`+strings.Repeat("{},", 9_998)+`{}]}},`, 201) + `{}]}`, "more than 2000000 elements", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := flags.Decode(strings.NewReader(tt.document))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode = %v, want an error with %q", err, tt.want)
			}
			if errors.Is(err, flags.ErrTooLarge) != tt.large {
				t.Errorf("Decode = %v; is ErrTooLarge: %v, want %v", err, !tt.large, tt.large)
			}
		})
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestDecodeReportsReadErrors(t *testing.T) {
	if _, err := flags.Decode(failingReader{}); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("Decode = %v, want the reader's error", err)
	}
}

func TestCompileLimitsRenderedSize(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(withFilters(`{"groups":[{}],"payloads":{"true":"` + strings.Repeat("x", 5000) + `"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flags.Compile(d, flags.CompileOptions{MaxBytes: 4000}); !errors.Is(err, flags.ErrTooLarge) {
		t.Errorf("Compile = %v, want ErrTooLarge", err)
	}
	if _, err := flags.Compile(d, flags.CompileOptions{MaxBytes: 20_000}); err != nil {
		t.Errorf("Compile = %v, want nil", err)
	}
	if _, err := flags.Compile(nil, flags.CompileOptions{}); err == nil {
		t.Error("Compile(nil) = nil, want an error")
	}
}

// TestCohortChains covers chains of cohorts beyond the limit, and shared
// cohorts that a careless evaluation would visit exponentially often.
func TestCohortChains(t *testing.T) {
	chain := func(n, width int) string {
		var b strings.Builder
		b.WriteString(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","value":0}]}]}}],"cohorts":{`)
		for i := range n {
			leaf := fmt.Sprintf(`{"key":"id","type":"cohort","value":%d}`, i+1)
			fmt.Fprintf(&b, `"%d":{"type":"AND","values":[%s]},`, i, strings.Join(strings.Split(strings.Repeat(leaf+"|", width-1)+leaf, "|"), ","))
		}
		fmt.Fprintf(&b, `"%d":{"type":"AND","values":[{"key":"x","operator":"is_not_set"}]}}}`, n)
		return b.String()
	}
	r, err := compiled(t, chain(60, 10)).Flag("f", &flags.Request{DistinctID: "u"})
	if err != nil || !r.Enabled {
		t.Errorf("60 cohorts, each 10 times in the next: %+v, %v; want enabled", r, err)
	}
	r, err = compiled(t, chain(1000, 1)).Flag("f", &flags.Request{DistinctID: "u"})
	if err != nil || r.Reason.Code != flags.ErrorCohortData {
		t.Errorf("a chain of 1000 cohorts: %+v, %v; want %s", r, err, flags.ErrorCohortData)
	}
}

// TestDependencyChains covers long chains and large cycles, which must take
// neither deep recursion nor quadratic time.
func TestDependencyChains(t *testing.T) {
	chain := func(n int, last string) string {
		var b strings.Builder
		b.WriteString(`{"flags":[`)
		for i := range n {
			next := fmt.Sprintf("f%d", i+1)
			if i == n-1 {
				next = last
			}
			fmt.Fprintf(&b, `{"id":%d,"key":"f%d","active":true,"filters":{"groups":[{"properties":[{"key":%q,"type":"flag","operator":"flag_evaluates_to","value":true}]}]}},`, i, i, next)
		}
		b.WriteString(`{"id":900000,"key":"end","active":true,"filters":{"groups":[{}]}}]}`)
		return strings.ReplaceAll(b.String(), `"id":0,`, `"id":800000,`)
	}
	const n = 20_000
	s := compiled(t, chain(n, "end"))
	if r, err := s.Flag("f0", &flags.Request{}); err != nil || !r.Enabled {
		t.Errorf("a chain of %d: %+v, %v; want enabled", n, r, err)
	}
	if got := s.Evaluate(&flags.Request{Keys: []string{"f0"}}); got.Len() != n+1 {
		t.Errorf("Keys [f0] gives %d flags, want %d", got.Len(), n+1)
	}
	s = compiled(t, chain(n, "f0"))
	got := s.Evaluate(&flags.Request{})
	if got.Len() != 1 || !got.Partial {
		t.Errorf("a cycle of %d: %d results, partial %v; want 1, true", n, got.Len(), got.Partial)
	}
	if got := s.Evaluate(&flags.Request{Keys: []string{"end"}}); got.Len() != 1 || got.Partial {
		t.Errorf("Keys beside a cycle: %d results, partial %v; want 1, false", got.Len(), got.Partial)
	}
	s = compiled(t, chain(n, "nowhere"))
	if r, err := s.Flag("f0", &flags.Request{}); err != nil || r.Reason.Code != flags.ReasonMissingFlag {
		t.Errorf("a chain to nowhere: %+v, %v; want %s", r, err, flags.ReasonMissingFlag)
	}
}

// TestManyClasses: patterns whose classes are long when written out cost no more
// than the limit of all of them, however many there are; what comes after it fails
// its flag and is reported.
func TestManyClasses(t *testing.T) {
	condition := func(i int) flags.Condition {
		pattern := strconv.Itoa(i) + strings.Repeat(`[\w\s]`, 280)
		value, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return flags.Condition{Properties: []flags.Filter{{Key: "a", Operator: "regex", Value: value}}}
	}
	d := &flags.Definitions{Flags: []flags.Flag{
		{ID: 1, Key: "few", Active: true, Filters: flags.Filters{Groups: []flags.Condition{condition(0)}}},
		{ID: 2, Key: "many", Active: true},
	}}
	for i := range 100 {
		d.Flags[1].Filters.Groups = append(d.Flags[1].Filters.Groups, condition(1+i))
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, p := range s.Problems() {
		if errors.Is(p, flags.ErrTooLarge) {
			found[p.Flag] = true
		}
	}
	if want := map[string]bool{"many": true}; !cmp.Equal(found, want) {
		t.Errorf("flags with patterns that are too large: %v, want %v", found, want)
	}
}

// TestProblemJSON is the form that a page for people who operate a server can show.
func TestProblemJSON(t *testing.T) {
	for _, tt := range []struct {
		name    string
		problem flags.Problem
		want    string
	}{
		{
			"all",
			flags.Problem{Severity: flags.SeverityError, DefinitionError: &flags.DefinitionError{Flag: "f", Path: "/filters", Value: `"x"`, Err: errors.New("wrong"), Hint: "write y"}},
			`{"severity":"error","flag":"f","path":"/filters","value":"\"x\"","message":"wrong","hint":"write y"}`,
		},
		{"a note", flags.Problem{Severity: flags.SeverityNote, DefinitionError: &flags.DefinitionError{Err: errors.New("done")}}, `{"severity":"note","message":"done"}`},
		{"a warning", flags.Problem{Severity: flags.SeverityWarning, DefinitionError: &flags.DefinitionError{Path: "/flags", Err: errors.New("odd")}}, `{"severity":"warning","path":"/flags","message":"odd"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := json.Marshal(tt.problem)
			if err != nil || string(b) != tt.want {
				t.Errorf("JSON = %s, %v; want %s", b, err, tt.want)
			}
			var back flags.Problem
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.problem.Error(), back.Error()); diff != "" {
				t.Errorf("the problem that was read back (-want +got):\n%s", diff)
			}
		})
	}
	for _, p := range compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":7}},{"id":2,"key":"g","active":true,"filters":{"groups":[]}}]}`).Problems() {
		b, err := json.Marshal(p)
		var back flags.Problem
		if err != nil || json.Unmarshal(b, &back) != nil || back.Error() != p.Error() || back.Severity != p.Severity {
			t.Errorf("%v became %s, %v, and that %v", p, b, err, back)
		}
	}
	for in, want := range map[string]string{`{"severity":"bad","message":"x"}`: `flags: severity: "bad", want note, warning or error`, `[]`: "flags: problem: "} {
		var p flags.Problem
		if err := p.UnmarshalJSON([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Problem from %s: error %v, want %q", in, err, want)
		}
	}
}
