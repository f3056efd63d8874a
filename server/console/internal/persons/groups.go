package persons

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var groupsScreen = shell.Screen{
	Under: "Persons",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/groups/{type}":        shell.About(listGroups, groupTypeOf),
		"GET /projects/{project}/groups/{type}/group":  shell.About(showGroup, groupTypeOf),
		"POST /projects/{project}/groups/{type}/group": shell.About(postGroup, groupTypeOf),
	},
	Done:  map[string]string{"group-deleted": "The group was deleted. Events that name it make it again."},
	Undo:  map[string]shell.Undoer{"Group": undoProperty},
	Thing: &shell.Thing{Scope: "Group", One: "group", Many: "Groups", Path: groupLink, Place: propertyPlace, Erased: true},
}

// groupsView is the list of the groups of a type.
type groupsView struct {
	shell.Layout
	Action, Type, Search string
	Tabs                 []shell.Tab
	Rows                 []*management.GroupView
	shell.Pager
	propertyWords
}

// URL returns the page of a group. The template asks for it.
func (v *groupsView) URL(g *management.GroupView) string {
	return v.Action + "/group?" + url.Values{"key": {g.GroupKey}}.Encode()
}

// A groupType is the type of the groups on a page.
type groupType struct {
	index int
	name  string
}

// groupType returns the type that the path names.
func groupTypeOf(q *shell.Request) (groupType, error) {
	types, err := q.GroupTypes()
	if err != nil {
		return groupType{}, err
	}
	name := forms.LabelOf(types, q.PathValue("type"), "")
	if name == "" {
		return groupType{}, shell.ErrNoPage
	}
	return groupType{forms.Atoi(q.PathValue("type")), name}, nil
}

func groupsPath(q *shell.Request, index int) string {
	return q.ProjectPath("/groups/" + strconv.Itoa(index))
}

// groupPath has the key in the query, because a key can be "..".
func groupPath(q *shell.Request, index int, key string) string {
	return groupsPath(q, index) + "/group?" + url.Values{"key": {key}}.Encode()
}

