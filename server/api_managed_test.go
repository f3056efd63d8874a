package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
)

const (
	flagsPath   = "/api/projects/1/feature_flags/"
	cohortsPath = "/api/projects/1/cohorts/"
	earlyPath   = "/api/projects/1/early_access_feature/"

	flagBody   = `{"key":"new-checkout","filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`
	cohortBody = `{"name":"Pro","is_static":true}`
	earlyBody  = `{"name":"Beta feature","stage":"beta"}`
)

// newManaged returns an apiServer that has a flag, a cohort, a feature and persons.
func newManaged(t *testing.T, change func(*server.Config)) *apiServer {
	t.Helper()
	a := newAPI(t, apiSetup{management: func(c *management.Config) { c.Data = c.Store.(sqlstore.Storage) }, server: change})
	a.ok(api("POST", flagsPath, flagBody))
	a.ok(api("POST", cohortsPath, cohortBody))
	return a
}

// one returns the path of the only thing in a list, without a slash.
func (a *apiServer) one(path string) string {
	a.t.Helper()
	list := a.ok(api("GET", path, ""))["results"].([]any)
	if len(list) == 0 {
		a.t.Fatalf("GET %s: nothing", path)
	}
	return path + fmt.Sprint(list[len(list)-1].(map[string]any)["id"])
}

// TestManagedStatuses: creating answers 201, removing 204, and flags and cohorts
// cannot be removed (management.md §13.1, §13.9, §13.10).
func TestManagedStatuses(t *testing.T) {
	for _, tt := range []struct {
		name          string
		path, body    string
		patch         string
		allow         string // of one
		removable     bool
		badID, noneID string
	}{
		{"flags", flagsPath, strings.Replace(flagBody, "new-checkout", "other", 1), `{"name":"New"}`, "GET, PATCH, HEAD, OPTIONS", false, "x", "99"},
		{"cohorts", cohortsPath, `{"name":"Other","is_static":true}`, `{"name":"New"}`, "GET, PATCH, HEAD, OPTIONS", false, "x", "99"},
		{"early access features", earlyPath, earlyBody, `{"name":"New"}`, "GET, PATCH, DELETE, HEAD, OPTIONS", true, "x", uuid.NewString()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newManaged(t, nil)
			status := func(want int, c call) http.Header {
				t.Helper()
				resp := c.do(a)
				if body := bodyText(t, resp); resp.StatusCode != want || want != 204 && resp.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s = %d %s, want %d", c.method, c.target, resp.StatusCode, body, want)
				}
				return resp.Header
			}
			status(201, api("POST", tt.path, tt.body))
			one := a.one(tt.path)
			for _, slash := range []string{"", "/"} {
				status(200, api("GET", strings.TrimSuffix(tt.path, "/")+slash, ""))
				status(200, api("GET", one+slash, ""))
				status(200, api("PATCH", one+slash, tt.patch))
			}
			status(400, api("POST", tt.path, `{"name":[1]}`))
			status(400, api("PATCH", one, `{`))
			status(400, api("PATCH", one, `[]`))
			status(415, api("PATCH", one, `{}`, "Content-Type", "text/csv"))
			for _, id := range []string{tt.badID, tt.noneID, "%00", "1%2F", "-1"} {
				a.fails(api("GET", tt.path+id, ""), 404, "not_found")
				a.fails(api("PATCH", tt.path+id, tt.patch), 404, "not_found")
			}
			for _, method := range []string{"DELETE", "PUT", "POST"} {
				if method == "DELETE" && tt.removable {
					continue
				}
				e, h := a.fails(api(method, one, ""), 405, "method_not_allowed")
				if h.Get("Allow") != tt.allow || e.Type != "invalid_request" || e.Detail != `Method "`+method+`" not allowed.` {
					t.Errorf("%s %s: Allow %q, want %q; %s", method, one, h.Get("Allow"), tt.allow, e.Detail)
				}
			}
			for _, method := range []string{"DELETE", "PATCH"} {
				if _, h := a.fails(api(method, tt.path, ""), 405, "method_not_allowed"); h.Get("Allow") != "GET, POST, HEAD, OPTIONS" {
					t.Errorf("%s %s: Allow %q", method, tt.path, h.Get("Allow"))
				}
			}
			if tt.removable {
				status(204, api("DELETE", one, ""))
				a.fails(api("DELETE", one, ""), 404, "not_found")
			} else {
				status(200, api("GET", one, "")) // DELETE has done nothing
			}
		})
	}
}

