package people_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// choices returns what the buttons do that offer persons, by the names of the persons.
func choices(a *consoletest.Answer) map[string]string {
	out := make(map[string]string)
	choice := regexp.MustCompile(`<button name="do" value="([^"]*)">([^<]*)</button> <code>([^<]*)</code>`)
	for _, m := range choice.FindAllStringSubmatch(a.Body, -1) {
		out[m[3]] = m[1]
	}
	return out
}

// TestRuling101Choice names persons on each page that does something with one.
func TestRuling101Choice(t *testing.T) {
	s := consoletest.NewSite(t)
	for _, id := range []string{"user-002", "user-003"} {
		_, own := s.Person(id)
		s.Post(own, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada Lovelace"}}).Want(303)
	}
	made := s.Post("/projects/1/cohorts/new", url.Values{"kind": {"static"}, "name": {"Friends"}, "do": {"save"}}).Want(303)
	cohort, _, _ := strings.Cut(strings.TrimPrefix(made.Header.Get("Location"), "/console"), "?")
	made = s.Post("/projects/1/features/new", url.Values{"name": {"Tour"}, "stage": {"beta"}, "do": {"save"}}).Want(303)
	feature, _, _ := strings.Cut(strings.TrimPrefix(made.Header.Get("Location"), "/console"), "?")
	for _, tt := range []struct{ page, do, in string }{{cohort, "add-member", "Persons in it"}, {feature, "enrol", "Enrollments"}} {
		s.Get(tt.page).Want(200).CheckPage()
		post := func(do, person string) *consoletest.Answer {
			return s.Post(tt.page, url.Values{"do": {do}, "person": {person}})
		}
		listed := func(id string) bool {
			_, rows, _ := strings.Cut(consoletest.Words(s.Get(tt.page).Want(200).Body), tt.in)
			return strings.Contains(rows, id)
		}
		post(tt.do, " ").Want(422, "Name a person").CheckPage()
		post(tt.do, "Charles").Want(422, "No person with the distinct ID, address or name Charles is known.").CheckPage()
		several := post(tt.do, "ada lovelace").Want(422, "Several persons are called ada lovelace.", "user-002", "user-003")
		several.CheckPage()
		if !strings.Contains(several.Body, `value="ada lovelace"`) {
			t.Errorf("%s: what was typed is gone", tt.page)
		}
		if listed("user-002") || listed("user-003") {
			t.Errorf("%s: one of several was taken", tt.page)
		}
		post(choices(several)["user-003"], "ada lovelace").Want(303)
		post(tt.do, "USER-005@example.org").Want(303)
		post(tt.do, "user-006").Want(303)
		for _, id := range []string{"user-003", "user-005", "user-006"} {
			if !listed(id) {
				t.Errorf("%s: %s is not listed", tt.page, id)
			}
		}
	}
}
