package overview

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

var findScreen = shell.Screen{
	Title: "Find", Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/find": find},
}

// findView is what a text finds in a project.
type findView struct {
	shell.Layout
	Text, Action string
	Groups       []foundGroup
}

// A foundGroup is things of one kind.
type foundGroup struct {
	Name  string
	Items []found
	All   string // where all are listed, "" if all are here
}

// A found thing has a page.
type found struct{ Name, About, URL string }

const foundListed = 8 // of each kind

func find(q *shell.Request) error {
	v := &findView{Text: strings.TrimSpace(q.Form.Get("q")), Action: q.ProjectPath("/find")}
	if err := check.Search(v.Text); err != nil { // which the form does not send
		return shell.ErrForm
	}
	for _, look := range []func(*findView, *shell.Request) error{
		(*findView).screens, (*findView).flags, (*findView).cohorts, (*findView).persons,
	} {
		if err := look(v, q); err != nil {
			return err
		}
	}
	return q.Render(http.StatusOK, "find", v)
}

// add adds things of one kind, if there are any.
func (v *findView) add(name string, items []found, more bool, all string) {
	if !more {
		all = ""
	}
	if len(items) > 0 {
		v.Groups = append(v.Groups, foundGroup{name, items, all})
	}
}

// screens finds screens by their titles; without a text it lists all of them.
func (v *findView) screens(q *shell.Request) error {
	var items []found
	for _, n := range q.Layout.Nav {
		if strings.Contains(strings.ToLower(n.Name), strings.ToLower(v.Text)) {
			items = append(items, found{n.Name, "", n.URL})
		}
	}
	v.add("Screens", items, false, "")
	return nil
}

func (v *findView) flags(q *shell.Request) error {
	order := ""
	if v.Text == "" {
		order = "-updated_at" // what one has worked on
	}
	list, err := q.Service.ListFlags(q.Context(), q.By, q.Ref, management.FlagQuery{Search: v.Text, Order: order}, foundListed, 0)
	if err != nil {
		return err
	}
	var items []found
	for _, f := range list.Items {
		items = append(items, found{f.Key, f.Name, q.ProjectPath("/flags/" + strconv.FormatInt(f.ID, 10))})
	}
	v.add("Flags", items, list.Total > len(items), q.ProjectPath("/flags?q="+url.QueryEscape(v.Text)))
	return nil
}

func (v *findView) cohorts(q *shell.Request) error {
	if v.Text == "" {
		return nil
	}
	list, err := shell.Known(q.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{Search: v.Text}, foundListed, 0))
	if err != nil || list == nil {
		return err
	}
	var items []found
	for _, c := range list.Items {
		items = append(items, found{c.Name, c.Description, q.ProjectPath("/cohorts/" + strconv.FormatInt(c.ID, 10))})
	}
	v.add("Cohorts", items, list.Total > len(items), q.ProjectPath("/cohorts?q="+url.QueryEscape(v.Text)))
	return nil
}

func (v *findView) persons(q *shell.Request) error {
	if v.Text == "" {
		return nil
	}
	list, err := shell.Known(q.Service.SearchPersons(q.Context(), q.By, q.Ref, management.PersonSearch{Text: v.Text}, foundListed))
	if err != nil || list == nil {
		return err
	}
	var items []found
	for _, p := range list.Items {
		row := people.RowOf(q, p)
		items = append(items, found{row.Name, "", row.URL})
	}
	v.add("Persons", items, list.Next != "", q.ProjectPath("/persons?q="+url.QueryEscape(v.Text)))
	return nil
}
