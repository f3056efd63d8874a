package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// The secret keys of the projects of an apiServer.
const (
	acmeSecret  = "phs_phc_acme"
	otherSecret = "phs_phc_other"
)

// published is a project that has something of each kind.
const published = `{"group_type_mapping":{"0":"company"},"flags":[
	{"id":2,"key":"flag-variant","active":true,"version":7,"filters":{
		"groups":[{"properties":[],"rollout_percentage":100,"variant":"test"}],
		"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},
		"payloads":{"test":{"n":1}}}},
	{"id":3,"key":"flag-cohort","active":true,"version":1,"filters":{"groups":[
		{"properties":[{"key":"id","type":"cohort","operator":"in","value":8}],"rollout_percentage":100}]}},
	{"id":4,"key":"flag-inactive","active":false,"version":1,"filters":{"groups":[]}},
	{"id":5,"key":"flag-server","active":true,"version":1,"evaluation_runtime":"server","filters":{"groups":[{"rollout_percentage":100}]}},
	{"id":6,"key":"flag-client","active":true,"version":1,"evaluation_runtime":"client","filters":{"groups":[{"rollout_percentage":100}]}},
	{"id":7,"key":"survey-targeting-1","active":true,"version":1,"filters":{"groups":[{"rollout_percentage":100}]}}],
	"cohorts":[{"id":8,"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[
		{"key":"plan","type":"person","operator":"exact","value":["pro"]}]}]}}}]}`

func decodeDefinitions(t testing.TB, document string) *flags.Definitions {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// publish renders a Publication.
func publish(t testing.TB, p server.Publication) *server.Published {
	t.Helper()
	out, err := server.Publish(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// definitionsOf publishes a document as the definitions of the project phc_acme.
func definitionsOf(t testing.TB, document string) *server.Published {
	return publish(t, server.Publication{
		Project: 1, APIKey: "phc_acme", Definitions: decodeDefinitions(t, document),
		Hide: func(f *flags.Flag) bool { return strings.HasPrefix(f.Key, "survey-") },
	})
}

// A definitionsServer is an apiServer whose project phc_acme is published.
type definitionsServer struct {
	*apiServer
	projects *server.Registry
}

func newDefinitions(t testing.TB, change func(*server.Config)) *definitionsServer {
	t.Helper()
	d := &definitionsServer{projects: new(server.Registry)}
	d.publish(definitionsOf(t, published))
	d.apiServer = newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Projects = d.projects
		if change != nil {
			change(c)
		}
	}})
	return d
}

func (d *definitionsServer) publish(p *server.Published) {
	d.projects.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Published: p})
}

