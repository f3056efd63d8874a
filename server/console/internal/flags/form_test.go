package flags_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	screens "github.com/flagstaff-go/flagstaff/server/console/internal/flags"
)

// FuzzFlagForm: whatever a browser sends, a form without errors stands for JSON.
func FuzzFlagForm(f *testing.F) {
	for _, seed := range []string{
		`key=a&base={"groups":[]}&c0.raw={}&c0.share=50&c0.f0.raw={}&c0.f0.kind=person&c0.f0.key=plan&c0.f0.operator=exact&c0.f0.value=pro`,
		`key=a&base={"holdout":{"id":1}}&holdout_id=1&holdout_share=5&v0.raw={}&v0.key=x&v0.share=100&v0.payload=[1]&aggregation=0`,
		`as_json=yes&json={"groups":[{"properties":[1,{}]}],"multivariate":{"variants":[null]},"payloads":[]}`,
		`type=string&r0.raw={}&r0.kind=experiment&r0.share=5&r0.v0.key=a&r0.v0.weight=100&r0.v0.value=x&r0.f0.raw={}&r0.f0.kind=flag`,
		`type=number&default=1e5&r0.raw={"id":1,"holdout":[]}&r0.kind=split&r1.raw=&r1.kind=percentage_rollout&r1.value=-0&r1.share=1`,
		`as_json=yes&type=boolean&json={"version":2,"return_type":"boolean","rules":[]}`,
		`c0.raw=null&c0.share=1e2&c0.f0.raw=[1]&c0.f0.kind=flag&c0.f0.key=b&c0.f0.operator=none&c0.f0.value=true&base=nonsense`,
	} {
		for _, do := range []string{"to-json", "to-form", "copy c0", "even", "add-variant"} {
			f.Add(seed, do, "c0")
			f.Add(seed, do, "r0")
		}
	}
	f.Fuzz(func(t *testing.T, query, verb, target string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if body, ok := screens.FormBody(v, verb, target); ok && !json.Valid(body) {
			t.Errorf("the form stands for %s", body)
		}
	})
}

// TestRuling86NoConditionSets: a flag without condition sets says what that means, and the last
// condition set can be removed with the form (management.md §13.4).
func TestRuling86NoConditionSets(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	const nobody = "Without a condition set the flag is off for everyone."
	path := s.EditPath("retired")
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
			s.T = t
			s.Update("retired", `{"active":true,"filters":`+tt.before+`}`)
			form := s.Get(path).Form("form")
			if _, has := form["c0.raw"]; has {
				page := s.Post(path, consoletest.With(form, "do", "remove c0")).Want(200, nobody)
				page.CheckPage()
				form = page.Form("form")
			}
			review := s.Post(path, consoletest.With(form, "name", tt.name, "do", "save"))
			if review.Status == 200 {
				review = s.Post(path, consoletest.With(review.Form(""), "do", "save"))
			}
			review.Want(303)
			var want flags.Filters
			consoletest.Fatal(t, json.Unmarshal([]byte(tt.want), &want))
			if got := consoletest.Shown(s.Flag("retired").Filters); got != consoletest.Shown(want) {
				t.Errorf("filters %s, want %s", got, consoletest.Shown(want))
			}
			s.Get(path).Want(200, nobody).CheckPage()
			list := s.Get("/projects/1/flags?q=retired").Want(200, "no one: it has no condition sets")
			list.CheckPage()
		})
	}
	s.T = t
	s.Get("/projects/1/explain?person=user-001&flag=retired").Want(200, "No condition sets, so it is off for everyone").CheckPage()
	s.Get("/projects/1/explain?person=user-001").Want(200, "No condition sets, so it is off for everyone").CheckPage()
}

// TestPercentagesStay: a form has percentages as they were sent, so that saving it changes none.
func TestPercentagesStay(t *testing.T) {
	s := consoletest.NewSite(t)
	for percentage, rest := range map[string]string{"100": "0", "50": "50", "33.33": "66.67", "0.0625": "99.9375"} {
		filters := `{"groups":[{"properties":[],"rollout_percentage":` + percentage + `}],"multivariate":{"variants":[
			{"key":"a","rollout_percentage":` + percentage + `},{"key":"b","rollout_percentage":` + rest + `}]}}`
		s.Update("retired", `{"filters":`+filters+`}`)
		form := s.Get(s.EditPath("retired")).Form("form")
		for _, field := range []string{"c0.share", "v0.share"} {
			if got := form.Get(field); got != percentage {
				t.Errorf("%s%% is shown in %s as %q", percentage, field, got)
			}
		}
	}
}

// TestFieldsAreWhole: whatever a person changes in a form is a field that two versions and a
// conflict show, and nothing else is.
func TestFieldsAreWhole(t *testing.T) {
	s := consoletest.NewSite(t)
	for _, key := range []string{"checkout-button", "new-dashboard", "company-billing"} {
		form := consoletest.With(s.Get(s.EditPath(key)).Form("form"), "holdout_id", "7", "holdout_share", "5")
		if paths := screens.Differences(form, form); paths != nil {
			t.Errorf("%s differs from itself in %q", key, paths)
		}
		changed := []string{"continuity", "early_exit", "remote", "encrypted"}
		for name := range form {
			if !slices.Contains([]string{"version", "base", "comment"}, name) &&
				!strings.HasSuffix(name, ".raw") && !strings.HasSuffix(name, ".kind") {
				changed = append(changed, name)
			}
		}
		for _, name := range changed {
			if paths := screens.Differences(form, consoletest.With(form, name, "1")); len(paths) != 1 {
				t.Errorf("%s with another %s differs in %q, want one field", key, name, paths)
			}
		}
	}
}

// TestComment: what is typed beside the button is in the history, also after the review.
func TestComment(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.EditPath("checkout-button")
	form := consoletest.With(s.Get(path).Form("form"), "name", "For the sale", "comment", " see <#12> ")
	s.Post(path, consoletest.With(form, "do", "save")).Want(303)
	history := strings.TrimSuffix(path, "/edit") + "/history"
	s.Get(history).Want(200, "see <#12>").CheckPage()

	form = consoletest.With(s.Get(path).Form("form"), "c1.share", "80", "comment", "more of them", "do", "review")
	review := s.Post(path, form).Want(200, "Review changes", "Comment for the history")
	review.CheckPage()
	asked := review.Form("")
	if got := asked.Get("comment"); got != "more of them" {
		t.Errorf("the review has the comment %q", got)
	}
	s.Post(path, consoletest.With(asked, "do", "save", "comment", "most of them")).Want(303)
	s.Get(history).Want(200, "most of them").CheckPage()
	long := consoletest.With(s.Get(path).Form("form"), "name", "x", "comment", strings.Repeat("a", 1001), "do", "save")
	s.Post(path, long).Want(422, "no more than 1000 characters").CheckPage()
}
