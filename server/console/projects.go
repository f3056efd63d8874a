package console

import (
	"net/http"
	"strconv"
)

var _ = register(screen{
	done:  map[string]string{"joined": "You are a member now."},
	title: "Projects",
	scope: signedIn, pages: map[string]page{"GET /projects": listProjects},
})

// projectsView is the projects that a user may see.
type projectsView struct {
	layout
	Organizations []organizationView
	Cut           int // organizations that are not listed
}

type organizationView struct {
	Name     string
	Projects []projectLink
}

type projectLink struct{ Name, URL string }

const organizationsListed = 100

func listProjects(q *request) error {
	list, err := q.c.Service.ListOrganizations(q.Context(), q.by, organizationsListed, 0)
	if err != nil {
		return err
	}
	q.notice()
	v := &projectsView{Cut: max(0, list.Total-len(list.Items))}
	for _, o := range list.Items {
		one := organizationView{Name: o.Name}
		for _, p := range o.Projects {
			one.Projects = append(one.Projects, projectLink{p.Name, q.c.Prefix + "/projects/" + strconv.FormatInt(p.ID, 10) + "/flags"})
		}
		v.Organizations = append(v.Organizations, one)
	}
	return q.render(http.StatusOK, "projects", v)
}