// remoteFlag stores a remote configuration flag.
func (a *apiServer) remoteFlag(key, filters string) {
	a.t.Helper()
	decoded, err := flags.DecodeFilters([]byte(filters), key)
	if err != nil {
		a.t.Fatal(err)
	}
	err = a.store.Flags().Create(context.Background(), &storage.Flag{
		Project: 1, Key: key, Active: true, Version: 1, RemoteConfig: true, Filters: decoded,
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// key makes a key for Ada and returns its value.
func (a *apiServer) key(change func(*storage.PersonalKey)) string {
	a.t.Helper()
	me, err := a.store.Keys().Get(context.Background(), storage.KeyHash.Is(storage.HashKey(adaKey)))
	if err != nil {
		a.t.Fatal(err)
	}
	a.keys++
	value := fmt.Sprint("phx_made", a.keys)
	k := &storage.PersonalKey{
		ID: "id-of-" + value, User: me.User, Label: "made", Mask: "phx_...ade", Hash: storage.HashKey(value), Scopes: []string{"*"},
		Created: apiTime, LastUsed: new(apiTime),
	}
	change(k)
	if err := a.store.Keys().Create(context.Background(), k); err != nil {
		a.t.Fatal(err)
	}
	return value
}

// withScopes makes a key that may do nothing else.
func (a *apiServer) withScopes(scopes ...string) string {
	return a.key(func(k *storage.PersonalKey) { k.Scopes = scopes })
}

const definitionsPath = "/flags/definitions"

// definitionPaths are all paths to definitions.
var definitionPaths = []string{
	definitionsPath, "/api/feature_flag/local_evaluation", "/api/projects/1/feature_flags/local_evaluation",
	"/api/projects/@current/feature_flags/local_evaluation", "/api/environments/1/feature_flags/local_evaluation",
}

// TestDefinitionsChecklist is the part of wire.md §9 that is about definitions and
// remote configuration. Names begin with the rows' ids.
func TestDefinitionsChecklist(t *testing.T) {
	a := newDefinitions(t, nil)
	get := func(target string, header ...string) call { return api("GET", target, "", header...) }

	t.Run("D01 D02 D12 D18 keys and paths", func(t *testing.T) {
		for _, path := range definitionPaths {
			for _, key := range []string{adaKey, bobKey, acmeSecret} {
				for _, query := range []string{"", "/", "?token=phc_acme&send_cohorts", "/?send_cohorts&token=phc_acme"} {
					v := a.ok(get(path + query).with(key))
					if len(v["flags"].([]any)) != 5 || v["group_type_mapping"].(map[string]any)["0"] != "company" || v["cohorts"] == nil {
						t.Errorf("GET %s%s with %s: %v", path, query, key, v)
					}
				}
			}
		}
	})
	t.Run("D03 send_cohorts", func(t *testing.T) {
		for query, want := range map[string]int{
			"": 0, "?send_cohorts": 1, "?send_cohorts=": 1, "?send_cohorts=true": 1, "?send_cohorts=1": 1, "?token=phc_acme&send_cohorts": 1,
			"?send_cohorts=false": 0, "?send_cohorts=False": 0, "?send_cohorts=0": 0, "?send_cohorts=true&send_cohorts=false": 0,
			"?send_cohorts=false&send_cohorts": 1, "?xsend_cohorts=true": 0, "?send%5Fcohorts=true": 1,
		} {
			for _, path := range definitionPaths {
				v := a.ok(get(path + query))
				want := want
				if path == definitionsPath {
					want = 1
				}
				var kind string
				for _, f := range v["flags"].([]any) {
					if f := f.(map[string]any); f["key"] == "flag-cohort" {
						group := f["filters"].(map[string]any)["groups"].([]any)[0].(map[string]any)
						kind = group["properties"].([]any)[0].(map[string]any)["type"].(string)
					}
				}
				if n := len(v["cohorts"].(map[string]any)); n != want || (kind == "cohort") != (want == 1) {
					t.Errorf("%s%s: %d cohorts, a filter on a %s; want %d", path, query, n, kind, want)
				}
			}
		}
	})
	t.Run("D04 D05 D06 conditions", func(t *testing.T) {
		for _, path := range definitionPaths {
			first := get(path).do(a)
			body, etag := bodyText(t, first), first.Header.Get("Etag")
			if !strings.HasPrefix(etag, `W/"`) || len(etag) != len(`W/"0123456789abcdef"`) {
				t.Errorf("%s: ETag %s", path, etag)
			}
			strong := etag[2:]
			bare := strings.Trim(strong, `"`)
			for match, want := range map[string]int{
				etag: 304, strong: 304, bare: 304, "W/" + bare: 304, "*": 304, ` "x" ,` + etag + `, "y"`: 304,
				`W/"0123456789abcdef"`: 200, `""`: 200, "W/": 200, `"x", "y"`: 200, strings.ToUpper(strong) + "x": 200,
			} {
				for _, method := range []string{"GET", "HEAD"} {
					c := get(path, "If-None-Match", match)
					c.method = method
					resp := c.do(a)
					h := resp.Header
					if resp.StatusCode != want || h.Get("Etag") != etag || h.Get("Cache-Control") != "private, must-revalidate" {
						t.Errorf("%s %s with %s = %d %v, want %d", method, path, match, resp.StatusCode, h, want)
					}
					if got := bodyText(t, resp); want == 304 && (got != "" || h["Content-Length"] != nil || h["Content-Type"] != nil) || want == 200 && got != body {
						t.Errorf("%s %s with %s: body %.100s, %v", method, path, match, got, h)
					}
				}
			}
			several := get(path).request()
			several.Header["If-None-Match"] = []string{`"x"`, etag}
			w := httptest.NewRecorder()
			if a.ServeHTTP(w, several); w.Code != 304 {
				t.Errorf("%s with two headers = %d", path, w.Code)
			}
		}
		with, without := get(definitionPaths[1]+"?send_cohorts").do(a), get(definitionPaths[1]).do(a)
		if with.Header.Get("Etag") == without.Header.Get("Etag") {
			t.Error("the same ETag with and without cohorts")
		}
	})
	t.Run("D07 D08 D09 D15 wrong keys", func(t *testing.T) {
		for _, path := range append(definitionPaths, "/api/projects/@current/feature_flags/x/remote_config") {
			for authorization, want := range map[string]string{
				"":                         "Authentication credentials were not provided.",
				"Bearer ":                  "Authentication credentials were not provided.",
				"Basic " + adaKey:          "Authentication credentials were not provided.",
				"Basic " + acmeSecret:      "Authentication credentials were not provided.",
				adaKey:                     "Authentication credentials were not provided.",
				"Bearer phx_wrong":         "Personal API key is invalid.",
				"Bearer phc_acme":          "Personal API key is invalid: this is a project API key (phc_…); this route wants a project secret key (phs_…) or a personal API key (phx_…).",
				"Bearer phs_wrong":         "Secret API token is invalid.",
				"Bearer phs_":              "Secret API token is invalid.",
				"Bearer phs_phc_acme x":    "Secret API token is invalid.",
				"Bearer phs_\xff\x00":      "Secret API token is invalid.",
				"Bearer PHS_phc_acme":      "Personal API key is invalid.",
				"Bearer " + acmeSecret[1:]: "Personal API key is invalid.",
			} {
				code := "authentication_failed"
				if strings.HasPrefix(want, "Auth") {
					code = "not_authenticated"
				}
				e, h := a.fails(get(path, "Authorization", authorization), 401, code)
				if e.Type != "authentication_error" || e.Detail != want || e.Attr != nil || h.Get("Www-Authenticate") != "Bearer" || h.Get("Cache-Control") != "no-store" {
					t.Errorf("%s with %q: %+v %v", path, authorization, e, h)
				}
			}
		}
	})
	t.Run("D10 D11 D19 content", func(t *testing.T) {
		v := a.ok(get(definitionsPath))
		byKey := make(map[string]map[string]any)
		for _, f := range v["flags"].([]any) {
			byKey[f.(map[string]any)["key"].(string)] = f.(map[string]any)
		}
		keys := slices.Sorted(maps.Keys(byKey))
		if want := []string{"flag-client", "flag-cohort", "flag-inactive", "flag-server", "flag-variant"}; !slices.Equal(keys, want) {
			t.Errorf("flags %q, want %q", keys, want)
		}
		f := byKey["flag-variant"]
		filters := f["filters"].(map[string]any)
		got := []any{f["id"], f["team_id"], f["active"], f["version"], f["has_experiment"], filters["payloads"].(map[string]any)["test"]}
		if diff := cmp.Diff([]any{2.0, 1.0, true, 7.0, true, `{"n":1}`}, got); diff != "" {
			t.Error(diff)
		}
		if byKey["flag-server"]["evaluation_runtime"] != "server" || byKey["flag-client"]["evaluation_runtime"] != "client" || byKey["flag-inactive"]["active"] != false {
			t.Errorf("%v", byKey)
		}
	})
	t.Run("D13 D14 D15 remote configuration", func(t *testing.T) {
		a.remoteFlag("remote-cfg", `{"groups":[],"payloads":{"true":"{\"k\":\"v\"}"}}`)
		a.remoteFlag("nothing", `{"groups":[]}`)
		for _, path := range []string{
			"/api/projects/@current/feature_flags/remote-cfg/remote_config?token=phc_acme", "/api/projects/1/feature_flags/remote-cfg/remote_config/",
			"/api/environments/@current/feature_flags/remote%2Dcfg/remote_config", "/api/projects/1/feature_flags/1/remote_config",
		} {
			for _, key := range []string{adaKey, acmeSecret} {
				resp := get(path).with(key).do(a)
				if body := bodyText(t, resp); resp.StatusCode != 200 || body != `"{\"k\":\"v\"}"` || resp.Header.Get("Content-Type") != "application/json" ||
					resp.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("GET %s = %d %s %v", path, resp.StatusCode, body, resp.Header)
				}
			}
		}
		for _, flag := range []string{"nowhere", "nothing", "2", "99", "%00", "%ff", "a%2Fb", "-1"} {
			a.fails(get("/api/projects/@current/feature_flags/"+flag+"/remote_config"), 404, "not_found")
		}
	})
	t.Run("D16 methods", func(t *testing.T) {
		for _, path := range append(definitionPaths, "/api/projects/1/feature_flags/remote-cfg/remote_config/") {
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
				e, h := a.fails(api(method, path, "{", "Authorization", ""), 405, "method_not_allowed")
				if h.Get("Allow") != "GET, OPTIONS, HEAD" || e.Detail != `Method "`+method+`" not allowed.` {
					t.Errorf("%s %s: %v %s", method, path, h, e.Detail)
				}
			}
			resp := api("OPTIONS", path, "", "Authorization", "", "Origin", "https://app.example").do(a)
			if resp.StatusCode != 204 || bodyText(t, resp) != "" || resp.Header.Get("Allow") != "GET, OPTIONS, HEAD" || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("OPTIONS %s = %d %v", path, resp.StatusCode, resp.Header)
			}
		}
	})
	t.Run("D17 project in a header", func(t *testing.T) {
		a.ok(get(definitionsPath+"/?send_cohorts", "X-PostHog-Project-Api-Key", "phc_acme"))
	})
}