// TestManagedActions: operations that neither store nor list anything.
func TestManagedActions(t *testing.T) {
	a := newManaged(t, nil)
	one := a.one(flagsPath)
	for _, action := range []string{"disable", "archive", "unarchive", "enable"} {
		for _, slash := range []string{"", "/"} {
			a.ok(api("POST", one+"/"+action+slash, ""))
		}
		if _, h := a.fails(api("GET", one+"/"+action, ""), 405, "method_not_allowed"); h.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: Allow %q", action, h.Get("Allow"))
		}
		a.fails(api("POST", flagsPath+"99/"+action, ""), 404, "not_found")
	}
	a.fails(api("POST", one+"/explode", ""), 404, "not_found")
	a.ok(api("GET", one+"/status", ""))
	a.fails(api("GET", flagsPath+"99/status", ""), 404, "not_found")
	a.ok(api("POST", flagsPath+"bulk_keys/", `{"ids":[1]}`))
	a.ok(api("POST", flagsPath+"bulk_delete", `{"ids":[1]}`))
	if v := a.ok(api("GET", flagsPath+"matching_ids/?active=False", "")); fmt.Sprint(v) != "map[ids:[]]" {
		t.Errorf("no flags: %v", v)
	}

	cohort := a.one(cohortsPath)
	person := uuid.NewString()
	for path, body := range map[string]string{"add_persons_to_static_cohort/": `{"person_ids":["` + person + `"]}`, "remove_person_from_static_cohort": `{"person_id":"` + person + `"}`} {
		if v := a.ok(api("PATCH", cohort+"/"+path, body)); fmt.Sprint(v) != "map[success:true]" {
			t.Errorf("%s: %v", path, v)
		}
		e, _ := a.fails(api("PATCH", cohort+"/"+path, `{}`), 400, "required")
		if e.Attr == nil {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

// TestFlagIfMatch: a change is made for a version if the request says so
// (management.md §13.6).
func TestFlagIfMatch(t *testing.T) {
	for match, want := range map[string]int{
		"": 200, "*": 200, `"1"`: 200, `W/"1"`: 200, "1": 200,
		`"2"`: 412, `"0"`: 412, `"-1"`: 412, `"x"`: 412, `""`: 412, `"*"`: 412, `"1", "2"`: 412, `"99999999999999999999"`: 412, `"1.0"`: 412, "W/": 412,
	} {
		for _, call := range []struct{ method, path, body string }{
			{"PATCH", "", `{"active":false}`}, {"POST", "/disable", ""}, {"POST", "/rollout", `{"rollout_percentage":50}`}, {"POST", "/revert", `{"version":0}`},
		} {
			a := newManaged(t, nil)
			one := a.one(flagsPath)
			if call.path == "/revert" { // from version 2 to version 1 where the others change version 1
				a.ok(api("PATCH", one, `{"name":"New"}`))
				call.body, match = `{"version":1}`, strings.NewReplacer("1", "2", "2", "1").Replace(match)
			}
			before := a.ok(api("GET", one, ""))
			c := api(call.method, one+call.path, call.body, "If-Match", match)
			if want == 200 {
				a.ok(c)
			} else if e, _ := a.fails(c, 412, "precondition_failed"); e.Type != "invalid_request" {
				t.Errorf("%+v", e)
			}
			if same := cmp.Equal(before, a.ok(api("GET", one, ""))); same != (want != 200) {
				t.Errorf("%s%s with If-Match %s: the flag is the same: %t", call.method, call.path, match, same)
			}
		}
	}
	// The older way to say it is in the body.
	a := newManaged(t, nil)
	a.fails(api("PATCH", a.one(flagsPath), `{"name":"Mine","version":0,"original_flag":{"name":"Old"}}`), 409, "conflict")
}

// TestFlagKeysInPaths: a key stands wherever an ID does, and the names of routes come
// first (management.md §13.14).
func TestFlagKeysInPaths(t *testing.T) {
	a := newManaged(t, nil)
	a.ok(api("POST", flagsPath, strings.Replace(flagBody, "new-checkout", "my_flags", 1)))
	const one = flagsPath + "new-checkout"
	for _, c := range []call{
		api("GET", one, ""), api("GET", flagsPath+"new%2Dcheckout/", ""), api("PATCH", one+"/", `{"name":"New"}`), api("GET", one+"/activity", ""), api("GET", one+"/status/", ""),
		api("POST", one+"/explain", `{"distinct_id":"u"}`), api("POST", one+"/rollout", `{"rollout_percentage":5}`), api("POST", one+"/archive", ""), api("POST", one+"/unarchive", ""),
		api("POST", one+"/enable", ""), api("POST", one+"/disable", ""), api("GET", "/api/environments/@current/feature_flags/new-checkout/", ""), api("GET", flagsPath+"2", ""),
		api("POST", flagsPath+"my_flags/disable", ""),
	} {
		a.ok(c)
	}
	resp := api("GET", flagsPath+"my_flags", "").do(a)
	if body := bodyText(t, resp); resp.StatusCode != 200 || !strings.HasPrefix(body, "[") {
		t.Errorf("my_flags = %d %s, want the flags of the caller", resp.StatusCode, body)
	}
	a.fails(api("PATCH", flagsPath+"my_flags", `{}`), 405, "method_not_allowed")
	a.fails(api("GET", flagsPath+"New-Checkout", ""), 404, "not_found")
}

// TestFlagVersions: a flag goes back to a version, and lists have links (management.md
// §13.17, §13.18).
func TestFlagVersions(t *testing.T) {
	a := newManaged(t, nil)
	const one = flagsPath + "new-checkout"
	for i := range 4 {
		a.ok(api("PATCH", one, fmt.Sprintf(`{"name":"%d"}`, i)))
	}
	for _, slash := range []string{"", "/"} {
		v := a.ok(api("GET", one+"/versions"+slash+"?limit=2&offset=2", ""))
		list := v["results"].([]any)
		if len(list) != 2 || list[0].(map[string]any)["version"] != 3.0 || v["count"] != 5.0 || v["next"] == nil || v["previous"] == nil {
			t.Errorf("versions: %v", v)
		}
		if v := a.ok(api("GET", one+"/versions/2"+slash, "")); v["name"] != "0" || v["version"] != 2.0 {
			t.Errorf("version 2: %v", v)
		}
	}
	for _, n := range []string{"0", "6", "-1", "x", "1.0", "99999999999999999999", "%00"} {
		a.fails(api("GET", one+"/versions/"+n, ""), 404, "not_found")
	}
	if v := a.ok(api("POST", one+"/revert/", `{"version":2}`)); v["name"] != "0" || v["version"] != 6.0 {
		t.Errorf("revert: %v", v)
	}
	for _, path := range []string{"/versions", "/versions/2"} {
		if _, h := a.fails(api("POST", one+path, "{}"), 405, "method_not_allowed"); h.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: Allow %q", path, h.Get("Allow"))
		}
	}
	if _, h := a.fails(api("GET", one+"/revert", ""), 405, "method_not_allowed"); h.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("revert: Allow %q", h.Get("Allow"))
	}
	for _, list := range []string{"bulk_keys/", "bulk_delete/"} {
		e, _ := a.fails(api("POST", flagsPath+list, `{"ids":[1],"filters":{"active":"false"}}`), 400, "unknown_member")
		if *e.Attr != "filters" || !strings.Contains(e.Detail, "ids") {
			t.Errorf("%s: %+v, want it to name filters, and ids", list, e)
		}
	}
	e, _ := a.fails(api("POST", one+"/revert", `{"to":2,"version":2}`), 400, "unknown_member")
	if e.Attr == nil || *e.Attr != "to" {
		t.Errorf("%+v", e)
	}
}

