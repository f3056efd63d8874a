package flags_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestFaces holds that all ways to ask about a flag agree on what it is: shown or
// hidden, inactive, failed or unknown (evaluation.md §11.7). What a server has answered
// for a flag does not show a hidden one.
func TestFaces(t *testing.T) {
	s := compiled(t, `{"flags":[
		{"key":"on","active":true,"filters":{"groups":[{}],"payloads":{"true":"1"}}},
		{"key":"off","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},
		{"key":"inactive","active":false,"filters":{"groups":[{}]}},
		{"key":"failed","active":true,"filters":{"groups":7}},
		{"key":"cycle","active":true,"filters":{"groups":[{"properties":[{"key":"cycle","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"key":"long cycle","active":true,"filters":{"groups":[{"properties":[{"key":"back","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"key":"back","active":true,"filters":{"groups":[{"properties":[{"key":"long cycle","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"key":"other runtime","active":true,"evaluation_runtime":"client","filters":{"groups":[{}],"payloads":{"true":"1"}}},
		{"key":"other contexts","active":true,"evaluation_contexts":["app"],"filters":{"groups":[{}],"payloads":{"true":"1"}}},
		{"key":"encrypted","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}],"payloads":{"true":"1"}}},
		{"key":"other runtime, inactive","active":false,"evaluation_runtime":"client","filters":{"groups":[{}]}},
		{"key":"other contexts, inactive","active":false,"evaluation_contexts":["app"],"filters":{"groups":[{}]}},
		{"key":"other runtime, failed","active":true,"evaluation_runtime":"client","filters":{"groups":7}},
		{"key":"encrypted, inactive","active":false,"has_encrypted_payloads":true,"filters":{"groups":[{}]}}
	]}`)
	// A face is what the questions about a flag come to. An ok one has a value.
	type face struct {
		Value   string // of Variant
		OK      bool
		Code    string // of the reason
		Err     error  // of Flag
		Results bool   // Evaluate has it
		Hidden  bool   // Explain says so
	}
	hidden := face{Value: "false", OK: true, Err: flags.ErrFiltered, Hidden: true}
	failed := face{Value: "?", Code: flags.ErrorFlagData, Results: true}
	for _, tt := range []struct {
		key  string
		want face
	}{
		{"on", face{Value: "true", OK: true, Code: flags.ReasonConditionMatch, Results: true}},
		{"off", face{Value: "false", OK: true, Code: flags.ReasonOutOfRollout, Results: true}},
		{"inactive", face{Value: "false", OK: true, Code: flags.ReasonFlagDisabled, Hidden: true}},
		{"failed", failed},
		{"cycle", face{Value: "?", Code: "dependency_cycle_flag"}},
		{"long cycle", face{Value: "?", Code: "dependency_cycle_flag"}},
		{"other runtime", hidden},
		{"other contexts", hidden},
		{"encrypted", hidden},
		{"other runtime, inactive", hidden},
		{"other contexts, inactive", hidden},
		{"other runtime, failed", hidden},
		{"encrypted, inactive", hidden},
		{"unknown", face{Value: "?", Err: flags.ErrUnknownFlag}},
	} {
		plain := &flags.Request{DistinctID: "u", Filter: runtime.Filter{Kind: runtime.Server, Tags: []string{"docs"}}}
		answered := *plain
		answered.RemoteResults = new(flags.RemoteResults)
		if tt.want.Hidden {
			answered.RemoteResults.Results = map[string]flags.Result{tt.key: {Enabled: true, Metadata: flags.Metadata{Payload: "1"}}}
		}
		for name, r := range map[string]*flags.Request{"plain": plain, "answered": &answered} {
			t.Run(tt.key+", "+name, func(t *testing.T) {
				got := face{Value: s.Variant(tt.key, r, "?")}
				text, ok := s.Lookup(tt.key, r)
				got.OK = ok
				if ok && text != got.Value {
					t.Errorf("Lookup = %q, Variant = %q", text, got.Value)
				}
				for _, fallback := range []bool{true, false} {
					want := fallback
					if ok {
						want = got.Value == "true"
					}
					if b := s.Bool(tt.key, r, fallback); b != want {
						t.Errorf("Bool with fallback %v = %v, want %v", fallback, b, want)
					}
				}
				var payload any
				if err := s.Payload(tt.key, r, &payload); (err == nil) != (tt.key == "on") || err != nil && !errors.Is(err, flags.ErrNoPayload) && !errors.Is(err, flags.ErrUnknownFlag) {
					t.Errorf("Payload = %v, %v", payload, err)
				}
				result, err := s.Flag(tt.key, r)
				got.Code = result.Reason.Code
				b, ok := s.Detail(tt.key, r)
				if ok != (err == nil) || b.Key() != result.Key || b.Enabled() != result.Enabled || b.Variant() != result.Variant ||
					b.Failed() != result.Failed || b.Text() != result.Text() || b.Inactive() != (result.Reason.Code == flags.ReasonFlagDisabled) {
					t.Errorf("Detail = %+v, %v; Flag = %+v, %v", b.Result(), ok, result, err)
				}
				if diff := cmp.Diff(result, b.Result(), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Errorf("Detail (-Flag +Detail):\n%s", diff)
				}
				for _, known := range []error{flags.ErrFiltered, flags.ErrUnknownFlag} {
					if errors.Is(err, known) {
						got.Err = known
					}
				}
				_, got.Results = s.Evaluate(r).Get(tt.key)
				trace, explained := s.Explain(tt.key, r)
				got.Hidden = explained == nil && trace.Hidden != ""
				if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
					t.Errorf("face (-want +got):\n%s", diff)
				}

				var in flags.Input
				in.Reset(s, r.DistinctID, r.Filter, time.Time{})
				same, inErr := in.Flag(tt.key)
				if fmt.Sprint(same.Reason, same.Enabled, same.Failed) != fmt.Sprint(result.Reason, result.Enabled, result.Failed) || (err == nil) != (inErr == nil) {
					t.Errorf("Input.Flag = %+v, %v; Snapshot.Flag = %+v, %v", same, inErr, result, err)
				}
				sameTrace, inErr := in.Explain(tt.key)
				if (explained == nil) != (inErr == nil) || explained == nil && sameTrace.Hidden != trace.Hidden {
					t.Errorf("Input.Explain = %+v, %v; Snapshot.Explain = %+v, %v", sameTrace, inErr, trace, explained)
				}
			})
		}
	}
}
