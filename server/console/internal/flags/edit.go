package flags

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

var editScreen = shell.Screen{
	Title: "New flag", Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/flags/new":          newFlag,
		"POST /projects/{project}/flags/new":         postFlag,
		"GET /projects/{project}/flags/{flag}/edit":  shell.About(editFlag, flag),
		"POST /projects/{project}/flags/{flag}/edit": postFlag,
	},
}

// formView is a flag as a form.
type formView struct {
	shell.Layout
	*flagForm
	New          bool
	Action, List string
	Cancel       string               // where the form is left to
	Flag         *management.FlagView // as it is stored; nil for a new one
	Enrolled     bool                 // the early access feature of the flag enrols people
	Notice       string               // what has gone wrong with the whole form

	Sets  []targeting.ConditionView
	Parts []variantView
	choices

	Types        []forms.Option
	Cards        []ruleView // of a rule set
	Otherwise    valueView
	Aggregations []forms.Option
	targeting.Offered
}

// A variantView is a variant with the messages about it.
type variantView struct {
	variantForm
	ID, Hue, Error, KeyError, ShareError, PayloadError string
	Rows                                               int // lines of the payload
}

func newFlag(q *shell.Request) error {
	if err := changeable(q); err != nil {
		return err
	}
	return showForm(q, http.StatusOK, nil, newFlagForm(), "")
}

func editFlag(q *shell.Request, f *management.FlagView) error {
	if err := changeable(q); err != nil {
		return err
	}
	return showForm(q, http.StatusOK, f, formOf(f), "")
}

// postFlag does what a button of the form says.
func postFlag(q *shell.Request) error {
	form := readFlagForm(q.PostForm)
	var f *management.FlagView
	if q.PathValue("flag") != "" {
		var err error
		if f, err = flag(q); err != nil {
			return keepFlag(q, err, form)
		}
	}
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	switch verb {
	case "review":
		return review(q, f, form, false)
	case "save":
		if f == nil && !form.Active || f != nil && !f.Active || form.Reviewed != 0 && form.Reviewed == form.Version {
			return save(q, f, form)
		}
		return review(q, f, form, true)
	case "preview":
		return previewForm(q, f, form)
	case "settle":
		if f == nil {
			return shell.ErrForm
		}
		return settle(q, f, form)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return showForm(q, status, f, form, "")
}

// keepFlag shows a form again with what was typed if the store fails.
func keepFlag(q *shell.Request, err error, form *flagForm) error {
	return q.Keep(err, func(status int, notice string) error { return showForm(q, status, nil, form, notice) })
}

// refused shows a form again with what the Service says against it.
func refused(q *shell.Request, err error, f *management.FlagView, form *flagForm) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return keepFlag(q, err, form)
	}
	switch {
	case f != nil && (errors.Is(e, management.ErrConflict) || errors.Is(e, management.ErrPrecondition)) && f.Version != form.Version:
		return conflict(q, f, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return showForm(q, http.StatusUnprocessableEntity, f, form, "")
	}
	return err
}

// withOriginal tells a patch what the flag was when the form was made.
func withOriginal(q *shell.Request, patch *management.FlagPatch, f *management.FlagView, form *flagForm) error {
	original := f
	if f.Version != form.Version {
		was, err := q.Service.FlagVersion(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), form.Version)
		if errors.Is(err, management.ErrNotFound) {
			return nil // it is not kept: every other version is a conflict
		}
		if err != nil {
			return err
		}
		original = was
	}
	patch.Original = optional.Of(forms.Must(json.Marshal(original)))
	return nil
}

func save(q *shell.Request, f *management.FlagView, form *flagForm) error {
	patch, ok := form.patch(f)
	if !ok {
		return showForm(q, http.StatusUnprocessableEntity, f, form, "")
	}
	if f == nil {
		made, err := q.Service.CreateFlag(q.Context(), q.By, q.Ref, patch.FlagPatch)
		if err != nil {
			return refused(q, err, nil, form)
		}
		tour.Made(q, made)
		return q.Done(flagPath(q, made.ID), "created", flagUndo(nil, made))
	}
	if err := withOriginal(q, &patch.FlagPatch, f, form); err != nil {
		return refused(q, err, f, form)
	}
	saved, err := q.Service.UpdateFlag(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), patch.FlagPatch)
	if err != nil {
		return refused(q, err, f, form)
	}
	done := "saved"
	if saved.Version == f.Version {
		done = "unchanged"
	}
	return q.Done(flagPath(q, f.ID), done, flagUndo(f, saved))
}

// showForm answers with the form of a flag, which is nil if the flag is new.
func showForm(q *shell.Request, status int, f *management.FlagView, form *flagForm, notice string) error {
	v := &formView{
		flagForm: form, New: f == nil && q.PathValue("flag") == "", List: q.ProjectPath("/flags"), Action: q.URL.Path, Flag: f,
		Notice: form.NoticeOr(notice),
	}
	v.Cancel = v.List
	q.Notice()
	self := int64(0)
	switch {
	case v.New:
		q.Layout.Title = "New flag"
	case f == nil:
		q.Layout.Title = "Edit " + form.Key
	default:
		q.Layout.Title = "Edit " + f.Key
		self, v.Cancel = f.ID, flagPath(q, f.ID)
		v.Enrolled = f.Filters.FeatureEnrollment != nil && *f.Filters.FeatureEnrollment
	}
	var err error
	v.Offered, err = targeting.Offers(q, self, 0)
	if err != nil && status != http.StatusServiceUnavailable {
		return keepFlag(q, err, form)
	}
	v.fields()
	return q.Render(status, "flag_form", v)
}

// fields fills in what the fields of the form show and offer.
func (v *formView) fields() {
	v.choices = v.offer()
	v.Aggregations = forms.Selected(append(forms.Options("", "Persons"), v.GroupTypes...), v.Aggregation)
	var variants []string // nil: there are none
	if len(v.Variants) > 0 {
		variants = []string{}
	}
	for i, f := range v.Variants {
		id := variantName(i)
		v.Parts = append(v.Parts, variantView{
			variantForm: f, ID: id, Hue: "hue-" + strconv.Itoa(i%charts.Hues), Rows: min(max(2, 1+strings.Count(f.Payload, "\n")), 12),
			Error: v.Errors[id], KeyError: v.Errors[id+".key"], ShareError: v.Errors[id+".share"], PayloadError: v.Errors[id+".payload"],
		})
		if f.Key != "" {
			variants = append(variants, f.Key)
		}
	}
	v.Sets = v.Offered.Sets(&v.Form, variants)
	v.Types = forms.Selected(valueTypes, v.Type)
	v.Cards, v.Otherwise = v.ruleViews(&v.Offered), v.defaultView()
}
