package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	oracle "github.com/flagstaff-go/flagstaff/internal/reference"
)

func decode(t testing.TB, source string) *flags.Definitions {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(source))
	if err != nil {
		t.Fatalf("Decode(%s): %v", source, err)
	}
	return d
}

func write(t testing.TB, d *flags.Definitions, o wire.DefinitionsOptions) string {
	t.Helper()
	document, err := wire.AppendDefinitions(nil, d, o)
	if err != nil {
		t.Fatalf("AppendDefinitions: %v", err)
	}
	checkForm(t, document)
	return string(document)
}

// The forms of wire.md §5.2: what SDKs in typed languages decode into.
type (
	formDocument struct {
		Flags            []formFlag               `json:"flags"`
		GroupTypeMapping map[string]string        `json:"group_type_mapping"`
		Cohorts          map[string]formTreeGroup `json:"cohorts"`
		MatchingVersion  int                      `json:"property_matching_version"`
		MinimalEvents    bool                     `json:"minimal_flag_called_events"`
		StaticCohorts    []int64                  `json:"static_cohorts"`
		TimeZone         string                   `json:"timezone"`
	}
	formFlag struct {
		ID                  int64       `json:"id"`
		TeamID              int64       `json:"team_id"`
		Name                string      `json:"name"`
		Key                 string      `json:"key"`
		Filters             formFilters `json:"filters"`
		Deleted             bool        `json:"deleted"`
		Active              bool        `json:"active"`
		Continuity          bool        `json:"ensure_experience_continuity"`
		HasExperiment       bool        `json:"has_experiment"`
		Version             int64       `json:"version"`
		EvaluationRuntime   string      `json:"evaluation_runtime"`
		BucketingIdentifier string      `json:"bucketing_identifier"`
		EvaluationContexts  []string    `json:"evaluation_contexts"`
		MatchMode           string      `json:"evaluation_contexts_match_mode"`
		BucketingHash       string      `json:"bucketing_hash"`
		EvaluateRemotely    bool        `json:"evaluate_remotely"`
		RemoteConfiguration bool        `json:"is_remote_configuration"`
	}
	formFilters struct {
		Groups       []formCondition `json:"groups"`
		Multivariate *struct {
			Variants []struct {
				Key     string  `json:"key"`
				Name    string  `json:"name"`
				Rollout float64 `json:"rollout_percentage"`
			} `json:"variants"`
		} `json:"multivariate"`
		Payloads    map[string]string `json:"payloads"`
		Aggregation int               `json:"aggregation_group_type_index"`
		Holdout     struct {
			ID        int64   `json:"id"`
			Exclusion float64 `json:"exclusion_percentage"`
		} `json:"holdout"`
		EarlyExit         bool `json:"early_exit"`
		FeatureEnrollment bool `json:"feature_enrollment"`
		Version           int  `json:"version"`
	}
	formCondition struct {
		Properties  []formProperty `json:"properties"`
		Rollout     *float64       `json:"rollout_percentage"`
		Variant     *string        `json:"variant"`
		Aggregation *int           `json:"aggregation_group_type_index"`
	}
	formProperty struct {
		Key             string          `json:"key"`
		Value           json.RawMessage `json:"value"`
		Operator        string          `json:"operator"`
		Type            string          `json:"type"`
		GroupTypeIndex  int             `json:"group_type_index"`
		Negation        bool            `json:"negation"`
		DependencyChain []string        `json:"dependency_chain"`
	}
	formTreeGroup struct {
		Type   string            `json:"type"`
		Values []json.RawMessage `json:"values"`
	}
)

// checkForm fails for documents that some SDK cannot read (wire.md §0.9, §5.2).
func checkForm(t testing.TB, document []byte) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s in %s", fmt.Sprintf(format, args...), document)
	}
	if !json.Valid(document) || !utf8.Valid(document) {
		fail("invalid JSON")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil || !bytes.Equal(compact.Bytes(), document) {
		fail("white space")
	}
	for _, name := range []string{
		"flags", "group_type_mapping", "cohorts", "filters", "groups", "payloads", "operator", "properties", "variants", "name", "type",
		"ensure_experience_continuity", "evaluation_contexts", "evaluation_runtime", "bucketing_identifier", "has_experiment", "dependency_chain", "values",
	} {
		if bytes.Contains(document, []byte(`"`+name+`":null`)) {
			fail("a null %s", name)
		}
	}
	var form formDocument
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		fail("%v", err)
	}
	property := func(p *formProperty) {
		t.Helper()
		if p.Value == nil || p.Type == "" || (p.Type == "flag") != (p.DependencyChain != nil) {
			fail("property %+v", p)
		}
	}
	for i, f := range form.Flags {
		if i > 0 && f.Key <= form.Flags[i-1].Key {
			fail("flag %q after %q", f.Key, form.Flags[i-1].Key)
		}
		if f.Filters.Groups == nil || f.Filters.Payloads == nil || f.EvaluationContexts == nil || f.Deleted {
			fail("flag %q", f.Key)
		}
		if !slices.Contains([]string{"all", "client", "server"}, f.EvaluationRuntime) || !slices.Contains([]string{"distinct_id", "device_id"}, f.BucketingIdentifier) {
			fail("flag %q: runtime %q, bucketing %q", f.Key, f.EvaluationRuntime, f.BucketingIdentifier)
		}
		for _, c := range f.Filters.Groups {
			for _, p := range c.Properties {
				property(&p)
			}
		}
	}
	var group func(g formTreeGroup)
	group = func(g formTreeGroup) {
		t.Helper()
		groups := 0
		for _, v := range g.Values {
			var child formTreeGroup
			if json.Unmarshal(v, &child) == nil && child.Values != nil {
				groups++
				group(child)
				continue
			}
			var p formProperty
			if json.Unmarshal(v, &p) != nil || p.Value == nil || p.Type == "" {
				fail("leaf %s", v)
			}
		}
		if g.Type != "AND" && g.Type != "OR" || groups > 0 && groups < len(g.Values) || len(g.Values) == 0 && g.Type == "OR" {
			fail("group %+v", g)
		}
	}
	for _, g := range form.Cohorts {
		group(g)
	}
}

// surveyInternal is what a server hides.
func surveyInternal(f *flags.Flag) bool { return strings.HasPrefix(f.Key, "survey-targeting-") }

