package server_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
)

func TestAPIAuthentication(t *testing.T) {
	closed := newAPI(t, apiSetup{})
	open := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.AllowKeyInBody = true }})
	const (
		me      = "/api/users/@me/"
		inQuery = me + "?personal_api_key=" + bobKey
		inBody  = `{"personal_api_key":"` + bobKey + `"}`
	)
	for _, tt := range []struct {
		name   string
		header string
		target string
		body   string
		closed string // code, or the user, unless keys may be in bodies
		open   string // and if they may
	}{
		{"nothing", "", me, "", "not_authenticated", "not_authenticated"},
		{"header", "Bearer " + adaKey, me, "", "ada", "ada"},
		{"scheme in another case", "bEARER " + adaKey, me, "", "ada", "ada"},
		{"several blanks", "Bearer   " + adaKey + " ", me, "", "ada", "ada"},
		{"no key", "Bearer ", me, "", "not_authenticated", "not_authenticated"},
		{"no blank", "Bearer" + adaKey, me, "", "not_authenticated", "not_authenticated"},
		{"another scheme", "Basic " + adaKey, me, "", "not_authenticated", "not_authenticated"},
		{"no scheme", adaKey, me, "", "not_authenticated", "not_authenticated"},
		{"unknown key", "Bearer phx_unknown", me, "", "authentication_failed", "authentication_failed"},
		{"project key", "Bearer phc_acme", me, "", "authentication_failed", "authentication_failed"},
		{"secret key", "Bearer phs_phc_acme", me, "", "authentication_failed", "authentication_failed"},
		{"two keys", "Bearer " + adaKey + " " + adaKey, me, "", "authentication_failed", "authentication_failed"},
		{"query", "", inQuery, "", "not_authenticated", "bob"},
		{"last in query", "", me + "?personal_api_key=x&personal_api_key=" + bobKey, "", "not_authenticated", "bob"},
		{"body", "", me, inBody, "not_authenticated", "bob"},
		{"body that is not declared", "", me, " " + inBody, "not_authenticated", "bob"},
		{"header before body and query", "Bearer " + adaKey, inQuery, inBody, "ada", "ada"},
		{"wrong header before body", "Bearer phx_wrong", me, inBody, "authentication_failed", "authentication_failed"},
		{"body before query", "", me + "?personal_api_key=" + adaKey, inBody, "not_authenticated", "bob"},
		{"another scheme and query", "Basic x", inQuery, "", "not_authenticated", "bob"},
		{"body without key and query", "", inQuery, "{}", "not_authenticated", "bob"},
		{"key in body is not a string", "", inQuery, `{"personal_api_key":{"x":1}}`, "not_authenticated", "bob"},
		{"body that is not an object", "", inQuery, `[]`, "not_authenticated", "invalid_input"},
		{"body that is not JSON", "", me, `{"personal_api_key":"` + bobKey + `"`, "not_authenticated", "parse_error"},
		{"wrong in body", "", me, `{"personal_api_key":"phx_wrong"}`, "not_authenticated", "authentication_failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for a, want := range map[*apiServer]string{closed: tt.closed, open: tt.open} {
				a.t = t
				method := "GET"
				if tt.body != "" {
					method = "PATCH"
				}
				c := api(method, tt.target, tt.body, "Authorization", tt.header)
				switch {
				case want == "ada" || want == "bob":
					if got := a.ok(c)["email"]; got != want+"@acme.example" {
						t.Errorf("it is %s, want %s", got, want)
					}
				case want == "parse_error", want == "invalid_input":
					a.fails(c, 400, want)
				default:
					if _, h := a.fails(c, 401, want); h.Get("WWW-Authenticate") != "Bearer" {
						t.Errorf("WWW-Authenticate %q", h.Get("WWW-Authenticate"))
					}
				}
			}
		})
	}
}

// TestAPIKeyInDocument: a body that is stored as it is must not hold a key.
func TestAPIKeyInDocument(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.AllowKeyInBody = true }})
	const target = "/api/users/@me/hedgehog_config"
	a.fails(api("PATCH", target, `{"personal_api_key":"`+adaKey+`"}`, "Authorization", ""), 401, "not_authenticated")
	a.ok(api("PATCH", target+"?personal_api_key="+adaKey, `{"a":1}`, "Authorization", ""))
}

