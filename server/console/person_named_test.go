package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// choices returns what the buttons do that offer persons, by the names of the persons.
func (a *answer) choices() map[string]string {
	out := make(map[string]string)
	choice := regexp.MustCompile(`<button name="do" value="([^"]*)">([^<]*)</button> <code>([^<]*)</code>`)
	for _, m := range choice.FindAllStringSubmatch(a.body, -1) {
		out[m[3]] = m[1]
	}
	return out
}

// TestRuling101Choice names persons on each page that does something with one.
func TestRuling101Choice(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"user-002", "user-003"} {
		_, own := s.person(id)
		s.post(own, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada Lovelace"}}).want(303)
	}
	made := s.post("/projects/1/cohorts/new", url.Values{"kind": {"static"}, "name": {"Friends"}, "do": {"save"}}).want(303)
	cohort, _, _ := strings.Cut(strings.TrimPrefix(made.header.Get("Location"), "/console"), "?")
	made = s.post("/projects/1/features/new", url.Values{"name": {"Tour"}, "stage": {"beta"}, "do": {"save"}}).want(303)
	feature, _, _ := strings.Cut(strings.TrimPrefix(made.header.Get("Location"), "/console"), "?")
	for _, tt := range []struct{ page, do, in string }{{cohort, "add-member", "Persons in it"}, {feature, "enrol", "Enrollments"}} {
		s.get(tt.page).want(200).checkPage()
		post := func(do, person string) *answer { return s.post(tt.page, url.Values{"do": {do}, "person": {person}}) }
		listed := func(id string) bool {
			_, rows, _ := strings.Cut(words(s.get(tt.page).want(200).body), tt.in)
			return strings.Contains(rows, id)
		}
		post(tt.do, " ").want(422, "Name a person").checkPage()
		post(tt.do, "Charles").want(422, "No person with the distinct ID, address or name Charles is known.").checkPage()
		several := post(tt.do, "ada lovelace").want(422, "Several persons are called ada lovelace.", "user-002", "user-003")
		several.checkPage()
		if !strings.Contains(several.body, `value="ada lovelace"`) {
			t.Errorf("%s: what was typed is gone", tt.page)
		}
		if listed("user-002") || listed("user-003") {
			t.Errorf("%s: one of several was taken", tt.page)
		}
		post(several.choices()["user-003"], "ada lovelace").want(303)
		post(tt.do, "USER-005@example.org").want(303)
		post(tt.do, "user-006").want(303)
		for _, id := range []string{"user-003", "user-005", "user-006"} {
			if !listed(id) {
				t.Errorf("%s: %s is not listed", tt.page, id)
			}
		}
	}
}
