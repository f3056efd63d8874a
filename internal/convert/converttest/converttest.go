package converttest

import (
	"encoding/json"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// Compile compiles a project that may not have an error, be it of one flag.
func Compile(t testing.TB, p *convert.Project) *flags.Snapshot {
	t.Helper()
	s := snapshot(t, p)
	for _, problem := range s.Problems() {
		if problem.Severity == flags.SeverityError {
			t.Fatal(problem)
		}
	}
	return s
}

func snapshot(t testing.TB, p *convert.Project) *flags.Snapshot {
	t.Helper()
	d, err := p.Definitions(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Exact evaluates the flags of a project for somebody. A flag without problems may not fail.
func Exact(t testing.TB, p *convert.Project, r *flags.Request) {
	t.Helper()
	s := snapshot(t, p)
	for _, flag := range p.Flags {
		if result, err := s.Flag(flag.Key, r); err == nil && result.Failed && len(flag.Problems) == 0 {
			t.Fatalf("flag %q fails: %s", flag.Key, result.Reason.Description)
		}
	}
}

// Same compares what two conversions of a document have made, which is JSON.
func Same(t testing.TB, first, second *convert.Project) {
	t.Helper()
	one, err := first.Document(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(one) {
		t.Fatalf("not JSON: %s", one)
	}
	if other, err := second.Document(nil); err != nil || string(one) != string(other) {
		t.Fatalf("%v: two conversions are not the same:\n%s\n%s", err, one, other)
	}
}