// TestExplainAsText: an explanation is text for whoever would rather have text
// (management.md §13.16). Errors are JSON all the same.
func TestExplainAsText(t *testing.T) {
	a := newManaged(t, nil)
	const path = flagsPath + "new-checkout/explain"
	for accept, text := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/json, text/plain, */*": false, "text/html, */*;q=0.8": false, "text/plain;q=0.5, application/*": false,
		"text/plain;q=0": false, "text/plain;q=x": false, "image/*": false, ";": false, "text/plain;q=NaN": false,
		"text/plain": true, "Text/Plain; charset=utf-8": true, "text/*": true, "text/plain, */*": true, "application/json;q=0.5, text/plain;q=0.9": true, "x/, text/plain": true,
	} {
		resp := api("POST", path, `{"distinct_id":"u"}`, "Accept", accept).do(a)
		body := bodyText(t, resp)
		want := "application/json"
		if text {
			want = "text/plain; charset=utf-8"
		}
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != want || resp.Header.Get("Vary") != "Accept" || strings.HasPrefix(body, "new-checkout = true") != text {
			t.Errorf("Accept %q: %d %s, Vary %q\n%s", accept, resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Vary"), body)
		}
	}
	a.fails(api("POST", path, `{}`, "Accept", "text/plain"), 400, "required")
}

