package flags

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// variantBar shows how a flag is shared out among its variants.
func variantBar(f *flags.Filters) (b charts.Bar) {
	if f.Multivariate == nil {
		return b
	}
	parts := make([]float64, len(f.Multivariate.Variants))
	for i, v := range f.Multivariate.Variants {
		parts[i] = v.RolloutPercentage
	}
	x := 0.0
	for i, share := range charts.Shares(100, parts) {
		x = b.Add(x, share, "hue-"+strconv.Itoa(i%charts.Hues), f.Multivariate.Variants[i].Key)
	}
	return b
}

var flagScreen = shell.Screen{
	Title: "New flag", Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/flags/new":     newFlag,
		"POST /projects/{project}/flags/new":    postFlag,
		"GET /projects/{project}/flags/{flag}":  shell.About(showFlag, flag),
		"POST /projects/{project}/flags/{flag}": postFlag,
	},
	Done: map[string]string{
		"created":    "The flag was created.",
		"archived":   "The flag is archived, and off.",
		"unarchived": "The flag is back from the archive. It is still off.",
		"deleted":    "The flag was deleted.",
		"restored":   "The flag is back.",
	},
	Undo: map[string]shell.Undoer{"FeatureFlag": undoFlag},
	Thing: &shell.Thing{
		Scope: "FeatureFlag", One: "flag", Many: "Flags", Path: shell.Below("/flags/"),
		Place: flagPlace, Value: shell.Names.Value, Hides: true,
	},
}

// flagView is the page of one flag.
type flagView struct {
	shell.Layout
	*flagForm
	New    bool
	Action string // where the form is sent
	List   string // the list of flags

	Flag *management.FlagView // as it is stored; nil for a new one
	flagState
	Reach    string
	Shares   charts.Bar
	Usage    *flagUsageView
	Users    []flagUser
	Problems []string
	Enrolled bool   // the early access feature of the flag enrols people
	Notice   string // what has gone wrong with the whole form

	Sets  []targeting.ConditionView
	Parts []variantView
	choices
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
	return showForm(q, http.StatusOK, nil, newFlagForm(), "")
}

// flag returns the flag that the path names.
func flag(q *shell.Request) (*management.FlagView, error) {
	return q.Service.Flag(q.Context(), q.By, q.Ref, q.PathValue("flag"))
}

