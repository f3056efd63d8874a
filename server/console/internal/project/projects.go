package project

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

var projectsScreen = shell.Screen{
	Done:  map[string]string{"joined": "You are a member now."},
	Title: "Projects",
	Scope: shell.SignedIn, Pages: map[string]shell.Page{"GET /projects": listProjects},
}

// projectsView is the projects that a user may see.
type projectsView struct {
	shell.Layout
	Organizations []*management.OrganizationView
	Cut           int // organizations that are not listed
}

func listProjects(q *shell.Request) error {
	list, err := q.Service.ListOrganizations(q.Context(), q.By, shell.OrganizationsListed, 0)
	if err != nil {
		return err
	}
	q.Notice()
	return q.Render(http.StatusOK, "projects", &projectsView{Organizations: list.Items, Cut: max(0, list.Total-len(list.Items))})
}
