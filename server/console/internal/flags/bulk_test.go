package flags_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// selected is a form with flags that are selected in the list.
func selected(s *consoletest.Site, verb string, keys ...string) url.Values {
	form := url.Values{"do": {verb}, "back": {"state=on"}}
	for _, key := range keys {
		f := s.Flag(key)
		form.Add("flag", fmt.Sprintf("%d:%d", f.ID, f.Version))
	}
	return form
}

func init() {
	for verb, keys := range map[string][]string{
		"on": {"retired", "animations"}, "off": {"checkout-button", "animations", "retired"}, "archive": {"animations", "docs-search"},
	} {
		actions = append(actions, action{
			Route: "/projects/{project}/flags/bulk", Verb: verb, Asks: consoletest.Who,
			Run: func(s *consoletest.Site) (string, url.Values) {
				return "/projects/1/flags/bulk", selected(s, verb, keys...)
			},
		})
	}
	for _, verb := range []string{"tag", "untag"} {
		actions = append(actions, action{
			Route: "/projects/{project}/flags/bulk", Verb: verb, Asks: consoletest.Confirm, Tested: "TestBulkTags",
		})
	}
}

// TestBulkTags: tags of several flags are added and removed, and what is wrong is said before
// anything is changed.
func TestBulkTags(t *testing.T) {
	s := consoletest.NewSite(t)
	tags := func() (out [][]string) {
		for _, key := range []string{"animations", "docs-search", "retired"} {
			out = append(out, s.Flag(key).Tags)
		}
		return out
	}
	do := func(verb, tag string, keys ...string) *consoletest.Answer {
		t.Helper()
		form := consoletest.With(selected(s, verb, keys...), "tag", tag)
		asked := s.Post("/projects/1/flags/bulk", form).Want(200, "nobody")
		asked.CheckPage()
		to := s.Post("/projects/1/flags/bulk", asked.Form("")).Want(303).Header.Get("Location")
		if !strings.HasPrefix(to, "/console/projects/1/flags?") || !strings.Contains(to, "state=on") {
			t.Errorf("after it the list is at %s, want it as it was", to)
		}
		return s.Get(strings.TrimPrefix(to, "/console")).Want(200, "The flags were changed.")
	}
	do("tag", " web ", "animations", "docs-search")
	if diff := cmp.Diff([][]string{{"web"}, {"web"}, {}}, tags()); diff != "" {
		t.Errorf("tags (-want +got)\n%s", diff)
	}
	page := do("untag", "web", "animations", "retired") // of which one does not have it
	if diff := cmp.Diff([][]string{{}, {"web"}, {}}, tags()); diff != "" {
		t.Errorf("tags (-want +got)\n%s", diff)
	}
	to, undo := page.Undo()
	s.Post(to, undo).Want(303)
	if diff := cmp.Diff([][]string{{"web"}, {"web"}, {}}, tags()); diff != "" {
		t.Errorf("tags after the undo (-want +got)\n%s", diff)
	}

	s.Post("/projects/1/flags/bulk", selected(s, "tag", "retired")).Want(422, "Which tag?", "Type a tag").CheckPage()
	for _, form := range []url.Values{selected(s, "off"), selected(s, "off", "retired")} {
		to := s.Post("/projects/1/flags/bulk", form).Want(303).Header.Get("Location")
		s.Get(strings.TrimPrefix(to, "/console")).Want(200, "Nothing was changed.")
	}
	s.Post("/projects/1/flags/bulk", selected(s, "burn", "retired")).Want(400)
	s.Post("/projects/1/flags/bulk", url.Values{"do": {"off"}, "flag": {"1:x"}}).Want(400)
	s.Post("/projects/1/flags/bulk", url.Values{"do": {"off"}, "flag": {"99:1"}}).Want(404)
}

// TestBulkConflict: if somebody has changed one of the flags meanwhile, none is changed.
func TestBulkConflict(t *testing.T) {
	s := consoletest.NewSite(t)
	asked := s.Post("/projects/1/flags/bulk", selected(s, "off", "animations", "docs-search")).Want(200, "Switch 2 flags off?", "on → off")
	asked.CheckPage()
	s.Post("/projects/1/flags/bulk", consoletest.With(selected(s, "tag", "docs-search"), "tag", "web", "confirmed", "yes")).Want(303)
	s.Post("/projects/1/flags/bulk", asked.Form("")).Want(409, "Nothing was changed. docs-search: ").CheckPage()
	if !s.Flag("animations").Active {
		t.Error("one of the flags was changed")
	}
}