func showFlag(q *shell.Request, f *management.FlagView) error {
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
	case "archive", "unarchive", "delete", "restore":
		if f == nil {
			return shell.ErrForm
		}
		return actOnFlag(q, f, verb)
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

// showForm answers with the page of a flag, which is nil if the flag is new.
func showForm(q *shell.Request, status int, f *management.FlagView, form *flagForm, notice string) error {
	v := &flagView{
		flagForm: form, New: f == nil && q.PathValue("flag") == "", List: q.ProjectPath("/flags"), Action: q.URL.Path,
		Notice: form.NoticeOr(notice),
	}
	q.Notice()
	switch {
	case v.New:
		q.Layout.Title = "New flag"
	case f == nil:
		q.Layout.Title = form.Key
	default:
		q.Layout.Title = f.Key
	}
	self := int64(0)
	if f != nil {
		self = f.ID
	}
	var err error
	v.Offered, err = targeting.Offers(q, self, 0)
	if err != nil && status != http.StatusServiceUnavailable {
		return keepFlag(q, err, form)
	}
	if f != nil {
		if err := facts(q, v, f, v.Names()); err != nil {
			return err
		}
	}
	v.fields()
	return q.Render(status, "flag", v)
}

// facts fills in what is known of a flag that exists.
func facts(q *shell.Request, v *flagView, f *management.FlagView, names shell.Names) error {
	v.Flag, v.flagState = f, stateOf(q, f)
	v.Reach, v.Shares = names.Audience(&f.Filters), variantBar(&f.Filters)
	v.Problems = problems(q)[f.Key]
	v.Enrolled = f.Filters.FeatureEnrollment != nil && *f.Filters.FeatureEnrollment
	for _, u := range f.Surveys {
		v.Users = append(v.Users, userOf(q, "Survey", u))
	}
	for _, u := range f.Features {
		v.Users = append(v.Users, userOf(q, "EarlyAccessFeature", u))
	}
	var err error
	v.Usage, err = usage(q, f, &f.Filters)
	return err
}

// A flagUser is something that the flag decides about, as the screens of such things name it.
type flagUser struct{ Kind, Name, URL string }

func userOf(q *shell.Request, scope string, u management.FlagUser) flagUser {
	thing := q.Thing(scope)
	return flagUser{thing.One, u.Name, thing.Path(q, u.ID.String())}
}

// fields fills in what the fields of the form show and offer.
func (v *flagView) fields() {
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
}

// newFlagMark marks a flag that was just made: there is no version before.
const newFlagMark = "new"

// flagUndo returns how a change of a flag is taken back, which is nil before if it was made.
func flagUndo(before, after *management.FlagView) shell.Undo {
	u := shell.Undo{What: "FeatureFlag", Item: strconv.FormatInt(after.ID, 10), Mark: strconv.Itoa(after.Version)}
	switch {
	case before == nil:
		u.Mark = newFlagMark
	case before.Version == after.Version:
		return shell.Undo{}
	}
	return u
}

func undoFlag(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	f, err := q.Service.Flag(q.Context(), q.By, q.Ref, u.Item)
	if err != nil {
		return "", shell.Undo{}, err
	}
	if u.Mark == newFlagMark {
		if f.Version != 1 || f.Deleted {
			return "", shell.Undo{}, shell.ErrUndo
		}
		patch := management.FlagPatch{Deleted: optional.Of(true), IfVersion: &f.Version}
		saved, err := q.Service.UpdateFlag(q.Context(), q.By, q.Ref, u.Item, patch)
		if err != nil {
			return "", shell.Undo{}, err
		}
		return q.ProjectPath("/flags"), flagUndo(f, saved), nil
	}
	version, err := strconv.Atoi(u.Mark)
	if err != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	patch := management.RevertPatch{Version: optional.Of(version - 1), IfVersion: &version}
	saved, err := q.Service.RevertFlag(q.Context(), q.By, q.Ref, u.Item, patch)
	if err != nil {
		return "", shell.Undo{}, err
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

// A flagState says whether a flag is of use, and when programs have asked for it last. Both
// come from stateOf, so that they never contradict each other.
type flagState struct {
	State     string // in words
	Stale     bool
	Evaluated shell.Moment // when a program has reported a value last; without words: never
}

func stateOf(q *shell.Request, f *management.FlagView) flagState {
	state, stale := stateWords(f, q.Config.Now())
	return flagState{state, stale, q.MomentOf(f.LastCalledAt)}
}

// stateWords says whether a flag is of use, and whether it is stale. A flag that is off,
// archived or the same for everybody may well be asked for: then its state says so.
func stateWords(f *management.FlagView, now time.Time) (state string, stale bool) {
	used := f.LastCalledAt != nil && now.Sub(*f.LastCalledAt) < recently
	asked := used && f.LastCalledAt.After(f.UpdatedAt)
	switch {
	case f.Deleted:
		state = "Deleted"
	case f.Archived:
		state = "Archived, and off"
	case !f.Active:
		state = "Off"
	case f.StaleReason != nil:
		state, stale = *f.StaleReason, true
	case used:
		return "On, and in use", false
	case f.LastCalledAt == nil:
		return "On, but no program has reported a value of it yet", false
	default:
		return "On, but no program has reported a value of it lately", false
	}
	if asked {
		state += ". Programs still ask for it"
	}
	return state, stale
}

// recently is within which time a report says that programs ask for a flag.
const recently = 7 * 24 * time.Hour

// problems returns the warnings and errors about the flags of the project, by key.
func problems(q *shell.Request) map[string][]string {
	out := make(map[string][]string)
	for _, p := range q.Config.Problems(q.At.Project.ID) {
		if p.Severity != flags.SeverityNote && p.DefinitionError != nil && p.Flag != "" {
			out[p.Flag] = append(out[p.Flag], problemWords(p))
		}
	}
	return out
}

func problemWords(p flags.Problem) string {
	text := p.Severity.String() + ": "
	if p.Err != nil {
		text += p.Err.Error()
	}
	if p.Path != "" {
		text += " (" + words.Place(p.Path) + ")"
	}
	if p.Hint != "" {
		text += ". " + strings.ToUpper(p.Hint[:1]) + p.Hint[1:] // hints are in English
	}
	return text
}

func flagPath(q *shell.Request, id int64) string {
	return q.ProjectPath("/flags/" + strconv.FormatInt(id, 10))
}
