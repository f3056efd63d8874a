package console_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestFormsKeepAndTell sends each form of the console empty, with a text that is too long in each of
// its fields, and with texts that are not values (management.md §5.11).
func TestFormsKeepAndTell(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	list, _ := s.List("user-001")
	feature := s.Enrolled()
	person := s.PersonPage("user-001")
	s.Member("bob@example.com", storage.LevelMember)
	s.Ruled("headline")
	pages := []string{
		"/me", "/me/keys", "/projects/1/settings", "/projects/1/settings/members", "/projects/1/settings/delete", "/projects/1/import",
		"/projects/1/flags/new", s.EditPath("checkout-button"), s.EditPath("new-dashboard"),
		s.EditPath("headline"), "/projects/1/cohorts/new",
		consoletest.CohortPath(s.Cohort(consoletest.Pro).ID), list,
		"/projects/1/features/new", feature, person, person + "?edit=plan",
		"/projects/1/groups/0/group?key=acme",
	}
	valid := map[string]map[string]string{ // where fields must be filled in
		"/me address":                                  {"email": "other@example.com", "current_password": consoletest.Password},
		"/me/keys form":                                {"label": "A key", "reach": "all"},
		"/projects/1/settings/members invite":          {"email": "eve@example.com"},
		"/projects/1/flags/new form":                   {"key": "fresh"},
		"/projects/1/cohorts/new form":                 {"name": "A fresh one", "n0.0.key": "plan", "n0.0.value": "pro"},
		"/projects/1/features/new form":                {"name": "A fresh one"},
		person + " property":                           {"name": "fresh", "value": "pro"},
		"/projects/1/groups/0/group?key=acme property": {"name": "plan", "value": "pro"},
	}
	if sent := s.KeepAndTell(append(pages, "/signin", "/forgot"), valid); sent < 150 {
		t.Errorf("%d forms were sent", sent)
	}
}
