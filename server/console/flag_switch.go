package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	under: "Flags",
	scope: inProject, pages: map[string]page{"POST /projects/{project}/flags/{flag}/switch": about(switchFlag, (*request).flag)},
	done: map[string]string{
		"on":  "The flag is on.",
		"off": "The flag is off.",
	},
})

// A flagAction is a change of a flag that one button makes. It shows first who changes, if
// somebody does (management.md §5.11).
type flagAction struct {
	title, button  string // of the question
	danger         bool
	turnsOn        bool // what is off may be on
	action, cancel string
	hidden         []hidden
	patch          management.PreviewPatch // what is shown first
	do             func() (*management.FlagView, error)
	refused        func(*management.Error) error
	done           func(now *management.FlagView) error
}

// change makes a change of a flag, or asks first.
func (q *request) change(f *management.FlagView, a *flagAction) error {
	a.patch.ID = optional.Of(f.ID)
	version := strconv.Itoa(f.Version)
	if q.PostForm.Get("confirmed") != version {
		effect, err := q.effect(a.patch, f)
		if err != nil && !isRefusal(err) {
			return err
		}
		protected := slices.Contains(f.Tags, protectedTag) && (f.Active || a.turnsOn)
		if err == nil && (effect.Asks || protected) { // the Service says what it refuses when it is done
			v := &confirmView{
				Button: a.button, Danger: a.danger, Action: a.action, Cancel: a.cancel, Effect: effect,
				Hidden: append(a.hidden, hidden{"version", version}, hidden{"confirmed", version}),
			}
			if protected {
				v.Text = append(v.Text, "The flag has the tag “"+protectedTag+"”: every switch is confirmed.")
			}
			return q.confirm(http.StatusOK, a.title, v)
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
func (q *request) update(f *management.FlagView, patch management.FlagPatch) *flagAction {
	shown := management.PreviewPatch{FlagPatch: patch}
	patch.IfVersion = &f.Version
	return &flagAction{patch: shown, do: func() (*management.FlagView, error) {
		return q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), patch)
	}}
}

// actOnFlag archives or deletes a flag, or brings it back.
func (q *request) actOnFlag(f *management.FlagView, verb string) error {
	var patch management.FlagPatch
	var title, button string
	done, to := verb+"d", q.flagPath(f.ID)
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
		to = q.projectPath("/flags")
	}
	a := q.update(f, patch)
	a.title, a.button, a.danger = title, button, verb == "delete"
	a.action, a.cancel, a.hidden = q.flagPath(f.ID), q.flagPath(f.ID), []hidden{{"do", verb}}
	a.done = func(now *management.FlagView) error { return q.done(to, done, flagUndo(f, now)) }
	a.refused = func(e *management.Error) error {
		form := formOf(f)
		form.refuse(e)
		return q.showForm(http.StatusUnprocessableEntity, f, form, "")
	}
	if version, _ := strconv.Atoi(q.PostForm.Get("version")); version != f.Version {
		const stale = "Somebody else has changed the flag since this page was loaded. Nothing was done: look whether you still want to."
		return q.showForm(http.StatusConflict, f, formOf(f), stale)
	}
	return q.change(f, a)
}

// switchedTo returns where to go after a switch: to the list as it was, or to the flag.
// Only a query comes from the request.
func (q *request) switchedTo(f *management.FlagView) string {
	if q.Form.Get("from") != "list" {
		return q.flagPath(f.ID)
	}
	back, _ := url.ParseQuery(q.Form.Get("back")) // what cannot be read is left out
	query := readFlagsQuery(back)
	return query.at(q.projectPath("/flags")).at(query.Page)
}

// switchFlag switches a flag on or off.
func switchFlag(q *request, f *management.FlagView) error {
	verb := q.Form.Get("to")
	on := verb == "on"
	if !on && verb != "off" {
		return errForm
	}
	if f.Active == on {
		return q.done(q.switchedTo(f), verb, undo{})
	}
	a := q.update(f, management.FlagPatch{Active: optional.Of(on)})
	a.title, a.button, a.turnsOn = "Switch "+f.Key+" "+verb+"?", "Switch "+verb, on
	a.action, a.cancel = q.flagPath(f.ID)+"/switch", q.switchedTo(f)
	a.hidden = []hidden{{"to", verb}, {"from", q.Form.Get("from")}, {"back", q.Form.Get("back")}}
	a.done = func(now *management.FlagView) error { return q.done(q.switchedTo(f), verb, flagUndo(f, now)) }
	a.refused = func(e *management.Error) error {
		return q.confirm(http.StatusUnprocessableEntity, a.title, &confirmView{Cancel: a.cancel, Refusal: e.Text()})
	}
	return q.change(f, a)
}