// TestDefinitionsAccess: a key opens its own project, by whatever way a request
// names it, and no other (wire.md §5.1, §5.5, management.md §1.5).
func TestDefinitionsAccess(t *testing.T) {
	a := newDefinitions(t, nil)
	a.projects.Set("phc_other", &server.Project{ID: 2, Organization: "other", Published: definitionsOf(t, `{"flags":[]}`)})
	reads, writes := a.withScopes("feature_flag:read"), a.withScopes("feature_flag:write")
	elsewhere := a.key(func(k *storage.PersonalKey) { k.Projects = []int64{2} })
	here := a.key(func(k *storage.PersonalKey) { k.Projects = []int64{1} })
	const (
		header  = "X-PostHog-Project-Api-Key"
		current = "/api/projects/@current/feature_flags/local_evaluation"
		second  = "/api/projects/2/feature_flags/local_evaluation"
	)
	for _, tt := range []struct {
		name   string
		target string
		key    string
		header string
		status int
		detail string
	}{
		{"scope to read", definitionsPath, reads, "", 200, ""},
		{"scope to write", definitionsPath, writes, "", 200, ""},
		{"another scope", definitionsPath, readerKey, "", 403, "API key missing required scope 'feature_flag:read'"},
		{"key for this project", definitionsPath, here, "", 200, ""},
		{"key for another project", definitionsPath, elsewhere, "", 403, "API key does not have access to project 1."},
		{"key for another project, named", definitionsPath + "?token=phc_acme", elsewhere, "", 403, "API key does not have access to project 1."},
		{"user without projects", definitionsPath, stellaKey, "", 404, "Project not found."},
		{"user of no such project", definitionsPath + "?token=phc_acme", stellaKey, "", 403, "You don't have access to the project."},

		{"own project", definitionsPath + "?token=phc_acme", adaKey, "", 200, ""},
		{"foreign project", definitionsPath + "?token=phc_other", adaKey, "", 403, "You don't have access to the project."},
		{"no such project", definitionsPath + "?token=phc_nobody", adaKey, "", 403, "You don't have access to the project."},
		{"last parameter counts", definitionsPath + "?token=phc_other&token=phc_acme", adaKey, "", 200, ""},
		{"foreign project in a header", definitionsPath, adaKey, "phc_other", 403, "You don't have access to the project."},
		{"query before header", definitionsPath + "?token=phc_acme", adaKey, "phc_other", 200, ""},
		{"query before header, foreign", definitionsPath + "?token=phc_other", adaKey, "phc_acme", 403, "You don't have access to the project."},
		{"empty parameter", definitionsPath + "?token=", adaKey, "phc_acme", 200, ""},
		{"NUL", definitionsPath + "?token=%00", adaKey, "", 403, "You don't have access to the project."},
		{"path before parameter", second + "?token=phc_acme", adaKey, "", 404, "Project not found."},
		{"foreign path", second, adaKey, "", 404, "Project not found."},
		{"@current and a foreign parameter", current + "?token=phc_other", adaKey, "", 403, "You don't have access to the project."},
		{"no number", "/api/projects/x/feature_flags/local_evaluation", adaKey, "", 404, "Project not found."},

		{"secret", definitionsPath, acmeSecret, "", 200, ""},
		{"secret, own project", definitionsPath + "?token=phc_acme", acmeSecret, "", 200, ""},
		{"secret, foreign project", definitionsPath + "?token=phc_other", acmeSecret, "", 403, "The secret API token is that of another project."},
		{"secret, foreign project in a header", definitionsPath, acmeSecret, "phc_other", 403, "The secret API token is that of another project."},
		{"secret, foreign path", second, acmeSecret, "", 403, "The secret API token is that of another project."},
		{"secret, own path", current, acmeSecret, "", 200, ""},
		{"secret of another project", "/api/projects/1/feature_flags/local_evaluation", otherSecret, "", 403, "The secret API token is that of another project."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.t = t
			resp := api("GET", tt.target, "", header, tt.header).with(tt.key).do(a)
			body := bodyText(t, resp)
			var e apiError
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			if resp.StatusCode != tt.status || e.Detail != tt.detail {
				t.Errorf("GET %s = %d %.200s, want %d %s", tt.target, resp.StatusCode, body, tt.status, tt.detail)
			}
			if tt.status == 200 && !strings.Contains(body, "flag-variant") {
				t.Errorf("GET %s: those of another project: %s", tt.target, body)
			}
		})
	}

	// A secret key opens nothing else, and the project key does not open this.
	a.t = t
	a.fails(api("GET", "/api/projects/1/feature_flags/", "").with(acmeSecret), 401, "authentication_failed")
	if resp := (call{method: "GET", target: "/api/surveys/?token=" + acmeSecret}).do(a); resp.StatusCode != 401 {
		t.Errorf("surveys with a secret key: %d", resp.StatusCode)
	}
	if resp := (call{body: `{"token":"` + acmeSecret + `","distinct_id":"u"}`}).do(a); resp.StatusCode != 401 {
		t.Errorf("flags with a secret key: %d", resp.StatusCode)
	}
	if v := a.ok(api("GET", definitionsPath, "").with(otherSecret)); len(v["flags"].([]any)) != 0 {
		t.Errorf("flags of the other project: %v", v)
	}
}

