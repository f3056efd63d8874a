package cohorts

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

var cohortScreen = shell.Screen{
	Title: "New cohort", Under: "Cohorts",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/cohorts/new":       newCohort,
		"POST /projects/{project}/cohorts/new":      postCohort,
		"GET /projects/{project}/cohorts/{cohort}":  shell.About(showCohort, cohort),
		"POST /projects/{project}/cohorts/{cohort}": postCohort,
	},
	Done: map[string]string{
		"cohort-made":     "The cohort was created.",
		"cohort-deleted":  "The cohort was deleted.",
		"cohort-restored": "The cohort is back.",
	},
	Undo: map[string]shell.Undoer{"Cohort": shell.UndoEntry([]string{"name", "description", "filters", "deleted"}, undoCohort)},
	Thing: &shell.Thing{
		Scope: "Cohort", One: "cohort", Many: "Cohorts", Path: shell.Below("/cohorts/"),
		Whole: map[string]shell.WholeField{"filters": cohortChange},
	},
}

// cohortView is the page of one cohort.
type cohortView struct {
	shell.Layout
	*cohortForm
	targeting.Offered
	New                  bool
	Action, List, Notice string
	Tree                 nodeView

	Cohort    *management.CohortView // as it is stored; nil for a new one
	Who       string                 // in words
	Size      sizeView
	Uses      []useView
	Blocking  []useView // what keeps it from being deleted
	Activity  string    // the whole history
	Entries   []shell.Entry
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
	Kinds       []forms.Option
	Children    []nodeView
	Filter      targeting.FilterView
	Error       string
	Empty       bool
	Deepest     bool // no group can be added
}

// membersView is a page of the persons in a cohort.
type membersView struct {
	Rows  []people.Row
	Total int
	All   string // the same as people write it
	shell.Pager
	Problem   string // why they are not known
	Removable bool
	Action    string
	Page      int
	Full      bool // it is a page of the list, and not a part of the page of the cohort
}

const membersListed = 50 // persons on a page of their list

func newCohort(q *shell.Request) error {
	form := &cohortForm{Base: emptyCohort, Static: q.Form.Get("kind") == "static"}
	form.Root = nodeForm{Raw: targeting.NewPart, Group: true, Children: []nodeForm{{Filter: targeting.NewFilter("person")}}}
	return showCohortForm(q, http.StatusOK, nil, form, "")
}

// cohort returns the cohort that the path names.
func cohort(q *shell.Request) (*management.CohortView, error) {
	return q.Service.Cohort(q.Context(), q.By, q.Ref, q.PathValue("cohort"))
}

func showCohort(q *shell.Request, c *management.CohortView) error {
	return showCohortForm(q, http.StatusOK, c, cohortFormOf(c), "")
}

// postCohort does what a button of the form says.
func postCohort(q *shell.Request) error {
	form := readCohortForm(q.PostForm)
	var c *management.CohortView
	if q.PathValue("cohort") != "" {
		var err error
		if c, err = cohort(q); err != nil {
			return keepCohort(q, err, form)
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
		return saveCohort(q, c, form)
	case "review":
		return reviewCohort(q, c, form)
	case "preview":
		return previewCohort(q, c, form)
	case "delete", "restore":
		if c == nil {
			return shell.ErrForm
		}
		return switchCohort(q, c, verb == "delete")
	case "add-member":
		if c == nil {
			return shell.ErrForm
		}
		return addMember(q, c, target)
	case "remove-person":
		if c == nil {
			return shell.ErrForm
		}
		return removeMember(q, c, target)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return showCohortForm(q, status, c, form, "")
}

// keepCohort shows a form again with what was typed if the store fails.
func keepCohort(q *shell.Request, err error, form *cohortForm) error {
	return q.Keep(err, func(status int, notice string) error { return showCohortForm(q, status, nil, form, notice) })
}

// saveCohort saves a form. A change of who is in a cohort that changes the value of a flag
// that is on is made only by somebody who has seen that.
func saveCohort(q *shell.Request, c *management.CohortView, form *cohortForm) error {
	patch, ok := form.patch()
	if !ok {
		return showCohortForm(q, http.StatusUnprocessableEntity, c, form, "")
	}
	if c == nil {
		made, err := q.Service.CreateCohort(q.Context(), q.By, q.Ref, patch)
		if err != nil {
			return refusedCohort(q, err, nil, form)
		}
		return q.Done(cohortPath(q, made.ID), "cohort-made", q.EntryUndo("Cohort", strconv.FormatInt(made.ID, 10)))
	}
	if !form.Reviewed && !form.Static && !forms.SameText(patch.Filters.Value, c.Filters) {
		effect, err := cohortEffect(q, c, patch)
		if err != nil {
			return refusedCohort(q, err, c, form)
		}
		if effect.Asks {
			return reviewCohort(q, c, form)
		}
	}
	now, err := q.Service.UpdateCohort(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10), patch)
	if err != nil {
		return refusedCohort(q, err, c, form)
	}
	if originalOf(now) == originalOf(c) {
		return q.Done(cohortPath(q, c.ID), "unchanged", shell.Undo{})
	}
	return q.Done(cohortPath(q, c.ID), "saved", q.EntryUndo("Cohort", strconv.FormatInt(c.ID, 10)))
}

// refusedCohort shows a form again with what the Service says against it.
func refusedCohort(q *shell.Request, err error, c *management.CohortView, form *cohortForm) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case !ok:
		return keepCohort(q, err, form)
	case errors.Is(e, management.ErrConflict) && c != nil && !forms.SameText(json.RawMessage(form.Original),
		json.RawMessage(originalOf(c))):
		return cohortConflict(q, c, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return showCohortForm(q, http.StatusUnprocessableEntity, c, form, "")
	}
	return err
}