func listGroups(q *shell.Request, of groupType) error {
	page := shell.PageNumber(q.Form)
	search := strings.TrimSpace(q.Form.Get("q"))
	found, err := q.Service.ListGroups(q.Context(), q.By, q.Ref, of.index, search, shell.PageSize, (page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	q.Layout.Title = "Groups: " + of.name
	q.Notice()
	v := &groupsView{Action: groupsPath(q, of.index), Type: of.name, Search: search, Rows: found.Items}
	if v.Tabs, err = personTabs(q, strconv.Itoa(of.index)); err != nil {
		return err
	}
	at := shell.Listing{Path: v.Action, Query: map[string]string{"q": search}}
	v.Pager = at.Page(page, shell.PageSize, len(v.Rows), found.Total, "group", "groups")
	if search != "" {
		v.Clear = v.Action
	}
	return q.Render(http.StatusOK, "groups", v)
}

// groupView is the page about one group.
type groupView struct {
	shell.Layout
	List, Type, Key  string
	Group            *management.GroupView // nil: the store does not answer, and only the form is shown
	Properties       []propertyRow
	Cut              int
	Form             *propertyForm
	Flags            []valueRow
	Caveat, Activity string
	Delete           deleteForm
}

func showGroup(q *shell.Request, of groupType) error {
	g, err := q.Service.FindGroup(q.Context(), q.By, q.Ref, of.index, q.Form.Get("key"))
	if err != nil {
		return err
	}
	return renderGroup(q, http.StatusOK, of.name, g, propertyFormOf(q, groupPath(q, of.index, g.GroupKey), g.GroupProperties), deleteForm{})
}

func renderGroup(q *shell.Request, status int, name string, g *management.GroupView, form *propertyForm, deletion deleteForm) error {
	form.options()
	if g == nil {
		q.Layout.Title = "Group"
		return q.Render(status, "group", &groupView{List: q.ProjectPath("/persons"), Type: name, Key: "Group", Form: form})
	}
	q.Layout.Title = forms.Shorten(g.GroupKey, 120)
	q.Notice()
	v := &groupView{
		List: groupsPath(q, g.GroupTypeIndex), Type: name, Key: g.GroupKey, Group: g, Form: form, Caveat: effects.GroupCaveat,
		Delete:   deletion,
		Activity: q.EntriesAbout("Group", strconv.Itoa(g.GroupTypeIndex)+"/"+g.GroupKey),
	}
	v.Delete.Name = g.GroupKey
	v.Properties, v.Cut = propertyRows(g.GroupProperties, editLink(groupPath(q, g.GroupTypeIndex, g.GroupKey)))
	for _, row := range v.Properties {
		form.Names = append(form.Names, row.Name)
	}
	var err error
	if v.Flags, err = groupFlags(q, name, g); err != nil {
		return err
	}
	return q.Render(status, "group", v)
}

// groupFlags returns the values of the flags that are about groups of a type, or look at
// their properties.
func groupFlags(q *shell.Request, name string, g *management.GroupView) ([]valueRow, error) {
	list, err := q.Service.ListFlags(q.Context(), q.By, q.Ref, management.FlagQuery{}, shell.MaxOffered, 0)
	if err != nil {
		return nil, err
	}
	about := make(map[string]bool)
	for _, f := range list.Items {
		if looksAt(&f.Filters, g.GroupTypeIndex) {
			about[f.Key] = true
		}
	}
	if len(about) == 0 {
		return nil, nil
	}
	explained := &explainView{
		Action: q.ProjectPath("/explain"), Groups: []groupField{{Index: strconv.Itoa(g.GroupTypeIndex), Name: name, Key: g.GroupKey}},
	}
	reasons, err := shell.Known(q.Service.ExplainFlags(q.Context(), q.By, q.Ref, explained.body()))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(explained.rows(reasons), func(r valueRow) bool { return !about[r.Key] }), nil
}

// looksAt reports whether filters are about groups of a type, or ask for properties of
// such groups.
func looksAt(f *flags.Filters, index int) bool {
	for i := range f.Groups {
		c := &f.Groups[i]
		if own, grouped := words.Aggregation(c, f.AggregationGroupTypeIndex); grouped && own == index {
			return true
		}
		for _, p := range c.Properties {
			if p.Type == "group" && p.GroupTypeIndex != nil && *p.GroupTypeIndex == index {
				return true
			}
		}
	}
	return false
}

// postGroup changes a property of a group, or deletes the group.
func postGroup(q *shell.Request, of groupType) error {
	service, key := q.Service, q.Form.Get("key")
	page := groupPath(q, of.index, key)
	if q.PostForm.Get("do") == "delete" {
		g, err := service.FindGroup(q.Context(), q.By, q.Ref, of.index, key)
		if err != nil {
			return err
		}
		if typed := q.PostForm.Get("typed"); typed != key {
			deletion := deleteForm{Typed: typed, Error: "Type " + key + " to delete the group."}
			return renderGroup(q, http.StatusUnprocessableEntity, of.name, g, propertyFormOf(q, page, g.GroupProperties), deletion)
		}
		if err := service.DeleteGroup(q.Context(), q.By, q.Ref, of.index, key); err != nil {
			return err
		}
		return q.Redirect(groupsPath(q, of.index) + "?done=group-deleted")
	}
	return changeProperty(q, readPropertyForm(q, page), page, groupProperties(q, of.index, key), func(status int, f *propertyForm) error {
		if status == http.StatusServiceUnavailable {
			return renderGroup(q, status, of.name, nil, f, deleteForm{})
		}
		g, err := service.FindGroup(q.Context(), q.By, q.Ref, of.index, key)
		if errors.Is(err, management.ErrNotFound) {
			return shell.ErrNoPage
		}
		if err != nil {
			return err
		}
		return renderGroup(q, status, of.name, g, f, deleteForm{})
	})
}

// groupLink returns where a group is shown, by the ID that entries of the audit log have.
func groupLink(q *shell.Request, id string) string {
	kind, key, _ := strings.Cut(id, "/")
	index, err := strconv.Atoi(kind)
	if err != nil || key == "" {
		return ""
	}
	return groupPath(q, index, key)
}
