package shell

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A ConfirmView is the page that asks before something is done.
type ConfirmView struct {
	Layout
	Text    []string
	Effect  *Effect // who changes; nil: nobody, or that is not the question
	Action  string  // where the form is sent; "": to the path of the request
	Do      string  // what the button says in the field do; "" for nothing
	Files   bool    // it is sent as forms with files are
	Edit    bool    // the form can be edited further, in place of Cancel
	Button  string
	Danger  bool
	Cancel  string
	Hidden  []forms.Hidden
	Word    string // has to be typed; "" for nothing
	Code    bool   // a code of the second factor has to be typed
	Refusal string // of what was typed
	Typed   string
}

// CannotBeUndone is the last sentence of questions about what nothing takes back.
const CannotBeUndone = "This cannot be undone."

// Confirm asks. The form is posted to the path of the request.
func (q *Request) Confirm(status int, title string, v *ConfirmView) error {
	q.Layout.Title = title
	return q.Render(status, "confirm", v)
}

// A ShownView is the page that shows a secret or a link, once.
type ShownView struct {
	Layout
	Text, Label, Value string
	Codes              []string
	Download           template.URL // the codes as a file; "" for none
	Back, BackName     string
}

// ShowOnce shows a secret. It is the answer to a POST, because nothing keeps the secret for
// another page.
func (q *Request) ShowOnce(title string, v *ShownView) error {
	q.Layout.Title = title
	if len(v.Codes) > 0 {
		file := q.Origin() + "\n" + q.By.User.Email + "\n\n" + strings.Join(v.Codes, "\n") + "\n"
		v.Download = template.URL("data:text/plain;charset=utf-8," + url.PathEscape(file))
	}
	return q.Render(http.StatusOK, "shown", v)
}
