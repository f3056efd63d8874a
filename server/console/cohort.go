package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	title: "New cohort", under: "Cohorts",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/cohorts/new":       newCohort,
		"POST /projects/{project}/cohorts/new":      postCohort,
		"GET /projects/{project}/cohorts/{cohort}":  about(showCohort, (*request).cohort),
		"POST /projects/{project}/cohorts/{cohort}": postCohort,
	},
	done: map[string]string{
		"cohort-made":     "The cohort was created.",
		"cohort-deleted":  "The cohort was deleted.",
		"cohort-restored": "The cohort is back.",
	},
	undo: map[string]undoer{"Cohort": undoEntry([]string{"name", "description", "filters", "deleted"}, undoCohort)},
	thing: &thing{
		scope: "Cohort", one: "cohort", many: "Cohorts", path: below("/cohorts/"), whole: map[string]wholeField{"filters": cohortChange},
	},
})

// cohortView is the page of one cohort.
type cohortView struct {
	layout
	*cohortForm
	offered
	New                  bool
	Action, List, Notice string
	Tree                 nodeView

	Cohort    *management.CohortView // as it is stored; nil for a new one
	Who       string                 // in words
	Size      sizeView
	Uses      []useView
	Blocking  []useView // what keeps it from being deleted
	Activity  string    // the whole history
	Entries   []auditEntry
	Members   *membersView // nil: they are not shown here
	UploadURL string
	Upload    *management.CohortUpload // the newest list
}

// A nodeView is a node with what its fields offer.
type nodeView struct {
	ID, Raw     string
	Root, Group bool
	Other       string // the JSON of what the form has no fields for
	Joint       string // before it
	Kinds       []option
	Children    []nodeView
	Filter      filterView
	Error       string
	Empty       bool
	Deepest     bool // no group can be added
}

// membersView is a page of the persons in a cohort.
type membersView struct {
	Rows  []memberRow
	Total int
	All   string // the same as people write it
	pager
	Problem   string // why they are not known
	Removable bool
	Action    string
	Page      int
	Full      bool // it is a page of the list, and not a part of the page of the cohort
}

// A memberRow is a person in a cohort.
type memberRow struct {
	ID, Name, URL, DistinctID string
	MoreIDs                   int
	Seen                      moment
}

const (
	membersShown  = 20 // persons on the page of a cohort
	entriesShown  = 10 // entries of the history there
	membersListed = 50 // persons on a page of their list
)

func newCohort(q *request) error {
	form := &cohortForm{Base: emptyCohort, Static: q.Form.Get("kind") == "static"}
	form.Root = nodeForm{Raw: newPart, Group: true, Children: []nodeForm{{Filter: newFilter("person")}}}
	return q.showCohortForm(http.StatusOK, nil, form, "")
}

// cohort returns the cohort that the path names.
func (q *request) cohort() (*management.CohortView, error) {
	return q.c.Service.Cohort(q.Context(), q.by, q.ref, q.PathValue("cohort"))
}

func showCohort(q *request, c *management.CohortView) error {
	return q.showCohortForm(http.StatusOK, c, cohortFormOf(c), "")
}

