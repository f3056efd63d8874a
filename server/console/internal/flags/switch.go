package flags

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// protectedTag is the tag of flags whose switch always asks first.
const protectedTag = "protected"

var switchScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"POST /projects/{project}/flags/{flag}/switch": shell.About(switchFlag, flag)},
	Done: map[string]string{
		"on":  "The flag is on.",
		"off": "The flag is off.",
	},
}

// A flagAction is a change of a flag that one button makes. It shows first who changes, if
// somebody does (management.md §5.11).
type flagAction struct {
	title, button  string // of the question
	danger         bool
	turnsOn        bool // what is off may be on
	action, cancel string
	hidden         []forms.Hidden
	patch          management.PreviewPatch // what is shown first
	do             func() (*management.FlagView, error)
	refused        func(*management.Error) error
	done           func(now *management.FlagView) error
}

// change makes a change of a flag, or asks first.
func change(q *shell.Request, f *management.FlagView, a *flagAction) error {
	a.patch.ID = optional.Of(f.ID)
	version := strconv.Itoa(f.Version)
	if q.PostForm.Get("confirmed") != version {
		effect, err := effects.Of(q, a.patch, f)
		if err != nil && !shell.IsRefusal(err) {
			return err
		}
		protected := slices.Contains(f.Tags, protectedTag) && (f.Active || a.turnsOn)
		if err == nil && (effect.Asks || protected) { // the Service says what it refuses when it is done
			v := &shell.ConfirmView{
				Button: a.button, Danger: a.danger, Action: a.action, Cancel: a.cancel, Effect: effect,
				Hidden: append(a.hidden, forms.Hidden{Name: "version", Value: version}, forms.Hidden{Name: "confirmed", Value: version}),
			}
			if protected {
				v.Text = append(v.Text, "The flag has the tag “"+protectedTag+"”: every switch is confirmed.")
			}
			return q.Confirm(http.StatusOK, a.title, v)
		}
	}
	now, err := a.do()
	if e, ok := errors.AsType[*management.Error](err); ok && (errors.Is(e, management.ErrInvalid) || errors.Is(e, management.ErrConflict)) {
		return a.refused(e)
	}
	if err != nil {
		return err
	}
	return a.done(now)
}

// update returns the action that is a patch of a flag.
func update(q *shell.Request, f *management.FlagView, patch management.FlagPatch) *flagAction {
	shown := management.PreviewPatch{FlagPatch: patch}
	patch.IfVersion = &f.Version
	return &flagAction{patch: shown, do: func() (*management.FlagView, error) {
		return q.Service.UpdateFlag(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), patch)
	}}
}

// actOnFlag archives or deletes a flag, or brings it back.
func actOnFlag(q *shell.Request, f *management.FlagView, verb string) error {
	var patch management.FlagPatch
	var title, button string
	done, to := verb+"d", flagPath(q, f.ID)
	switch verb {
	case "archive":
		patch.Active, patch.Archived = optional.Of(false), optional.Of(true)
		title, button = "Archive "+f.Key+"?", "Archive it"
	case "unarchive":
		patch.Archived = optional.Of(false)
	case "restore":
		patch.Deleted = optional.Of(false)
		title, button = "Bring "+f.Key+" back?", "Bring it back"
	case "delete":
		patch.Deleted = optional.Of(true)
		title, button = "Delete "+f.Key+"?", "Delete it"
		to = q.ProjectPath("/flags")
	}
	a := update(q, f, patch)
	a.title, a.button, a.danger = title, button, verb == "delete"
	a.action, a.cancel, a.hidden = flagPath(q, f.ID), flagPath(q, f.ID), []forms.Hidden{{Name: "do", Value: verb}}
	a.done = func(now *management.FlagView) error { return q.Done(to, done, flagUndo(f, now)) }
	a.refused = func(e *management.Error) error { return showFlag(q, http.StatusUnprocessableEntity, f, e.Text()) }
	if version, _ := strconv.Atoi(q.PostForm.Get("version")); version != f.Version {
		const stale = "Somebody else has changed the flag since this page was loaded. Nothing was done: look whether you still want to."
		return showFlag(q, http.StatusConflict, f, stale)
	}
	return change(q, f, a)
}

// switchedTo returns where to go after a switch: to the list as it was, or to the flag.
// Only a query comes from the request.
func switchedTo(q *shell.Request, f *management.FlagView) string {
	if q.Form.Get("from") != "list" {
		return flagPath(q, f.ID)
	}
	return listAt(q)
}

// listAt returns the list as it was.
func listAt(q *shell.Request) string {
	back, _ := url.ParseQuery(q.Form.Get("back")) // what cannot be read is left out
	query := readFlagsQuery(back)
	return query.at(q.ProjectPath("/flags")).At(query.Page)
}

// switchFlag switches a flag on or off.
func switchFlag(q *shell.Request, f *management.FlagView) error {
	verb := q.Form.Get("to")
	on := verb == "on"
	if !on && verb != "off" {
		return shell.ErrForm
	}
	if f.Active == on {
		return q.Done(switchedTo(q, f), verb, shell.Undo{})
	}
	a := update(q, f, management.FlagPatch{Active: optional.Of(on)})
	a.title, a.button, a.turnsOn = "Switch "+f.Key+" "+verb+"?", "Switch "+verb, on
	a.action, a.cancel = flagPath(q, f.ID)+"/switch", switchedTo(q, f)
	a.hidden = []forms.Hidden{{Name: "to", Value: verb}, {Name: "from", Value: q.Form.Get("from")}, {
		Name:  "back",
		Value: q.Form.Get("back"),
	}}
	a.done = func(now *management.FlagView) error { return q.Done(switchedTo(q, f), verb, flagUndo(f, now)) }
	a.refused = func(e *management.Error) error {
		return q.Confirm(http.StatusUnprocessableEntity, a.title, &shell.ConfirmView{Cancel: a.cancel, Refusal: e.Text()})
	}
	return change(q, f, a)
}
