package flags

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var bulkScreen = shell.Screen{
	Title: "Change flags", Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"POST /projects/{project}/flags/bulk": changeSelected},
	Done: map[string]string{"flags-changed": "The flags were changed."},
	Undo: map[string]shell.Undoer{"FeatureFlags": undoSelected},
}

// bulkView asks whether several flags shall be changed.
type bulkView struct {
	shell.Layout
	Question, Button, Action, Cancel string
	Rows                             []bulkRow
	Hidden                           []forms.Hidden
	Refusal                          string
}

// A bulkRow is what would become of a flag.
type bulkRow struct{ Key, URL, Change, Effect string }

// A bulkChange is what a button does with each of the selected flags.
type bulkChange struct {
	question, button string // with the number of flags
	// patch returns the change of a flag and says it; "" if the flag is like that already.
	patch func(f *management.FlagView, tag string) (p management.FlagPatch, words string)
}

var bulkChanges = map[string]bulkChange{
	"on":  {"Switch %s on?", "Switch on", switching(true)},
	"off": {"Switch %s off?", "Switch off", switching(false)},
	"archive": {"Archive %s?", "Archive", func(f *management.FlagView, _ string) (p management.FlagPatch, words string) {
		if !f.Archived {
			p.Active, p.Archived = optional.Of(false), optional.Of(true)
			words = "off, and hidden from the list"
		}
		return p, words
	}},
	"tag": {"Add the tag to %s?", "Add tag", func(f *management.FlagView, tag string) (management.FlagPatch, string) {
		if slices.Contains(f.Tags, tag) {
			return management.FlagPatch{}, ""
		}
		return tagged(append(slices.Clone(f.Tags), tag)), "gets the tag " + tag
	}},
	"untag": {"Remove the tag from %s?", "Remove tag", func(f *management.FlagView, tag string) (management.FlagPatch, string) {
		if !slices.Contains(f.Tags, tag) {
			return management.FlagPatch{}, ""
		}
		return tagged(slices.DeleteFunc(slices.Clone(f.Tags), func(t string) bool { return t == tag })), "loses the tag " + tag
	}},
}

func switching(on bool) func(*management.FlagView, string) (management.FlagPatch, string) {
	words := "on → off"
	if on {
		words = "off → on"
	}
	return func(f *management.FlagView, _ string) (p management.FlagPatch, _ string) {
		if f.Active == on {
			return p, ""
		}
		p.Active = optional.Of(on)
		return p, words
	}
}

func tagged(tags []string) management.FlagPatch {
	return management.FlagPatch{Tags: optional.Of(json.RawMessage(forms.Must(json.Marshal(tags))))}
}

// changeSelected changes the flags that are selected in the list, all of them or none. It first
// shows which, and how many persons each change affects.
func changeSelected(q *shell.Request) error {
	verb, tag := q.PostForm.Get("do"), strings.TrimSpace(q.PostForm.Get("tag"))
	do, known := bulkChanges[verb]
	if !known {
		return shell.ErrForm
	}
	back := listAt(q)
	v := &bulkView{Button: do.button, Action: q.ProjectPath("/flags/bulk"), Cancel: back}
	v.Hidden = []forms.Hidden{{Name: "tag", Value: tag}, {Name: "back", Value: q.PostForm.Get("back")}}
	selected := q.PostForm["flag"]
	if len(selected) == 0 || len(selected) > shell.PageSize {
		return q.Done(back, "unchanged", shell.Undo{})
	}
	if strings.HasSuffix(verb, "tag") && tag == "" {
		v.Question, v.Button, v.Refusal = "Which tag?", "", "Type a tag beside the button."
		return q.Render(http.StatusUnprocessableEntity, "flags_bulk", v)
	}
	updates, before := make(map[int64]management.FlagPatch), make(map[int64]int)
	for _, item := range selected {
		id, version, _ := strings.Cut(item, ":")
		f, err := q.Service.Flag(q.Context(), q.By, q.Ref, id)
		if err != nil {
			return err
		}
		patch, words := do.patch(f, tag)
		if words == "" {
			continue
		}
		row := bulkRow{Key: f.Key, URL: flagPath(q, f.ID), Change: words}
		seen, err := strconv.Atoi(version)
		if err != nil {
			return shell.ErrForm
		}
		if confirmed := q.PostForm.Get("confirmed") != ""; !confirmed {
			seen = f.Version // what is shown is what is there now
			if !patch.Tags.Set {
				preview := management.PreviewPatch{FlagPatch: patch}
				preview.ID = optional.Of(f.ID)
				effect, err := effects.Of(q, preview, f)
				if err != nil && !shell.IsRefusal(err) {
					return err
				}
				if err == nil { // the Service says what it refuses when it is done
					row.Effect = effect.Summary + effect.Unknown
				}
			}
		}
		patch.IfVersion = &seen
		updates[f.ID], before[f.ID] = patch, seen
		v.Rows = append(v.Rows, row)
		v.Hidden = append(v.Hidden, forms.Hidden{Name: "flag", Value: id + ":" + strconv.Itoa(seen)})
	}
	if len(updates) == 0 {
		return q.Done(back, "unchanged", shell.Undo{})
	}
	v.Question = strings.Replace(do.question, "%s", forms.Count(len(updates), "flag", "flags"), 1)
	v.Hidden = append(v.Hidden, forms.Hidden{Name: "confirmed", Value: "yes"})
	if q.PostForm.Get("confirmed") == "" {
		return v.ask(q, http.StatusOK, verb)
	}
	now, err := q.Service.UpdateFlags(q.Context(), q.By, q.Ref, updates)
	e, refused := errors.AsType[*management.Error](err)
	if refused && !errors.Is(e, management.ErrForbidden) && !errors.Is(e, management.ErrNotFound) {
		v.Refusal = "Nothing was changed. " + e.Text()
		v.Button = ""
		return v.ask(q, http.StatusConflict, verb)
	}
	if err != nil {
		return err
	}
	return q.Done(back, "flags-changed", bulkUndo(before, now))
}

func (v *bulkView) ask(q *shell.Request, status int, verb string) error {
	v.Hidden = append(v.Hidden, forms.Hidden{Name: "do", Value: verb})
	q.Layout.Title = v.Question
	return q.Render(status, "flags_bulk", v)
}

// bulkUndo returns how a change of several flags is taken back: the version of each comes back that
// was changed, and had a version before.
func bulkUndo(before map[int64]int, now map[int64]*management.FlagView) shell.Undo {
	var ids, versions []string
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if f := now[id]; f.Version != before[id] {
			ids, versions = append(ids, strconv.FormatInt(id, 10)), append(versions, strconv.Itoa(f.Version))
		}
	}
	return shell.Undo{What: "FeatureFlags", Item: strings.Join(ids, ","), Mark: strings.Join(versions, ",")}
}

func undoSelected(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	ids, marks := strings.Split(u.Item, ","), strings.Split(u.Mark, ",")
	before, patches := make(map[int64]int), make(map[int64]management.RevertPatch)
	for i := range ids {
		id, err := strconv.ParseInt(ids[i], 10, 64)
		version := 0
		if err == nil && len(ids) == len(marks) {
			version, err = strconv.Atoi(marks[i])
		}
		if err != nil || version < 2 {
			return "", shell.Undo{}, shell.ErrForm
		}
		before[id], patches[id] = version, management.RevertPatch{Version: optional.Of(version - 1), IfVersion: &version}
	}
	now, err := q.Service.RevertFlags(q.Context(), q.By, q.Ref, patches)
	if err != nil {
		return "", shell.Undo{}, err
	}
	return "", bulkUndo(before, now), nil
}