// postCohort does what a button of the form says.
func postCohort(q *request) error {
	form := readCohortForm(q.PostForm)
	var c *management.CohortView
	if q.PathValue("cohort") != "" {
		var err error
		if c, err = q.cohort(); err != nil {
			return q.keepCohort(err, form)
		}
		form.Static = c.IsStatic
		if form.Original == "" || !json.Valid([]byte(form.Original)) {
			form.Original = originalOf(c)
		}
	} else {
		form.Original = ""
	}
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	switch verb {
	case "save":
		return q.saveCohort(c, form)
	case "review":
		return q.reviewCohort(c, form)
	case "preview":
		return q.previewCohort(c, form)
	case "delete", "restore":
		if c == nil {
			return errForm
		}
		return q.switchCohort(c, verb == "delete")
	case "add-member":
		if c == nil {
			return errForm
		}
		return q.addMember(c, target)
	case "remove-person":
		if c == nil {
			return errForm
		}
		return q.removeMember(c, target)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return q.showCohortForm(status, c, form, "")
}

// keepCohort shows a form again with what was typed if the store fails.
func (q *request) keepCohort(err error, form *cohortForm) error {
	return q.keep(err, func(status int, notice string) error { return q.showCohortForm(status, nil, form, notice) })
}

// saveCohort saves a form. A change of who is in a cohort that changes the value of a flag
// that is on is made only by somebody who has seen that.
func (q *request) saveCohort(c *management.CohortView, form *cohortForm) error {
	patch, ok := form.patch()
	if !ok {
		return q.showCohortForm(http.StatusUnprocessableEntity, c, form, "")
	}
	if c == nil {
		made, err := q.c.Service.CreateCohort(q.Context(), q.by, q.ref, patch)
		if err != nil {
			return q.refusedCohort(err, nil, form)
		}
		return q.done(q.cohortPath(made.ID), "cohort-made", q.entryUndo("Cohort", strconv.FormatInt(made.ID, 10)))
	}
	if !form.Reviewed && !form.Static && !sameText(patch.Filters.Value, c.Filters) {
		effect, err := q.cohortEffect(c, patch)
		if err != nil {
			return q.refusedCohort(err, c, form)
		}
		if effect.Asks {
			return q.reviewCohort(c, form)
		}
	}
	now, err := q.c.Service.UpdateCohort(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10), patch)
	if err != nil {
		return q.refusedCohort(err, c, form)
	}
	if originalOf(now) == originalOf(c) {
		return q.done(q.cohortPath(c.ID), "unchanged", undo{})
	}
	return q.done(q.cohortPath(c.ID), "saved", q.entryUndo("Cohort", strconv.FormatInt(c.ID, 10)))
}

// sameText reports whether two JSON texts say the same, but for blanks and the order of
// members.
func sameText(a, b json.RawMessage) bool { return json.Valid(a) && canonical(a) == canonical(b) }

// refusedCohort shows a form again with what the Service says against it.
func (q *request) refusedCohort(err error, c *management.CohortView, form *cohortForm) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case !ok:
		return q.keepCohort(err, form)
	case errors.Is(e, management.ErrConflict) && c != nil && !sameText(json.RawMessage(form.Original), json.RawMessage(originalOf(c))):
		return q.cohortConflict(c, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return q.showCohortForm(http.StatusUnprocessableEntity, c, form, "")
	}
	return err
}

// switchCohort deletes a cohort or brings it back.
func (q *request) switchCohort(c *management.CohortView, deleted bool) error {
	patch := management.CohortPatch{Deleted: optional.Of(deleted)}
	if _, err := q.c.Service.UpdateCohort(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10), patch); err != nil {
		return q.refusedCohort(err, c, cohortFormOf(c))
	}
	u := q.entryUndo("Cohort", strconv.FormatInt(c.ID, 10))
	if deleted {
		return q.done(q.projectPath("/cohorts"), "cohort-deleted", u)
	}
	return q.done(q.cohortPath(c.ID), "cohort-restored", u)
}

// showCohortForm answers with the page of a cohort, which is nil if the cohort is new.
func (q *request) showCohortForm(status int, c *management.CohortView, form *cohortForm, notice string) error {
	v := &cohortView{
		cohortForm: form, New: c == nil && q.PathValue("cohort") == "", List: q.projectPath("/cohorts"), Action: q.URL.Path,
		Notice: form.noticeOr(notice),
	}
	v.Action = strings.TrimSuffix(v.Action, "/members")
	q.layout.Title = cmp.Or(form.Name, "New cohort")
	q.notice()
	if v.New {
		q.layout.Title = "New cohort"
	} else if c != nil {
		q.layout.Title = c.Name
	}
	self := int64(0)
	if c != nil {
		self = c.ID
	}
	var err error
	if v.offered, err = q.offers(0, self); err != nil && status != http.StatusServiceUnavailable {
		return q.keepCohort(err, form)
	}
	if c != nil {
		if err := q.cohortFacts(v, c); err != nil {
			return q.keepCohort(err, form)
		}
	}
	left := maxNodes
	v.Tree = v.nodeView(rootNode, "", &form.Root, &left)
	return q.render(status, "cohort", v)
}

