package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	scope: ofAccount, pages: map[string]page{"POST /me/undo": undoChange},
})

var _ = register(screen{
	scope: inProject, pages: map[string]page{"POST /projects/{project}/undo": undoChange},
})

// An undo says how a change is taken back (management.md §5.11). The notice after the change
// has it in its address, so that it works after a restart and on every server. It names what
// was changed, and what shows that nobody has changed it since: it takes back nothing else.
type undo struct {
	What string // whose undoer a screen has registered; "": the change cannot be taken back
	Item string // the ID of the thing
	Mark string // the version, the entry of the audit log, or the values
}

func (u undo) String() string {
	return url.Values{"what": {u.What}, "item": {u.Item}, "mark": {u.Mark}}.Encode()
}

func readUndo(s string) (u undo, ok bool) {
	v, err := url.ParseQuery(s)
	u = undo{v.Get("what"), v.Get("item"), v.Get("mark")}
	return u, err == nil && undoerOf(u.What) != nil
}

// maxUndo is how long an undo may be in an address, in bytes. A longer one is left out.
const maxUndo = 2000

// An undoView is the button of a notice.
type undoView struct {
	Action string
	Hidden []hidden
}

// done leads to a page that says what was done, with a button that takes it back.
func (q *request) done(to, done string, u undo) error {
	path, query, _ := strings.Cut(to, "?")
	values, err := url.ParseQuery(query)
	if err != nil { // the console has made it
		panic(err)
	}
	values.Set("done", done)
	if text := u.String(); u.What != "" && len(text) <= maxUndo {
		values.Set("undo", text)
	}
	return q.redirect(path + "?" + values.Encode())
}

// commonDone are notices that several screens have. All notices are in tables, so that a link
// cannot put words into the console's mouth.
var commonDone = map[string]string{"saved": "Saved.", "unchanged": "Nothing was changed.", "undone": "It is as it was before."}

// notice says on a page what was just done.
func (q *request) notice() {
	query := q.URL.Query()
	done := query.Get("done")
	q.layout.Done = cmp.Or(commonDone[done], registered(func(s *screen) map[string]string { return s.done }, done))
	u, ok := readUndo(query.Get("undo"))
	if !ok || q.layout.Done == "" || q.Method != http.MethodGet {
		return
	}
	query.Del("done")
	query.Del("undo")
	back := q.URL.Path
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	q.offerUndo(u, back)
}

// offerUndo gives the notice of the page a button that takes a change back, and leads to a
// path then.
func (q *request) offerUndo(u undo, back string) {
	action := q.c.Prefix + "/me/undo"
	if q.ref != "" {
		action = q.projectPath("/undo")
	}
	q.layout.Undo = &undoView{action, []hidden{{"undo", u.String()}, {"back", back}}}
}

var errUndo = failed(http.StatusConflict, "This cannot be undone any more",
	"Nothing was changed. It has been changed again since, or it is undone already: its history says by whom.")

// undoChange takes a change back.
func undoChange(q *request) error {
	u, ok := readUndo(q.PostForm.Get("undo"))
	back := q.c.within(q.PostForm.Get("back"))
	if !ok || back == "" || (q.ref == "") != (u.What == "Name") {
		return errForm
	}
	to, again, err := undoerOf(u.What)(q, u)
	if errors.Is(err, management.ErrConflict) || errors.Is(err, management.ErrPrecondition) || errors.Is(err, management.ErrNotFound) {
		return errUndo
	}
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return failed(http.StatusUnprocessableEntity, "This cannot be undone", "Nothing was changed. "+e.Text())
	}
	if err != nil {
		return err
	}
	return q.done(cmp.Or(to, q.c.Prefix+back), "undone", again)
}

// An undoer takes a change back. It returns where to go if the page of the thing is gone, and
// how what it has done is taken back itself.
type undoer func(*request, undo) (to string, again undo, err error)

func undoerOf(what string) undoer {
	return registered(func(s *screen) map[string]undoer { return s.undo }, what)
}

// newestEntry returns the newest entry of the audit log about a thing.
func (q *request) newestEntry(scope, item string) (*management.ActivityView, error) {
	list, err := q.c.Service.ListActivity(q.Context(), q.by, q.ref, management.ActivityQuery{Scope: scope, ItemID: item, Page: 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errUndo
	}
	return &list.Items[0], nil
}

// entryUndo returns how the change is taken back that the user has just made of a thing. A
// change that cannot be found again cannot be taken back.
func (q *request) entryUndo(scope, item string) undo {
	e, err := q.newestEntry(scope, item)
	if err != nil || e.User.Email == nil || *e.User.Email != q.by.User.Email {
		return undo{}
	}
	return undo{scope, item, e.ID.String()}
}

// undoEntry returns the undoer of changes that the audit log has in full: back gives the
// thing of an entry the values that its fields had before, of those that can be set. It says
// which thing has changed by that, "" if that cannot be taken back itself.
func undoEntry(settable []string, back func(q *request, e *management.ActivityView, before object) (to, item string, err error)) undoer {
	return func(q *request, u undo) (string, undo, error) {
		e, err := q.newestEntry(u.What, u.Item)
		if err == nil && e.ID.String() != u.Mark {
			err = errUndo
		}
		if err != nil {
			return "", undo{}, err
		}
		before := make(object)
		for _, c := range e.Detail.Changes {
			if slices.Contains(settable, c.Field) {
				before[c.Field] = json.RawMessage(cmp.Or(string(c.Before), "null"))
			}
		}
		if len(before) == 0 && e.Activity != "created" {
			return "", undo{}, errUndo
		}
		to, item, err := back(q, e, before)
		if err != nil || item == "" {
			return to, undo{}, err
		}
		return to, q.entryUndo(u.What, item), nil
	}
}

// decodePatch makes a patch of the API of an object.
func decodePatch[P any](body object) (p P, err error) {
	err = json.Unmarshal(must(json.Marshal(body)), &p)
	return p, err
}