func TestDefinitionsGolden(t *testing.T) {
	source, err := os.ReadFile("testdata/project.json")
	if err != nil {
		t.Fatal(err)
	}
	d := decode(t, string(source))
	golden(t, "definitions", []byte(write(t, d, wire.DefinitionsOptions{Project: 7, Hide: surveyInternal})))
	golden(t, "definitions-inlined", []byte(write(t, d, wire.DefinitionsOptions{Project: 7, Hide: surveyInternal, InlineCohorts: true})))
}

func TestDefinitionsEmpty(t *testing.T) {
	want := `{"flags":[],"group_type_mapping":{},"cohorts":{}}`
	if got := write(t, &flags.Definitions{}, wire.DefinitionsOptions{}); got != want {
		t.Errorf("AppendDefinitions of nothing = %s, want %s", got, want)
	}
	got, err := wire.AppendDefinitions([]byte("before "), &flags.Definitions{PropertyMatchingVersion: 3}, wire.DefinitionsOptions{})
	if want := `before {"flags":[],"group_type_mapping":{},"cohorts":{},"property_matching_version":1}`; string(got) != want || err != nil {
		t.Errorf("AppendDefinitions = %s, %v; want %s", got, err, want)
	}
}

// TestDefinitionsFlags: which flags are sent (evaluation.md §14, management.md
// §13.8), in an order that does not depend on the order of the definitions.
func TestDefinitionsFlags(t *testing.T) {
	d := decode(t, `{"flags":[
		{"id":1,"key":"z","active":true},
		{"id":2,"key":"b","active":false},
		{"id":3,"key":"deleted","active":true,"deleted":true},
		{"id":4,"key":"encrypted","active":true,"has_encrypted_payloads":true},
		{"id":5,"key":"survey-targeting-5","active":true},
		{"id":6,"key":"B","active":true},
		{"id":7,"key":"z","active":true},
		{"id":8,"key":"ä","active":true,"evaluation_runtime":"client","evaluation_contexts":["docs"]},
		{"id":9,"key":"encrypted","active":true}]}`)
	d.Flags = append(d.Flags, flags.Flag{ID: 10, Active: true})
	sent := func(o wire.DefinitionsOptions) (ids []int64) {
		var form formDocument
		if err := json.Unmarshal([]byte(write(t, d, o)), &form); err != nil {
			t.Fatal(err)
		}
		for _, f := range form.Flags {
			ids = append(ids, f.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]int64{6, 2, 5, 1, 8}, sent(wire.DefinitionsOptions{})); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{6, 2, 1, 8}, sent(wire.DefinitionsOptions{Hide: surveyInternal})); diff != "" {
		t.Errorf("flags with Hide (-want +got):\n%s", diff)
	}
}

// TestDefinitionsMembers: the forms of members (wire.md §5.2).
func TestDefinitionsMembers(t *testing.T) {
	property := func(p string) string { return `"filters":{"groups":[{"properties":[` + p + `]}]}` }
	for _, tt := range []struct{ name, members, want string }{
		{"nothing but the key", ``, `{"id":1,"team_id":7,"name":"","key":"f","filters":{"groups":[],"multivariate":null,"payloads":{}},"deleted":false,"active":false,` +
			`"ensure_experience_continuity":false,"has_experiment":true,"version":0,"evaluation_runtime":"all","bucketing_identifier":"distinct_id","evaluation_contexts":[]}`},
		{
			"flag", `"name":"N","active":true,"version":3,"has_experiment":false,"evaluation_runtime":"SERVER","bucketing_identifier":"device_id","evaluation_contexts":["a","b"],"ensure_experience_continuity":true`,
			`"deleted":false,"active":true,"ensure_experience_continuity":true,"has_experiment":false,"version":3,"evaluation_runtime":"server","bucketing_identifier":"device_id","evaluation_contexts":["a","b"]}`,
		},
		{"all contexts", `"evaluation_contexts":["a"],"evaluation_contexts_match_mode":"all"`, `"evaluation_contexts":["a"],"evaluation_contexts_match_mode":"all"}`},
		{"any context", `"evaluation_contexts":["a"],"evaluation_contexts_match_mode":"any"`, `"evaluation_contexts":["a"]}`},
		{"unknown words", `"evaluation_runtime":"edge","bucketing_identifier":"session"`, `"evaluation_runtime":"all","bucketing_identifier":"distinct_id"`},

		{"condition set", `"filters":{"groups":[{}]}`, `"groups":[{"properties":[],"rollout_percentage":null,"variant":null}]`},
		{
			"percentages", `"filters":{"groups":[{"rollout_percentage":100.0},{"rollout_percentage":1e1},{"rollout_percentage":33.3},{"rollout_percentage":1e-7}]}`,
			`"groups":[{"properties":[],"rollout_percentage":100,"variant":null},{"properties":[],"rollout_percentage":10,"variant":null},{"properties":[],"rollout_percentage":33.3,"variant":null},{"properties":[],"rollout_percentage":1e-07,"variant":null}]`,
		},
		{"pinned variant", `"filters":{"groups":[{"variant":""},{"variant":"x"}]}`, `"variant":""},{"properties":[],"rollout_percentage":null,"variant":"x"}`},
		{
			"three aggregations", `"filters":{"groups":[{"aggregation_group_type_index":null},{"aggregation_group_type_index":0},{}]}`,
			`"variant":null,"aggregation_group_type_index":null},{"properties":[],"rollout_percentage":null,"variant":null,"aggregation_group_type_index":0},{"properties":[],"rollout_percentage":null,"variant":null}],`,
		},
		{"aggregation of a group flag", `"filters":{"aggregation_group_type_index":2}`, `"payloads":{},"aggregation_group_type_index":2}`},
		{"aggregation of a person flag", `"filters":{"aggregation_group_type_index":null}`, `"payloads":{}},"deleted"`},

		{
			"variants", `"filters":{"multivariate":{"variants":[{"key":"a","name":"A","rollout_percentage":50.5},{"key":"b"}]}}`,
			`"multivariate":{"variants":[{"key":"a","name":"A","rollout_percentage":50.5},{"key":"b","name":"","rollout_percentage":0}]}`,
		},
		{"no variants", `"filters":{"multivariate":{"variants":[]}}`, `"multivariate":{"variants":[]}`},
		{
			"payloads", `"filters":{"payloads":{"z":"{\"a\": 1}","o":{"b": [1.0, "é\u003c"], "a": null},"n":1.50,"t":true,"null":null,"s":"","e":"\"text\""}}`,
			`"payloads":{"e":"\"text\"","n":"1.50","o":"{\"b\":[1.0,\"é\\u003c\"],\"a\":null}","s":"","t":"true","z":"{\"a\": 1}"}`,
		},
		{"holdout", `"filters":{"holdout":{"id":42,"exclusion_percentage":12.5}}`, `"holdout":{"id":42,"exclusion_percentage":12.5}`},
		{"legacy holdout", `"filters":{"holdout_groups":[{"rollout_percentage":10,"variant":"holdout-3"}]}`, `"holdout":{"id":3,"exclusion_percentage":10}`},
		{"early exit", `"filters":{"early_exit":true}`, `"payloads":{},"early_exit":true}`},
		// SDKs evaluate neither form of it (evaluation.md §14), so one is enough.
		{"early access", `"filters":{"feature_enrollment":true}`, `"payloads":{},"feature_enrollment":true}`},
		{"legacy early access", `"filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/f","value":["true"]}],"rollout_percentage":100}]}`, `"payloads":{},"feature_enrollment":true}`},

		{"filter", property(`{"key":"a","type":"person","operator":"exact","value":["x"],"label":"l"}`), `[{"key":"a","value":["x"],"operator":"exact","type":"person"}]`},
		{"filter without operator, type and value", property(`{"key":"a","operator":null,"type":null}`), `[{"key":"a","value":null,"type":"person"}]`},
		{"group filter", property(`{"key":"a","type":"group","group_type_index":1,"operator":"is_set","value":null}`), `[{"key":"a","value":null,"operator":"is_set","type":"group","group_type_index":1}]`},
		{"negation", property(`{"key":"a","type":"person","value":1,"negation":true}`), `[{"key":"a","value":1,"type":"person","negation":true}]`},
		{"no negation", property(`{"key":"a","type":"person","value":1,"negation":false}`), `[{"key":"a","value":1,"type":"person"}]`},
		{"values", property(`{"key":"a","type":"person","value":{"b": "\ud800", "a": [1e3, 1.0, 12345678901234567890, "\u003c"]}}`), `"value":{"a":[1000.0,1.0,12345678901234567890,"<"],"b":"` + "\uFFFD" + `"}`},
		{"unknown operator", property(`{"key":"a","type":"person","operator":"foo","value":1}`), `[{"key":"a","value":1,"operator":"foo","type":"person"}]`},
		{"unreadable filter", property(`{"key":"a","type":"person","operator":5,"value":1}`), `[{"key":"a","value":1,"operator":"unsupported","type":"person"}]`},
		{"cohort filter", property(`{"key":"x","type":"cohort","operator":"not_in","value":"98"}`), `[{"key":"id","value":98,"operator":"not_in","type":"cohort"}]`},
		{"cohort filter without an id", property(`{"key":"id","type":"cohort","value":1.5}`), `[{"key":"id","value":1.5,"type":"cohort"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			members := `{"id":1,"key":"f"`
			if tt.members != "" {
				members += "," + tt.members
			}
			got := write(t, decode(t, `{"flags":[`+members+`}]}`), wire.DefinitionsOptions{Project: 7})
			if !strings.Contains(got, tt.want) {
				t.Errorf("AppendDefinitions = %s\nwant %s in it", got, tt.want)
			}
		})
	}
}

// TestPayloadTexts: the string that is sent is Metadata.Payload (evaluation.md §11.7).
func TestPayloadTexts(t *testing.T) {
	for _, payload := range []string{`"{\"a\": 1}"`, `{"b": [1.0, "é\u003c"], "a": null}`, `1.50`, `true`, `"a\ud800b"`, "\"\xff\xff\"", "[\"\xff\xff\"]", `""`, `null`} {
		d := decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{}],"payloads":{"true":`+payload+`}}}]}`)
		document, back := rewrite(t, d, wire.DefinitionsOptions{})
		checkForm(t, document)
		if want, got := flagOf(t, d, "f").Metadata.Payload, flagOf(t, back, "f").Metadata.Payload; got != want {
			t.Errorf("payload %q is %q before and %q after", payload, want, got)
		}
	}
}

