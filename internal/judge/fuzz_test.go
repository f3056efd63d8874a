package judge_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// seed adds generated filters and trees, and what is not JSON.
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
	w := worldOf(p)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := readAndJudge(raw, subject, w)
		if err != nil {
			if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
				t.Fatalf("Filters(%q) = %s, %v; want a fault", raw, out, err)
			}
			return
		}
		checkAccepted(t, p, w, raw, out)
	})
}

func FuzzCohortFilters(f *testing.F) {
	seed(f)
	p := project()
	w := worldOf(p)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := readAndJudgeCohort(raw, 20, w)
		if err == nil {
			checkCohort(t, p, w, raw, out)
		} else if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
			t.Fatalf("CohortFilters(%q) = %s, %v; want a fault", raw, out, err)
		}
	})
}

// Judge takes anything that is stored.
func FuzzStored(f *testing.F) {
	seed(f)
	f.Add([]byte(strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		filters := stored(raw)
		w := worldOf(storedProject{
			Flags:   []storedFlag{{ID: 1, Key: "a", Active: true, Filters: raw}, {ID: 2, Key: "base", Active: true, Filters: raw}},
			Cohorts: []storedCohort{{ID: 10, Filters: raw}, {ID: 12, Filters: raw}},
		})
		for id := range filters.CohortIDs() {
			if users, _ := judge.CohortUsers(w, id); len(users) != 2 {
				t.Errorf("%q refers to cohort %d, which is used by %v", raw, id, users)
			}
		}
		for _, f := range judge.Dependencies(w, filters) {
			if got := judge.Dependents(w, f.ID, f.Key); len(got) == 0 {
				t.Errorf("%q refers to %s, which has no dependents", raw, f.Key)
			}
		}
		judge.GroupBased(filters)
		checkFault(t, "itself", raw, judge.Judge(new(filters.Clone()), judge.Subject{ID: 3, Key: "c"}, w))
		checkFault(t, "as a tree", raw, judge.JudgeCohort(storedTree(raw), 20, w))
		for _, other := range []string{
			property(`{"key":"id","type":"cohort","value":10}`),
			property(`{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}`),
		} {
			_, err := readAndJudge([]byte(other), judge.Subject{ID: 3, Key: "c"}, w)
			checkFault(t, "beside it", raw, err)
		}
	})
}

// checkFault checks that what is wrong with something is a fault.
func checkFault(t *testing.T, what string, raw []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" {
		t.Errorf("%q, %s: %v; want a fault", raw, what, err)
	}
}

// What is shown of filters is what they say: read again, it is the same filters. A
// change that is refused has an error for its sender.
func FuzzSent(f *testing.F) {
	f.Add([]byte(`{"groups":[],"early_exit":true}`), []byte(`{"early_exit":false}`))
	f.Add([]byte(`{"payloads":{"true":1},"holdout":{"id":1,"exclusion_percentage":2}}`), []byte(`{"p\u0061yloads":{"true":"2"}, "holdout": null }`))
	f.Add([]byte(`{"groups":[{}]}`), []byte(`{}`))
	f.Add([]byte(`{"super_groups":[{"properties":[{"key":"$feature_enrollment/new"}]}]}`), []byte(`{"feature_enrollment":false}`))
	f.Add([]byte(`{"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}`), []byte(`{"groups":[{"variant":"a"}]}`))
	f.Add([]byte(`{"groups":[{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":[]}]}]}`), []byte(`[]`))
	for i := range uint64(50) {
		g := generator{rand.New(rand.NewPCG(4, i))}
		f.Add([]byte(g.filters()), []byte(g.filters()))
	}
	w := worldOf(project())
	f.Fuzz(func(t *testing.T, first, change []byte) {
		for _, s := range []judge.Subject{subject, {ID: 7, Key: "new", RemoteConfig: true}} {
			shown := checkSent(t, nil, first, s, w)
			if shown != nil {
				checkSent(t, shown, change, s, w)
			}
		}
	})
}

// checkSent returns what is shown of filters after a change, nil if they are refused.
func checkSent(t *testing.T, before, change []byte, s judge.Subject, w *judge.References) []byte {
	t.Helper()
	f, err := read(before, change)
	if err == nil {
		err = judge.Judge(&f, s, w)
	}
	if err != nil {
		checkFault(t, "change", change, err)
		return nil
	}
	shown, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(nil, shown)
	if err == nil {
		err = judge.Judge(&again, s, w)
	}
	if err != nil {
		t.Fatalf("what is shown of %s is %s, which is refused: %v", change, shown, err)
	}
	if diff := cmp.Diff(normal(t, &f), normal(t, &again)); diff != "" {
		t.Errorf("what is shown of %s is %s, which says something else (-want +got)\n%s", change, shown, diff)
	}
	if twice, _ := json.Marshal(again); string(twice) != string(shown) {
		t.Errorf("%s is shown as %s, and once more as %s", change, shown, twice)
	}
	return shown
}

// normal returns the normal form of filters.
func normal(t testing.TB, f *flags.Filters) string {
	t.Helper()
	b, err := f.Normal()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
