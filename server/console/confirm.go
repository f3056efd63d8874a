package console

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// A confirmView is the page that asks before something is done.
type confirmView struct {
	layout
	Text    []string
	Effect  *effectView // who changes; nil: nobody, or that is not the question
	Action  string      // where the form is sent; "": to the path of the request
	Do      string      // what the button says in the field do; "" for nothing
	Files   bool        // it is sent as forms with files are
	Edit    bool        // the form can be edited further, in place of Cancel
	Button  string
	Danger  bool
	Cancel  string
	Hidden  []hidden
	Word    string // has to be typed; "" for nothing
	Code    bool   // a code of the second factor has to be typed
	Refusal string // of what was typed
	Typed   string
}

// cannotBeUndone is the last sentence of questions about what nothing takes back.
const cannotBeUndone = "This cannot be undone."

// confirm asks. The form is posted to the path of the request.
func (q *request) confirm(status int, title string, v *confirmView) error {
	q.layout.Title = title
	return q.render(status, "confirm", v)
}

// A shownView is the page that shows a secret or a link, once.
type shownView struct {
	layout
	Text, Label, Value string
	Codes              []string
	Download           template.URL // the codes as a file; "" for none
	Back, BackName     string
}

// showOnce shows a secret. It is the answer to a POST, because nothing keeps the secret for
// another page.
func (q *request) showOnce(title string, v *shownView) error {
	q.layout.Title = title
	if len(v.Codes) > 0 {
		file := q.origin() + "\n" + q.by.User.Email + "\n\n" + strings.Join(v.Codes, "\n") + "\n"
		v.Download = template.URL("data:text/plain;charset=utf-8," + url.PathEscape(file))
	}
	return q.render(http.StatusOK, "shown", v)
}
