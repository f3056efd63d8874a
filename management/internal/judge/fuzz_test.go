package judge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// seed adds generated filters and trees, and what is no JSON.
func seed(f *testing.F) {
	for _, raw := range []string{``, `{`, `null`, `[]`, `{"groups":[{"rollout_percentage":1e999}]}`, "{\"groups\":[{\"variant\":\"\xff\"}]}", `{"payloads":{"true":"\u2028<"}}`} {
		f.Add([]byte(raw))
	}
	for i := range uint64(50) {
		g := generator{rand.New(rand.NewPCG(3, i))}
		f.Add([]byte(g.filters()))
		f.Add([]byte(g.object("properties", g.node(3))))
	}
}

func FuzzFilters(f *testing.F) {
	seed(f)
	p := project()
	w := judge.NewWorld(p)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := judge.Filters(raw, subject, w)
		if err != nil {
			if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
				t.Fatalf("Filters(%q) = %s, %v; want a fault", raw, out, err)
			}
			return
		}
		checkAccepted(t, p, w, raw, out)
		name := func(id int64) string { return "C" }
		for what, changed := range map[string]json.RawMessage{
			"names":     judge.WithCohortNames(out, name),
			"payload":   judge.WithPayload(judge.WithPayload(out, "true", "sealed"), "true", payload(out)),
			"enrolment": judge.WithEnrollment(judge.WithEnrollment(out, true), false),
		} {
			want := out
			if what == "enrolment" {
				want = judge.WithEnrollment(out, false)
			}
			if got, err := judge.Filters(changed, subject, w); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: there and back %s becomes %s", what, want, outcome(got, err))
			}
		}
	})
}

func payload(stored json.RawMessage) string {
	s, _ := judge.Payload(stored, "true")
	return s
}

func FuzzCohortFilters(f *testing.F) {
	seed(f)
	p := project()
	w := judge.NewWorld(p)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := judge.CohortFilters(raw, 20, w)
		if err == nil {
			checkCohort(t, p, w, raw, out)
		} else if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
			t.Fatalf("CohortFilters(%q) = %s, %v; want a fault", raw, out, err)
		}
		if out, err := judge.CohortOfGroups(raw); err == nil && out != nil {
			if _, err := judge.CohortFilters(out, 20, w); err != nil {
				if _, ok := errors.AsType[*judge.Error](err); !ok {
					t.Errorf("CohortFilters(CohortOfGroups(%q)): %v; want a fault", raw, err)
				}
			}
		}
	})
}

// What reads stored filters takes anything.
func FuzzStored(f *testing.F) {
	seed(f)
	f.Add([]byte(strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := judge.NewWorld(judge.Project{
			Flags:   []judge.Flag{{ID: 1, Key: "a", Active: true, Filters: raw}, {ID: 2, Key: "base", Active: true, Filters: raw}},
			Cohorts: []judge.Cohort{{ID: 10, Filters: raw}, {ID: 12, Filters: raw}},
		})
		flagIDs, flagKeys, cohorts := judge.References(raw)
		if len(flagIDs)+len(flagKeys) == 0 && len(judge.Dependencies(w, raw)) > 0 {
			t.Errorf("%q has dependencies, but no references", raw)
		}
		for _, id := range cohorts {
			if users, _ := judge.CohortUsers(w, id); len(users) != 2 {
				t.Errorf("%q refers to cohort %d, which is used by %v", raw, id, users)
			}
		}
		for _, f := range judge.Dependencies(w, raw) {
			if got := judge.Dependents(w, f); len(got) == 0 {
				t.Errorf("%q refers to %s, which has no dependents", raw, f.Key)
			}
		}
		judge.CohortReferences(raw)
		judge.GroupBased(raw)
		judge.FullyRolledOut(raw)
		judge.RemoteConfig(raw)
		if (len(judge.Variants(raw)) > 0) != (judge.Type(raw) == judge.Multivariant) {
			t.Errorf("%q is %s with variants %q", raw, judge.Type(raw), judge.Variants(raw))
		}
		for _, other := range []string{
			property(`{"key":"id","type":"cohort","value":10}`),
			property(`{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}`),
		} {
			if _, err := judge.Filters([]byte(other), judge.Subject{ID: 3, Key: "c"}, w); err != nil {
				if _, ok := errors.AsType[*judge.Error](err); !ok {
					t.Errorf("beside %q: %v; want a fault", raw, err)
				}
			}
		}
	})
}

// Merge does what a map does.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"groups":[],"early_exit":true}`), []byte(`{"early_exit":false}`))
	f.Add([]byte(`{"a":1,"b":{"c":2},"a":3}`), []byte(`{"\u0061":{"b":2}, "d":[ 1 ]}`))
	f.Add([]byte(``), []byte(`{}`))
	f.Add([]byte(`null`), []byte("{\"\xff\":1}"))
	f.Add([]byte(`[`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, stored, change []byte) {
		out, err := judge.Merge(stored, change)
		if err != nil {
			if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
				t.Fatalf("Merge(%q, %q) = %s, %v; want a fault", stored, change, out, err)
			}
			return
		}
		var want, got, changes map[string]json.RawMessage
		if json.Unmarshal(stored, &want) != nil || want == nil {
			want = make(map[string]json.RawMessage)
		}
		if err := json.Unmarshal(change, &changes); err != nil {
			t.Fatalf("Merge(%q, %q) accepts a change that is no object: %v", stored, change, err)
		}
		if len(changes) == 0 {
			if !bytes.Equal(out, stored) {
				t.Errorf("Merge(%q, %q) = %q, want no change", stored, change, out)
			}
			return
		}
		maps.Copy(want, changes)
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("Merge(%q, %q) = %q: %v", stored, change, out, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Merge(%q, %q) (-want +got)\n%s", stored, change, diff)
		}
	})
}
