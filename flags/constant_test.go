package flags_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestConstant: which flags have one value for every request. TestRandomComparison holds
// what is constant to evaluation.
func TestConstant(t *testing.T) {
	const (
		halves = `,"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
		whole  = `,"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]}`
		some   = `{"properties":[{"key":"x","type":"person","value":1}]}`
		other  = `{"properties":[{"key":"other","type":"flag","operator":"flag_evaluates_to","value":true}]}`
	)
	for filters, want := range map[string]string{
		`"groups":[{}]`:                                             "true 0",
		`"groups":[{"rollout_percentage":100}]`:                     "true 0",
		`"groups":[{"rollout_percentage":99.9}]`:                    "",
		`"groups":[]`:                                               "",
		`"groups":[` + some + `]`:                                   "",
		`"groups":[` + some + `,{}]`:                                "true 1",
		`"groups":[` + other + `,{}]`:                               "true 1",
		`"groups":[{"rollout_percentage":50},{}]`:                   "true 1",
		`"groups":[{"rollout_percentage":50},{}],"early_exit":true`: "",
		`"groups":[` + some + `,{}],"early_exit":true`:              "true 1",
		`"groups":[{}],"feature_enrollment":true`:                   "",
		`"groups":[{}],"super_groups":[{"properties":[{"key":"$feature_enrollment/k","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]`: "",
		`"groups":[{}],"holdout":{"id":1,"exclusion_percentage":1}`:                                     "",
		`"groups":[{}],"holdout":{"id":1,"exclusion_percentage":100}`:                                   "",
		`"groups":[{}],"holdout":{"id":1,"exclusion_percentage":0}`:                                     "true 0",
		`"groups":[{}]` + halves:                                                                        "",
		`"groups":[{}]` + whole:                                                                         "b 0",
		`"groups":[{"variant":"a"}]` + halves:                                                           "a 0",
		`"groups":[{"variant":"a","rollout_percentage":50},{}]` + whole:                                 "",
		`"groups":[{"variant":"b","rollout_percentage":50},{}]` + whole:                                 "b 1",
		`"groups":[{"variant":"a","rollout_percentage":0},{}]` + whole:                                  "", // who has no ID has a
		`"groups":[{"properties":[{"key":"x","type":"person","value":"(?=a)","operator":"regex"}]},{}]`: "true 1",
		`"groups":[{"properties":[{"key":"x","type":"no","value":1}]},{}]`:                              "", // fails
		`"groups":[{}],"aggregation_group_type_index":0`:                                                "", // without a group it is off
		`"groups":[{"aggregation_group_type_index":0},{"aggregation_group_type_index":null}]`:           "true 1",
		`"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":0}]}`:                "true 0",
		`"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":60}]}`:               "",
	} {
		for _, active := range []string{"true", "false"} {
			document := `{"group_type_mapping":{"0":"company"},"flags":[{"id":1,"key":"k","active":` + active + `,"filters":{` + filters + `}},{"id":2,"key":"other","active":true,"filters":{"groups":[{}]}}]}`
			d, err := flags.Decode(strings.NewReader(document))
			if err != nil {
				t.Fatal(err)
			}
			s, err := flags.Compile(d, flags.CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r, ok := s.Constant("k"); ok {
				got = r.Text() + " " + string('0'+rune(r.Reason.ConditionIndex))
			}
			if active == "true" && got != want || active == "false" && got != "" {
				t.Errorf("Constant of %s, active %s = %q, want %q", filters, active, got, want)
			}
		}
	}
	var none *flags.Snapshot
	if _, ok := none.Constant("k"); ok {
		t.Error("a flag of no Snapshot is constant")
	}
}
