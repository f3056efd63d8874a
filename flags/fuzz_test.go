package flags_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// FuzzDecode reads arbitrary documents: nothing panics or hangs, what compiles
// can be evaluated, all ways to evaluate agree, and what is written is JSON.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(mixed), []byte(`{"plan":"pro"}`))
	f.Add([]byte(conditions("xxhash64")), []byte(`{"plan":"pro","seats":1e2}`))
	for seed := range uint64(20) {
		g := reference.NewGenerator(seed)
		f.Add(g.Document(), []byte(g.Request().Person))
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, document, person []byte) {
		d, err := flags.Decode(bytes.NewReader(document))
		if err != nil {
			return
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatalf("Compile: %v", err)
		}
		for _, p := range s.Problems() {
			_ = p.Error()
		}
		var properties map[string]any
		decoder := json.NewDecoder(bytes.NewReader(person))
		decoder.UseNumber()
		if err := decoder.Decode(&properties); err != nil {
			properties, person = nil, []byte("{}")
		}
		in := new(flags.Input)
		in.Reset(s, "user-1", runtime.Filter{}, now)
		if in.PersonJSON(person) != nil {
			// The walker is as strict as encoding/json, except for what follows the
			// value.
			in.Reset(s, "user-1", runtime.Filter{}, now)
			properties = nil
		}
		out, _ := in.AppendFlags(nil)
		if !json.Valid(out) {
			t.Fatalf("AppendFlags wrote no JSON: %s", out)
		}
		r := &flags.Request{DistinctID: "user-1", PersonProperties: properties, Now: now}
		results := s.Evaluate(r)
		for key, result := range in.Evaluate().All() {
			mine, ok := results.Get(key)
			a, _ := json.Marshal(result)
			b, _ := json.Marshal(mine)
			if !ok || !bytes.Equal(a, b) {
				t.Errorf("flag %q: as JSON %s, as Go values %s", key, a, b)
			}
			trace, err := s.Explain(key, r)
			if err != nil {
				t.Fatalf("Explain(%q): %v", key, err)
			}
			if b, _ := json.Marshal(trace.Result); !bytes.Equal(a, b) {
				t.Errorf("flag %q: Explain says %s, Evaluate %s", key, b, a)
			}
		}
	})
}

// FuzzProblem reads problems: what is read is written as it was.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"severity":"warning","flag":"f","path":"/filters","value":"1","message":"m","hint":"h"}`))
	f.Add([]byte(`{"severity":"note","message":""}`))
	f.Add([]byte(`{"severity":7}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, document []byte) {
		var p flags.Problem
		if json.Unmarshal(document, &p) != nil {
			return
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again flags.Problem
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if again.Error() != p.Error() || again.Severity != p.Severity {
			t.Errorf("%v was read back as %v", p, again)
		}
	})
}
