package project

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var projectsScreen = shell.Screen{
	Title: "Projects",
	Scope: shell.SignedIn, Pages: map[string]shell.Page{
		"GET /projects":                               listProjects,
		"POST /organizations":                         createOrganization,
		"POST /organizations/{organization}":          renameOrganization,
		"POST /organizations/{organization}/projects": createProject,
	},
	Done: map[string]string{
		"joined":               "You are a member now.",
		"organization":         "The organization was created. It needs a project.",
		"organization-renamed": "The organization was renamed.",
	},
}

// projectsView is the projects that a user may see.
type projectsView struct {
	shell.Layout
	Organizations []organizationRow
	Cut           int    // organizations that are not listed
	Name          string // what was typed for a new organization
	forms.Checked
}

// An organizationRow is an organization with its projects.
type organizationRow struct {
	*management.OrganizationView
	May        bool   // the user is an administrator
	NewProject string // what was typed for a new project
	NewName    string // what was typed for the organization, or its name
}

func listProjects(q *shell.Request) error {
	q.Notice()
	return projects(q, http.StatusOK, "", nil)
}

// projects shows the projects, with what was typed into the form with a name and why it is wrong.
func projects(q *shell.Request, status int, form string, wrong error) error {
	list, err := q.Service.ListOrganizations(q.Context(), q.By, shell.OrganizationsListed, 0)
	if err != nil {
		return err
	}
	v := &projectsView{Cut: max(0, list.Total-len(list.Items))}
	typed := q.PostForm.Get("name")
	for _, o := range list.Items {
		row := organizationRow{OrganizationView: o, NewName: o.Name}
		row.May = o.MembershipLevel != nil && *o.MembershipLevel >= storage.LevelAdmin
		switch form {
		case "project-" + o.ID.String():
			row.NewProject = typed
		case "organization-" + o.ID.String():
			row.NewName = typed
		}
		v.Organizations = append(v.Organizations, row)
	}
	if form == "organization" {
		v.Name = typed
	}
	if e, ok := errors.AsType[*management.Error](wrong); ok {
		v.Fail(form, "%s", e.Text())
	}
	return q.Render(status, "projects", v)
}

// answer shows the projects again if something was refused that was typed, and else where to go.
func answer(q *shell.Request, form string, err error, to string) error {
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return projects(q, http.StatusUnprocessableEntity, form, err)
	}
	if err != nil {
		return err
	}
	return q.Redirect(to)
}

func nameOf(q *shell.Request) optional.Value[string] {
	return optional.Of(strings.TrimSpace(q.PostForm.Get("name")))
}

func createOrganization(q *shell.Request) error {
	_, err := q.Service.CreateOrganization(q.Context(), q.By, management.OrganizationPatch{Name: nameOf(q)})
	return answer(q, "organization", err, q.Config.Prefix+"/projects?done=organization")
}

func renameOrganization(q *shell.Request) error {
	id := q.PathValue("organization")
	_, err := q.Service.UpdateOrganization(q.Context(), q.By, id, management.OrganizationPatch{Name: nameOf(q)})
	return answer(q, "organization-"+id, err, q.Config.Prefix+"/projects?done=organization-renamed")
}

// createProject makes a project, and shows its secret key, which no other page shows.
func createProject(q *shell.Request) error {
	id := q.PathValue("organization")
	p, err := q.Service.CreateProject(q.Context(), q.By, id, management.ProjectPatch{Name: nameOf(q)})
	if err != nil {
		return answer(q, "project-"+id, err, "")
	}
	return q.ShowOnce("The project "+p.Name+" was created", &shell.ShownView{
		Text:  "Servers that evaluate flags themselves need this key. It is not shown again; Settings makes another one.",
		Label: "Secret key", Value: *p.SecretToken,
		Back: q.Config.Prefix + "/projects/" + strconv.FormatInt(p.ID, 10) + "/flags", BackName: "Open the project",
	})
}
