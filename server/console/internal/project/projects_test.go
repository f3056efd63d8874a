package project_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func TestProjects(t *testing.T) {
	s := consoletest.NewSite(t)
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), storage.NewProject(s.Organization(), "Second")))
	a := s.Get("/projects").Want(200, "Acme", "Shop", "Second")
	a.CheckPage()
	s.Get("/projects/2/flags").Want(200, "Second", "This project has no flags yet")

	u, err := s.Service.CreateUser(t.Context(), management.NewUser{Email: "alone@example.com", Password: consoletest.Password})
	consoletest.Fatal(t, err)
	s.SignIn(u.Email)
	s.Get("/projects").Want(200, "You are not a member of an organization").CheckPage()
	s.Get("/").Want(404, "You have no project yet").CheckPage()
}
