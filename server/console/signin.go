package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flagstaff-go/flagstaff/management"
)

type signInView struct {
	layout
	Address string
	Next    string
	Error   string
	Mail    bool // there is mail
}

func (q *request) signInView() *signInView {
	q.layout.Title = "Sign in"
	return &signInView{layout: q.layout, Address: q.PostFormValue("email"), Next: q.next(), Mail: q.c.Service.MailAvailable()}
}

// next returns where to go after signing in, as a path below the prefix, or "".
func (q *request) next() string {
	return q.c.within(q.c.Prefix + q.FormValue("next"))
}

func signInPage(q *request) error {
	if !q.c.cookieAllowed(q.Request) {
		return errInsecure
	}
	if _, err := q.c.sessions.authenticate(q.Context(), q.c.token(q.Request), q.c.browserOf(q.Request)); err == nil {
		return q.redirect(q.c.Prefix + "/" + trimSlash(q.next()))
	}
	q.render(http.StatusOK, "signin", q.signInView())
	return nil
}

func trimSlash(path string) string {
	if path == "" {
		return ""
	}
	return path[1:]
}

func signIn(q *request) error {
	if !q.c.cookieAllowed(q.Request) {
		return errInsecure
	}
	o, err := q.c.sessions.open(q.Context(), q.PostFormValue("email"), q.PostFormValue("password"), q.c.browserOf(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		v := q.signInView()
		v.Error = e.Detail
		q.render(statusOf(e, http.StatusUnauthorized), "signin", v)
		return nil
	}
	if err != nil {
		return err
	}
	q.c.setToken(q.w, q.Request, o.token)
	if o.principal == nil {
		to := q.c.Prefix + "/signin/code"
		if next := q.next(); next != "" {
			to += "?next=" + url.QueryEscape(next)
		}
		return q.redirect(to)
	}
	return q.redirect(q.c.Prefix + "/" + trimSlash(q.next()))
}

func statusOf(e *management.Error, otherwise int) int {
	if errors.Is(e, management.ErrThrottled) {
		return http.StatusTooManyRequests
	}
	return otherwise
}

func codePage(q *request) error {
	if !q.c.cookieAllowed(q.Request) {
		return errInsecure
	}
	if q.c.token(q.Request) == "" {
		return q.redirect(q.c.Prefix + "/signin")
	}
	v := q.signInView()
	v.Title = "Enter a code"
	q.render(http.StatusOK, "code", v)
	return nil
}

func confirmCode(q *request) error {
	if !q.c.cookieAllowed(q.Request) {
		return errInsecure
	}
	o, err := q.c.sessions.confirm(q.Context(), q.c.token(q.Request), q.PostFormValue("code"), q.c.browserOf(q.Request))
	if e, ok := errors.AsType[*management.Error](err); ok {
		if e.Code != "invalid_code" && !errors.Is(e, management.ErrThrottled) {
			return q.redirect(q.c.Prefix + "/signin")
		}
		v := q.signInView()
		v.Title, v.Error = "Enter a code", e.Detail
		q.render(statusOf(e, http.StatusUnauthorized), "code", v)
		return nil
	}
	if err != nil {
		return err
	}
	q.c.setToken(q.w, q.Request, o.token)
	return q.redirect(q.c.Prefix + "/" + trimSlash(q.next()))
}

func signOut(q *request) error {
	if err := q.c.sessions.end(q.Context(), q.c.token(q.Request)); err != nil {
		return err
	}
	q.c.setToken(q.w, q.Request, "")
	return q.redirect(q.c.Prefix + "/signin")
}