func TestDefinitionsOfGroups(t *testing.T) {
	got := write(t, decode(t, `{"flags":[],"group_type_mapping":{"10":"a \"b\"","2":"project","0":"company"}}`), wire.DefinitionsOptions{})
	if want := `"group_type_mapping":{"0":"company","2":"project","10":"a \"b\""}`; !strings.Contains(got, want) {
		t.Errorf("AppendDefinitions = %s\nwant %s in it", got, want)
	}
}

// TestDependencyChains: evaluation.md §7.1. A flag of the table depends on the
// keys after the colon, with an inactive one marked by a dash in front and one
// with encrypted payloads by an exclamation mark.
func TestDependencyChains(t *testing.T) {
	for _, tt := range []struct {
		name, flags string
		want        string // chains of flag a
	}{
		{"one", "a:b b", "b"},
		{"of two", "a:b,c b c", "b|c"},
		{"transitive", "a:b b:c c:d d", "d,c,b"},
		{"diamond", "a:b b:c,d c:e d:e e", "e,c,d,b"},
		{"those that depend on nothing come first", "a:b b:z,c c:d z d", "d,z,c,b"},
		{"inactive target", "a:b -b", "b"},
		{"an inactive target is false whatever it depends on", "a:b -b:missing", "b"},
		{"missing target", "a:missing", ""},
		{"missing further on", "a:b b:c c:missing", ""},
		{"one of two is missing", "a:b,c b c:missing", "b|"},
		{"on itself", "a:a", ""},
		{"cycle", "a:b b:c c:b", ""},
		{"cycle that is over since a flag is inactive", "a:b b:c -c:b", "c,b"},
		{"beside a cycle", "a:b b c:d d:c", "b"},
		{"target that is not sent", "a:b !b", ""},
		{"hidden target", "a:survey-targeting-1 survey-targeting-1", ""},
		{"target that fails", "a:broken broken", "broken"},
		{"target that fails whatever it depends on", "a:newer newer:missing", "newer"},
		{"twice", "a:b,b b:c,c c", "c,b|c,b"},
		{"inactive dependent", "-a:b b:c c", "c,b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list []string
			for i, word := range strings.Fields(tt.flags) {
				key, targets, _ := strings.Cut(word, ":")
				active, encrypted := true, false
				if k, ok := strings.CutPrefix(key, "-"); ok {
					key, active = k, false
				}
				if k, ok := strings.CutPrefix(key, "!"); ok {
					key, encrypted = k, true
				}
				var properties []string
				for target := range strings.SplitSeq(targets, ",") {
					if target != "" {
						properties = append(properties, fmt.Sprintf(`{"key":%q,"type":"flag","operator":"flag_evaluates_to","value":true}`, target))
					}
				}
				groups := `[{"properties":[` + strings.Join(properties, ",") + `]}]`
				switch key {
				case "broken":
					groups = "5"
				case "newer":
					groups += `,"version":2`
				}
				list = append(list, fmt.Sprintf(`{"id":%d,"key":%q,"active":%v,"has_encrypted_payloads":%v,"filters":{"groups":%s}}`, i+1, key, active, encrypted, groups))
			}
			// The order of the definitions does not matter.
			for range 3 {
				rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				_, back := rewrite(t, decode(t, `{"flags":[`+strings.Join(list, ",")+`]}`), wire.DefinitionsOptions{Hide: surveyInternal})
				var chains []string
				for _, fl := range find(back, "a").Filters.Groups[0].Properties {
					chains = append(chains, strings.Join(*fl.DependencyChain, ","))
				}
				if got := strings.Join(chains, "|"); got != tt.want {
					t.Errorf("chains of %s = %q, want %q", tt.flags, got, tt.want)
				}
			}
		})
	}
}

