package launchdarkly

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// groups are the group types of tests.
func groups(name string) int {
	return map[string]int{"org": 0, "organization": 0, "service": 1}[name]
}

func converted(t *testing.T, document string) *convert.Project {
	t.Helper()
	p, err := Convert([]byte(document), &convert.Options{Group: groups})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEnds: the number before an end is within a share by the arithmetic of the SDKs, and the end
// is not.
func TestEnds(t *testing.T) {
	for _, weights := range [][]int{{1}, {3}, {33333, 33333, 33334}, {50000}, {99999}, {100000}, {10, 20, 30}, {12345, 1, 1, 87653}, {16666, 16667, 16667}} {
		var sum float32
		for _, w := range weights {
			sum += float32(w) / 100000.0
			end := endBelow(sum)
			if within := float32(end-1)/float32(0xFFFFFFFFFFFFFFF) < sum; !within {
				t.Errorf("%v: %d is not below %v", weights, end-1, sum)
			}
			if within := float32(end)/float32(0xFFFFFFFFFFFFFFF) < sum; within && end < points {
				t.Errorf("%v: %d is below %v", weights, end, sum)
			}
		}
	}
	if end := endBelow(0); end != 0 {
		t.Errorf("nobody is below %d", end)
	}
}

// TestProblems has what cannot be kept, in the words that people read.
func TestProblems(t *testing.T) {
	const on = `"on": true, "variations": [true, false], "fallthrough": {"variation": 1}, "offVariation": 1`
	for _, test := range []struct{ flag, want string }{
		{`"on": true, "variations": ["a", 1], "fallthrough": {"variation": 0}`, "Value 2 is of another type than the others."},
		{`"on": true, "variations": ["", "a"], "fallthrough": {"variation": 0}`, "Value 1 is a list, null, an empty text"},
		{`"on": true, "variations": [[1]], "fallthrough": {"variation": 0}`, "Value 1 is a list, null, an empty text"},
		{`"on": true, "variations": [], "fallthrough": {"variation": 0}`, "It has no values."},
		{`"on": true, "variations": [true], "fallthrough": {"variation": 3}`, "It refers to the variation 3, which it does not have."},
		{`"on": true, "variations": [true], "fallthrough": {}`, "The fallthrough has neither a variation nor a rollout."},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"attribute": "a", "op": "sounds like", "values": ["b"]}]}]`, `the operator "sounds like" is not known. It never matches.`},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"attribute": "", "op": "in", "values": ["b"]}]}]`, "the reference to an attribute is empty. It never matches."},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"contextKind": "user", "attribute": "/a//b", "op": "in", "values": ["b"]}]}]`, "the reference to an attribute is malformed"},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"attribute": "kind", "op": "startsWith", "values": ["u"]}]}]`, "A clause on the kinds of contexts"},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"op": "segmentMatch", "values": ["big"]}]}]`, `The segment "big" is a big one, whose members are not in the file.`},
		{on + `, "rules": [{"id": "1", "variation": 0, "clauses": [{"op": "segmentMatch", "values": ["loop"]}]}]`, `The segment "loop" refers to itself.`},
		{on + `, "prerequisites": [{"key": "f", "variation": 0}]`, `Its prerequisite "f" needs it in turn.`},
		{on + `, "prerequisites": [{"key": "twins", "variation": 0}]`, `Its prerequisite "twins" has two variations with one value`},
		{on + `, "prerequisites": [{"key": "broken", "variation": 0}]`, "It needs the flag broken, which cannot be kept as it is."},
		{on + `, "migration": {"checkRatio": 1}`, "It is a migration flag"},
		{`"on": true, "variations": [true, false], "fallthrough": {"rollout": {"contextKind": "user", "bucketBy": "kind", "variations": [{"variation": 0, "weight": 1}]}}`, "A rollout is by the kind of context"},
	} {
		p := converted(t, `{"segments": {"big": {"key": "big", "unbounded": true}, "loop": {"key": "loop", "rules": [{"clauses": [{"op": "segmentMatch", "values": ["loop"]}]}]}}, "flags": {
			"twins": {"key": "twins", "on": true, "variations": [true, true], "fallthrough": {"variation": 0}},
			"broken": {"key": "broken", "on": true, "variations": [[], "a"], "fallthrough": {"variation": 0}},
			"f": {"key": "f", `+test.flag+`}}}`)
		for _, f := range p.Flags {
			if f.Key == "f" && !strings.Contains(strings.Join(f.Problems, " "), test.want) {
				t.Errorf("%s: %q, want %q", test.flag, f.Problems, test.want)
			}
		}
		if _, err := p.Definitions([]string{"org", "service"}); err != nil {
			t.Errorf("%s: %v", test.flag, err)
		}
	}
}

// TestForms has the forms of a document, and what is not one.
func TestForms(t *testing.T) {
	const flag = `{"key": "a", "on": true, "variations": [true], "fallthrough": {"variation": 0}}`
	for _, document := range []string{
		`{"flags": {"a": ` + flag + `}}`, `{"data": {"flags": {"a": ` + flag + `}, "segments": {}}}`, `{"flagValues": {"a": true}}`,
	} {
		if p := converted(t, document); len(p.Flags) != 1 || len(p.Flags[0].Problems) > 0 {
			t.Errorf("%s: %+v", document, p.Flags)
		}
	}
	for document, want := range map[string]string{
		`[]`:                           "not what LaunchDarkly writes",
		`{`:                            "not JSON",
		`{"items": []}`:                "REST API",
		`{"features": []}`:             "want the members flags and segments",
		`{"flags": {"a": {"key": 1}}}`: "key is a number, and not what LaunchDarkly writes",
		`{"flags": {"a": ` + flag + `}, "flagValues": {"a": 1}}`: "flag a is among flags and flagValues",
	} {
		if _, err := Convert([]byte(document), &convert.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

// TestSegments: a segment about users alone is a cohort, and any other one a part of the rule.
func TestSegments(t *testing.T) {
	const clause = `{"contextKind": "user", "attribute": "plan", "op": "in", "values": ["pro"]}`
	for _, test := range []struct {
		segment string
		cohort  bool
	}{
		{`"included": ["u1"], "excluded": ["u2"], "rules": [{"clauses": [` + clause + `]}]`, true},
		{`"rules": [{"clauses": []}]`, true},
		{`"rules": [{"clauses": [` + clause + `], "weight": 50000}]`, false},
		{`"includedContexts": [{"contextKind": "org", "values": ["o"]}]`, false},
		{`"rules": [{"clauses": [{"contextKind": "org", "attribute": "plan", "op": "in", "values": ["pro"]}]}]`, false},
	} {
		p := converted(t, `{"segments": {"s": {"key": "s", `+test.segment+`}}, "flags": {"f": {"key": "f", "on": true, "variations": [true, false], "fallthrough": {"variation": 1},
			"rules": [{"id": "1", "variation": 0, "clauses": [{"op": "segmentMatch", "values": ["s"]}]}]}}}`)
		if got := len(p.Cohorts) == 1; got != test.cohort || len(p.Flags[0].Problems) > 0 {
			t.Errorf("%s: %d cohorts, want %t; %q", test.segment, len(p.Cohorts), test.cohort, p.Flags[0].Problems)
		}
	}
}

// TestAgain: the same document makes the same definitions, byte for byte, and the flags of a team
// are all exact.
func TestAgain(t *testing.T) {
	document, err := os.ReadFile("testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	var before []byte
	for range 3 {
		p := converted(t, string(document))
		definitions, err := p.Document([]string{"organization", "service"})
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !bytes.Equal(before, definitions) {
			t.Fatal(cmp.Diff(string(before), string(definitions)))
		}
		before = definitions
		for _, f := range p.Flags {
			if len(f.Problems) > 0 {
				t.Errorf("%s: %q", f.Key, f.Problems)
			}
		}
		if len(p.Flags) != 50 || len(p.Cohorts) != 2 {
			t.Errorf("%d flags and %d cohorts, want 50 and 2", len(p.Flags), len(p.Cohorts))
		}
	}
}

func FuzzConvert(f *testing.F) {
	f.Add([]byte(`{"flagValues": {"a": 1}}`))
	f.Add([]byte(`{"segments": {"s": {"key": "s", "rules": [{"clauses": [{"op": "segmentMatch", "values": ["s"]}], "weight": 1, "bucketBy": "/a"}]}},
		"flags": {"f": {"key": "f", "on": true, "variations": [1, 2], "offVariation": 1, "prerequisites": [{"key": "f", "variation": 0}], "contextTargets": [{"values": []}],
		"fallthrough": {"rollout": {"variations": [{"variation": 9, "weight": -1}], "seed": 0}}, "rules": [{"clauses": [{"contextKind": "org", "attribute": "kind", "op": "in"}]}]}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := Convert(document, &convert.Options{Group: groups})
		if err != nil {
			return
		}
		d, err := p.Definitions([]string{"org", "service"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flags.Compile(d, flags.CompileOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range d.Flags {
			// What is said to be exact can be evaluated. A flag that needs another one may not.
			if err := d.Flags[i].Err(); err != nil && len(p.Flags) == len(d.Flags) && len(p.Flags[i].Problems) == 0 && !tooMuch(err) {
				t.Errorf("flag %q is exact, and fails: %v", d.Flags[i].Key, err)
			}
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

// tooMuch reports whether a flag has more rules or filters than one may have.
func tooMuch(err error) bool { return strings.Contains(err.Error(), "want at most") }
