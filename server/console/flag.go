package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	title: "New flag", under: "Flags",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/flags/new":     newFlag,
		"POST /projects/{project}/flags/new":    postFlag,
		"GET /projects/{project}/flags/{flag}":  about(showFlag, (*request).flag),
		"POST /projects/{project}/flags/{flag}": postFlag,
	},
	done: map[string]string{
		"created":    "The flag was created.",
		"archived":   "The flag is archived, and off.",
		"unarchived": "The flag is back from the archive. It is still off.",
		"deleted":    "The flag was deleted.",
		"restored":   "The flag is back.",
	},
	undo:  map[string]undoer{"FeatureFlag": undoFlag},
	thing: &thing{
		scope: "FeatureFlag", one: "flag", many: "Flags", path: below("/flags/"),
		place: flagPlace, value: (*words.Names).Value, hides: true,
	},
})

// flagView is the page of one flag.
type flagView struct {
	layout
	*flagForm
	New    bool
	Action string // where the form is sent
	List   string // the list of flags

	Flag *management.FlagView // as it is stored; nil for a new one
	flagState
	Reach    string
	Shares   bar
	Usage    *flagUsageView
	Problems []string
	Enrolled bool   // the early access feature of the flag enrols people
	Notice   string // what has gone wrong with the whole form

	Sets                                                []conditionView
	Parts                                               []variantView
	Runtimes, Bucketings, Hashes, Matches, Aggregations []option
	offered
}

// A variantView is a variant with the messages about it.
type variantView struct {
	variantForm
	ID, Hue, Error, KeyError, ShareError, PayloadError string
	Rows                                               int // lines of the payload
}

// noVersion is the version of a flag that does not exist yet.
const noVersion = -1

func newFlag(q *request) error {
	return q.showForm(http.StatusOK, nil, newFlagForm(), "")
}

// flag returns the flag that the path names.
func (q *request) flag() (*management.FlagView, error) {
	return q.c.Service.Flag(q.Context(), q.by, q.ref, q.PathValue("flag"))
}

func showFlag(q *request, f *management.FlagView) error {
	return q.showForm(http.StatusOK, f, formOf(f), "")
}

// postFlag does what a button of the form says.
func postFlag(q *request) error {
	form := readFlagForm(q.PostForm)
	var f *management.FlagView
	if q.PathValue("flag") != "" {
		var err error
		if f, err = q.flag(); err != nil {
			return q.keepFlag(err, form)
		}
	}
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	switch verb {
	case "review":
		return q.review(f, form, false)
	case "save":
		if f == nil && !form.Active || f != nil && !f.Active || form.Reviewed != 0 && form.Reviewed == form.Version {
			return q.save(f, form)
		}
		return q.review(f, form, true)
	case "preview":
		return q.previewForm(f, form)
	case "archive", "unarchive", "delete", "restore":
		if f == nil {
			return errForm
		}
		return q.actOnFlag(f, verb)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return q.showForm(status, f, form, "")
}

// keepFlag shows a form again with what was typed if the store fails.
func (q *request) keepFlag(err error, form *flagForm) error {
	return q.keep(err, func(status int, notice string) error { return q.showForm(status, nil, form, notice) })
}

// refused shows a form again with what the Service says against it.
func (q *request) refused(err error, f *management.FlagView, form *flagForm) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return q.keepFlag(err, form)
	}
	switch {
	case f != nil && (errors.Is(e, management.ErrConflict) || errors.Is(e, management.ErrPrecondition)) && f.Version != form.Version:
		return q.conflict(f, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return q.showForm(http.StatusUnprocessableEntity, f, form, "")
	}
	return err
}

// withOriginal tells a patch what the flag was when the form was made.
func (q *request) withOriginal(patch *management.FlagPatch, f *management.FlagView, form *flagForm) error {
	original := f
	if f.Version != form.Version {
		was, err := q.c.Service.FlagVersion(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), form.Version)
		if errors.Is(err, management.ErrNotFound) {
			return nil // it is not kept: every other version is a conflict
		}
		if err != nil {
			return err
		}
		original = was
	}
	patch.Original = optional.Of(must(json.Marshal(original)))
	return nil
}

func (q *request) save(f *management.FlagView, form *flagForm) error {
	patch, ok := form.patch(f)
	if !ok {
		return q.showForm(http.StatusUnprocessableEntity, f, form, "")
	}
	if f == nil {
		made, err := q.c.Service.CreateFlag(q.Context(), q.by, q.ref, patch.FlagPatch)
		if err != nil {
			return q.refused(err, nil, form)
		}
		return q.done(q.flagPath(made.ID), "created", flagUndo(nil, made))
	}
	if err := q.withOriginal(&patch.FlagPatch, f, form); err != nil {
		return q.refused(err, f, form)
	}
	saved, err := q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), patch.FlagPatch)
	if err != nil {
		return q.refused(err, f, form)
	}
	done := "saved"
	if saved.Version == f.Version {
		done = "unchanged"
	}
	return q.done(q.flagPath(f.ID), done, flagUndo(f, saved))
}

