package shell

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var signInScreen = Screen{
	Scope: encrypted, Pages: map[string]Page{
		"GET /signin":        signInPage,
		"POST /signin":       signIn,
		"GET /signin/code":   codePage,
		"POST /signin/code":  confirmCode,
		"GET /join/{token}":  joinPage,
		"POST /join/{token}": join,
	},
}

var signOutScreen = Screen{
	Scope: everybody, Pages: map[string]Page{
		"POST /signout":       signOut,
		"GET /forgot":         forgotPage,
		"POST /forgot":        forgot,
		"GET /reset/{token}":  resetPage,
		"POST /reset/{token}": resetPassword,
	},
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

func signInPage(q *Request) error {
	if _, err := q.c.Service.AuthenticateSession(q.Context(), q.c.token(q.Request), q.c.client(q.Request)); err == nil {
		return q.Redirect(q.c.Prefix + "/" + strings.TrimPrefix(q.next(), "/"))
	}
	v := q.signInView()
	if q.Form.Get("done") == "password" {
		q.Layout.Done = "The password is changed. Sign in with it."
	}
	return q.askToSignIn(http.StatusOK, v)
}

func signIn(q *Request) error {
	o, err := q.c.Service.OpenSession(q.Context(), q.PostFormValue("email"), q.PostFormValue("password"), q.c.client(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		q.SayWhen(e)
		v := q.signInView()
		v.Error = e.Text()
		return q.askToSignIn(statusOf(e, http.StatusUnauthorized), v)
	}
	if err != nil {
		return err
	}
	return q.enter(o)
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

func codePage(q *Request) error {
	if q.c.token(q.Request) == "" {
		return q.Redirect(q.c.Prefix + "/signin")
	}
	return q.askCode(http.StatusOK, "")
}

func (q *Request) askCode(status int, refusal string) error {
	v := q.signInView()
	q.Layout.Title, v.Error = "Enter a code", refusal
	return q.Render(status, "code", v)
}

func confirmCode(q *Request) error {
	o, err := q.c.Service.ConfirmSession(q.Context(), q.c.token(q.Request), q.PostFormValue("code"), q.c.client(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		if e.Code != "invalid_code" && !errors.Is(e, management.ErrThrottled) {
			return q.Redirect(q.c.Prefix + "/signin")
		}
		q.SayWhen(e)
		return q.askCode(statusOf(e, http.StatusUnauthorized), e.Text())
	}
	if err != nil {
		return err
	}
	return q.enter(o)
}

func signOut(q *Request) error {
	if err := q.c.Service.CloseSession(q.Context(), q.c.token(q.Request)); err != nil {
		return err
	}
	q.c.setToken(q.W, q.Request, "")
	if next := q.next(); next != "" {
		return q.Redirect(q.c.Prefix + next)
	}
	return q.Redirect(q.c.Prefix + "/signin")
}

// joinPage shows what a link is good for: to sign in, or to become a member. Only the button uses it up, so that programs that
// look at links in messages do not.
func joinPage(q *Request) error {
	return q.showJoin(http.StatusOK, "")
}

func (q *Request) showJoin(status int, refusal string) error {
	offer, err := q.c.Service.OpenLink(q.Context(), storage.LinkSignIn, q.PathValue("token"))
	if isToken(err) {
		return q.showInvitation(status, nil)
	}
	if err != nil {
		return err
	}
	q.Layout.Title = "Welcome"
	return q.Render(status, "join", &signInView{Address: offer.Email, Password: offer.HasPassword, Error: refusal})
}

// isToken reports whether the token of a link is good for nothing, or for something else.
func isToken(err error) bool {
	e, ok := errors.AsType[*management.Error](err)
	return ok && e.Attr == "token"
}

// linkError is the page for a link that is not good for anything any more.
func linkError(err error) error {
	if isToken(err) {
		return errLink
	}
	return err
}

func join(q *Request) error {
	var chosen *management.ChosenPassword
	if q.PostForm.Get("password") != "" {
		chosen = &management.ChosenPassword{Password: optional.Of(q.PostForm.Get("password"))}
	}
	o, err := q.c.Service.UseSignInLink(q.Context(), q.PathValue("token"), chosen, q.c.client(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok && e.Attr == "password" {
		return q.showJoin(http.StatusUnprocessableEntity, e.Text())
	}
	if isToken(err) {
		return q.acceptInvitation()
	}
	if err != nil {
		return err
	}
	return q.enter(o)
}

func forgotPage(q *Request) error { return q.showForgot(http.StatusOK, false, "") }

func (q *Request) showForgot(status int, sent bool, refusal string) error {
	q.Layout.Title = "Forgotten password"
	return q.Render(status, "forgot", &signInView{
		Address: q.PostFormValue("email"), Mail: q.c.Service.MailAvailable(), Sent: sent, Error: refusal,
	})
}

// forgot asks for a link by mail. The page says the same whether or not there is such an
// account.
func forgot(q *Request) error {
	err := q.c.Service.RequestPasswordReset(q.Context(), management.PasswordResetRequest{Email: optional.Of(q.PostFormValue("email"))})
	if e, ok := errors.AsType[*management.Error](err); ok {
		q.SayWhen(e)
		return q.showForgot(statusOf(e, http.StatusUnprocessableEntity), false, e.Text())
	}
	if err != nil {
		return err
	}
	return q.showForgot(http.StatusOK, true, "")
}

func resetPage(q *Request) error { return q.showReset(http.StatusOK, "") }

func (q *Request) showReset(status int, refusal string) error {
	offer, err := q.c.Service.OpenLink(q.Context(), storage.LinkPasswordReset, q.PathValue("token"))
	if err != nil {
		return linkError(err)
	}
	q.Layout.Title = "Choose another password"
	return q.Render(status, "reset", &signInView{Address: offer.Email, Error: refusal})
}

// resetPassword gives an account another password, which ends all its sessions.
func resetPassword(q *Request) error {
	err := q.c.Service.ResetPassword(q.Context(), q.PathValue("token"), management.ChosenPassword{
		Password: optional.Of(q.PostForm.Get("password")),
	})
	if e, ok := errors.AsType[*management.Error](err); ok && e.Attr == "password" {
		return q.showReset(http.StatusUnprocessableEntity, e.Text())
	}
	if err != nil {
		return linkError(err)
	}
	return q.Redirect(q.c.Prefix + "/signin?done=password")
}