// TestDefinitionsKeyInQuery: keys come from the query only if that is allowed.
func TestDefinitionsKeyInQuery(t *testing.T) {
	closed := newDefinitions(t, nil)
	open := newDefinitions(t, func(c *server.Config) { c.Management.AllowKeyInBody = true })
	for _, key := range []string{adaKey, acmeSecret} {
		c := api("GET", definitionsPath+"?personal_api_key="+key, "", "Authorization", "")
		closed.fails(c, 401, "not_authenticated")
		open.ok(c)
		open.fails(c.with("phx_wrong"), 401, "authentication_failed")
	}
	open.fails(api("GET", definitionsPath+"?personal_api_key=phx_wrong", "", "Authorization", ""), 401, "authentication_failed")
}

// TestDefinitionsErrors: the errors of wire.md §5.3, each in the form that SDKs
// know, and in the order of management.md §2.5.
func TestDefinitionsErrors(t *testing.T) {
	unready := func(p *server.Project) func(*server.Config) {
		r := new(server.Registry)
		if p != nil {
			r.Set("phc_acme", p)
		}
		return func(c *server.Config) { c.Projects = r }
	}
	used := &fakeQuota{left: map[string]int{"acme": 9}}
	one := server.ManagementLimit{Definitions: 1}
	const unavailable = `{"type":"server_error","code":"service_unavailable","detail":"The service is temporarily unavailable. Please try again later.","attr":null}`
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		twice  bool
		call   call
		status int
		body   string
		retry  string
	}{
		{
			name: "quota", change: func(c *server.Config) { c.Quota = used }, call: api("GET", definitionsPath, ""), status: 402,
			body: `{"type":"quota_limited","code":"payment_required","detail":"You have exceeded your feature flag request quota","attr":null}`,
		},
		{
			name: "limit", change: func(c *server.Config) { c.Management.Limit = one }, twice: true, call: api("GET", definitionsPath, ""), status: 429,
			body:  `{"type":"throttled_error","code":"throttled","detail":"Request was throttled. Expected available in 60 seconds.","attr":null}`,
			retry: "60",
		},
		{
			name: "limit before quota", change: func(c *server.Config) {
				c.Management.Limit, c.Quota = one, &fakeQuota{left: map[string]int{"acme": 10}}
			}, twice: true,
			call: api("GET", definitionsPath, ""), status: 429, retry: "60",
		},
		{
			name: "key before limit", change: func(c *server.Config) { c.Management.Limit = one }, twice: true, call: api("GET", definitionsPath, "").with("phx_wrong"),
			status: 401,
		},
		{
			name: "scope before limit", change: func(c *server.Config) { c.Management.Limit = one }, twice: true, call: api("GET", definitionsPath, "").with(readerKey),
			status: 403,
		},
		{name: "method before key", call: api("POST", definitionsPath, "", "Authorization", ""), status: 405},
		{name: "project not known yet", change: unready(nil), call: api("GET", definitionsPath, ""), status: 503, body: unavailable, retry: "1"},
		{name: "project not loaded yet", change: unready(&server.Project{ID: 1}), call: api("GET", definitionsPath, ""), status: 503, body: unavailable, retry: "1"},
		{
			name: "no definitions yet", change: unready(&server.Project{ID: 1, Published: publish(t, server.Publication{Project: 1})}),
			call: api("GET", definitionsPath, ""), status: 503, body: unavailable, retry: "1",
		},
		{
			name: "not ready before quota", change: func(c *server.Config) {
				unready(nil)(c)
				c.Quota = new(fakeQuota)
			}, call: api("GET", definitionsPath, ""), status: 503, body: unavailable, retry: "1",
		},
		{name: "projects cannot be read", change: func(c *server.Config) { c.Projects = brokenProjects{} }, call: api("GET", definitionsPath, ""), status: 503, body: unavailable, retry: "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newDefinitions(t, tt.change)
			if tt.twice {
				a.ok(api("GET", definitionsPath, ""))
			}
			resp := tt.call.do(a)
			body := bodyText(t, resp)
			h := resp.Header
			if resp.StatusCode != tt.status || tt.body != "" && body != tt.body || h.Get("Retry-After") != tt.retry {
				t.Errorf("%d %s, Retry-After %q, want %d %s, %q", resp.StatusCode, body, h.Get("Retry-After"), tt.status, tt.body, tt.retry)
			}
			if h.Get("X-Request-Id") != requestID || h.Get("Cache-Control") != "no-store" || h.Get("Etag") != "" || h.Get("Content-Type") != "application/json" {
				t.Errorf("%v", h)
			}
		})
	}
}

