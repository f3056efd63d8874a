package transfer_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestRuling100UndoImport: an import says first who gets its flags, and is taken back as a
// whole or not at all (management.md §5.11).
func TestRuling100UndoImport(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	before := s.State()
	// A flag that needs another one, and a cohort that a flag and a cohort use.
	const document = `{"flags":[
		{"id":1,"key":"base","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},
		{"id":2,"key":"after","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","value":false,
			"operator":"flag_evaluates_to"}]}]}},
		{"id":3,"key":"listed","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}]}]}},
		{"id":4,"key":"quiet","active":false,"filters":{"groups":[{}]}}],
		"cohorts":[{"id":97,"name":"Of the file","is_static":true},
			{"id":98,"name":"In it","filters":{"properties":{"type":"OR","values":[{"type":"OR","values":[{"key":"id","type":"cohort",
				"value":97}]}]}}}]}`
	run := func() (page string) {
		form := s.Checked("shop.json", document).Want(200, "4 flags and 2 cohorts would be imported.",
			"Of the 40 persons who were seen last, since ", ", 40 would get one of the new flags or more.", "after for 40 persons",
			"listed for none of them",
			"It can be undone as a whole").Form("import")
		return s.Sent(form, "import").Location()
	}
	page := run()
	done := s.Get(page).Want(200, "The document was imported.", "Names of group types stay.")
	done.CheckPage()
	to, undo := done.Undo()
	s.Post(to, undo).Leads(strings.TrimPrefix(page, "/console") + "?done=undone")
	s.Get(page+"?done=undone").Want(200, "It is as it was before.", "The import was undone").CheckPage()
	if diff := cmp.Diff(before, s.State(), consoletest.Same); diff != "" {
		t.Errorf("after the undo (-before +now)\n%s", diff)
	}
	if body := s.Get(page).Body; strings.Contains(body, "/undo") {
		t.Error("an import that was undone can be undone")
	}
	s.Get(consoletest.ImportPath).Want(200, "undone")
	s.Post(to, undo).Want(409, "This cannot be undone any more", "Flags that the import has made are deleted already.").CheckPage()

	// What somebody has changed, or uses, is left alone, and all else with it.
	for name, tt := range map[string]struct {
		do     func()
		status int
		says   string
	}{
		"a changed flag": {func() { s.Update("quiet", `{"name":"Mine"}`) }, 409, "The flag quiet was changed after the import."},
		"a cohort with more": {func() {
			s.Post(consoletest.CohortPath(s.Named("Of the file")), url.Values{"do": {"add-member"}, "person": {"user-001"}})
		}, 409, "The cohort \"Of the file\", or who is in it, was changed"},
		"a cohort that a flag uses": {func() {
			s.Update("checkout-button", fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}]}]}}`,
				s.Named("In it")))
		}, 422, "active flags use it: checkout-button"},
		"a flag that another needs": {func() {
			s.Update("checkout-button", fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"%d","type":"flag","value":true,
				"operator":"flag_evaluates_to"}]}]}}`, s.Flag("base").ID))
		}, 422, "other active flags depend on it: checkout-button"},
	} {
		t.Run(name, func(t *testing.T) {
			s.T = t
			to, undo := s.Get(run()).Undo()
			tt.do()
			before := s.State()
			s.Post(to, undo).Want(tt.status, "Nothing was changed.", tt.says).CheckPage()
			if diff := cmp.Diff(before, s.State(), consoletest.Same); diff != "" {
				t.Errorf("a refused undo has done something (-before +now)\n%s", diff)
			}
			for _, key := range []string{"after", "base", "listed", "quiet"} {
				s.Update("checkout-button", `{"filters":{"groups":[{}]}}`)
				s.Update(key, `{"deleted":true}`)
			}
			for _, name := range []string{"In it", "Of the file"} {
				s.Post(consoletest.CohortPath(s.Named(name)), url.Values{"do": {"delete"}}).Want(303)
			}
		})
	}
	s.T = t

	// Marks that were made up name nothing.
	for _, mark := range []string{"", " ", "x 1", "9-1 ", "1-99999999999 ", "0 ", "-3 ", "1,, "} {
		form := url.Values{"undo": {url.Values{"what": {"Import"}, "mark": {mark}}.Encode()}, "back": {"/console/"}}
		if a := s.Post(to, form); a.Status != http.StatusBadRequest {
			t.Errorf("mark %q: status %d", mark, a.Status)
		}
	}
	// Only what nobody has touched since it was made is deleted.
	s.Post(to, url.Values{"undo": {url.Values{"what": {"Import"}, "mark": {"1-3 "}}.Encode()}, "back": {"/console/"}}).Want(409)
}
