package project_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{Route: "/organizations", Irreversible: "an organization without projects is in nobody's way", Tested: "TestNewProject"},
		action{Route: "/organizations/{organization}", Irreversible: "the name can be typed again", Tested: "TestNewProject"},
		action{
			Route: "/organizations/{organization}/projects", Irreversible: "a project can be deleted in its settings",
			Tested: "TestNewProject",
		},
	)
}

// TestNewProject: people make organizations and projects, and rename organizations.
func TestNewProject(t *testing.T) {
	s := consoletest.NewSite(t)
	name := func(name string) url.Values { return url.Values{"name": {name}} }
	own := "/organizations/" + s.Organization().ID.String()
	s.Get("/projects").Want(200, "Create project", "Rename Acme", "Create organization").CheckPage()
	shown := s.Post(own+"/projects", name(" Mobile ")).Want(200, "The project Mobile was created", "Secret key", "Open the project")
	if shown.CheckPage(); !strings.Contains(shown.Body, `value="phs_`) {
		t.Error("the page does not show the secret key")
	}
	s.Get("/projects/2/flags").Want(200, "Mobile", "This project has no flags yet")
	s.Get("/projects").Want(200, "Mobile")

	s.Post(own+"/projects", name("  ")).Want(422, "may not be blank").CheckPage()
	s.Post(own, name(strings.Repeat("a", 65))).Want(422, "no more than 64 characters").CheckPage()
	s.Post("/organizations", name("")).Want(422, "may not be blank").CheckPage()
	to := s.Post(own, name("Acme & Sons")).Want(303).Header.Get("Location")
	s.Get(strings.TrimPrefix(to, "/console")).Want(200, "The organization was renamed.", "Acme & Sons").CheckPage()
	to = s.Post("/organizations", name("Other")).Want(303).Header.Get("Location")
	s.Get(strings.TrimPrefix(to, "/console")).Want(200, "The organization was created.", "Other", "It has no projects.").CheckPage()

	s.Member("bob@example.com", storage.LevelMember)
	s.SignIn("bob@example.com")
	page := s.Get("/projects").Want(200, "Acme & Sons")
	if page.CheckPage(); strings.Contains(page.Body, "Create project") || strings.Contains(page.Body, "Rename") {
		t.Error("members are offered what only administrators may do")
	}
	s.Post(own+"/projects", name("Mine")).Want(403)
	s.Post(own, name("Mine")).Want(403)
}

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