// TestAPIOpenRoutes: clients without a key may use them, and a wrong key counts as
// none.
func TestAPIOpenRoutes(t *testing.T) {
	for _, key := range []string{"", "phx_wrong", adaKey} {
		a := newAPI(t, apiSetup{})
		c := api("POST", "/api/users/request_email_verification", `{"uuid":"`+ada+`"}`, "Authorization", "Bearer "+key)
		if got := a.ok(c); got["success"] != true {
			t.Errorf("with key %q: %v", key, got)
		}
		a.fails(api("POST", "/api/users/verify_email", `{"uuid":"`+ada+`","token":"x"}`, "Authorization", "Bearer "+key), 400, "invalid_token")
	}
	failing := newAPI(t, apiSetup{management: func(c *management.Config) { c.Store = brokenStore{c.Store.(sqlstore.Storage), errors.New("down")} }})
	failing.fails(api("POST", "/api/users/verify_email", "{}"), 500, "error")
}

func TestAPIHostAuthentication(t *testing.T) {
	var answer *management.Principal
	var failure error
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Management.AuthFunc = func(r *http.Request) (*management.Principal, error) {
			if r.Header.Get("Cookie") == "" {
				return nil, nil
			}
			return answer, failure
		}
		c.Management.Origins = []string{"https://app.example"}
		c.Management.Limit.PerMinute = 3
	}})
	const me = "/api/users/@me"
	var err error
	if answer, err = a.service.PrincipalOf(t.Context(), uuid.MustParse(bob)); err != nil {
		t.Fatal(err)
	}
	cookie := func(method string, header ...string) call {
		return api(method, me, "", append([]string{"Cookie", "session=1", "Authorization", ""}, header...)...)
	}
	for range 5 { // it is not limited
		if got := a.ok(cookie("GET"))["email"]; got != "bob@acme.example" {
			t.Errorf("it is %s", got)
		}
	}
	a.ok(cookie("PATCH", "X-2FA-Token", "123456"))
	if answer.Proof != (management.Proof{}) {
		t.Error("the host's Principal has changed")
	}
	if got := a.ok(cookie("GET", "Authorization", "Bearer "+adaKey))["email"]; got != "bob@acme.example" {
		t.Errorf("a key goes before the host: it is %s", got)
	}
	if got := a.ok(api("GET", me, ""))["email"]; got != "ada@acme.example" {
		t.Errorf("it is %s", got)
	}
	a.fails(api("GET", me, "", "Authorization", ""), 401, "not_authenticated")

	// Browsers send cookies with requests that pages of other origins make.
	for _, tt := range []struct {
		method, origin, site string
		ok                   bool
	}{
		{"PATCH", "", "same-origin", true},
		{"PATCH", "http://example.com", "", true}, // as the Host
		{"PATCH", "https://app.example", "cross-site", true},
		{"GET", "https://evil.example", "cross-site", true}, // which the page cannot read
		{"PATCH", "https://evil.example", "cross-site", false},
		{"PATCH", "https://evil.example", "", false},
		{"DELETE", "", "cross-site", false},
		{"PATCH", "null", "cross-site", false},
	} {
		c := cookie(tt.method, "Origin", tt.origin, "Sec-Fetch-Site", tt.site)
		if tt.ok {
			a.ok(c)
		} else {
			a.fails(c, 403, "permission_denied")
		}
	}
	for range 2 {
		// Keys are nothing that a page of another origin could have.
		a.ok(api("PATCH", me, "{}", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"))
	}
	a.fails(api("GET", me, ""), 429, "throttled") // keys still are

	answer, failure = nil, errors.New("session store is down")
	a.fails(cookie("GET"), 500, "error")
	failure = context.DeadlineExceeded
	a.fails(cookie("GET"), 503, "service_unavailable")
	failure = &management.Error{Kind: management.ErrForbidden, Code: "two_factor_setup_required", Detail: "Set up two-factor authentication first."}
	a.fails(cookie("GET"), 403, "two_factor_setup_required")
}

// TestAPIOwnPages: with AuthSameOrigin, pages of other origins have keys alone, whatever they
// do.
func TestAPIOwnPages(t *testing.T) {
	var asked int
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		service := c.Management.Service
		c.Management.AuthFunc = func(r *http.Request) (*management.Principal, error) {
			asked++
			return service.PrincipalOf(r.Context(), uuid.MustParse(bob))
		}
		c.Management.AuthSameOrigin = true
		c.Management.Origins = []string{"https://app.example"}
	}})
	const me = "/api/users/@me"
	for _, tt := range []struct {
		origin, site string
		own          bool
	}{
		{"", "same-origin", true},
		{"", "none", true},
		{"", "", true},
		{"http://example.com", "", true},
		{"https://app.example", "cross-site", false},
		{"https://app.example", "", false},
		{"", "same-site", false},
		{"", "cross-site", false},
		{"null", "", false},
	} {
		for _, method := range []string{"GET", "PATCH"} {
			asked = 0
			stranger := api(method, me, "", "Authorization", "", "Origin", tt.origin, "Sec-Fetch-Site", tt.site)
			if tt.own {
				a.ok(stranger)
			} else {
				a.fails(stranger, 401, "not_authenticated")
				a.ok(api(method, me, "", "Origin", tt.origin, "Sec-Fetch-Site", tt.site)) // with a key
			}
			if (asked > 0) != tt.own {
				t.Errorf("%s from %q, %q: AuthFunc is asked %d times", method, tt.origin, tt.site, asked)
			}
		}
	}
	resp := api("GET", me, "", "Origin", "https://app.example").do(a)
	if resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers %v", resp.Header)
	}
}

