package flags_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestRuling38PayloadText: a payload is text, whatever it is stored as
// (evaluation.md §3.8).
func TestRuling38PayloadText(t *testing.T) {
	for _, tt := range []struct {
		name, stored string
		want         string // the text
		decoded      any    // nil: it is not JSON
	}{
		{"object", `{ "b" : [1.50, null], "a": "é<\u0041" }`, `{"b":[1.50,null],"a":"é<\u0041"}`, map[string]any{"b": []any{1.5, nil}, "a": "é<A"}},
		{"array", "[1,\n 2]", `[1,2]`, []any{1.0, 2.0}},
		{"number", `1.0`, `1.0`, 1.0},
		{"boolean", `false`, `false`, false},
		{"text of an object", `"{\"a\": 1}"`, `{"a": 1}`, map[string]any{"a": 1.0}},
		{"text of a text", `"\"x\""`, `"x"`, "x"},
		{"a text", `"blue"`, `blue`, nil},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", `{"a":"` + "\uFFFD" + `"}`, map[string]any{"a": "\uFFFD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, fmt.Sprintf(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{}],"payloads":{"true":%s}}}]}`, tt.stored))
			result, err := s.Flag("f", nil)
			if err != nil || result.Metadata.Payload != tt.want {
				t.Fatalf("Metadata.Payload = %q, %v; want %q", result.Metadata.Payload, err, tt.want)
			}
			var in flags.Input
			in.Reset(s, "u", runtime.Filter{}, time.Time{})
			wire, _ := in.AppendFlags(nil)
			marshaled, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			for what, document := range map[string]string{
				"AppendFlags": string(wire), "Result.MarshalJSON": fmt.Sprintf(`{"f":%s}`, marshaled),
				"PayloadJSON": fmt.Sprintf(`{"f":{"metadata":{"payload":%s}}}`, result.PayloadJSON()),
			} {
				var entries map[string]struct{ Metadata struct{ Payload any } }
				if err := json.Unmarshal([]byte(document), &entries); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if diff := cmp.Diff(any(tt.want), entries["f"].Metadata.Payload); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			var e flags.Evaluator
			e.Swap(s)
			var decoded any
			if err := e.Payload("f", nil, &decoded); (err != nil) != (tt.decoded == nil) {
				t.Errorf("Evaluator.Payload: %v", err)
			}
			if diff := cmp.Diff(tt.decoded, decoded); diff != "" {
				t.Errorf("Evaluator.Payload (-want +got):\n%s", diff)
			}
		})
	}
}
