package capture_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// splitOf returns a flag with one experiment.
func splitOf(kind, value, members string) string {
	return fmt.Sprintf(`{"id":5,"version":3,"key":"f","active":true,"filters":{"version":2,"return_type":%q,"default_value":null,"rules":[`+
		`{"id":"00000000-0000-4000-8000-000000000001","rule_type":"experiment","targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"s",`+
		`"variants":[{"key":"a","weight":100,"value":%s},{"key":"b","weight":0,"value":%s}],%s}]}}`, kind, value, value, members)
}

// TestExposuresOfRuleSets is rules.md §6: the two events by the table of §4.3, and values of each
// type.
func TestExposuresOfRuleSets(t *testing.T) {
	const (
		linked = `"experiment_id":9,"paused":false`
		own    = `"experiment_id":null,"paused":false`
	)
	long := `{"a":"` + strings.Repeat("x", 200) + `"}`
	rule := func(more map[string]any) map[string]any {
		m := map[string]any{"$feature_flag_rule_id": "00000000-0000-4000-8000-000000000001", "$feature_flag_rule_type": "experiment"}
		maps.Copy(m, more)
		return m
	}
	split := rule(map[string]any{"$feature_flag_experiment_id": 9.0, "$feature_flag_variant": "a"})
	for _, tt := range []struct {
		name, flag, code string
		response         any
		rule             map[string]any // nil: none
		exposure         any            // the response of $experiment_exposure; nil: there is none
	}{
		{"a string of an experiment", splitOf("string", `"x"`, linked), "experiment_split", "x", split, "x"},
		{"the string true", splitOf("string", `"true"`, linked), "experiment_split", "true", split, "true"},
		{"true", splitOf("boolean", `true`, linked), "experiment_split", true, split, true},
		{"false", splitOf("boolean", `false`, linked), "experiment_split", false, split, false},
		{"a number", splitOf("number", `2.5`, linked), "experiment_split", 2.5, split, "2.5"},
		{"an object", splitOf("object", `{"n": [1]}`, linked), "experiment_split", `{"n":[1]}`, split, `{"n":[1]}`},
		{"a long object", splitOf("object", long, linked), "experiment_split", true, split, true},
		{"a split of its own", splitOf("string", `"x"`, own), "targeting_match", "x", rule(nil), nil},
		{"a paused experiment", splitOf("string", `"x"`, `"experiment_id":9,"paused":true`), "experiment_paused", nil, rule(map[string]any{"$feature_flag_experiment_id": 9.0}), nil},
		{"a holdout", splitOf("string", `"x"`, linked+`,"holdout":{"id":3,"seed":"h","exclusion_percentage":100}`), "holdout", nil, rule(map[string]any{"$feature_flag_experiment_id": 9.0, "$feature_flag_holdout_id": 3.0}), nil},
		{"a holdout of its own", splitOf("string", `"x"`, own+`,"holdout":{"id":null,"seed":"h","exclusion_percentage":100}`), "holdout", nil, rule(nil), nil},
		{"a miss", strings.Replace(splitOf("string", `"x"`, linked), `"rollout_percentage":100`, `"rollout_percentage":0`, 1), "rollout_miss", nil, rule(map[string]any{"$feature_flag_experiment_id": 9.0}), nil},
		{"no rule", `{"id":5,"version":3,"key":"f","active":true,"filters":{"version":2,"return_type":"number","default_value":0,"rules":[]}}`, "no_rule_match", 0.0, nil, nil},
		{"a group", `{"id":5,"version":3,"key":"f","active":true,"filters":{"version":2,"return_type":"number","default_value":0,"aggregation_group_type_index":0,"rules":[]}}`, "missing_group_key", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			detail := detailOf(t, tt.flag)
			request := &flags.Request{DistinctID: "u1", Groups: map[string]string{"company": "acme"}}
			result := detail.Result()
			for way, report := range map[string]func(*capture.Client){
				"shown":   func(c *capture.Client) { c.Shown(detail, request) },
				"exposed": func(c *capture.Client) { c.Exposed(capture.ExposureOf(&result, request)) },
			} {
				sink := &memorySink{}
				c := newClient(t, capture.ClientConfig{Sink: sink})
				report(c)
				report(c)
				closeClient(t, c)
				got := sink.all()
				want := added(map[string]any{
					"$feature_flag": "f", "$feature_flag_response": tt.response, "$feature/f": tt.response, "$feature_flag_id": 5.0, "$feature_flag_version": 3.0,
					"$feature_flag_reason": result.Reason.Description, "$groups": map[string]any{"company": "acme"}, "locally_evaluated": true,
					"$feature_flag_has_experiment": strings.Contains(tt.flag, `"experiment_id":9`), "$feature_flag_config_version": 2.0, "$feature_flag_reason_code": tt.code,
				})
				maps.Copy(want, tt.rule)
				if len(got) == 0 || got[0].Name != "$feature_flag_called" {
					t.Fatalf("%s: events %+v", way, got)
				}
				if diff := cmp.Diff(want, decodeProperties(t, got[0].Properties)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", way, diff)
				}
				if tt.exposure == nil {
					if len(got) != 1 {
						t.Errorf("%s: events %+v", way, got)
					}
					continue
				}
				if len(got) != 2 || got[1].Name != "$experiment_exposure" || got[1].DistinctID != "u1" || !got[1].Time.Equal(got[0].Time) {
					t.Fatalf("%s: events %+v", way, got)
				}
				want = added(map[string]any{
					"$feature_flag": "f", "$feature_flag_response": tt.exposure, "$groups": map[string]any{"company": "acme"}, "locally_evaluated": true,
					"$feature_flag_config_version": 2.0, "$feature_flag_reason_code": tt.code, "$experiment_exposure_source": "sdk",
				})
				maps.Copy(want, split)
				if diff := cmp.Diff(want, decodeProperties(t, got[1].Properties)); diff != "" {
					t.Errorf("%s: $experiment_exposure (-want +got)\n%s", way, diff)
				}
			}
		})
	}
}