// TestDependencyKeys: ids become keys (evaluation.md §7.1).
func TestDependencyKeys(t *testing.T) {
	for _, tt := range []struct{ name, filter, want string }{
		{"id", `"key":"1"`, `"key":"target"`},
		{"id as a number", `"key":1`, `"key":"target"`},
		{"key", `"key":"target"`, `"key":"target"`},
		{"id that is also a key", `"key":"2"`, `"key":"digits"`},
		{"key that is also an id", `"key":"2","dependency_chain":["2"]`, `"key":"2"`},
		{"key of digits", `"key":"3"`, `"key":"3"`},
		{"unknown", `"key":"77"`, `"key":"77"`},
		{"left out", `"key":"5"`, `"key":"secret"`},
		{"unusable", `"key":{}`, `"key":""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := write(t, decode(t, `{"flags":[
				{"id":9,"key":"f","active":true,"filters":{"groups":[{"properties":[{`+tt.filter+`,"type":"flag","operator":"flag_evaluates_to","value":"x"}]}]}},
				{"id":1,"key":"target","active":true},{"id":2,"key":"digits","active":true},{"id":12,"key":"2","active":true},{"id":13,"key":"3","active":true},
				{"id":5,"key":"secret","active":true,"has_encrypted_payloads":true}]}`), wire.DefinitionsOptions{})
			if want := `[{` + tt.want + `,"value":"x","operator":"flag_evaluates_to","type":"flag","dependency_chain":[`; !strings.Contains(got, want) {
				t.Errorf("AppendDefinitions = %s\nwant %s in it", got, want)
			}
		})
	}
}

// TestCohortTrees: the trees that are sent (evaluation.md §5.1, §5.3).
func TestCohortTrees(t *testing.T) {
	const (
		a          = `{"key":"a","value":1,"type":"person"}`
		nobody     = `{"key":"","value":null,"type":"group"}`
		unreadable = `{"type":"OR","values":[{"key":"","value":null,"operator":"unsupported","type":"person"}]}`
	)
	for _, tt := range []struct{ name, cohorts, want string }{
		{"record", `[{"id":1,"filters":{"properties":{"type":"or","values":[{"type":"AND","values":[` + a + `]}]}}},{"id":5,"filters":{}}]`, `{"1":{"type":"OR","values":[{"type":"AND","values":[` + a + `]}]}}`},
		{"type property is AND", `{"1":{"type":"property","values":[` + a + `]}}`, `{"1":{"type":"AND","values":[` + a + `]}}`},
		{"a lone leaf", `{"1":` + a + `}`, `{"1":{"type":"AND","values":[` + a + `]}}`},
		{
			"leaves beside groups", `{"1":{"type":"OR","values":[` + a + `,{"type":"AND","values":[]},` + a + `]}}`,
			`{"1":{"type":"OR","values":[{"type":"AND","values":[` + a + `]},{"type":"AND","values":[]},{"type":"AND","values":[` + a + `]}]}}`,
		},
		{"everybody", `{"1":{"type":"AND","values":[{"type":"AND","values":[]}]}}`, `{"1":{"type":"AND","values":[{"type":"AND","values":[]}]}}`},
		{"nobody", `{"1":{"type":"OR","values":[]}}`, `{"1":{"type":"OR","values":[` + nobody + `]}}`},
		{"an empty root", `{"1":{"type":"AND","values":[]}}`, `{"1":{"type":"AND","values":[` + nobody + `]}}`},
		{"nothing", `{"1":{}}`, `{"1":{"type":"OR","values":[` + nobody + `]}}`},
		{
			"negation", `{"1":{"type":"OR","values":[{"key":"a","type":"person","operator":"is_set","value":1,"negation":true},{"key":"b","type":"person","value":2,"negation":false}]}}`,
			`{"1":{"type":"OR","values":[{"key":"a","value":1,"operator":"is_set","type":"person","negation":true},{"key":"b","value":2,"type":"person"}]}}`,
		},
		{
			"cohorts in cohorts", `{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":3},{"key":"id","type":"cohort","operator":"not_in","value":"2"},{"key":"id","type":"cohort","operator":"not_in","value":2,"negation":true}]},"2":{"type":"AND","values":[]},"3":{"type":"AND","values":[{"key":"id","type":"cohort","value":4}]},"4":{"type":"OR","values":[]},"5":{"type":"AND","values":[]}}`,
			`{"1":{"type":"AND","values":[{"key":"id","value":3,"type":"cohort"},{"key":"id","value":2,"type":"cohort","negation":true},{"key":"id","value":2,"type":"cohort"}]},"2":{"type":"AND","values":[` + nobody + `]},"3":{"type":"AND","values":[{"key":"id","value":4,"type":"cohort"}]},"4":{"type":"OR","values":[` + nobody + `]}}`,
		},
		{
			"cycle", `{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":2}]},"2":{"type":"AND","values":[{"key":"id","type":"cohort","value":1}]}}`,
			`{"1":{"type":"AND","values":[{"key":"id","value":2,"type":"cohort"}]},"2":{"type":"AND","values":[{"key":"id","value":1,"type":"cohort"}]}}`,
		},
		{"stored", `[{"id":1,"is_static":true},{"id":5,"filters":{}}]`, `{},"static_cohorts":[1]`},
		{
			"stored behind another", `[{"id":1,"filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":2}]}}},{"id":2,"cohort_type":"behavioral","filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":5}]}}},{"id":5,"filters":{}}]`,
			`{"1":{"type":"AND","values":[{"key":"id","value":2,"type":"cohort"}]}},"static_cohorts":[2]`,
		},
		{"missing", `{"5":{"type":"AND","values":[]}}`, `{}`},
		{"unreadable", `{"1":[]}`, `{"1":` + unreadable + `}`},
		{"unreadable leaf", `{"1":{"type":"AND","values":[{"key":"a","type":"person","operator":5}]}}`, `{"1":{"type":"AND","values":[{"key":"","value":null,"operator":"unsupported","type":"person"}]}}`},
		{
			"unreadable leaf that is a cohort", `{"1":{"type":"AND","values":[{"key":"id","type":"cohort","operator":5,"value":5}]},"5":{"type":"AND","values":[]}}`,
			`{"1":{"type":"AND","values":[{"key":"","value":null,"operator":"unsupported","type":"person"}]}}`,
		},
		{"empty leaf", `{"1":{"type":"AND","values":[{"key":"","type":"person"}]}}`, `{"1":{"type":"AND","values":[{"key":"","value":null,"operator":"unsupported","type":"person"}]}}`},
		{"unknown type", `{"1":{"type":"XOR","values":[` + a + `,{"key":"id","type":"cohort","value":5}]},"5":{"type":"AND","values":[]}}`, `{"1":` + unreadable + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := write(t, decode(t, `{"flags":[{"id":1,"key":"f","active":false,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}],"cohorts":`+tt.cohorts+`}`), wire.DefinitionsOptions{})
			if want := `,"cohorts":` + tt.want + `}`; !strings.HasSuffix(got, want) {
				t.Errorf("AppendDefinitions = %s\nwant %s at the end", got, want)
			}
		})
	}
}

// TestCohortsOfFlagsThatAreNotSent: only what the document refers to is in it.
func TestCohortsOfFlagsThatAreNotSent(t *testing.T) {
	got := write(t, decode(t, `{"flags":[
		{"id":1,"key":"survey-targeting-1","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}},
		{"id":2,"key":"unreadable","active":true,"version":"x","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}],
		"cohorts":{"1":{"type":"AND","values":[]}}}`), wire.DefinitionsOptions{Hide: surveyInternal})
	if want := `"cohorts":{}}`; !strings.HasSuffix(got, want) {
		t.Errorf("AppendDefinitions = %s\nwant %s at the end", got, want)
	}
}

// TestDeepCohorts: trees that were made in Go may be deeper than a document can
// be, or have no end.
func TestDeepCohorts(t *testing.T) {
	endless := make([]flags.CohortNode, 1)
	endless[0] = flags.CohortNode{Type: "AND", Values: endless}
	d := decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}]}`)
	d.Cohorts = map[int64]flags.Cohort{1: {Properties: &endless[0]}}
	for _, inline := range []bool{false, true} {
		document, back := rewrite(t, d, wire.DefinitionsOptions{InlineCohorts: inline})
		checkForm(t, document)
		want := flags.ErrorCohortData
		if inline {
			want = "dependency_not_found_cohort"
		}
		if got := flagOf(t, back, "f"); got.Reason.Code != want {
			t.Errorf("InlineCohorts %v: reason %q, want %q", inline, got.Reason.Code, want)
		}
	}
}

func flagOf(t testing.TB, d *flags.Definitions, key string) flags.Result {
	t.Helper()
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Flag(key, &flags.Request{DistinctID: "user-1"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRuling60StoredCohorts: a document has their ids, and never an entry in
// cohorts, whatever tree they have in Go (evaluation.md §5.4).
func TestRuling60StoredCohorts(t *testing.T) {
	d := decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}]}`)
	for _, tree := range []*flags.CohortNode{nil, {Type: "AND"}} {
		d.Cohorts = map[int64]flags.Cohort{1: {Stored: true, Properties: tree}, 2: {Stored: true}}
		got, back := rewrite(t, d, wire.DefinitionsOptions{})
		if !strings.HasSuffix(string(got), `"cohorts":{},"static_cohorts":[1]}`) {
			t.Errorf("AppendDefinitions = %s, want only the cohort that a flag needs", got)
		}
		s, err := flags.Compile(back, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, cohorts := range [][]int64{nil, {1}, {2}} {
			r, err := s.Flag("f", &flags.Request{DistinctID: "user-1", Cohorts: cohorts})
			if err != nil || r.Failed || r.Enabled != slices.Contains(cohorts, 1) {
				t.Errorf("a member of %v: %+v, %v", cohorts, r, err)
			}
		}
		inlined := write(t, d, wire.DefinitionsOptions{InlineCohorts: true})
		if !strings.HasSuffix(inlined, `"cohorts":{}}`) || !strings.Contains(inlined, `[{"key":"id","value":1,"type":"cohort"}]`) {
			t.Errorf("AppendDefinitions with InlineCohorts = %s, want the filter and no cohort", inlined)
		}
	}
}