// switchCohort deletes a cohort or brings it back.
func switchCohort(q *shell.Request, c *management.CohortView, deleted bool) error {
	patch := management.CohortPatch{Deleted: optional.Of(deleted)}
	if _, err := q.Service.UpdateCohort(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10), patch); err != nil {
		return refusedCohort(q, err, c, cohortFormOf(c))
	}
	u := q.EntryUndo("Cohort", strconv.FormatInt(c.ID, 10))
	if deleted {
		return q.Done(q.ProjectPath("/cohorts"), "cohort-deleted", u)
	}
	return q.Done(cohortPath(q, c.ID), "cohort-restored", u)
}

// showCohortForm answers with the page of a cohort, which is nil if the cohort is new.
func showCohortForm(q *shell.Request, status int, c *management.CohortView, form *cohortForm, notice string) error {
	v := &cohortView{
		cohortForm: form, New: c == nil && q.PathValue("cohort") == "", List: q.ProjectPath("/cohorts"), Action: q.URL.Path,
		Notice: form.NoticeOr(notice),
	}
	v.Action = strings.TrimSuffix(v.Action, "/members")
	q.Layout.Title = cmp.Or(form.Name, "New cohort")
	q.Notice()
	if v.New {
		q.Layout.Title = "New cohort"
	} else if c != nil {
		q.Layout.Title = c.Name
	}
	self := int64(0)
	if c != nil {
		self = c.ID
	}
	var err error
	if v.Offered, err = targeting.Offers(q, 0, self); err != nil && status != http.StatusServiceUnavailable {
		return keepCohort(q, err, form)
	}
	if c != nil {
		if err := cohortFacts(q, v, c); err != nil {
			return keepCohort(q, err, form)
		}
	}
	left := maxNodes
	v.Tree = v.nodeView(rootNode, "", &form.Root, &left)
	return q.Render(status, "cohort", v)
}

// cohortFacts fills in what is known of a cohort that exists.
func cohortFacts(q *shell.Request, v *cohortView, c *management.CohortView) error {
	v.Cohort, v.Size = c, sizeOf(q, c)
	if !c.IsStatic {
		v.Who = v.Names().Cohort(c.Filters)
	}
	uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	v.Uses = usesOf(q, uses[c.ID])
	v.Uses = v.Uses[:min(len(v.Uses), usesShown)]
	for _, use := range v.Uses {
		if !use.Off {
			v.Blocking = append(v.Blocking, use)
		}
	}
	item := strconv.FormatInt(c.ID, 10)
	if v.Entries, err = q.HistoryOf("Cohort", item); err != nil {
		return err
	}
	v.Activity = q.EntriesAbout("Cohort", item)
	if c.Deleted {
		return nil
	}
	v.UploadURL = cohortPath(q, c.ID) + "/members"
	if q.Method == http.MethodGet || c.IsStatic {
		if v.Members, err = membersOf(q, c, people.MembersShown, 1); err != nil {
			return err
		}
		if c.IsStatic && v.Members.Problem == "" {
			v.Size = sizeView{forms.Number(v.Members.Total), true, shell.Moment{}}
		}
	}
	if c.IsStatic {
		v.Upload, err = shell.Known(q.Service.CohortUpload(q.Context(), q.By, q.Ref, item))
	}
	return err
}

// nodeView returns a node with what its fields offer.
func (v *cohortView) nodeView(id, joint string, n *nodeForm, left *int) nodeView {
	out := nodeView{
		ID: id, Raw: n.Raw, Root: id == rootNode, Group: n.Group, Joint: joint, Error: v.Errors[id],
		Deepest: strings.Count(id, ".") >= maxNested-2,
	}
	switch {
	case n.Other:
		out.Other = forms.Shorten(n.Raw, 400)
		return out
	case !n.Group:
		out.Filter = v.FilterView(id, n.Filter, v.Errors)
		out.Filter.Joint, out.Filter.Nested, out.Filter.Node = joint, true, true
		return out
	}
	word := "and"
	if n.Any {
		word = "or"
	}
	out.Kinds = forms.Selected(nodeKinds, n.kind())
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

func undoCohort(q *shell.Request, e *management.ActivityView, before forms.Object) (to, item string, err error) {
	if e.Activity == "created" {
		before, to = forms.Object{"deleted": json.RawMessage("true")}, q.ProjectPath("/cohorts")
	}
	patch, err := shell.DecodePatch[management.CohortPatch](before)
	if err == nil {
		_, err = q.Service.UpdateCohort(q.Context(), q.By, q.Ref, e.ItemID, patch)
	}
	return to, e.ItemID, err
}
