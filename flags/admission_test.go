package flags_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestRuling64MatchMode: a flag can ask for all of its evaluation contexts
// (evaluation.md §9.2).
func TestRuling64MatchMode(t *testing.T) {
	s := compiled(t, `{"flags":[
		{"id":1,"key":"none","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"any","active":true,"evaluation_contexts":["docs","app"],"filters":{"groups":[{}]}},
		{"id":3,"key":"all","active":true,"evaluation_contexts":["docs","app"],"evaluation_contexts_match_mode":"all","filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]},{}]}},
		{"id":4,"key":"twice","active":true,"evaluation_contexts":["docs","docs"],"evaluation_contexts_match_mode":"all","filters":{"groups":[{}]}},
		{"id":5,"key":"empty","active":true,"evaluation_contexts":[],"evaluation_contexts_match_mode":"all","filters":{"groups":[{}]}},
		{"id":6,"key":"dependent","active":true,"filters":{"groups":[{"properties":[{"key":"3","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}
	]}`)
	if len(s.Problems()) > 0 {
		t.Fatalf("problems: %v", s.Problems())
	}
	for _, tt := range []struct {
		name string
		tags []string
		want string // keys
	}{
		{"a request without contexts sees all", nil, "all any dependent empty none twice"},
		{"one", []string{"app"}, "any dependent empty none"},
		{"the other", []string{"docs"}, "any dependent empty none twice"},
		{"both", []string{"app", "docs"}, "all any dependent empty none twice"},
		{"more", []string{"x", "app", "y", "docs"}, "all any dependent empty none twice"},
		{"one that comes twice", []string{"app", "app"}, "any dependent empty none"},
		{"case counts", []string{"app", "Docs"}, "any dependent empty none"},
		{"unknown ones", []string{"x"}, "dependent empty none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &flags.Request{DistinctID: "u", Filter: runtime.Filter{Tags: tt.tags}}
			results := s.Evaluate(r)
			keys := slices.Sorted(maps.Keys(maps.Collect(results.All())))
			if diff := cmp.Diff(strings.Fields(tt.want), keys); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			seen := slices.Contains(keys, "all")
			if dependent, _ := results.Get("dependent"); dependent.Enabled != seen {
				t.Errorf("the flag that depends on it is %v, want %v", dependent.Enabled, seen)
			}
			var in flags.Input
			in.Reset(s, "u", r.Filter, time.Time{})
			if got := in.Needs().Person; got != seen {
				t.Errorf("Needs names the person: %v, want %v", got, seen)
			}
			_, err := s.Flag("all", r)
			if errors.Is(err, flags.ErrFiltered) == seen {
				t.Errorf("Flag: error %v, want one: %v", err, !seen)
			}
			if err != nil && !strings.Contains(err.Error(), `needs all of the evaluation contexts ["docs" "app"]`) {
				t.Errorf("Flag: error %v does not say what the flag needs", err)
			}
		})
	}
}

// TestRuling64UnknownMode: a flag whose match mode means nothing fails, and is not
// shown to more requests than its author meant (evaluation.md §1.2, §1.7).
func TestRuling64UnknownMode(t *testing.T) {
	for _, mode := range []string{`"ALL"`, `"every"`, `true`, `["all"]`} {
		s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"evaluation_contexts":["docs"],"evaluation_contexts_match_mode":`+mode+`,"filters":{"groups":[{}]}}]}`)
		got, err := s.Flag("f", &flags.Request{DistinctID: "u"})
		if err != nil || !got.Failed || got.Reason.Code != flags.ErrorFlagData {
			t.Errorf("mode %s: %+v, %v; want a failed flag", mode, got, err)
		}
		problems := s.Problems()
		if len(problems) != 1 || problems[0].Severity != flags.SeverityError || problems[0].Path != "/evaluation_contexts_match_mode" {
			t.Errorf("mode %s: problems %v, want one error at the member", mode, problems)
		}
	}
	for _, mode := range []string{`"any"`, `""`, `null`} {
		s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"evaluation_contexts":["docs"],"evaluation_contexts_match_mode":`+mode+`,"filters":{"groups":[{}]}}]}`)
		if len(s.Problems()) > 0 {
			t.Errorf("mode %s: problems %v", mode, s.Problems())
		}
	}
}