// TestExposuresOfRecords: a split whose attribution is not complete tells its value, its version and
// its reason, and is not an exposure to an experiment (rules.md §6).
func TestExposuresOfRecords(t *testing.T) {
	const whole = `{"key":"f","value":"x","reason":{"code":"experiment_split","condition_index":0},"metadata":{"config_version":2,"has_experiment":true,"rule_type":"experiment","rule_id":"r","experiment_id":9,"variant_key":"a"}}`
	for without, n := range map[string]int{"": 2, `,"rule_id":"r"`: 1, `,"experiment_id":9`: 1, `,"variant_key":"a"`: 1, `,"rule_type":"experiment"`: 1} {
		var r flags.Result
		if err := r.UnmarshalJSON([]byte(strings.Replace(whole, without, "", 1))); err != nil {
			t.Fatal(err)
		}
		sink := &memorySink{}
		c := newClient(t, capture.ClientConfig{Sink: sink})
		c.Exposed(capture.ExposureOf(&r, &flags.Request{DistinctID: "u1"}))
		closeClient(t, c)
		got := sink.all()
		if len(got) != n {
			t.Fatalf("without %s: events %+v, want %d", without, got, n)
		}
		p := decodeProperties(t, got[0].Properties)
		_, attributed := p["$feature_flag_rule_id"]
		if p["$feature_flag_response"] != "x" || p["$feature_flag_config_version"] != 2.0 || p["$feature_flag_reason_code"] != "experiment_split" || attributed != (n == 2) || (p["$feature_flag_variant"] != nil) != (n == 2) || (p["$feature_flag_experiment_id"] != nil) != (n == 2) {
			t.Errorf("without %s: %v", without, p)
		}
	}
}

// TestRuleSetsToldApart: another rule, variant or value is another exposure, and to tell one again
// costs no memory.
func TestRuleSetsToldApart(t *testing.T) {
	sink := &memorySink{}
	c := newClient(t, capture.ClientConfig{Sink: sink})
	linked := splitOf("number", "1", `"experiment_id":9,"paused":false`)
	request := &flags.Request{DistinctID: "u1"}
	for _, flag := range []string{
		linked, strings.Replace(linked, `000001"`, `000002"`, 1), strings.Replace(linked, `"key":"a"`, `"key":"c"`, 1), splitOf("number", "2", `"experiment_id":9,"paused":false`), splitOf("string", `"1"`, `"experiment_id":9,"paused":false`),
	} {
		for range 3 {
			c.Shown(detailOf(t, flag), request)
		}
	}
	detail := detailOf(t, linked)
	if n := testing.AllocsPerRun(100, func() { c.Shown(detail, request) }); n != 0 && !clientRace {
		t.Errorf("%v allocations", n)
	}
	closeClient(t, c)
	if n := len(sink.all()); n != 10 {
		t.Errorf("%d events, want two for each", n)
	}
}
