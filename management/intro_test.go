package management_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// What a user has seen of an introduction stands beside what others have noted, and the activity log
// has no entry of it.
func TestNoteIntro(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ before, want string }{
		{`null`, `{"tour":true}`},
		{`{"tour":{"step":1},"feature_flags":true}`, `{"feature_flags":true,"tour":true}`},
		{`[1]`, `{"tour":true}`},
	} {
		_, err := w.patch(w.as(w.ada), "@me", `{"has_seen_product_intro_for":`+tt.before+`}`)
		checkFault(t, "UpdateUser", err, "")
		entries := len(w.state().Activities)
		checkFault(t, "NoteIntro", w.NoteIntro(t.Context(), w.as(w.ada), "tour", json.RawMessage("true")), "")
		view, err := w.User(t.Context(), w.as(w.ada), "@me")
		checkFault(t, "User", err, "")
		if got := string(view.HasSeenProductIntroFor); got != tt.want {
			t.Errorf("%s became %s, want %s", tt.before, got, tt.want)
		}
		if n := len(w.state().Activities); n != entries {
			t.Errorf("%d entries more in the activity log", n-entries)
		}
	}
}

// The flags that a user has made count in all projects, also if they are deleted, and only the user's.
func TestFlagsMade(t *testing.T) {
	w := newWorld(t)
	made := func(want int) {
		t.Helper()
		n, err := w.FlagsMade(t.Context(), w.as(w.ada))
		checkFault(t, "FlagsMade", err, "")
		if n != want {
			t.Errorf("%d flags made, want %d", n, want)
		}
	}
	made(0)
	create := func(by *management.Principal, project int64, key string) *management.FlagView {
		f, err := w.CreateFlag(t.Context(), by, strconv.FormatInt(project, 10), management.FlagPatch{Key: optional.Of(key)})
		checkFault(t, "CreateFlag", err, "")
		return f
	}
	create(w.as(w.ben), w.web.ID, "of-another")
	made(0)
	first := create(w.as(w.ada), w.web.ID, "first")
	create(w.as(w.ada), w.app.ID, "elsewhere")
	made(2)
	_, err := w.UpdateFlag(t.Context(), w.as(w.ada), strconv.FormatInt(w.web.ID, 10), strconv.FormatInt(first.ID, 10),
		management.FlagPatch{Deleted: optional.Of(true)})
	checkFault(t, "UpdateFlag", err, "")
	made(2)
}
