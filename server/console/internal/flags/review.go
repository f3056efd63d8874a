package flags

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A reviewView is the page that says who changes, before a change is saved.
type reviewView struct {
	shell.Layout
	Key     string
	New     bool
	Action  string
	Hidden  []forms.Hidden // the form
	Comment string
	Version int
	shell.Effect
}

// review shows who changes by a form. With ifAsked it saves the form if nobody does.
func review(q *shell.Request, f *management.FlagView, form *flagForm, ifAsked bool) error {
	patch, ok := form.patch(f)
	if !ok {
		return showForm(q, http.StatusUnprocessableEntity, f, form, "")
	}
	if f != nil {
		patch.ID = optional.Of(f.ID)
		if err := withOriginal(q, &patch.FlagPatch, f, form); err != nil {
			return refused(q, err, f, form)
		}
	}
	effect, err := formEffect(q, patch, f, form)
	if err != nil {
		return refused(q, err, f, form)
	}
	if f != nil && !ifAsked && len(effect.Changes) == 0 && effect.Known {
		return showForm(q, http.StatusOK, f, form, "Nothing has changed yet.")
	}
	if !effect.Asks && ifAsked {
		return save(q, f, form)
	}
	q.Layout.Title = "Review changes"
	return q.Render(http.StatusOK, "flag_review", &reviewView{
		Key: form.Key, New: f == nil, Action: q.URL.Path, Hidden: forms.HiddenFields(q.PostForm, "comment"),
		Comment: form.Comment, Version: form.Version, Effect: *effect,
	})
}

// A flagPreviewView is what a form that is being edited would do, and the sentences about its
// conditions (management.md §17.3).
type flagPreviewView struct {
	Effect *shell.Effect // nil: it cannot be told yet
	Sets   []targeting.ConditionView
	Cards  []ruleView
}

// previewForm answers with what a form would do that is being edited.
func previewForm(q *shell.Request, f *management.FlagView, form *flagForm) error {
	if f == nil && form.Key == "" {
		form.Key = "a-flag-without-a-key-yet"
	}
	offered, err := targeting.Offers(q, 0, 0)
	if err != nil {
		return err
	}
	v := &flagPreviewView{Sets: offered.Sets(&form.Form, nil), Cards: form.ruleViews(&offered)}
	if patch, ok := form.patch(f); ok {
		if f != nil {
			patch.ID, patch.Version = optional.Of(f.ID), optional.Value[int]{}
		}
		effect, err := formEffect(q, patch, f, form)
		if err != nil && !shell.IsRefusal(err) {
			return err
		}
		if err == nil {
			v.Effect = effect
		}
	}
	return q.RenderPart(http.StatusOK, "flag_review", "preview", v)
}

// formEffect asks the Service what a form would do. A flag that is off does nothing: then
// it is what the flag would do if it was switched on.
func formEffect(q *shell.Request, patch management.PreviewPatch, f *management.FlagView, form *flagForm) (v *shell.Effect, err error) {
	defer func() {
		if v != nil && v.Known && form.drawsAnew() {
			const anew = "Who is within the percentage of a new rule is drawn when it is saved: here it is an example. "
			v.Caveat = strings.TrimSpace(anew + v.Caveat)
		}
	}()
	if f == nil && form.Active || f != nil && (f.Active || f.Deleted || f.Archived) {
		return effects.Of(q, patch, f)
	}
	patch.Active = optional.Of(true)
	v, err = effects.Of(q, patch, f)
	if e, ok := errors.AsType[*management.Error](err); ok && f != nil && errors.Is(e, management.ErrInvalid) { // it cannot be on
		patch.Active = optional.Of(false)
		v, err = effects.Of(q, patch, f)
	}
	if err != nil {
		return nil, err
	}
	v.Asks = false
	v.Changes = slices.DeleteFunc(v.Changes, func(c shell.Change) bool { return c.Place == words.Place("active") })
	if v.Known {
		v.Summary = "The flag is off for everyone. Switched on: " + v.Summary
	}
	return v, nil
}
