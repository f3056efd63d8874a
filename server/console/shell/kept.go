package shell

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A keptForm is a form that was sent after its session had ended. It travels through the
// pages of signing in, and is sent once more then: nothing typed is lost, also without a
// script (management.md §5.11).
type keptForm struct {
	Layout
	To     string // the path with query that it was sent to
	Files  bool   // it is sent as forms with files are
	Fields []forms.Hidden
	Lost   string // what of it has to be typed or chosen again, in words
}

const (
	keptTo, keptFiles, keptFields, keptLost = "kept_to", "kept_files", "kept_fields", "kept_lost"

	maxKept = 1 << 20 // bytes of the fields, which are encoded twice on their way
)

// neverKept are fields that no page may have.
var neverKept = []string{"password", "current_password", "code"}

// keepPosted answers a form that was sent by nobody: with the page to sign in, which has
// what was typed.
func (q *Request) keepPosted() error {
	form := &keptForm{To: q.URL.RequestURI()}
	values := q.PostForm
	if strings.HasPrefix(q.Header.Get("Content-Type"), "multipart/form-data") {
		form.Files = true
		values, form.Lost = q.textParts()
	}
	encoded := make(url.Values)
	for name, list := range values {
		if slices.Contains(neverKept, name) {
			form.Lost = "what was typed as a secret"
			continue
		}
		encoded[name] = list
	}
	q.PostForm = url.Values{}
	q.Form = url.Values{keptTo: {form.To}, keptLost: {form.Lost}}
	if form.Files {
		q.Form.Set(keptFiles, "yes")
	}
	if text := encoded.Encode(); len(text) <= maxKept {
		q.Form.Set(keptFields, text)
	} else {
		q.Form = url.Values{}
	}
	v := q.signInView()
	v.Error = "You are signed out. What you have sent is kept: sign in, and go on."
	if len(v.Kept) == 0 {
		v.Error = "You are signed out, and nothing was saved. The form is too large to be kept: " +
			"sign in in another tab, go back here, and send it again."
	}
	return q.askToSignIn(http.StatusUnauthorized, v)
}

// textParts reads the fields of a form with files, but for its files.
func (q *Request) textParts() (values url.Values, lost string) {
	values = make(url.Values)
	r, err := q.MultipartReader()
	if err != nil {
		return values, ""
	}
	read := func(part *multipart.Part) error {
		if part.FileName() != "" {
			lost = "the file, which has to be chosen again"
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(part, maxKept+1))
		values.Add(part.FormName(), string(text))
		return err
	}
	for {
		part, err := r.NextPart()
		if err == nil {
			err = read(part)
		}
		if err != nil { // the end, or as far as it came
			return values, lost
		}
	}
}

// keptForm returns the form that waits, nil if there is none. Its path is one of the
// console.
func (q *Request) keptForm() *keptForm {
	to := q.Form.Get(keptTo)
	fields, err := url.ParseQuery(q.Form.Get(keptFields))
	if q.c.within(to) == "" || err != nil {
		return nil
	}
	return &keptForm{To: to, Files: q.Form.Get(keptFiles) != "", Fields: forms.FieldsOf(fields), Lost: q.Form.Get(keptLost)}
}

// hidden returns the form as the page to sign in has it.
func (f *keptForm) hidden() []forms.Hidden {
	values := make(url.Values)
	for _, field := range f.Fields {
		values.Add(field.Name, field.Value)
	}
	out := []forms.Hidden{{Name: keptTo, Value: f.To}, {Name: keptFields, Value: values.Encode()}, {Name: keptLost, Value: f.Lost}}
	if f.Files {
		out = append(out, forms.Hidden{Name: keptFiles, Value: "yes"})
	}
	return out
}

// goOn shows the button that sends the form once more.
func (q *Request) goOn(form *keptForm) error {
	q.Layout.User, q.Layout.Email = NameOf(q.By.User), q.By.User.Email
	return q.showBack(form)
}

// showBack says that somebody is signed in, with the form that waits.
func (q *Request) showBack(form *keptForm) error {
	q.Layout.Title = "You are signed in"
	return q.Render(http.StatusOK, "back", form)
}

// A signInView is the pages of people who are not signed in.
type signInView struct {
	Layout
	Address, Next, Error string
	Kept                 []forms.Hidden // a form that waits until its user is signed in; none: there is none
	Password             bool           // the account has a password, and no other has to be chosen
	Mail                 bool           // there is mail
	Sent                 bool           // a message is on its way
}

func (q *Request) signInView() *signInView {
	q.Layout.Title = "Sign in"
	v := &signInView{Address: q.PostFormValue("email"), Next: q.next()}
	if form := q.keptForm(); form != nil {
		v.Kept = form.hidden()
	}
	return v
}

func (q *Request) askToSignIn(status int, v *signInView) error { return q.Render(status, "signin", v) }

// next returns where to go after signing in, as a path below the prefix, or "".
func (q *Request) next() string {
	return q.c.within(q.c.Prefix + q.FormValue("next"))
}

// enter gives the browser its session, and leads on: to the second factor, or to where the
// user was going.
func (q *Request) enter(o *management.OpenedSession) error {
	q.c.setToken(q.W, q.Request, o.Token)
	if o.Device != "" {
		q.c.setCookie(q.W, q.Request, deviceSuffix, o.Device)
	}
	if form := q.keptForm(); form != nil {
		if o.Principal == nil {
			return q.askCode(http.StatusOK, "")
		}
		q.By = o.Principal
		return q.goOn(form)
	}
	if o.Principal == nil {
		to := q.c.Prefix + "/signin/code"
		if next := q.next(); next != "" {
			to += "?next=" + url.QueryEscape(next)
		}
		return q.Redirect(to)
	}
	return q.Redirect(q.c.Prefix + "/" + strings.TrimPrefix(q.next(), "/"))
}

func statusOf(e *management.Error, otherwise int) int {
	if errors.Is(e, management.ErrThrottled) {
		return http.StatusTooManyRequests
	}
	return otherwise
}

func (q *Request) askCode(status int, refusal string) error {
	v := q.signInView()
	q.Layout.Title, v.Error = "Enter a code", refusal
	return q.Render(status, "code", v)
}