// showForm answers with the page of a flag, which is nil if the flag is new.
func (q *request) showForm(status int, f *management.FlagView, form *flagForm, notice string) error {
	v := &flagView{
		flagForm: form, New: f == nil && q.PathValue("flag") == "", List: q.projectPath("/flags"), Action: q.URL.Path,
		Notice: form.noticeOr(notice),
	}
	q.notice()
	switch {
	case v.New:
		q.layout.Title = "New flag"
	case f == nil:
		q.layout.Title = form.Key
	default:
		q.layout.Title = f.Key
	}
	self := int64(0)
	if f != nil {
		self = f.ID
	}
	var err error
	v.offered, err = q.offers(self, 0)
	if err != nil && status != http.StatusServiceUnavailable {
		return q.keepFlag(err, form)
	}
	if f != nil {
		if err := q.facts(v, f, v.words); err != nil {
			return err
		}
	}
	v.fields()
	return q.render(status, "flag", v)
}

// facts fills in what is known of a flag that exists.
func (q *request) facts(v *flagView, f *management.FlagView, words *words.Names) error {
	v.Flag, v.flagState = f, q.stateOf(f)
	v.Reach, v.Shares = words.Audience(&f.Filters), variantBar(&f.Filters)
	v.Problems = q.problems()[f.Key]
	v.Enrolled = f.Filters.FeatureEnrollment != nil && *f.Filters.FeatureEnrollment
	var err error
	v.Usage, err = q.usage(f, &f.Filters)
	return err
}

func selected(options []option, value string) []option {
	out := slices.Clone(options)
	found := false
	for i := range out {
		out[i].Selected = out[i].Value == value
		found = found || out[i].Selected
	}
	if !found && value != "" {
		out = append(out, option{value, value, true}) // it is not lost
	}
	return out
}

// fields fills in what the fields of the form show and offer.
func (v *flagView) fields() {
	v.choices()
	v.Aggregations = selected(append(options("", "Persons"), v.GroupTypes...), v.Aggregation)
	var variants []string // nil: there are none
	if len(v.Variants) > 0 {
		variants = []string{}
	}
	for i, f := range v.Variants {
		id := variantName(i)
		v.Parts = append(v.Parts, variantView{
			variantForm: f, ID: id, Hue: "hue-" + strconv.Itoa(i%hues), Rows: min(max(2, 1+strings.Count(f.Payload, "\n")), 12),
			Error: v.Errors[id], KeyError: v.Errors[id+".key"], ShareError: v.Errors[id+".share"], PayloadError: v.Errors[id+".payload"],
		})
		if f.Key != "" {
			variants = append(variants, f.Key)
		}
	}
	v.Sets = v.offered.sets(&v.conditionsForm, variants)
}

// pretty returns JSON with a line for each member.
func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// newFlagMark marks a flag that was just made: there is no version before.
const newFlagMark = "new"

// flagUndo returns how a change of a flag is taken back, which is nil before if it was made.
func flagUndo(before, after *management.FlagView) undo {
	u := undo{"FeatureFlag", strconv.FormatInt(after.ID, 10), strconv.Itoa(after.Version)}
	switch {
	case before == nil:
		u.Mark = newFlagMark
	case before.Version == after.Version:
		return undo{}
	}
	return u
}

func undoFlag(q *request, u undo) (string, undo, error) {
	f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, u.Item)
	if err != nil {
		return "", undo{}, err
	}
	if u.Mark == newFlagMark {
		if f.Version != 1 || f.Deleted {
			return "", undo{}, errUndo
		}
		patch := management.FlagPatch{Deleted: optional.Of(true), IfVersion: &f.Version}
		saved, err := q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, u.Item, patch)
		if err != nil {
			return "", undo{}, err
		}
		return q.projectPath("/flags"), flagUndo(f, saved), nil
	}
	version, err := strconv.Atoi(u.Mark)
	if err != nil {
		return "", undo{}, errForm
	}
	patch := management.RevertPatch{Version: optional.Of(version - 1), IfVersion: &version}
	saved, err := q.c.Service.RevertFlag(q.Context(), q.by, q.ref, u.Item, patch)
	if err != nil {
		return "", undo{}, err
	}
	return "", flagUndo(f, saved), nil
}

// flagPlace says in words where in a flag something is.
func flagPlace(field string) string {
	if field == "name" {
		return "description"
	}
	return words.Place(field)
}