// TestDefinitionsBackend: whatever is wrong with a store, clients keep what they
// have (wire.md §0.12), and the log says what it was.
func TestDefinitionsBackend(t *testing.T) {
	for _, err := range []error{errors.New("no such table: keys"), fmt.Errorf("%w: connection refused", capture.ErrUnavailable), context.DeadlineExceeded} {
		var log bytes.Buffer
		a := newAPI(t, apiSetup{
			management: func(c *management.Config) { c.Store = brokenStore{c.Store.(sqlstore.Storage), err} },
			server:     func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) },
		})
		for _, path := range append(definitionPaths, "/api/projects/1/feature_flags/x/remote_config") {
			_, h := a.fails(api("GET", path, ""), 503, "service_unavailable")
			if h.Get("Retry-After") != "1" {
				t.Errorf("%s: %v", path, h)
			}
		}
		if !strings.Contains(log.String(), err.Error()) || strings.Contains(log.String(), adaKey) {
			t.Errorf("log: %s", log.String())
		}
	}
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Projects = panickingProjects{} }})
	a.fails(api("GET", definitionsPath, ""), 500, "error")
}

// panickingProjects knows no project.
type panickingProjects struct{}

func (panickingProjects) Project(context.Context, string) (*server.Project, error) {
	panic("with the secret hunter2")
}

