package shell

import (
	"errors"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var readyScreen = Screen{
	Scope: everybody, Pages: map[string]Page{"GET /ready": ready},
}

var backScreen = Screen{
	Scope: SignedIn, Pages: map[string]Page{"GET /back": backPage},
}

// ready tells a script whether a form that was sent now would find its user signed in.
func ready(q *Request) error {
	_, err := q.c.Service.AuthenticateSession(q.Context(), q.c.token(q.Request), q.c.client(q.Request))
	switch {
	case errors.Is(err, management.ErrUnauthenticated):
		q.W.WriteHeader(http.StatusUnauthorized)
	case err != nil:
		return err
	default:
		q.W.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// backPage is where somebody comes who has signed in beside a form.
func backPage(q *Request) error {
	return q.showBack(&keptForm{})
}

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

func codePage(q *Request) error {
	if q.c.token(q.Request) == "" {
		return q.Redirect(q.c.Prefix + "/signin")
	}
	return q.askCode(http.StatusOK, "")
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
	if q.c.OpenLinks && q.Method == http.MethodGet {
		return join(q)
	}
	q.Layout.Title = "Welcome"
	return q.Render(status, "join", &signInView{Address: offer.Email, Password: offer.HasPassword, Error: refusal})
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
