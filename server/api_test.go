package server_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/server"
)

// apiEndpoints are all paths of the management API that an apiServer can answer
// for Ada, with their methods in the order of the header Allow.
var apiEndpoints = []struct {
	path, methods string
	open          bool
}{
	{path: "/api/users", methods: "GET"},
	{path: "/api/users/cancel_email_change_request", methods: "PATCH"},
	{path: "/api/users/request_email_verification", methods: "POST", open: true},
	{path: "/api/users/verify_email", methods: "POST", open: true},
	{path: "/api/users/@me", methods: "GET PATCH DELETE"},
	{path: "/api/users/" + ada, methods: "GET PATCH DELETE"},
	{path: "/api/users/@me/hedgehog_config", methods: "GET PATCH"},
	{path: "/api/users/@me/scene_personalisation", methods: "POST"},
	{path: "/api/users/@me/start_2fa_setup", methods: "GET"},
	{path: "/api/users/@me/two_factor_start_setup", methods: "GET"},
	{path: "/api/users/@me/validate_2fa", methods: "POST"},
	{path: "/api/users/@me/two_factor_validate", methods: "POST"},
	{path: "/api/users/@me/two_factor_status", methods: "GET"},
	{path: "/api/users/@me/two_factor_backup_codes", methods: "POST"},
	{path: "/api/users/@me/two_factor_disable", methods: "POST"},
	{path: "/api/personal_api_keys", methods: "GET POST"},
	{path: "/api/personal_api_keys/@current", methods: "GET PATCH DELETE"},
	{path: "/api/personal_api_keys/id-of-" + readerKey + "/roll", methods: "POST"},
	{path: "/api/organizations", methods: "GET POST"},
	{path: "/api/organizations/" + acme, methods: "GET PATCH DELETE"},
	{path: "/api/organizations/@current/members", methods: "GET POST"},
	{path: "/api/organizations/@current/members/" + bob, methods: "PATCH DELETE"},
	{path: "/api/organizations/@current/invites", methods: "GET POST"},
	{path: "/api/organizations/@current/invites/" + other, methods: "DELETE"},
	{path: "/api/organizations/@current/projects", methods: "GET POST"},
	{path: "/api/organizations/@current/projects/1", methods: "GET PATCH DELETE"},
	{path: "/api/organizations/" + acme + "/projects/@current/reset_token", methods: "POST PATCH"},
	{path: "/api/projects", methods: "GET POST"},
	{path: "/api/projects/1", methods: "GET PATCH DELETE"},
	{path: "/api/projects/1/reset_token", methods: "POST PATCH"},
	{path: "/api/projects/1/rotate_secret_token", methods: "POST PATCH"},
	{path: "/api/projects/1/delete_secret_token_backup", methods: "POST PATCH"},
	{path: "/api/environments/@current", methods: "GET PATCH DELETE"},
	{path: "/api/environments/1/rotate_secret_token", methods: "POST PATCH"},
}

var apiMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"}

// TestAPIRoutes: each path exists with and without a trailing slash, has its
// methods and no others, and is closed to strangers unless it is meant for them.
func TestAPIRoutes(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Management.Limit = server.ManagementLimit{PerMinute: -1, PerHour: -1, Strangers: -1}
	}})
	for _, tt := range apiEndpoints {
		allowed := strings.Fields(tt.methods)
		if allowed[0] == "GET" {
			allowed = append(allowed, "HEAD")
		}
		allow := strings.Join(append(allowed, "OPTIONS"), ", ")
		for _, path := range []string{tt.path, tt.path + "/"} {
			for _, method := range apiMethods {
				c := api(method, path, "", "Authorization", "")
				resp := c.do(a)
				want := 401
				switch {
				case method == "OPTIONS":
					want = 204
				case tt.open && method == "POST":
					want = 400 // there is no body
				case tt.open:
					want = 405
				}
				if resp.StatusCode != want {
					t.Errorf("%s %s of a stranger = %d, want %d", method, path, resp.StatusCode, want)
				}
				if want == 204 && (resp.Header.Get("Allow") != allow || bodyText(t, resp) != "") {
					t.Errorf("OPTIONS %s: Allow %q, want %q", path, resp.Header.Get("Allow"), allow)
				}
				if slices.Contains(allowed, method) || method == "OPTIONS" {
					continue // the golden files have those
				}
				e, h := a.fails(c.with(adaKey), 405, "method_not_allowed")
				if h.Get("Allow") != allow || e.Detail != `Method "`+method+`" not allowed.` {
					t.Errorf("%s %s: Allow %q, want %q; %s", method, path, h.Get("Allow"), allow, e.Detail)
				}
			}
		}
	}
}