// TestDefinitionsQuota: a request counts as ten for flags, also if nothing has
// changed (evaluation.md §14), and one that is refused does not count.
func TestDefinitionsQuota(t *testing.T) {
	quota := &fakeQuota{left: map[string]int{"acme": 25}}
	a := newDefinitions(t, func(c *server.Config) { c.Quota = quota })
	a.fails(api("GET", definitionsPath, "").with("phx_wrong"), 401, "authentication_failed")
	api("OPTIONS", definitionsPath, "").do(a)
	etag := api("GET", definitionsPath, "").do(a).Header.Get("Etag")
	if resp := api("GET", definitionsPath, "", "If-None-Match", etag).do(a); resp.StatusCode != 304 || quota.left["acme"] != 5 {
		t.Errorf("%d, %d left", resp.StatusCode, quota.left["acme"])
	}
	a.fails(api("GET", definitionsPath, "", "If-None-Match", etag), 402, "payment_required")
	got := scrape(t, a)
	for _, want := range []string{
		`flagstaff_http_requests_total{route="/flags/definitions",status="200"} 1`,
		`flagstaff_http_requests_total{route="/flags/definitions",status="204"} 1`,
		`flagstaff_http_requests_total{route="/flags/definitions",status="304"} 1`,
		`flagstaff_http_requests_total{route="/flags/definitions",status="401"} 1`,
		`flagstaff_http_requests_total{route="/flags/definitions",status="402"} 1`,
		`flagstaff_http_request_duration_seconds_count{route="/flags/definitions"} 5`,
		`flagstaff_quota_limited_total 1`,
		`flagstaff_flags_evaluated_total 0`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestDefinitionsMetrics: routes are counted by their patterns.
func TestDefinitionsMetrics(t *testing.T) {
	a := newDefinitions(t, nil)
	a.ok(api("GET", "/api/feature_flag/local_evaluation/", ""))
	a.ok(api("GET", "/api/projects/1/feature_flags/local_evaluation", ""))
	a.ok(api("GET", "/api/environments/@current/feature_flags/local_evaluation", ""))
	a.fails(api("GET", "/api/projects/1/feature_flags/hunter2/remote_config", ""), 404, "not_found")
	got := scrape(t, a)
	for _, want := range []string{
		`{route="/api/feature_flag/local_evaluation",status="200"} 1`,
		`{route="/api/projects/{project}/feature_flags/local_evaluation",status="200"} 2`,
		`{route="/api/projects/{project}/feature_flags/{id}/remote_config",status="404"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a path in metrics")
	}
}

// TestDefinitionsLimit: by default a project has 600 requests a minute, with
// whatever keys (management.md §2.6), and strangers 60 with wrong ones.
func TestDefinitionsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newDefinitions(t, nil)
		c := api("GET", definitionsPath, "")
		for i := range 600 {
			key := adaKey
			if i%2 == 1 {
				key = acmeSecret
			}
			if resp := c.with(key).do(a); resp.StatusCode != 200 {
				t.Fatalf("request %d: %d", i, resp.StatusCode)
			}
		}
		for _, c := range []call{c, c.with(acmeSecret), c.with(bobKey), api("GET", "/api/projects/1/feature_flags/x/remote_config", "")} {
			e, h := a.fails(c, 429, "throttled")
			if e.Type != "throttled_error" || h.Get("Retry-After") != "1" || h.Get("RateLimit-Limit") != "600" {
				t.Errorf("%+v %v", e, h)
			}
		}
		a.ok(api("GET", "/api/users/@me", "")) // has a limit of its own
		time.Sleep(time.Second)
		a.ok(c)
	})
	synctest.Test(t, func(t *testing.T) {
		a := newDefinitions(t, nil)
		c := api("GET", definitionsPath, "")
		for range 60 {
			a.fails(c.with("phs_wrong"), 401, "authentication_failed")
		}
		a.fails(c, 429, "throttled")
		a.fails(c.with(acmeSecret), 429, "throttled")
		a.fails(api("GET", definitionsPath, "", "Authorization", ""), 401, "not_authenticated")
		time.Sleep(time.Second)
		a.ok(c)
	})
}

// TestDefinitionsOrigins: pages may have definitions only if their origin is
// listed, because requests have a secret.
func TestDefinitionsOrigins(t *testing.T) {
	const listed = "https://app.example"
	a := newDefinitions(t, func(c *server.Config) { c.Management.Origins = []string{listed} })
	for origin, want := range map[string]string{listed: listed, "https://evil.example": "", "": ""} {
		for _, c := range []call{
			api("GET", definitionsPath, "", "Origin", origin),
			api("GET", definitionsPath, "", "Origin", origin, "Authorization", ""),
			api("OPTIONS", definitionsPath, "", "Origin", origin, "Access-Control-Request-Method", "GET"),
		} {
			h := c.do(a).Header
			if h.Get("Access-Control-Allow-Origin") != want || h.Get("Vary") != "Origin" || (h.Get("Access-Control-Allow-Headers") != "") != (want != "" && c.method == "OPTIONS") {
				t.Errorf("%s from %q: %v", c.method, origin, h)
			}
		}
	}
}

// TestSealedPayloads: encrypted payloads are for people, not for servers.
func TestSealedPayloads(t *testing.T) {
	a := newDefinitions(t, nil)
	a.ok(api("POST", "/api/projects/1/feature_flags/", `{"key":"sealed","is_remote_configuration":true,"has_encrypted_payloads":true,`+
		`"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"true":"\"hunter2\""}}}`))
	const path = "/api/projects/@current/feature_flags/sealed/remote_config"
	if got := bodyText(t, api("GET", path, "").do(a)); got != `"\"hunter2\""` {
		t.Errorf("for a personal key: %s", got)
	}
	resp := api("GET", path, "").with(acmeSecret).do(a)
	if got := bodyText(t, resp); resp.StatusCode != 200 || strings.Contains(got, "hunter2") {
		t.Errorf("for the secret key: %d %s", resp.StatusCode, got)
	}
}

// TestDefinitionsOverHTTP: what net/http makes of the answers, with the oldest
// HTTP that there is, and with connections that stay.
func TestDefinitionsOverHTTP(t *testing.T) {
	a := newDefinitions(t, nil)
	srv := httptest.NewServer(a)
	defer srv.Close()
	want := bodyText(t, api("GET", definitionsPath, "").do(a))
	etag := api("GET", definitionsPath, "").do(a).Header.Get("Etag")
	for _, tt := range []struct {
		line, header string
		status       int
		body         string
	}{
		{"GET /flags/definitions HTTP/1.0", "", 200, want},
		{"GET /flags/definitions/ HTTP/1.1", "Host: x\r\n", 200, want},
		{"GET /flags/definitions HTTP/1.0", "If-None-Match: " + etag + "\r\n", 304, ""},
		{"GET /flags/definitions HTTP/1.1", "Host: x\r\nIf-None-Match: " + etag + "\r\n", 304, ""},
		{"HEAD /flags/definitions HTTP/1.1", "Host: x\r\n", 200, ""},
		{"HEAD /flags/definitions HTTP/1.0", "If-None-Match: *\r\n", 304, ""},
		{"OPTIONS /flags/definitions HTTP/1.1", "Host: x\r\n", 204, ""},
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		method, _, _ := strings.Cut(tt.line, " ")
		for i := range 2 { // the second shows where the first has ended
			fmt.Fprintf(conn, "%s\r\nAuthorization: Bearer %s\r\nConnection: keep-alive\r\n%s\r\n", tt.line, acmeSecret, tt.header)
			resp, err := http.ReadResponse(r, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%s %q, answer %d: %v", tt.line, tt.header, i, err)
			}
			if body := bodyText(t, resp); resp.StatusCode != tt.status || body != tt.body || tt.status == 200 && resp.ContentLength != int64(len(want)) {
				t.Errorf("%s %q = %d %.100q, %d bytes, want %d", tt.line, tt.header, resp.StatusCode, body, resp.ContentLength, tt.status)
			}
		}
		conn.Close()
	}
}