// TestDocumentTimeZone: the zone goes along, unless it is UTC (evaluation.md §1.1).
func TestDocumentTimeZone(t *testing.T) {
	for zone, want := range map[string]string{"": "", "UTC": "", "Europe/Berlin": `,"timezone":"Europe/Berlin"`} {
		got, back := rewrite(t, &flags.Definitions{TimeZone: zone}, wire.DefinitionsOptions{})
		if !strings.HasSuffix(string(got), `"cohorts":{}`+want+`}`) || want != "" && back.TimeZone != zone {
			t.Errorf("zone %q: %s, read as %q", zone, got, back.TimeZone)
		}
	}
}

// TestInlining: the older form of a document (management.md §13.8).
func TestInlining(t *testing.T) {
	const (
		a       = `{"key":"a","value":1,"type":"person"}`
		b       = `{"key":"b","value":2,"operator":"is_not","type":"person"}`
		c       = `{"key":"c","value":"x","operator":"icontains","type":"person"}`
		cohort1 = `{"key":"id","value":1,"type":"cohort"}`
		cohort2 = `{"key":"id","value":2,"type":"cohort"}`
	)
	and := func(values string) string { return `{"type":"AND","values":[` + values + `]}` }
	or := func(values string) string { return `{"type":"OR","values":[` + values + `]}` }
	in1 := `{"key":"id","type":"cohort","operator":"in","value":1}`
	leaf := func(n int) string { return strings.TrimSuffix(strings.Repeat(a+",", n), ",") }
	for _, tt := range []struct {
		name       string
		properties string
		cohort1    string
		cohort2    string
		want       []string // properties of each condition set
	}{
		{"no cohorts", a, and(b), "", []string{a}},
		{"one filter", cohort1, and(a), "", []string{a}},
		{"operator in", in1, and(a), "", []string{a}},
		{"cohort filters are last", cohort1 + "," + c, and(a + "," + b), "", []string{c + "," + a + "," + b}},
		{"only children", cohort1, or(and(or(and(a + "," + b)))), "", []string{a + "," + b}},
		{"an only child that has branches", cohort1, and(or(a + "," + b)), "", []string{a, b}},
		{"nested ANDs", cohort1, and(a + "," + and(b+","+c)), "", []string{a + "," + b + "," + c}},
		{"everybody", c + "," + cohort1, and(and("")), "", []string{c}},
		{"an empty root", c + "," + cohort1, and(""), "", []string{c + "," + cohort1}},
		{"branches", c + "," + cohort1, or(a + "," + and(b+","+a)), "", []string{c + "," + a, c + "," + b + "," + a}},
		{"branches of branches", cohort1, or(a + "," + or(b+","+c)), "", []string{a, b, c}},
		{"two ANDs", cohort1 + "," + cohort2, and(a), and(b), []string{a + "," + b}},
		{"an AND and an OR", cohort1 + "," + cohort2, or(a + "," + b), and(c), []string{c + "," + a, c + "," + b}},
		{"a lone leaf", cohort1, a, "", []string{a}},
		{"50 condition sets", cohort1, or(leaf(50)), "", slices.Repeat([]string{a}, 50)},

		{"1000 filters", cohort1, and(leaf(1000)), "", []string{leaf(1000)}},
		{"1001 filters", a + "," + cohort1, and(leaf(1000)), "", []string{a + "," + cohort1}},
		{"1001 filters of a cohort", cohort1, and(leaf(1001)), "", []string{cohort1}},
		{"1001 filters of cohorts", cohort1 + "," + cohort2, and(leaf(500)), and(leaf(501)), []string{cohort1 + "," + cohort2}},
		{"1001 filters of a branch", cohort1, or(and(leaf(1000)+","+and(a)) + "," + a), "", []string{cohort1}},
		{"51 condition sets", cohort1, or(leaf(51)), "", []string{cohort1}},
		{"two ORs", cohort1 + "," + cohort2, or(a + "," + b), or(b + "," + c), []string{cohort1 + "," + cohort2}},
		{"one of two", cohort1 + "," + cohort2, and(a), and(cohort1), []string{cohort1 + "," + cohort2}},
		{"AND of ORs", cohort1, and(or(a+","+b) + "," + or(b+","+c)), "", []string{cohort1}},
		{"not_in", `{"key":"id","value":1,"operator":"not_in","type":"cohort"}`, and(a), "", []string{`{"key":"id","value":1,"operator":"not_in","type":"cohort"}`}},
		{"negation", cohort1, and(`{"key":"a","value":1,"type":"person","negation":true}`), "", []string{cohort1}},
		{"cohort in the cohort", cohort1, and(a + "," + cohort2), and(b), []string{cohort1}},
		{"no person filter", cohort1, and(`{"key":"a","value":1,"type":"behavioral"}`), "", []string{cohort1}},
		{"metadata", cohort1, and(`{"key":"created_at","value":"-1d","operator":"is_date_after","type":"person_metadata"}`), "", []string{cohort1}},
		{"nobody", cohort1, or(""), "", []string{cohort1}},
		{"unknown operator", cohort1, and(`{"key":"a","value":1,"operator":"foo","type":"person"}`), "", []string{cohort1}},
		{"operator for cohorts", cohort1, and(`{"key":"a","value":1,"operator":"in","type":"person"}`), "", []string{cohort1}},
		{"unreadable leaf", cohort1, and(`{"key":5,"value":1,"type":"person"}`), "", []string{cohort1}},
		{"empty leaf", cohort1, and(`{"key":"","type":"person"}`), "", []string{cohort1}},
		{"invalid pattern", cohort1, and(a + `,{"key":"b","value":"(?=a","operator":"regex","type":"person"}`), "", []string{a + `,{"key":"b","value":"(?=a","operator":"regex","type":"person"}`}},
		{"pattern", cohort1, and(`{"key":"b","value":"^a","operator":"regex","type":"person"}`), "", []string{`{"key":"b","value":"^a","operator":"regex","type":"person"}`}},
		{"unknown type of group", cohort1, `{"type":"XOR","values":[` + a + `]}`, "", []string{cohort1}},
		{"unreadable cohort", cohort1, `[]`, "", []string{cohort1}},
		{"stored", cohort1, `{"is_static":true}`, "", []string{cohort1}},
		{"missing", cohort2, and(a), "", []string{cohort2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cohorts := `{"1":` + tt.cohort1
			if tt.cohort2 != "" {
				cohorts += `,"2":` + tt.cohort2
			}
			got := write(t, decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[`+tt.properties+`],"rollout_percentage":20,"variant":"v","aggregation_group_type_index":null}]}}],"cohorts":`+cohorts+`}}`),
				wire.DefinitionsOptions{InlineCohorts: true})
			var sets []string
			for _, p := range tt.want {
				sets = append(sets, `{"properties":[`+p+`],"rollout_percentage":20,"variant":"v","aggregation_group_type_index":null}`)
			}
			if want := `"groups":[` + strings.Join(sets, ",") + `],`; !strings.Contains(got, want) {
				t.Errorf("AppendDefinitions = %s\nwant %s in it", got, want)
			}
			if want := `"cohorts":{}}`; !strings.HasSuffix(got, want) {
				t.Errorf("AppendDefinitions = %s\nwant %s at the end", got, want)
			}
		})
	}
}

// TestInliningKnowsOperators: whatever the operator of a cohort's leaf, the leaf is
// inlined if the operator is for properties.
func TestInliningKnowsOperators(t *testing.T) {
	for o := range operators.All() {
		_, back := rewrite(t, decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}],
			"cohorts":{"1":{"type":"AND","values":[{"key":"a","operator":"`+o.Name+`","type":"person","value":"1"}]}}}`), wire.DefinitionsOptions{InlineCohorts: true})
		want := "cohort"
		if o.For == operators.PropertyFilter {
			want = "person"
		}
		if got := back.Flags[0].Filters.Groups[0].Properties[0].Type; got != want {
			t.Errorf("a cohort with operator %s becomes a filter of type %s, want %s", o.Name, got, want)
		}
	}
}