// cohortFacts fills in what is known of a cohort that exists.
func (q *request) cohortFacts(v *cohortView, c *management.CohortView) error {
	v.Cohort, v.Size = c, q.sizeOf(c)
	if !c.IsStatic {
		v.Who = v.words.Cohort(c.Filters)
	}
	uses, err := q.c.Service.CohortUses(q.Context(), q.by, q.ref)
	if err != nil {
		return err
	}
	v.Uses = q.usesOf(uses[c.ID])
	v.Uses = v.Uses[:min(len(v.Uses), usesShown)]
	for _, use := range v.Uses {
		if !use.Off {
			v.Blocking = append(v.Blocking, use)
		}
	}
	item := strconv.FormatInt(c.ID, 10)
	if v.Entries, err = q.historyOf("Cohort", item); err != nil {
		return err
	}
	v.Activity = q.entriesAbout("Cohort", item)
	if c.Deleted {
		return nil
	}
	v.UploadURL = q.cohortPath(c.ID) + "/members"
	if q.Method == http.MethodGet || c.IsStatic {
		if v.Members, err = q.membersOf(c, membersShown, 1); err != nil {
			return err
		}
		if c.IsStatic && v.Members.Problem == "" {
			v.Size = sizeView{number(v.Members.Total), true, moment{}}
		}
	}
	if c.IsStatic {
		v.Upload, err = known(q.c.Service.CohortUpload(q.Context(), q.by, q.ref, item))
	}
	return err
}

// historyOf returns the newest entries about a thing, none if the user may not see them.
func (q *request) historyOf(scope, item string) ([]auditEntry, error) {
	list, err := known(q.c.Service.ListActivity(q.Context(), q.by, q.ref, management.ActivityQuery{
		Scope: scope, ItemID: item, Page: 1, Limit: entriesShown,
	}))
	if err != nil || list == nil {
		return nil, err
	}
	return q.auditEntries(list.Items)
}

// nodeView returns a node with what its fields offer.
func (v *cohortView) nodeView(id, joint string, n *nodeForm, left *int) nodeView {
	out := nodeView{
		ID: id, Raw: n.Raw, Root: id == rootNode, Group: n.Group, Joint: joint, Error: v.Errors[id],
		Deepest: strings.Count(id, ".") >= maxNested-2,
	}
	switch {
	case n.Other:
		out.Other = shorten(n.Raw, 400)
		return out
	case !n.Group:
		out.Filter = v.filterView(id, n.Filter, v.Errors)
		out.Filter.Joint, out.Filter.Nested, out.Filter.Node = joint, true, true
		return out
	}
	kind, word := "AND", "and"
	if n.Any {
		kind, word = "OR", "or"
	}
	out.Kinds = selected(options("AND", "all of these are true", "OR", "one of these is true"), kind)
	out.Empty = len(n.Children) == 0
	for i := range n.Children {
		if *left--; *left < 0 {
			break
		}
		joint := word
		if i == 0 {
			joint = ""
		}
		out.Children = append(out.Children, v.nodeView(id+"."+strconv.Itoa(i), joint, &n.Children[i], left))
	}
	return out
}

func undoCohort(q *request, e *management.ActivityView, before object) (to, item string, err error) {
	if e.Activity == "created" {
		before, to = object{"deleted": json.RawMessage("true")}, q.projectPath("/cohorts")
	}
	patch, err := decodePatch[management.CohortPatch](before)
	if err == nil {
		_, err = q.c.Service.UpdateCohort(q.Context(), q.by, q.ref, e.ItemID, patch)
	}
	return to, e.ItemID, err
}
