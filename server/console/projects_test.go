package console_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestProjects(t *testing.T) {
	s := newSite(t)
	fatal(t, s.store.CreateProject(t.Context(), storage.NewProject(s.organization(), "Second")))
	a := s.get("/projects").want(200, "Acme", "Shop", "Second")
	a.checkPage()
	s.get("/projects/2/flags").want(200, "Second", "This project has no flags yet")

	u, err := s.service.CreateUser(t.Context(), management.NewUser{Email: "alone@example.com", Password: password})
	fatal(t, err)
	s.signIn(u.Email)
	s.get("/projects").want(200, "You are not a member of an organization").checkPage()
	s.get("/").want(404, "You have no project yet").checkPage()
}