// TestInliningCountsPerFlag: 50 condition sets are the limit of the whole flag.
func TestInliningCountsPerFlag(t *testing.T) {
	condition := `{"properties":[{"key":"id","type":"cohort","value":1}]},`
	_, back := rewrite(t, decode(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[`+strings.TrimSuffix(strings.Repeat(condition, 10), ",")+`]}}],
		"cohorts":{"1":{"type":"OR","values":[`+strings.TrimSuffix(strings.Repeat(`{"key":"a","type":"person","value":1},`, 11), ",")+`]}}}`), wire.DefinitionsOptions{InlineCohorts: true})
	var kinds []string
	for _, c := range back.Flags[0].Filters.Groups {
		kinds = append(kinds, c.Properties[0].Type)
	}
	if want := append(slices.Repeat([]string{"person"}, 44), slices.Repeat([]string{"cohort"}, 6)...); !slices.Equal(kinds, want) {
		t.Errorf("%d condition sets: %q", len(kinds), kinds)
	}
}

// TestRemoteFlags: what SDKs would hash differently they ask the server for
// (evaluation.md §14), and Decode undoes it.
func TestRemoteFlags(t *testing.T) {
	const (
		plain  = `"ensure_experience_continuity":false`
		remote = `"ensure_experience_continuity":true`
		xx     = `"bucketing_hash":"xxhash64"`
		undo   = `"evaluate_remotely":true`
	)
	for _, tt := range []struct {
		name, standard, members string
		want                    []string
		hash                    string // of the flag, once decoded
		continuity              bool
	}{
		{"sha1", ``, `"active":true`, []string{plain}, "", false},
		{"xxhash64", ``, `"active":true,"bucketing_hash":"xxhash64"`, []string{remote, xx, undo}, "xxhash64", false},
		{"xxhash64 of the document", `xxhash64`, `"active":true`, []string{remote, xx, undo}, "xxhash64", false},
		{"sha1 in a document of xxhash64", `xxhash64`, `"active":true,"bucketing_hash":"sha1"`, []string{plain}, "", false},
		{"unknown hash in a document of xxhash64", `xxhash64`, `"active":true,"bucketing_hash":"md5"`, []string{plain}, "", false},
		{"xxhash64 with continuity", ``, `"active":true,"bucketing_hash":"xxhash64","ensure_experience_continuity":true`, []string{remote, xx}, "xxhash64", true},
		{"sha1 with continuity", ``, `"active":true,"ensure_experience_continuity":true`, []string{remote}, "", true},
		{"inactive", ``, `"active":false,"bucketing_hash":"xxhash64"`, []string{plain, xx}, "xxhash64", false},
		{"unknown configuration language", ``, `"active":true,"filters":{"version":3,"rules":[]}`, []string{remote, undo, `"version":3}`}, "", false},
		{"unreadable rule set", ``, `"active":true,"filters":{"version":2,"rules":[]}`, []string{remote, undo, `"version":-1}`}, "", false},
		{"unreadable", ``, `"active":true,"evaluation_runtime":5`, []string{remote, undo, `"groups":[],"multivariate":null,"payloads":{},"version":-1}`}, "", false},
		{"unreadable with continuity", ``, `"ensure_experience_continuity":true,"active":true,"filters":[]`, []string{remote}, "", true},
		{"unreadable and inactive", ``, `"active":false,"filters":[]`, []string{plain}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := decode(t, `{"bucketing_hash":"`+tt.standard+`","flags":[{"id":1,"key":"f",`+tt.members+`}]}`)
			document, back := rewrite(t, d, wire.DefinitionsOptions{})
			checkForm(t, document)
			for _, member := range []string{plain, remote, xx, undo} {
				if slices.Contains(tt.want, member) != bytes.Contains(document, []byte(member)) {
					t.Errorf("%s in %s, want %q", member, document, tt.want)
				}
			}
			for _, want := range tt.want {
				if !bytes.Contains(document, []byte(want)) {
					t.Errorf("AppendDefinitions = %s\nwant %s in it", document, want)
				}
			}
			if f := back.Flags[0]; f.BucketingHash != tt.hash || f.EnsureExperienceContinuity != tt.continuity || back.BucketingHash != "" {
				t.Errorf("after Decode: hash %q, continuity %v, hash of the document %q; want %q, %v, none", f.BucketingHash, f.EnsureExperienceContinuity, back.BucketingHash, tt.hash, tt.continuity)
			}
		})
	}
}

// TestUnreadableFlags: a flag that was not understood fails on both sides, and
// so does what depends on its value.
func TestUnreadableFlags(t *testing.T) {
	d := decode(t, `{"flags":[
		{"id":1,"key":"broken","active":true,"version":3,"filters":{"groups":5}},
		{"id":2,"key":"newer","active":true,"filters":{"version":3}},
		{"id":3,"key":"needs","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":4,"key":"settled","active":true,"filters":{"groups":[{"properties":[{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}]},{}]}}]}`)
	_, back := rewrite(t, d, wire.DefinitionsOptions{})
	for _, key := range []string{"broken", "newer", "needs", "settled"} {
		want, got := flagOf(t, d, key), flagOf(t, back, key)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(flags.Result{})); diff != "" {
			t.Errorf("%s (-before +after):\n%s", key, diff)
		}
		if want.Failed != (key != "settled") {
			t.Errorf("%s: failed = %v", key, want.Failed)
		}
	}
}

// TestNumbersThatJSONDoesNotHave: definitions made in Go.
func TestNumbersThatJSONDoesNotHave(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64} {
		d := &flags.Definitions{Flags: []flags.Flag{{Key: "f", Active: true, Filters: flags.Filters{
			Groups:       []flags.Condition{{RolloutPercentage: &x}},
			Multivariate: &flags.Multivariate{Variants: []flags.Variant{{Key: "a", RolloutPercentage: x}, {Key: "b", RolloutPercentage: 100}}},
		}}}}
		write(t, d, wire.DefinitionsOptions{})
		_, back := rewrite(t, d, wire.DefinitionsOptions{})
		before, after := compileBoth(t, d, back, nil)
		for _, id := range []string{"user-1", ""} { // the empty one hashes to 0
			r := &oracle.Request{DistinctID: id}
			if diff := cmp.Diff(answers(evaluate(t, before, r), nil), answers(evaluate(t, after, r), nil)); diff != "" {
				t.Errorf("%v for %q (-before +after):\n%s", x, id, diff)
			}
		}
	}
}

func TestDefinitionsErrors(t *testing.T) {
	dst := []byte("before")
	if got, err := wire.AppendDefinitions(dst, nil, wire.DefinitionsOptions{}); err == nil || string(got) != "before" {
		t.Errorf("AppendDefinitions(nil) = %q, %v", got, err)
	}
	// Each flag depends on all before it: chains of 320,000 keys in all.
	d := new(flags.Definitions)
	for i := range 800 {
		f := flags.Flag{ID: int64(i), Key: fmt.Sprintf("%0300d", i), Active: true}
		if i > 0 {
			f.Filters.Groups = []flags.Condition{{Properties: []flags.Filter{{Key: strconv.Itoa(i - 1), Type: "flag", Operator: "flag_evaluates_to", Value: json.RawMessage("true")}}}}
		}
		d.Flags = append(d.Flags, f)
	}
	if got, err := wire.AppendDefinitions(dst, d, wire.DefinitionsOptions{}); !errors.Is(err, flags.ErrTooLarge) || string(got) != "before" {
		t.Errorf("AppendDefinitions = %d bytes, %v; want ErrTooLarge", len(got), err)
	}
	d.Flags = d.Flags[:300]
	rewrite(t, d, wire.DefinitionsOptions{})
}

// TestDefinitionsETag: the tag depends on the document alone (wire.md §5.1), and
// the document not on the order of anything in the definitions.
func TestDefinitionsETag(t *testing.T) {
	if got, want := wire.DefinitionsETag(nil), `W/"ef46db3751d8e999"`; got != want {
		t.Errorf("DefinitionsETag of nothing = %s, want %s", got, want)
	}
	if got, want := wire.DefinitionsETag([]byte("49")), `W/"0bfbbc8d2c79f71e"`; got != want {
		t.Errorf("DefinitionsETag = %s, want %s, with the zero in front", got, want)
	}
	source, err := os.ReadFile("testdata/project.json")
	if err != nil {
		t.Fatal(err)
	}
	tags := make(map[string]bool)
	for range 10 {
		d := decode(t, string(source))
		rand.Shuffle(len(d.Flags), func(i, j int) { d.Flags[i], d.Flags[j] = d.Flags[j], d.Flags[i] })
		tags[wire.DefinitionsETag([]byte(write(t, d, wire.DefinitionsOptions{})))] = true
	}
	if len(tags) != 1 {
		t.Errorf("equal definitions have the tags %v", tags)
	}
	tags[wire.DefinitionsETag([]byte(write(t, decode(t, string(source)), wire.DefinitionsOptions{InlineCohorts: true})))] = true
	tags[wire.DefinitionsETag([]byte(write(t, decode(t, string(source)), wire.DefinitionsOptions{Project: 2})))] = true
	if len(tags) != 3 {
		t.Errorf("three documents have the tags %v", tags)
	}
}

// FuzzDefinitions writes what Decode makes of arbitrary documents: it is valid,
// Decode accepts it, and writes the same again.
func FuzzDefinitions(f *testing.F) {
	for seed := range uint64(20) {
		_, document, _ := random(f, seed)
		f.Add(document, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, source []byte, inline bool) {
		d, err := flags.Decode(bytes.NewReader(source))
		if err != nil {
			return
		}
		o := wire.DefinitionsOptions{InlineCohorts: inline}
		document, back := rewrite(t, d, o)
		checkForm(t, document)
		again, _ := rewrite(t, back, o)
		if !bytes.Equal(again, document) {
			t.Errorf("the second document differs:\n%s\n%s", document, again)
		}
		if inline {
			return
		}
		except := leftOut(d)
		before, after := compileBoth(t, d, back, nil)
		r := &oracle.Request{DistinctID: "user-1", Now: now, Groups: map[string]json.RawMessage{"company": json.RawMessage(`"acme"`)}}
		want, got := answers(evaluate(t, before, r), except), answers(evaluate(t, after, r), except)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-before +after):\n%s\ndocument: %s", diff, document)
		}
	})
}

// FuzzDefinitionsMadeInGo writes definitions with texts that are not JSON, no
// UTF-8, and no names that exist.
func FuzzDefinitionsMadeInGo(f *testing.F) {
	f.Add("a", []byte(`"x"`), 50.0, int64(1))
	f.Add("\xff\"\\\u2028", []byte(`{"a":`), math.NaN(), int64(-1))
	f.Add("cohort", []byte(" 1 "), math.Inf(1), int64(math.MinInt64))
	f.Add("flag", []byte("1e999"), -1e-9, int64(0))
	f.Fuzz(func(t *testing.T, s string, raw []byte, x float64, n int64) {
		fl := flags.Filter{Key: s, Value: raw, Operator: s, Type: s, GroupTypeIndex: new(int(n)), Negation: true}
		typed := []flags.Filter{fl, fl, fl, {Value: raw, Type: "cohort"}}
		typed[1].Type, typed[2].Type = "flag", "cohort"
		nodes := []flags.CohortNode{{Leaf: &typed[0]}, {Type: s}, {Leaf: &typed[2]}, {Type: "and", Values: []flags.CohortNode{{Leaf: &typed[1]}}}}
		d := &flags.Definitions{
			GroupTypes: map[int]string{int(n): s}, PropertyMatchingVersion: int(n), BucketingHash: s,
			Cohorts: map[int64]flags.Cohort{n: {Properties: &flags.CohortNode{Type: "or", Values: nodes}}, n + 1: {Properties: &nodes[0]}},
			Flags: []flags.Flag{{
				ID: n, Key: s, Name: s, Active: true, Version: int(n), BucketingIdentifier: s, BucketingHash: s, EvaluationRuntime: s, EvaluationContexts: []string{s}, EvaluationContextsMatchMode: s,
				Filters: flags.Filters{
					Groups:                    []flags.Condition{{Properties: typed, RolloutPercentage: &x, Variant: &s, AggregationGroupTypeIndex: flags.Aggregation(n)}},
					Multivariate:              &flags.Multivariate{Variants: []flags.Variant{{Key: s, Name: &s, RolloutPercentage: x}}},
					AggregationGroupTypeIndex: flags.Aggregation(n),
					Payloads:                  map[string]json.RawMessage{s: raw, "true": raw},
					Holdout:                   &flags.Holdout{ID: n, ExclusionPercentage: x},
					Version:                   int(n),
				},
			}},
		}
		for _, inline := range []bool{false, true} {
			document, err := wire.AppendDefinitions(nil, d, wire.DefinitionsOptions{Project: n, InlineCohorts: inline})
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(document) || !utf8.Valid(document) {
				t.Fatalf("invalid JSON: %s", document)
			}
		}
	})
}

func BenchmarkDefinitions(b *testing.B) {
	d := bench.Definitions(1000, "sha1")
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = wire.AppendDefinitions(dst[:0], d, wire.DefinitionsOptions{Project: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}
