package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var _ = register(screen{
	scope: encrypted, pages: map[string]page{
		"GET /signin":        signInPage,
		"POST /signin":       signIn,
		"GET /signin/code":   codePage,
		"POST /signin/code":  confirmCode,
		"GET /join/{token}":  joinPage,
		"POST /join/{token}": join,
	},
})

var _ = register(screen{
	scope: everybody, pages: map[string]page{
		"POST /signout":       signOut,
		"GET /forgot":         forgotPage,
		"POST /forgot":        forgot,
		"GET /reset/{token}":  resetPage,
		"POST /reset/{token}": resetPassword,
	},
})

// A signInView is the pages of people who are not signed in.
type signInView struct {
	layout
	Address, Next, Error string
	Kept                 []hidden // a form that waits until its user is signed in; none: there is none
	Password             bool     // the account has a password, and no other has to be chosen
	Mail                 bool     // there is mail
	Sent                 bool     // a message is on its way
}

func (q *request) signInView() *signInView {
	q.layout.Title = "Sign in"
	v := &signInView{Address: q.PostFormValue("email"), Next: q.next()}
	if form := q.keptForm(); form != nil {
		v.Kept = form.hidden()
	}
	return v
}

func (q *request) askToSignIn(status int, v *signInView) error { return q.render(status, "signin", v) }

// next returns where to go after signing in, as a path below the prefix, or "".
func (q *request) next() string {
	return q.c.within(q.c.Prefix + q.FormValue("next"))
}

func signInPage(q *request) error {
	if _, err := q.c.Service.AuthenticateSession(q.Context(), q.c.token(q.Request), q.c.client(q.Request)); err == nil {
		return q.redirect(q.c.Prefix + "/" + strings.TrimPrefix(q.next(), "/"))
	}
	v := q.signInView()
	if q.Form.Get("done") == "password" {
		q.layout.Done = "The password is changed. Sign in with it."
	}
	return q.askToSignIn(http.StatusOK, v)
}

func signIn(q *request) error {
	o, err := q.c.Service.OpenSession(q.Context(), q.PostFormValue("email"), q.PostFormValue("password"), q.c.client(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		q.sayWhen(e)
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
func (q *request) enter(o *management.OpenedSession) error {
	q.c.setToken(q.w, q.Request, o.Token)
	if o.Device != "" {
		q.c.setCookie(q.w, q.Request, deviceSuffix, o.Device)
	}
	if form := q.keptForm(); form != nil {
		if o.Principal == nil {
			return q.askCode(http.StatusOK, "")
		}
		q.by = o.Principal
		return q.goOn(form)
	}
	if o.Principal == nil {
		to := q.c.Prefix + "/signin/code"
		if next := q.next(); next != "" {
			to += "?next=" + url.QueryEscape(next)
		}
		return q.redirect(to)
	}
	return q.redirect(q.c.Prefix + "/" + strings.TrimPrefix(q.next(), "/"))
}

func statusOf(e *management.Error, otherwise int) int {
	if errors.Is(e, management.ErrThrottled) {
		return http.StatusTooManyRequests
	}
	return otherwise
}

func codePage(q *request) error {
	if q.c.token(q.Request) == "" {
		return q.redirect(q.c.Prefix + "/signin")
	}
	return q.askCode(http.StatusOK, "")
}

func (q *request) askCode(status int, refusal string) error {
	v := q.signInView()
	q.layout.Title, v.Error = "Enter a code", refusal
	return q.render(status, "code", v)
}

func confirmCode(q *request) error {
	o, err := q.c.Service.ConfirmSession(q.Context(), q.c.token(q.Request), q.PostFormValue("code"), q.c.client(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		if e.Code != "invalid_code" && !errors.Is(e, management.ErrThrottled) {
			return q.redirect(q.c.Prefix + "/signin")
		}
		q.sayWhen(e)
		return q.askCode(statusOf(e, http.StatusUnauthorized), e.Text())
	}
	if err != nil {
		return err
	}
	return q.enter(o)
}

func signOut(q *request) error {
	if err := q.c.Service.CloseSession(q.Context(), q.c.token(q.Request)); err != nil {
		return err
	}
	q.c.setToken(q.w, q.Request, "")
	if next := q.next(); next != "" {
		return q.redirect(q.c.Prefix + next)
	}
	return q.redirect(q.c.Prefix + "/signin")
}

// joinPage shows what a link is good for: to sign in, or to become a member. Only the button uses it up, so that programs that
// look at links in messages do not.
func joinPage(q *request) error {
	return q.showJoin(http.StatusOK, "")
}

func (q *request) showJoin(status int, refusal string) error {
	offer, err := q.c.Service.OpenLink(q.Context(), storage.LinkSignIn, q.PathValue("token"))
	if isToken(err) {
		return q.showInvitation(status, nil)
	}
	if err != nil {
		return err
	}
	q.layout.Title = "Welcome"
	return q.render(status, "join", &signInView{Address: offer.Email, Password: offer.HasPassword, Error: refusal})
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

func join(q *request) error {
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

func forgotPage(q *request) error { return q.showForgot(http.StatusOK, false, "") }

func (q *request) showForgot(status int, sent bool, refusal string) error {
	q.layout.Title = "Forgotten password"
	return q.render(status, "forgot", &signInView{
		Address: q.PostFormValue("email"), Mail: q.c.Service.MailAvailable(), Sent: sent, Error: refusal,
	})
}

// forgot asks for a link by mail. The page says the same whether or not there is such an
// account.
func forgot(q *request) error {
	err := q.c.Service.RequestPasswordReset(q.Context(), management.PasswordResetRequest{Email: optional.Of(q.PostFormValue("email"))})
	if e, ok := errors.AsType[*management.Error](err); ok {
		q.sayWhen(e)
		return q.showForgot(statusOf(e, http.StatusUnprocessableEntity), false, e.Text())
	}
	if err != nil {
		return err
	}
	return q.showForgot(http.StatusOK, true, "")
}

func resetPage(q *request) error { return q.showReset(http.StatusOK, "") }

func (q *request) showReset(status int, refusal string) error {
	offer, err := q.c.Service.OpenLink(q.Context(), storage.LinkPasswordReset, q.PathValue("token"))
	if err != nil {
		return linkError(err)
	}
	q.layout.Title = "Choose another password"
	return q.render(status, "reset", &signInView{Address: offer.Email, Error: refusal})
}

// resetPassword gives an account another password, which ends all its sessions.
func resetPassword(q *request) error {
	err := q.c.Service.ResetPassword(q.Context(), q.PathValue("token"), management.ChosenPassword{
		Password: optional.Of(q.PostForm.Get("password")),
	})
	if e, ok := errors.AsType[*management.Error](err); ok && e.Attr == "password" {
		return q.showReset(http.StatusUnprocessableEntity, e.Text())
	}
	if err != nil {
		return linkError(err)
	}
	return q.redirect(q.c.Prefix + "/signin?done=password")
}
