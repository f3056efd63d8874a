package project

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var auditLogScreen = shell.Screen{
	Title: "Audit log", Entry: 8, Go: "l", Path: "/audit-log",
	Icon:  "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM8 4.4V8l2.6 1.6",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/audit-log": auditLog},
}

// auditLogView is what was done in a project, newest first.
type auditLogView struct {
	shell.Layout
	Action string
	Item   string // the ID of a thing, "" for all
	Scopes []forms.Option
	Users  []forms.Option // who can have done it
	Query  auditQuery
	forms.Checked
	Entries      []shell.Entry
	Range        string
	Older, First string // the next page, and the first one; "" if there is none
	Clear        string
}

// auditQuery is what the URL of the list says.
type auditQuery struct{ Scope, Item, By, Name, Text, From, To, Before string }

func readAuditQuery(v url.Values) auditQuery {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return auditQuery{get("scope"), get("item"), get("by"), get("name"), get("q"), get("from"), get("to"), get("before")}
}

// at returns the address of the log.
func (q auditQuery) at(path string) shell.Listing {
	return shell.Listing{Path: path, Query: map[string]string{
		"scope": q.Scope, "item": q.Item, "by": q.By, "name": q.Name, "q": q.Text, "from": q.From, "to": q.To, "before": q.Before,
	}}
}

func auditLog(q *shell.Request) error {
	asked := readAuditQuery(q.Form)
	v := &auditLogView{Action: q.ProjectPath("/audit-log"), Item: asked.Item, Query: asked}
	v.Scopes = forms.Options("", "Everything")
	for _, t := range q.Things() {
		v.Scopes = append(v.Scopes, forms.Option{Value: t.Scope, Label: t.Many})
	}
	slices.SortFunc(v.Scopes[1:], func(a, b forms.Option) int { return cmp.Compare(a.Label, b.Label) })
	v.Scopes = forms.Selected(v.Scopes, asked.Scope)
	if asked != (auditQuery{Before: asked.Before}) {
		v.Clear = v.Action
	}
	var err error
	if v.Users, err = authors(q, asked.By); err != nil {
		return err
	}
	list, err := q.Service.ListActivity(q.Context(), q.By, q.Ref, management.ActivityQuery{
		Scope: asked.Scope, ItemID: asked.Item, User: asked.By, Name: asked.Name, Search: asked.Text, Since: asked.From, Until: asked.To,
		Before: asked.Before, Page: 1, Limit: shell.PageSize,
	})
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		field, known := map[string]string{"name": "name", "search": "q", "": "from"}[e.Attr]
		if !known {
			return shell.ErrNoPage // a user or a place in the list was made up
		}
		if field == "from" {
			v.Fail(field, "Type two days such as 2026-03-01, of which the first one is not the later one.")
		}
		v.Fail(field, "%s", e.Detail)
		return q.Render(http.StatusUnprocessableEntity, "audit_log", v)
	}
	if err != nil {
		return err
	}
	if v.Entries, err = q.Entries(list.Items); err != nil {
		return err
	}
	at := asked.at(v.Action)
	v.Range = forms.Count(list.Total, "entry", "entries")
	if n := len(list.Items); n == shell.PageSize {
		v.Older = at.At(1, "before", list.Items[n-1].ID.String())
	}
	if asked.Before != "" {
		v.First = at.At(1, "before", "")
	}
	return q.Render(http.StatusOK, "audit_log", v)
}

// authors are the members of the organization, and the system.
func authors(q *shell.Request, chosen string) ([]forms.Option, error) {
	out := forms.Options("", "Anybody", "system", "The system")
	list, err := q.Service.ListMembers(q.Context(), q.By, q.At.Organization.ID.String(), shell.MaxOffered, 0)
	if err != nil && !shell.IsRefusal(err) {
		return nil, err
	}
	if err == nil {
		for _, m := range list.Items {
			u := &m.User
			out = append(out, forms.Option{Value: strconv.FormatInt(u.ID, 10), Label: forms.FullName(u.FirstName, u.LastName, u.Email)})
		}
	}
	return forms.Selected(out, chosen), nil
}
