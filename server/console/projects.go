package console

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	done:  map[string]string{"joined": "You are a member now."},
	title: "Projects",
	scope: signedIn, pages: map[string]page{"GET /projects": listProjects},
})

// projectsView is the projects that a user may see.
type projectsView struct {
	layout
	Organizations []*management.OrganizationView
	Cut           int // organizations that are not listed
}

const organizationsListed = 100

func listProjects(q *request) error {
	list, err := q.c.Service.ListOrganizations(q.Context(), q.by, organizationsListed, 0)
	if err != nil {
		return err
	}
	q.notice()
	return q.render(http.StatusOK, "projects", &projectsView{Organizations: list.Items, Cut: max(0, list.Total-len(list.Items))})
}