// TestAPIReads: GET answers the same with and without a trailing slash, and HEAD
// as GET without a body.
func TestAPIReads(t *testing.T) {
	a := newAPI(t, apiSetup{})
	srv := httptest.NewServer(a)
	defer srv.Close()
	for _, tt := range apiEndpoints {
		if !strings.HasPrefix(tt.methods, "GET") || strings.Contains(tt.path, "setup") {
			continue
		}
		want := bodyText(t, api("GET", tt.path, "").do(a))
		resp := api("GET", tt.path+"/", "").do(a)
		if got := bodyText(t, resp); got != want || resp.StatusCode != 200 {
			t.Errorf("GET %s/ = %d %s, want %s", tt.path, resp.StatusCode, got, want)
		}
		r := api("HEAD", srv.URL+tt.path, "").request()
		r.RequestURI = ""
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := bodyText(t, resp)
		resp.Body.Close()
		if resp.StatusCode != 200 || body != "" || resp.ContentLength != int64(len(want)) {
			t.Errorf("HEAD %s = %d, %d bytes, %q", tt.path, resp.StatusCode, resp.ContentLength, body)
		}
	}
}

// TestAPIPaths: what is not a path of the API is an unknown endpoint, and nothing
// that a path can hold confuses the rest.
func TestAPIPaths(t *testing.T) {
	a := newAPI(t, apiSetup{})
	for _, path := range []string{
		"/api", "/api/", "/api/nowhere", "/api/users/@me/nowhere", "/api/users/@me/hedgehog_config/x", "/api/users//", "/api//users",
		"/api/./users", "/api/users/.", "/api/users/..", "/api/users/%2e%2e/", "/api/users/@me%2F/", "/api/Users", "/api/projects/1/x",
		"/api/environments", "/api/organizations/@current/nowhere", "/api/flags", "/api/%00",
	} {
		for _, method := range []string{"GET", "PATCH", "OPTIONS"} {
			e, h := a.fails(api(method, path, "", "Authorization", ""), 404, "not_found")
			if e.Detail != "Endpoint not found." || h.Get("X-Request-Id") != requestID || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s: %s %v", method, path, e.Detail, h)
			}
		}
	}
	for _, tt := range []struct {
		path   string
		key    string
		status int
		code   string
	}{
		{"/api/users/a%2Fb", adaKey, 403, "permission_denied"},
		{"/api/users/a%2Fb", stellaKey, 404, "not_found"},
		{"/api/users/%ff%00", stellaKey, 404, "not_found"},
		{"/api/users/@me%2Fhedgehog_config", adaKey, 403, "permission_denied"},
		{"/api/users/%E2%9C%93/two_factor_status", stellaKey, 404, "not_found"},
		{"/api/users/verify%5Femail", adaKey, 405, "method_not_allowed"}, // it is verify_email
		{"/api/personal_api_keys/a%2Fb%00", adaKey, 404, "not_found"},
		{"/api/organizations/%40other", adaKey, 404, "not_found"},
		{"/api/projects/1%2F", adaKey, 404, "not_found"},
		{"/api/projects/01", adaKey, 404, "not_found"},
		{"/api/projects/99999999999999999999", adaKey, 404, "not_found"},
	} {
		a.fails(api("GET", tt.path, "").with(tt.key), tt.status, tt.code)
	}
	a.ok(api("GET", "/api/users/%40me", ""))

	// Without a Service there is nothing below /api.
	resp := api("GET", "/api/users/@me/", "").do(newServer(t, nil))
	if resp.StatusCode != 404 || resp.Header.Get("Cache-Control") != "" {
		t.Errorf("without Management: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestAPIProjectsOfOrganizations: a path that names a project and an organization
// is wrong unless they belong together.
func TestAPIProjectsOfOrganizations(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const action = "/projects/1/rotate_secret_token"
	for _, organization := range []string{other, uuid.NewString(), "nonsense", "@me", acme + "x"} {
		a.fails(api("POST", "/api/organizations/"+organization+action, ""), 404, "not_found")
		a.fails(api("GET", "/api/organizations/"+organization+"/projects/1/", ""), 404, "not_found")
	}
	a.fails(api("POST", "/api/organizations/"+other+"/projects/2/rotate_secret_token/", ""), 404, "not_found")
	a.fails(api("GET", "/api/organizations/@current/projects/3/", ""), 404, "not_found")
	for _, organization := range []string{acme, strings.ToUpper(acme), "@current"} {
		a.ok(api("GET", "/api/organizations/"+organization+"/projects/1/", ""))
	}
	if v := a.ok(api("GET", "/api/projects/1", "")); v["has_secret_api_token_backup"] != false {
		t.Error("the secret key was rotated after all")
	}
}

// TestAPIOrder: a request with several faults gets the first one in the order of
// management.md §2.5.
func TestAPIOrder(t *testing.T) {
	const me = "/api/users/@me"
	limited := apiSetup{server: func(c *server.Config) { c.Management.Limit.PerMinute = 1 }}
	for _, tt := range []struct {
		name   string
		setup  apiSetup
		call   call
		status int
		code   string
	}{
		{"path before credential", limited, api("PUT", "/api/nowhere", "{", "Authorization", ""), 404, "not_found"},
		{"credential before limit", limited, api("PUT", me, "{", "Authorization", ""), 401, "not_authenticated"},
		{"wrong credential before limit", limited, api("PUT", me, "{").with("phx_wrong"), 401, "authentication_failed"},
		{"limit before method", limited, api("PUT", me, "{"), 429, "throttled"},
		{"method before body", apiSetup{}, api("PUT", me, "{", "Content-Type", "text/plain"), 405, "method_not_allowed"},
		{"type before syntax", apiSetup{}, api("PATCH", me, "{", "Content-Type", "text/plain"), 415, "unsupported_media_type"},
		{"syntax before scope", apiSetup{}, api("PATCH", me, "{").with(readerKey), 400, "parse_error"},
		{"kind of body before scope", apiSetup{}, api("PATCH", me, "[]").with(readerKey), 400, "invalid_input"},
		{"scope before user", apiSetup{}, api("PATCH", "/api/users/"+bob, `{"theme_mode":"neon"}`).with(readerKey), 403, "permission_denied"},
		{"user before fields", apiSetup{}, api("PATCH", "/api/users/"+uuid.NewString(), `{"theme_mode":"neon"}`).with(stellaKey), 404, "not_found"},
		{"fields", apiSetup{}, api("PATCH", me, `{"theme_mode":"neon"}`), 400, "invalid_choice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, tt.setup)
			a.ok(api("GET", me, "")) // uses up the limit
			a.fails(tt.call, tt.status, tt.code)
		})
	}
}

// TestAPIAnswers: what answers have in common.
func TestAPIAnswers(t *testing.T) {
	a := newAPI(t, apiSetup{})
	for _, c := range []call{
		api("GET", "/api/users/@me", ""),
		api("HEAD", "/api/users/@me", ""),
		api("OPTIONS", "/api/users/@me", ""),
		api("DELETE", "/api/personal_api_keys/id-of-"+readerKey, ""),
		api("GET", "/api/users/@me", "").with("phx_wrong"),
		api("GET", "/api/nowhere", ""),
		api("GET", "/api//", ""),
		api("PUT", "/api/users", ""),
		api("PATCH", "/api/users/@me", "{"),
	} {
		for _, id := range []string{requestID, "nonsense"} {
			c.header["X-Request-Id"] = id
			resp := c.do(a)
			h := resp.Header
			if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || (h.Get("X-Request-Id") == id) != (id == requestID) ||
				uuid.Validate(h.Get("X-Request-Id")) != nil || h.Get("Access-Control-Allow-Origin") != "" || h.Get("Vary") != "" {
				t.Errorf("%s %s = %d %v", c.method, c.target, resp.StatusCode, h)
			}
			body := bodyText(t, resp)
			if resp.StatusCode != 204 && (h.Get("Content-Type") != "application/json" || strings.ContainsAny(body, "\n\t") || strings.Contains(body, `": `)) {
				t.Errorf("%s %s: %s %q", c.method, c.target, h.Get("Content-Type"), body)
			}
		}
	}
	got := bodyText(t, api("PATCH", "/api/users/@me/hedgehog_config", `{ "a": "<&>é\u003c" }`).do(a))
	if want := `{"a":"<&>é\u003c"}`; got != want {
		t.Errorf("hedgehog_config %s, want %s", got, want)
	}
}

func TestAPIMetrics(t *testing.T) {
	a := newAPI(t, apiSetup{})
	a.ok(api("GET", "/api/users/@me/", ""))
	a.ok(api("GET", "/api/users/"+ada, ""))
	api("GET", "/api/users/"+bob, "").do(a)
	a.ok(api("GET", "/api/environments/1", ""))
	api("GET", "/api/nowhere/42", "").do(a)
	got := scrape(t, a)
	for _, want := range []string{
		`flagstaff_http_requests_total{route="/api/users/{user}",status="200"} 2`,
		`flagstaff_http_requests_total{route="/api/users/{user}",status="403"} 1`,
		`flagstaff_http_requests_total{route="/api/projects/{project}",status="200"} 1`,
		`flagstaff_http_requests_total{route="/api",status="404"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}
