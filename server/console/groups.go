package console

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
)

var _ = register(screen{
	under: "Persons",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/groups/{type}":        about(listGroups, (*request).groupType),
		"GET /projects/{project}/groups/{type}/group":  about(showGroup, (*request).groupType),
		"POST /projects/{project}/groups/{type}/group": about(postGroup, (*request).groupType),
	},
	done:  map[string]string{"group-deleted": "The group was deleted. Events that name it make it again."},
	undo:  map[string]undoer{"Group": undoProperty},
	thing: &thing{scope: "Group", one: "group", many: "Groups", path: groupLink, place: propertyPlace, erased: true},
})

// groupsView is the list of the groups of a type.
type groupsView struct {
	layout
	Action, Type, Search string
	Tabs                 []stateTab
	Rows                 []*management.GroupView
	pager
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
func (q *request) groupType() (groupType, error) {
	types, err := q.groupTypes()
	if err != nil {
		return groupType{}, err
	}
	name := labelOf(types, q.PathValue("type"), "")
	if name == "" {
		return groupType{}, errNoPage
	}
	return groupType{atoi(q.PathValue("type")), name}, nil
}

func (q *request) groupsPath(index int) string {
	return q.projectPath("/groups/" + strconv.Itoa(index))
}

// groupPath has the key in the query, because a key can be "..".
func (q *request) groupPath(index int, key string) string {
	return q.groupsPath(index) + "/group?" + url.Values{"key": {key}}.Encode()
}

func listGroups(q *request, of groupType) error {
	page := pageNumber(q.Form)
	search := strings.TrimSpace(q.Form.Get("q"))
	found, err := q.c.Service.ListGroups(q.Context(), q.by, q.ref, of.index, search, pageSize, (page-1)*pageSize)
	if err != nil {
		return err
	}
	q.layout.Title = "Groups: " + of.name
	q.notice()
	v := &groupsView{Action: q.groupsPath(of.index), Type: of.name, Search: search, Rows: found.Items}
	if v.Tabs, err = q.personTabs(strconv.Itoa(of.index)); err != nil {
		return err
	}
	at := listing{v.Action, map[string]string{"q": search}}
	v.pager = at.page(page, pageSize, len(v.Rows), found.Total, "group", "groups")
	if search != "" {
		v.Clear = v.Action
	}
	return q.render(http.StatusOK, "groups", v)
}

// groupView is the page about one group.
type groupView struct {
	layout
	List, Type, Key  string
	Group            *management.GroupView // nil: the store does not answer, and only the form is shown
	Properties       []propertyRow
	Cut              int
	Form             *propertyForm
	Flags            []valueRow
	Caveat, Activity string
	Delete           deleteForm
}

func showGroup(q *request, of groupType) error {
	g, err := q.c.Service.FindGroup(q.Context(), q.by, q.ref, of.index, q.Form.Get("key"))
	if err != nil {
		return err
	}
	return q.showGroup(http.StatusOK, of.name, g, q.propertyForm(q.groupPath(of.index, g.GroupKey), g.GroupProperties), deleteForm{})
}

func (q *request) showGroup(status int, name string, g *management.GroupView, form *propertyForm, deletion deleteForm) error {
	form.options()
	if g == nil {
		q.layout.Title = "Group"
		return q.render(status, "group", &groupView{List: q.projectPath("/persons"), Type: name, Key: "Group", Form: form})
	}
	q.layout.Title = shorten(g.GroupKey, 120)
	q.notice()
	v := &groupView{
		List: q.groupsPath(g.GroupTypeIndex), Type: name, Key: g.GroupKey, Group: g, Form: form, Caveat: groupCaveat, Delete: deletion,
		Activity: q.entriesAbout("Group", strconv.Itoa(g.GroupTypeIndex)+"/"+g.GroupKey),
	}
	v.Delete.Name = g.GroupKey
	v.Properties, v.Cut = propertyRows(g.GroupProperties, editLink(q.groupPath(g.GroupTypeIndex, g.GroupKey)))
	for _, row := range v.Properties {
		form.Names = append(form.Names, row.Name)
	}
	var err error
	if v.Flags, err = q.groupFlags(name, g); err != nil {
		return err
	}
	return q.render(status, "group", v)
}

// groupFlags returns the values of the flags that are about groups of a type, or look at
// their properties.
func (q *request) groupFlags(name string, g *management.GroupView) ([]valueRow, error) {
	list, err := q.c.Service.ListFlags(q.Context(), q.by, q.ref, management.FlagQuery{}, maxOffered, 0)
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
		Action: q.projectPath("/explain"), Groups: []groupField{{Index: strconv.Itoa(g.GroupTypeIndex), Name: name, Key: g.GroupKey}},
	}
	reasons, err := known(q.c.Service.ExplainFlags(q.Context(), q.by, q.ref, explained.body()))
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
func postGroup(q *request, of groupType) error {
	service, key := q.c.Service, q.Form.Get("key")
	page := q.groupPath(of.index, key)
	if q.PostForm.Get("do") == "delete" {
		g, err := service.FindGroup(q.Context(), q.by, q.ref, of.index, key)
		if err != nil {
			return err
		}
		if typed := q.PostForm.Get("typed"); typed != key {
			deletion := deleteForm{Typed: typed, Error: "Type " + key + " to delete the group."}
			return q.showGroup(http.StatusUnprocessableEntity, of.name, g, q.propertyForm(page, g.GroupProperties), deletion)
		}
		if err := service.DeleteGroup(q.Context(), q.by, q.ref, of.index, key); err != nil {
			return err
		}
		return q.redirect(q.groupsPath(of.index) + "?done=group-deleted")
	}
	return q.changeProperty(q.readPropertyForm(page), page, q.groupProperties(of.index, key), func(status int, f *propertyForm) error {
		if status == http.StatusServiceUnavailable {
			return q.showGroup(status, of.name, nil, f, deleteForm{})
		}
		g, err := service.FindGroup(q.Context(), q.by, q.ref, of.index, key)
		if errors.Is(err, management.ErrNotFound) {
			return errNoPage
		}
		if err != nil {
			return err
		}
		return q.showGroup(status, of.name, g, f, deleteForm{})
	})
}

// groupLink returns where a group is shown, by the ID that entries of the audit log have.
func groupLink(q *request, id string) string {
	kind, key, _ := strings.Cut(id, "/")
	index, err := strconv.Atoi(kind)
	if err != nil || key == "" {
		return ""
	}
	return q.groupPath(index, key)
}
