package server

import (
	"errors"
	"html"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// verifyRoutes is the page to which links in mails lead, unless the host
// application has one of its own. The page asks for a click, because programs that
// look for viruses in mails follow links as well.
var verifyRoutes = []route{{path: "/verify_email/{user}/{token}", every: (*Server).verifyPage}}

const (
	pageHead = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Verify your email address</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>Verify your email address</h1>
`
	askPage  = pageHead + "<form method=\"post\"><button>Yes, this is my address</button></form>\n"
	donePage = pageHead + "<p>Thank you, the address is verified. You can close this page.</p>\n"
)

func failedPage(reason string) string { return pageHead + "<p>" + html.EscapeString(reason) + "</p>\n" }

var (
	typeHTML   = []string{"text/html; charset=utf-8"}
	pagePolicy = []string{"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"}
	noReferrer = []string{"no-referrer"} // the address has a secret
)

// verifyPage asks for the click, and acts on it (management.md §6.4).
func (s *Server) verifyPage(x *exchange) error {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Content-Security-Policy"] = pagePolicy
	h["Referrer-Policy"] = noReferrer
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
		return x.respond(http.StatusOK, typeHTML, []byte(askPage))
	case http.MethodPost:
	default:
		h["Allow"] = []string{"GET, HEAD, POST"}
		return errMethod
	}
	a := &apiRequest{s: s, x: x}
	if err := s.apiLimiters.strangers.spend(a.client(), x.start); err != nil {
		return err
	}
	_, err := s.config.Management.Service.VerifyEmail(a.context(), a.client(), management.EmailProof{
		UUID: optional.Of(a.segment("user")), Token: optional.Of(a.segment("token")),
	})
	e, refused := errors.AsType[*management.Error](err)
	switch {
	case err == nil:
		return x.respond(http.StatusOK, typeHTML, []byte(donePage))
	case !refused:
		return err
	}
	if e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(seconds(e.RetryAfter))}
	}
	return x.respond(apiAnswerTo(e.Kind, true).status, typeHTML, []byte(failedPage(e.Detail)))
}