// TestAPIProof: evidence that the request comes from the user reaches the Service.
func TestAPIProof(t *testing.T) {
	a := newAPI(t, apiSetup{management: func(c *management.Config) { c.Mutations = management.MutationsStepUp }})
	if _, err := a.service.CreateUser(t.Context(), management.NewUser{Email: "cy@acme.example", Password: "correct horse battery staple"}); err != nil {
		t.Fatal(err)
	}
	key, err := a.service.IssueKey(t.Context(), "cy@acme.example", "cy")
	if err != nil {
		t.Fatal(err)
	}
	const keys = "/api/personal_api_keys/"
	const again = `{"label":"x","scopes":["*"],"current_password":`
	a.fails(api("POST", keys, `{"label":"x","scopes":["*"]}`).with(*key.Value), 403, "sensitive_action_required_reauth")
	a.fails(api("POST", keys, again+`"wrong"}`).with(*key.Value), 403, "sensitive_action_required_reauth")
	a.fails(api("POST", keys, again+`["correct horse battery staple"]}`).with(*key.Value), 403, "sensitive_action_required_reauth")
	a.ok(api("POST", keys, again+`"correct horse battery staple"}`).with(*key.Value))
	a.ok(api("POST", keys, `{"label":"y","scopes":["*"],"current\u005fpassword":"wrong","current_password":"correct horse battery staple"}`).with(*key.Value))

	a.twoFactor()
	a.fails(api("POST", "/api/users/@me/two_factor_disable", ""), 403, "sensitive_action_required_reauth")
	a.fails(api("POST", "/api/users/@me/two_factor_disable", "", "X-2FA-Token", "000000"), 403, "sensitive_action_required_reauth")
	// To ask for a secret changes nothing yet.
	a.ok(api("GET", "/api/users/@me/two_factor_start_setup", ""))
}

// TestAPICORS: only pages of origins that are listed can read answers.
func TestAPICORS(t *testing.T) {
	const listed, foreign = "https://app.example", "https://evil.example"
	for _, tt := range []struct {
		name        string
		origins     []string
		cookies     bool
		origin      string
		allowed     bool
		credentials string
		vary        string
	}{
		{"none listed", nil, false, listed, false, "", ""},
		{"listed", []string{"https://b.example:8443", listed}, false, listed, true, "", "Origin"},
		{"listed, with a host that may have cookies", []string{listed}, true, listed, true, "true", "Origin"},
		{"another", []string{listed}, true, foreign, false, "", "Origin"},
		{"nearly the same", []string{listed}, false, listed + ".evil.example", false, "", "Origin"},
		{"another scheme", []string{listed}, false, "http://app.example", false, "", "Origin"},
		{"no origin", []string{listed}, false, "", false, "", "Origin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, apiSetup{server: func(c *server.Config) {
				c.Management.Origins = tt.origins
				if tt.cookies {
					c.Management.AuthFunc = func(*http.Request) (*management.Principal, error) { return nil, nil }
				}
			}})
			for _, c := range []call{
				api("GET", "/api/users/@me", "", "Origin", tt.origin),
				api("GET", "/api/users/@me", "", "Origin", tt.origin, "Authorization", ""),
				api("OPTIONS", "/api/users/@me", "", "Origin", tt.origin, "Access-Control-Request-Method", "PATCH"),
				api("GET", "/api/nowhere", "", "Origin", tt.origin),
			} {
				h := c.do(a).Header
				want := ""
				if tt.allowed {
					want = tt.origin
				}
				if h.Get("Access-Control-Allow-Origin") != want || h.Get("Access-Control-Allow-Credentials") != tt.credentials || h.Get("Vary") != tt.vary {
					t.Errorf("%s %s: %v", c.method, c.target, h)
				}
				if (h.Get("Access-Control-Allow-Methods") != "") != (tt.allowed && c.method == "OPTIONS") {
					t.Errorf("%s %s: %v", c.method, c.target, h)
				}
			}
		})
	}
}
