package flags_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// bases has one flag for each way in which a value can be decided (wire.md §7.2).
const bases = `{"flags":[
	{"id":1,"key":"everyone","active":true,"filters":{"groups":[{"properties":[]}]}},
	{"id":2,"key":"targeted","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}},
	{"id":3,"key":"targeted-share","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"is_set"}],"rollout_percentage":100}, {"rollout_percentage":0}]}},
	{"id":4,"key":"share","active":true,"filters":{"groups":[{"rollout_percentage":99.999}]}},
	{"id":5,"key":"nobody","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},
	{"id":6,"key":"drawn","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":99.9},{"key":"b","rollout_percentage":0.1}]}}},
	{"id":7,"key":"pinned","active":true,"filters":{"groups":[{"variant":"a"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
	{"id":8,"key":"held-out","active":true,"filters":{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":100}}},
	{"id":9,"key":"enrolled","active":true,"filters":{"groups":[{"rollout_percentage":0}],"feature_enrollment":true}},
	{"id":10,"key":"config","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"1"}}},
	{"id":11,"key":"off","active":false,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
	{"id":12,"key":"hidden-off","active":false,"evaluation_runtime":"server","filters":{"groups":[{}]}},
	{"id":13,"key":"encrypted","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}]}},
	{"id":14,"key":"cycle","active":true,"filters":{"groups":[{"properties":[{"key":"14","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":15,"key":"empty","active":true,"filters":{"groups":[]}}
]}`

// TestRuling61SingleVariant: one variant that has all of the share is what everybody
// gets (wire.md §7.2).
func TestRuling61SingleVariant(t *testing.T) {
	pro := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}}
	for _, tt := range []struct {
		shares    []string
		condition string
		want      string
	}{
		{[]string{"100"}, `{}`, "STATIC"},
		{[]string{"100", "0"}, `{}`, "STATIC"},
		{[]string{"0", "100"}, `{}`, "STATIC"},
		{[]string{"99.9"}, `{}`, "SPLIT"},
		{[]string{"99.9", "0.1"}, `{}`, "SPLIT"},
		{[]string{"0"}, `{}`, "SPLIT"},
		{[]string{"100"}, `{"rollout_percentage":99.9}`, "SPLIT"},
		{[]string{"100"}, `{"properties":[{"key":"plan","type":"person","value":"pro"}]}`, "TARGETING_MATCH"},
		{[]string{"100"}, `{"variant":"v0"}`, "TARGETING_MATCH"},
	} {
		variants := make([]string, len(tt.shares))
		for i, share := range tt.shares {
			variants[i] = fmt.Sprintf(`{"key":"v%d","rollout_percentage":%s}`, i, share)
		}
		s := compileText(t, `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":[`+tt.condition+`],"multivariate":{"variants":[`+strings.Join(variants, ",")+`]}}}]}`)
		if r, err := s.Flag("k", pro); err != nil || r.OpenFeatureReason() != tt.want || !r.Enabled {
			t.Errorf("shares %v, condition set %s: reason %s, enabled %v, %v; want %s", tt.shares, tt.condition, r.OpenFeatureReason(), r.Enabled, err, tt.want)
		}
	}
}

func TestOpenFeatureReason(t *testing.T) {
	s := compileText(t, bases)
	pro := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro", "$feature_enrollment/enrolled": true}}
	stranger := &flags.Request{DistinctID: "user-1"}
	for _, tt := range []struct {
		key                  string
		request              *flags.Request
		want                 string
		enabled              bool
		multivariate, config bool
	}{
		{"everyone", stranger, "STATIC", true, false, false},
		{"targeted", pro, "TARGETING_MATCH", true, false, false},
		{"targeted", stranger, "DEFAULT", false, false, false},
		{"targeted-share", pro, "TARGETING_MATCH", true, false, false},
		{"targeted-share", stranger, "SPLIT", false, false, false},
		{"share", stranger, "SPLIT", true, false, false},
		{"nobody", stranger, "SPLIT", false, false, false},
		{"drawn", stranger, "SPLIT", true, true, false},
		{"pinned", stranger, "TARGETING_MATCH", true, true, false},
		{"held-out", stranger, "SPLIT", true, false, false},
		{"enrolled", pro, "TARGETING_MATCH", true, false, false},
		{"enrolled", stranger, "SPLIT", false, false, false},
		{"config", stranger, "STATIC", true, false, true},
		{"off", stranger, "DISABLED", false, true, false},
		{"cycle", stranger, "DEFAULT", false, false, false},
		{"empty", stranger, "DEFAULT", false, false, false},
	} {
		r, err := s.Flag(tt.key, tt.request)
		if err != nil || r.OpenFeatureReason() != tt.want || r.Enabled != tt.enabled || r.Multivariate() != tt.multivariate || r.RemoteConfiguration() != tt.config {
			t.Errorf("%s for %v: reason %s, enabled %v, multivariate %v, remote configuration %v (%v); want %+v",
				tt.key, tt.request.PersonProperties, r.OpenFeatureReason(), r.Enabled, r.Multivariate(), r.RemoteConfiguration(), err, tt)
		}
	}
	if zero := new(flags.Result); zero.OpenFeatureReason() != "DEFAULT" || zero.Multivariate() || zero.RemoteConfiguration() {
		t.Error("the zero Result says something")
	}
}

// TestInputFlags: inactive flags and those on a cycle are among the results, hidden
// ones are not.
func TestInputFlags(t *testing.T) {
	s := compileText(t, bases)
	var in flags.Input
	list := func() (keys []string) {
		for r := range in.Flags() {
			keys = append(keys, r.Key)
		}
		return keys
	}
	in.Reset(s, "user-1", runtime.Filter{Kind: runtime.Client}, time.Time{})
	want := []string{"everyone", "targeted", "targeted-share", "share", "nobody", "drawn", "pinned", "held-out", "enrolled", "config", "off", "cycle", "empty"}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("for clients (-want +got)\n%s", diff)
	}
	for _, key := range []string{"hidden-off", "encrypted"} {
		if _, err := in.Flag(key); !errors.Is(err, flags.ErrFiltered) {
			t.Errorf("Flag(%s) = %v, want ErrFiltered", key, err)
		}
	}
	if _, err := in.Flag("other"); !errors.Is(err, flags.ErrUnknownFlag) {
		t.Errorf("Flag(other) = %v, want ErrUnknownFlag", err)
	}
	in.Reset(s, "user-1", runtime.Filter{Kind: runtime.Server}, time.Time{})
	in.SetKeys([]string{"share", "hidden-off"})
	if diff := cmp.Diff([]string{"share", "hidden-off"}, list()); diff != "" {
		t.Errorf("with keys (-want +got)\n%s", diff)
	}
	if !raceEnabled {
		n := testing.AllocsPerRun(100, func() {
			for r := range in.Flags() {
				_ = r.OpenFeatureReason()
			}
		})
		if n != 0 {
			t.Errorf("Flags allocates %v times, want 0", n)
		}
	}
}

func TestReads(t *testing.T) {
	s := compileText(t, bases)
	for name, want := range map[string]bool{"plan": true, "$feature_enrollment/enrolled": true, "targetingKey": false, "": false} {
		if got := s.Reads(name); got != want {
			t.Errorf("Reads(%q) = %v", name, got)
		}
	}
}
