package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var undoOwnScreen = Screen{
	Scope: OfAccount, Pages: map[string]Page{"POST /me/undo": undoChange},
}

var undoScreen = Screen{
	Scope: InProject, Pages: map[string]Page{"POST /projects/{project}/undo": undoChange},
}

func (q *Request) readUndo(s string) (u Undo, ok bool) {
	v, err := url.ParseQuery(s)
	u = Undo{v.Get("what"), v.Get("item"), v.Get("mark")}
	return u, err == nil && q.undoerOf(u.What) != nil
}

// maxUndo is how long an undo may be in an address, in bytes. A longer one is left out.
const maxUndo = 2000

// Done leads to a page that says what was done, with a button that takes it back.
func (q *Request) Done(to, done string, u Undo) error {
	path, query, _ := strings.Cut(to, "?")
	values, err := url.ParseQuery(query)
	if err != nil { // the console has made it
		panic(err)
	}
	values.Set("done", done)
	if text := u.String(); u.What != "" && len(text) <= maxUndo {
		values.Set("undo", text)
	}
	return q.Redirect(path + "?" + values.Encode())
}

// commonDone are notices that several screens have. All notices are in tables, so that a link
// cannot put words into the console's mouth.
var commonDone = map[string]string{"saved": "Saved.", "unchanged": "Nothing was changed.", "undone": "It is as it was before."}

// Notice says on a page what was just done.
func (q *Request) Notice() {
	query := q.URL.Query()
	done := query.Get("done")
	q.Layout.Done = cmp.Or(commonDone[done], registered(q.c, func(s *Screen) map[string]string { return s.Done }, done))
	u, ok := q.readUndo(query.Get("undo"))
	if !ok || q.Layout.Done == "" || q.Method != http.MethodGet {
		return
	}
	query.Del("done")
	query.Del("undo")
	back := q.URL.Path
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	q.OfferUndo(u, back)
}

// OfferUndo gives the notice of the page a button that takes a change back, and leads to a
// path then.
func (q *Request) OfferUndo(u Undo, back string) {
	action := q.c.Prefix + "/me/undo"
	if q.Ref != "" {
		action = q.ProjectPath("/undo")
	}
	q.Layout.Undo = &UndoView{action, []forms.Hidden{{Name: "undo", Value: u.String()}, {Name: "back", Value: back}}}
}

// ErrUndo is the page for what nothing takes back any more.
var ErrUndo = Failed(http.StatusConflict, "This cannot be undone any more",
	"Nothing was changed. It has been changed again since, or it is undone already: its history says by whom.")

// undoChange takes a change back.
func undoChange(q *Request) error {
	u, ok := q.readUndo(q.PostForm.Get("undo"))
	back := q.c.within(q.PostForm.Get("back"))
	if !ok || back == "" || (q.Ref == "") != (u.What == "Name") {
		return ErrForm
	}
	to, again, err := q.undoerOf(u.What)(q, u)
	if errors.Is(err, management.ErrConflict) || errors.Is(err, management.ErrPrecondition) || errors.Is(err, management.ErrNotFound) {
		return ErrUndo
	}
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return Failed(http.StatusUnprocessableEntity, "This cannot be undone", "Nothing was changed. "+e.Text())
	}
	if err != nil {
		return err
	}
	return q.Done(cmp.Or(to, q.c.Prefix+back), "undone", again)
}

func (q *Request) undoerOf(what string) Undoer {
	return registered(q.c, func(s *Screen) map[string]Undoer { return s.Undo }, what)
}

// newestEntry returns the newest entry of the audit log about a thing.
func (q *Request) newestEntry(scope, item string) (*management.ActivityView, error) {
	list, err := q.c.Service.ListActivity(q.Context(), q.By, q.Ref, management.ActivityQuery{Scope: scope, ItemID: item, Page: 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, ErrUndo
	}
	return &list.Items[0], nil
}

// EntryUndo returns how the change is taken back that the user has just made of a thing. A
// change that cannot be found again cannot be taken back.
func (q *Request) EntryUndo(scope, item string) Undo {
	e, err := q.newestEntry(scope, item)
	if err != nil || e.User.Email == nil || *e.User.Email != q.By.User.Email {
		return Undo{}
	}
	return Undo{scope, item, e.ID.String()}
}

// UndoEntry returns the undoer of changes that the audit log has in full: back gives the
// thing of an entry the values that its fields had before, of those that can be set. It says
// which thing has changed by that, "" if that cannot be taken back itself.
func UndoEntry(settable []string, back func(q *Request, e *management.ActivityView, before forms.Object) (to, item string,
	err error),
) Undoer {
	return func(q *Request, u Undo) (string, Undo, error) {
		e, err := q.newestEntry(u.What, u.Item)
		if err == nil && e.ID.String() != u.Mark {
			err = ErrUndo
		}
		if err != nil {
			return "", Undo{}, err
		}
		before := make(forms.Object)
		for _, c := range e.Detail.Changes {
			if slices.Contains(settable, c.Field) {
				before[c.Field] = json.RawMessage(cmp.Or(string(c.Before), "null"))
			}
		}
		if len(before) == 0 && e.Activity != "created" {
			return "", Undo{}, ErrUndo
		}
		to, item, err := back(q, e, before)
		if err != nil || item == "" {
			return to, Undo{}, err
		}
		return to, q.EntryUndo(u.What, item), nil
	}
}

// DecodePatch makes a patch of the API of an object.
func DecodePatch[P any](body forms.Object) (p P, err error) {
	err = json.Unmarshal(forms.Must(json.Marshal(body)), &p)
	return p, err
}
