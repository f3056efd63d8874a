package server

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// pageRoutes are the pages to which links in mails lead, unless the host application has its
// own. A page asks for a click, because programs that look for viruses in mails follow links
// as well.
var pageRoutes = []route{
	{path: "/verify_email/{user}/{token}", every: func(s *Server, x *exchange) error { return s.page(x, verifyPage) }},
	{path: "/reset_password/{token}", every: func(s *Server, x *exchange) error { return s.page(x, resetPage) }},
}

// signupRoute is the page that accepts an invitation. Its link works without mail: the
// inviter may hand it over.
var signupRoute = route{path: "/signup/{token}", every: func(s *Server, x *exchange) error { return s.page(x, signupPage) }}

// A page is a form and what it does.
type page struct {
	title string
	form  func(*Request) (string, error)             // the body of the page that asks
	act   func(*Request, url.Values) (string, error) // returns the body of the page that answers
}

const (
	pageHead = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>%s</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}label{display:block;margin:1rem 0}input{display:block;width:100%%;box-sizing:border-box}button,input{font:inherit;padding:.5rem 1rem}</style>
<h1>%[1]s</h1>
`
	nameFields = `<label>First name <input name="first_name" autocomplete="given-name" value="%s"></label>
<label>Last name <input name="last_name" autocomplete="family-name"></label>
` + passwordField
	passwordField = `<label>Password <input type="password" name="password" autocomplete="new-password" required></label>
`
)

var verifyPage = page{
	title: "Verify your email address",
	form: func(*Request) (string, error) {
		return "<form method=\"post\"><button>Yes, this is my address</button></form>\n", nil
	},
	act: func(a *Request, _ url.Values) (string, error) {
		_, err := a.service().VerifyEmail(a.Context(), a.client(), management.EmailProof{
			UUID: optional.Of(a.Segment("user")), Token: optional.Of(a.Segment("token")),
		})
		return "<p>Thank you, the address is verified. You can close this page.</p>\n", err
	},
}

var signupPage = page{
	title: "Accept the invitation",
	form: func(a *Request) (string, error) {
		v, err := a.service().OpenInvitation(a.Context(), a.Segment("token"))
		if err != nil {
			return "", err
		}
		text := "<p>You are invited to the organization " + html.EscapeString(v.Organization) + ", as " + html.EscapeString(v.Email) + ".</p>\n<form method=\"post\">\n"
		if !v.HasAccount {
			text += fmt.Sprintf(nameFields, html.EscapeString(v.FirstName))
		}
		return text + "<button>Accept</button></form>\n", nil
	},
	act: func(a *Request, fields url.Values) (string, error) {
		var acceptance management.Acceptance
		for name, field := range map[string]*optional.Value[string]{
			"first_name": &acceptance.FirstName, "last_name": &acceptance.LastName, "password": &acceptance.Password,
		} {
			if fields.Has(name) {
				*field = optional.Of(fields.Get(name))
			}
		}
		_, err := a.service().AcceptInvitation(a.Context(), nil, a.Segment("token"), acceptance)
		return "<p>Thank you, you are a member now. You can close this page.</p>\n", err
	},
}

var resetPage = page{
	title: "Choose another password",
	form: func(a *Request) (string, error) {
		v, err := a.service().OpenLink(a.Context(), storage.LinkPasswordReset, a.Segment("token"))
		if err != nil {
			return "", err
		}
		return "<p>The account is " + html.EscapeString(v.Email) + ".</p>\n<form method=\"post\">\n" + passwordField + "<button>Use this password</button></form>\n", nil
	},
	act: func(a *Request, fields url.Values) (string, error) {
		var chosen management.ChosenPassword
		if fields.Has("password") {
			chosen.Password = optional.Of(fields.Get("password"))
		}
		err := a.service().ResetPassword(a.Context(), a.Segment("token"), chosen)
		return "<p>Thank you, the password is changed. You can close this page.</p>\n", err
	},
}

var (
	typeHTML   = []string{"text/html; charset=utf-8"}
	pagePolicy = []string{"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"}
	noReferrer = []string{"no-referrer"} // the address has a secret
)

// maxForm is how long a form of a page may be, in bytes.
const maxForm = 8 << 10

// page asks for the click, and acts on it (management.md §6.4, §8.5).
func (s *Server) page(x *exchange, p page) error {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Content-Security-Policy"] = pagePolicy
	h["Referrer-Policy"] = noReferrer
	a := &Request{s: s, x: x}
	answer := func(status int, text string) error {
		return x.respond(status, typeHTML, []byte(fmt.Sprintf(pageHead, p.title)+text))
	}
	limiter, client := a.strangers()
	if err := limiter.spend(client, x.start); err != nil {
		return err
	}
	var text string
	var err error
	var fields url.Values
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
		text, err = p.form(a)
	case http.MethodPost:
		x.body.maxBody = maxForm
		if err := x.body.read(); err != nil {
			return err
		}
		if fields, err = url.ParseQuery(string(x.body.raw)); err != nil {
			return answer(http.StatusBadRequest, "<p>The form cannot be read.</p>\n")
		}
		text, err = p.act(a, fields)
	default:
		h["Allow"] = []string{"GET, HEAD, POST"}
		return errMethod
	}
	e, refused := errors.AsType[*management.Error](err)
	switch {
	case err == nil:
		return answer(http.StatusOK, text)
	case !refused:
		return err
	}
	if e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(seconds(e.RetryAfter))}
	}
	text = "<p>" + html.EscapeString(e.Detail) + "</p>\n"
	if fields.Has(e.Attr) { // the reader can correct it
		if form, err := p.form(a); err == nil {
			text += form
		}
	}
	return answer(apiAnswerTo(e.Kind, true).status, text)
}