// TestFlagQueries: each parameter selects by the field of its name.
func TestFlagQueries(t *testing.T) {
	a := newManaged(t, nil)
	a.ok(api("POST", flagsPath, `{"key":"Old-Search","active":false,"name":"findme","evaluation_runtime":"server","tags":["blue"],"evaluation_contexts":["shop"],`+
		`"filters":{"groups":[{"rollout_percentage":100}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`))
	for query, want := range map[string]string{
		"": "Old-Search new-checkout", "active=true": "new-checkout", "active=false": "Old-Search", "active=true&active=false": "Old-Search",
		"key=old-search": "Old-Search", "search=findme": "Old-Search", "search=old+search": "Old-Search", "type=boolean": "new-checkout", "type=multivariant": "Old-Search",
		"evaluation_runtime=server": "Old-Search", "tags=" + url.QueryEscape(`["blue"]`): "Old-Search", "excluded_tags=" + url.QueryEscape(`["blue"]`): "new-checkout",
		"has_evaluation_contexts=true": "Old-Search", "has_evaluation_contexts=0": "new-checkout", "evaluated=true": "", "evaluated=no": "Old-Search new-checkout", "archived=true": "", "created_by_id=99": "", "created_by_id=1": "Old-Search new-checkout",
		"order=key": "Old-Search new-checkout", "order=-key": "new-checkout Old-Search", "limit=1": "Old-Search", "limit=1&offset=1": "new-checkout", "unknown=1": "Old-Search new-checkout",
	} {
		v := a.ok(api("GET", flagsPath+"?"+query, ""))
		var keys []string
		for _, f := range v["results"].([]any) {
			keys = append(keys, f.(map[string]any)["key"].(string))
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if strings.Contains(query, "limit") || query == "order=-key" {
			continue
		}
		ids := a.ok(api("GET", flagsPath+"matching_ids?"+query, ""))["ids"].([]any)
		if len(ids) != len(keys) {
			t.Errorf("matching_ids?%s: %v, want %d", query, ids, len(keys))
		}
	}
	a.fails(api("GET", flagsPath+"?search="+strings.Repeat("x", 201), ""), 400, "max_length")
}

// TestManagedPages: lists with limit and offset (management.md §3.1).
func TestManagedPages(t *testing.T) {
	a := newManaged(t, func(c *server.Config) { c.Management.AppURL = "https://app.example/ph/" })
	for i := range 4 {
		a.ok(api("POST", flagsPath, strings.Replace(flagBody, "new-checkout", fmt.Sprint("flag-", i), 1)))
		a.ok(api("POST", cohortsPath, fmt.Sprintf(`{"name":"Cohort %d","is_static":true}`, i)))
		a.ok(api("POST", earlyPath, fmt.Sprintf(`{"name":"Feature %d","stage":"draft"}`, i)))
	}
	a.ok(api("POST", earlyPath, earlyBody))
	for path, count := range map[string]int{flagsPath: 10, cohortsPath: 5, earlyPath: 5} { // each feature has a flag
		v := a.ok(api("GET", path+"?z=1&offset=2&limit=2&a=%20", ""))
		base := "https://app.example/ph" + path
		want := map[string]any{"count": float64(count), "next": base + "?a=+&limit=2&offset=4&z=1", "previous": base + "?a=+&limit=2&offset=0&z=1"}
		results := v["results"].([]any)
		delete(v, "results")
		if diff := cmp.Diff(want, v); diff != "" || len(results) != 2 {
			t.Errorf("%s: %d results\n%s", path, len(results), diff)
		}
		if v := a.ok(api("GET", path+"?offset=1000", "")); fmt.Sprint(v["results"]) != "[]" || v["next"] != nil || v["previous"] == nil {
			t.Errorf("%s behind the end: %v", path, v)
		}
	}
}

// activityLists are all paths to activity logs that have something in newActivity.
var activityLists = []string{"/api/projects/1/activity_log", "/api/projects/1/feature_flags/activity", "/api/environments/@current/feature_flags/activity"}

// newActivity returns an apiServer with a flag that was changed 24 times after it
// was made.
func newActivity(t *testing.T, change func(*server.Config)) (a *apiServer, flag string) {
	t.Helper()
	a = newAPI(t, apiSetup{server: change})
	a.ok(api("POST", flagsPath, flagBody))
	flag = a.one(flagsPath)
	for i := range 24 {
		a.ok(api("PATCH", flag, fmt.Sprintf(`{"name":"%d"}`, i)))
	}
	return a, flag
}

// TestActivityPages: lists with page and limit, and links to the other pages
// (management.md §3.2).
func TestActivityPages(t *testing.T) {
	a, flag := newActivity(t, func(c *server.Config) { c.Management.AppURL = "https://app.example" })
	const first, more = 10, 25
	for _, path := range append(activityLists, flag+"/activity") {
		for _, tt := range []struct {
			query          string
			results        int
			next, previous string
		}{
			{"", first, "limit=10&page=2", ""},
			{"?page=1", first, "limit=10&page=2", ""},
			{"?page=2", first, "limit=10&page=3", "limit=10&page=1"},
			{"?page=3", more - 2*first, "", "limit=10&page=2"},
			{"?page=&limit=", first, "limit=10&page=2", ""},
			{"?limit=25", more, "", ""},
			{"?limit=24", 24, "limit=24&page=2", ""},
			{"?limit=1000", more, "", ""},
			{"?limit=99999999999999999999", more, "", ""},
			{"?page=9&page=2&limit=5&z=1&a=%C3%A9", 5, "a=%C3%A9&limit=5&page=3&z=1", "a=%C3%A9&limit=5&page=1&z=1"},
		} {
			for _, slash := range []string{"", "/"} {
				v := a.ok(api("GET", path+slash+tt.query, ""))
				link := func(query string) any {
					if query == "" {
						return nil
					}
					return "https://app.example" + path + slash + "?" + query
				}
				results := v["results"].([]any)
				delete(v, "results")
				want := map[string]any{"total_count": float64(more), "next": link(tt.next), "previous": link(tt.previous)}
				if diff := cmp.Diff(want, v); diff != "" || len(results) != tt.results {
					t.Errorf("%s%s%s: %d results, want %d\n%s", path, slash, tt.query, len(results), tt.results, diff)
				}
			}
		}
		for query, attr := range map[string]string{
			"?page=0": "page", "?page=-1": "page", "?page=x": "page", "?page=1.5": "page", "?page=%00": "page", "?page=-99999999999999999999": "page",
			"?limit=0": "limit", "?limit=-1": "limit", "?limit=x": "limit", "?page=1&limit=x": "limit",
		} {
			if e, _ := a.fails(api("GET", path+query, ""), 400, "invalid_input"); e.Attr == nil || *e.Attr != attr {
				t.Errorf("%s%s: %+v, want %s", path, query, e, attr)
			}
		}
		for _, query := range []string{"?page=4", "?page=2&limit=25", "?page=1000000", "?page=99999999999999999999"} {
			if e, _ := a.fails(api("GET", path+query, ""), 404, "not_found"); e.Detail != "Invalid page." {
				t.Errorf("%s%s: %+v", path, query, e)
			}
		}
	}
}

// TestActivityLimit: a page has 100 entries at most, and links say so (management.md
// §3.2).
func TestActivityLimit(t *testing.T) {
	a, flag := newActivity(t, func(c *server.Config) { c.Management.AppURL = "https://app.example" })
	for i := range 100 {
		a.ok(api("PATCH", flag, fmt.Sprintf(`{"name":"again %d"}`, i)))
	}
	const link = "https://app.example/api/projects/1/activity_log?limit=100&page="
	for query, want := range map[string]map[string]any{
		"?limit=1000":        {"n": 100, "next": link + "2", "previous": nil},
		"?limit=101&page=2":  {"n": 25, "next": nil, "previous": link + "1"},
		"?limit=100&page=2":  {"n": 25, "next": nil, "previous": link + "1"},
		"?limit=99999999999": {"n": 100, "next": link + "2", "previous": nil},
	} {
		v := a.ok(api("GET", activityLists[0]+query, ""))
		got := map[string]any{"n": len(v["results"].([]any)), "next": v["next"], "previous": v["previous"]}
		if diff := cmp.Diff(want, got); diff != "" || v["total_count"] != 125.0 {
			t.Errorf("%s: %v entries\n%s", query, v["total_count"], diff)
		}
	}
}

// TestActivityScopes: each list is about what its path names.
func TestActivityScopes(t *testing.T) {
	a, flag := newActivity(t, nil)
	a.ok(api("POST", flagsPath, strings.Replace(flagBody, "new-checkout", "other", 1)))
	a.ok(api("POST", cohortsPath, cohortBody))
	for path, want := range map[string]float64{
		"/api/projects/1/activity_log": 27, "/api/projects/1/feature_flags/activity": 26, flag + "/activity": 25,
		"/api/projects/1/surveys/activity": 0, "/api/organizations/@current/projects/1/surveys/activity/": 0,
	} {
		v := a.ok(api("GET", path, ""))
		if v["total_count"] != want || v["results"] == nil {
			t.Errorf("%s: %v entries, want %v", path, v["total_count"], want)
		}
	}
}

// TestActivityLinks: links are for the client, whatever is between it and the
// server, and hold no keys.
func TestActivityLinks(t *testing.T) {
	next := func(a *apiServer, c call) any {
		t.Helper()
		return a.ok(c)["next"]
	}
	const path = "/api/projects/1/activity_log"
	a, _ := newActivity(t, func(c *server.Config) {
		c.Management.AllowKeyInBody = true
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}
	})
	if got := next(a, api("GET", path, "", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "app.example")); got != "https://app.example"+path+"?limit=10&page=2" {
		t.Errorf("behind a proxy: %v", got)
	}
	stranger := api("GET", path, "", "X-Forwarded-Host", "evil.example")
	stranger.remote = "192.0.2.2:1"
	if got := next(a, stranger); got != "http://example.com"+path+"?limit=10&page=2" {
		t.Errorf("without a proxy: %v", got)
	}
	if got := next(a, api("GET", path+"?personal_api_key="+adaKey+"&z=1", "", "Authorization", "")); got != "http://example.com"+path+"?limit=10&page=2&z=1" {
		t.Errorf("with a key in the query: %v", got)
	}

	// HTTP/1.0 knows no hosts; and a handler below a prefix does not know it.
	srv := httptest.NewServer(http.StripPrefix("/ph", a))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /ph%s HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", path, adaKey)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	decode(t, resp, &v)
	if want := "/ph" + path + "?limit=10&page=2"; v["next"] != want {
		t.Errorf("HTTP/1.0: %v, want %s", v["next"], want)
	}
}
