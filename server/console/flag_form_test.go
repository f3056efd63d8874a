package console_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// TestOperators holds the form to the operators that there are.
func TestOperators(t *testing.T) {
	kinds := map[operators.Kind]string{operators.PropertyFilter: "person", operators.CohortFilter: "cohort", operators.FlagFilter: "flag"}
	want := make(map[string][]string)
	for o := range operators.All() {
		want[kinds[o.For]] = append(want[kinds[o.For]], o.Name)
	}
	for _, kind := range kinds {
		got := console.OperatorNames(kind)
		slices.Sort(got)
		slices.Sort(want[kind])
		if !slices.Equal(got, want[kind]) {
			t.Errorf("operators of a %s: %q, want %q", kind, got, want[kind])
		}
	}
}

// FuzzFlagForm: whatever a browser sends, a form without errors stands for JSON.
func FuzzFlagForm(f *testing.F) {
	for _, seed := range []string{
		`key=a&base={"groups":[]}&c0.raw={}&c0.share=50&c0.f0.raw={}&c0.f0.kind=person&c0.f0.key=plan&c0.f0.operator=exact&c0.f0.value=pro`,
		`key=a&base={"holdout":{"id":1}}&holdout_id=1&holdout_share=5&v0.raw={}&v0.key=x&v0.share=100&v0.payload=[1]&aggregation=0`,
		`as_json=yes&json={"groups":[{"properties":[1,{}]}],"multivariate":{"variants":[null]},"payloads":[]}`,
		`c0.raw=null&c0.share=1e2&c0.f0.raw=[1]&c0.f0.kind=flag&c0.f0.key=b&c0.f0.operator=none&c0.f0.value=true&base=nonsense`,
	} {
		for _, do := range []string{"to-json", "to-form", "copy c0", "even", "add-variant"} {
			f.Add(seed, do, "c0")
		}
	}
	f.Fuzz(func(t *testing.T, query, verb, target string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if body, ok := console.FormBody(v, verb, target); ok && !json.Valid(body) {
			t.Errorf("the form stands for %s", body)
		}
	})
}

// TestRuling86NoConditionSets: a flag without condition sets says what that means, and the last
// condition set can be removed with the form (management.md §13.4).
func TestRuling86NoConditionSets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const nobody = "Without a condition set the flag is off for everyone."
	path := s.flagPath("retired")
	for _, tt := range []struct {
		name, before, want string
	}{
		{"a plain flag", `{"groups":[{"properties":[],"rollout_percentage":50}]}`, `{"groups":[]}`},
		{"one without groups", `{"groups":[]}`, `{"groups":[]}`},
		{
			"one with variants",
			`{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}`,
			`{"groups":[],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.update("retired", `{"active":true,"filters":`+tt.before+`}`)
			form := s.get(path).form("form")
			if _, has := form["c0.raw"]; has {
				page := s.post(path, with(form, "do", "remove c0")).want(200, nobody)
				page.checkPage()
				form = page.form("form")
			}
			review := s.post(path, with(form, "name", tt.name, "do", "save"))
			if review.status == 200 {
				review = s.post(path, with(review.form(""), "do", "save"))
			}
			review.want(303)
			var want flags.Filters
			fatal(t, json.Unmarshal([]byte(tt.want), &want))
			if got := shown(s.flag("retired").Filters); got != shown(want) {
				t.Errorf("filters %s, want %s", got, shown(want))
			}
			s.get(path).want(200, nobody).checkPage()
			list := s.get("/projects/1/flags?q=retired").want(200, "no one: it has no condition sets")
			list.checkPage()
		})
	}
	s.t = t
	s.get("/projects/1/explain?person=user-001&flag=retired").want(200, "No condition sets, so it is off for everyone").checkPage()
	s.get("/projects/1/explain?person=user-001").want(200, "No condition sets, so it is off for everyone").checkPage()
}

// TestPercentagesStay: a form has percentages as they were sent, so that saving it changes none.
func TestPercentagesStay(t *testing.T) {
	s := newSite(t)
	for percentage, rest := range map[string]string{"100": "0", "50": "50", "33.33": "66.67", "0.0625": "99.9375"} {
		filters := `{"groups":[{"properties":[],"rollout_percentage":` + percentage + `}],"multivariate":{"variants":[
			{"key":"a","rollout_percentage":` + percentage + `},{"key":"b","rollout_percentage":` + rest + `}]}}`
		s.update("retired", `{"filters":`+filters+`}`)
		form := s.get(s.flagPath("retired")).form("form")
		for _, field := range []string{"c0.share", "v0.share"} {
			if got := form.Get(field); got != percentage {
				t.Errorf("%s%% is shown in %s as %q", percentage, field, got)
			}
		}
	}
}
