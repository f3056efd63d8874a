package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// The right to use a route, besides a scope, or several with plus signs.
const (
	forAll   = "all"   // public: pages of any origin, too
	forHosts = "hosts" // operators, who keep strangers out by other means
	open     = "open"  // of the management API, without a key
	everyKey = "*"     // only keys that may do everything
)

// routeTable says for each path that a server answers which clients may use it, by
// method. A new route must be added here.
var routeTable = map[string]string{
	"/": "GET hosts", "/_liveness": "GET hosts", "/_readiness": "GET hosts", "/healthz": "GET hosts", "/readyz": "GET hosts", "/metrics": "GET hosts",

	"/flags": "POST all", "/decide": "POST all",
	"/ofrep/v1/streams/{stream}": "GET all",
	"/ofrep/v1/evaluate/flags":   "POST all", "/ofrep/v1/evaluate/flags/{key}": "POST all",
	"/i/v0/e": "GET all, POST all", "/batch": "GET all, POST all", "/i/v0/ai/batch": "POST all", "/e": "GET all, POST all", "/capture": "GET all, POST all",
	"/track": "GET all, POST all", "/engage": "GET all, POST all", "/s": "POST all", "/i/v1/analytics/events": "POST all",
	"/api/surveys": "GET all, POST all", "/api/early_access_features": "GET all, POST all", "/array/{key}/config": "GET all", "/array/{key}/config.js": "GET all",
	"/api/schema": "GET all", "/api/docs": "GET all",

	// These take a project's secret key as well.
	"/flags/definitions":                                       "GET feature_flag:read",
	"/api/feature_flag/local_evaluation":                       "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/local_evaluation":   "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/remote_config": "GET feature_flag:read",
	"/openfeature/v0/manifest":                                 "GET feature_flag:read",

	"/openfeature/v0/manifest/flags":        "POST feature_flag:write",
	"/openfeature/v0/manifest/flags/{flag}": "PUT feature_flag:write, DELETE feature_flag:write",

	"/api/users":                                "GET user:read",
	"/api/users/cancel_email_change_request":    "PATCH user:write",
	"/api/users/request_email_verification":     "POST open",
	"/api/users/verify_email":                   "POST open",
	"/api/users/{user}":                         "GET user:read, PATCH user:write, DELETE user:write",
	"/api/users/{user}/hedgehog_config":         "GET user:read, PATCH user:write",
	"/api/users/{user}/scene_personalisation":   "POST user:write",
	"/api/users/{user}/start_2fa_setup":         "GET user:write",
	"/api/users/{user}/two_factor_start_setup":  "GET user:write",
	"/api/users/{user}/validate_2fa":            "POST user:write",
	"/api/users/{user}/two_factor_validate":     "POST user:write",
	"/api/users/{user}/two_factor_status":       "GET user:read",
	"/api/users/{user}/two_factor_backup_codes": "POST user:write",
	"/api/users/{user}/two_factor_disable":      "POST user:write",
	"/api/users/{user}/sessions":                "GET user:read, DELETE user:write",
	"/api/users/{user}/sessions/{session}":      "DELETE user:write",
	"/api/password_reset":                       "POST open",
	"/api/password_reset/{token}":               "GET open, POST open",
	"/reset_password/{token}":                   "GET open, POST open",
	"/verify_email/{user}/{token}":              "GET open, POST open",
	"/signup/{token}":                           "GET open, POST open",
	"/api/signup/{token}":                       "GET open, POST open",

	"/api/personal_api_keys":            "GET *, POST *",
	"/api/personal_api_keys/{key}":      "GET *, PATCH *, DELETE *",
	"/api/personal_api_keys/{key}/roll": "POST *",

	"/api/organizations":                                     "GET organization:read, POST organization:write",
	"/api/organizations/{organization}":                      "GET organization:read, PATCH organization:write, DELETE organization:write",
	"/api/organizations/{organization}/members":              "GET organization_member:read, POST organization_member:write",
	"/api/organizations/{organization}/members/{user}":       "PATCH organization_member:write, DELETE organization_member:write",
	"/api/organizations/{organization}/invites":              "GET organization_member:read, POST organization_member:write",
	"/api/organizations/{organization}/invites/{invitation}": "DELETE organization_member:write",
	"/api/organizations/{organization}/projects":             "GET project:read, POST project:write",

	"/api/projects":                                      "GET project:read, POST project:write",
	"/api/projects/{project}":                            "GET project:read, PATCH project:write, DELETE project:write",
	"/api/projects/{project}/reset_token":                "POST project:write, PATCH project:write",
	"/api/projects/{project}/rotate_secret_token":        "POST project:write, PATCH project:write",
	"/api/projects/{project}/delete_secret_token_backup": "POST project:write, PATCH project:write",
	"/api/projects/{project}/activity_log":               "GET activity_log:read",

	"/api/projects/{project}/feature_flags":                         "GET feature_flag:read, POST feature_flag:write",
	"/api/projects/{project}/feature_flags/activity":                "GET activity_log:read",
	"/api/projects/{project}/feature_flags/matching_ids":            "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/facets":                  "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/bulk_keys":               "POST feature_flag:read",
	"/api/projects/{project}/feature_flags/bulk_delete":             "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/preview":                 "POST feature_flag:read+person:read",
	"/api/projects/{project}/feature_flags/user_blast_radius":       "POST feature_flag:read+person:read",
	"/api/projects/{project}/feature_flags/evaluation_reasons":      "GET feature_flag:read, POST feature_flag:read+person:read",
	"/api/projects/{project}/feature_flags/my_flags":                "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/explain":            "POST feature_flag:read+person:read",
	"/api/projects/{project}/feature_flags/{id}":                    "GET feature_flag:read, PATCH feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/activity":           "GET activity_log:read",
	"/api/projects/{project}/feature_flags/{id}/status":             "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/usage":              "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/versions":           "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/versions/{version}": "GET feature_flag:read",
	"/api/projects/{project}/feature_flags/{id}/revert":             "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/rollout":            "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/enable":             "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/disable":            "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/archive":            "POST feature_flag:write",
	"/api/projects/{project}/feature_flags/{id}/unarchive":          "POST feature_flag:write",
	"/api/projects/{project}/import":                                "POST feature_flag:write+cohort:write",
	"/api/projects/{project}/apply":                                 "POST feature_flag:write+cohort:write",
	"/api/projects/{project}/apply/{import}/undo":                   "POST feature_flag:write+cohort:write",
	"/api/projects/{project}/export":                                "GET feature_flag:read+cohort:read",

	"/api/projects/{project}/early_access_feature":      "GET early_access_feature:read, POST early_access_feature:write",
	"/api/projects/{project}/early_access_feature/{id}": "GET early_access_feature:read, PATCH early_access_feature:write, DELETE early_access_feature:write",

	"/api/projects/{project}/early_access_feature/{id}/enrollments": "GET early_access_feature:read+person:read",

	"/api/projects/{project}/cohorts/uses":                                  "GET cohort:read+feature_flag:read",
	"/api/projects/{project}/cohorts/preview":                               "POST cohort:read+person:read",
	"/api/projects/{project}/cohorts":                                       "GET cohort:read, POST cohort:write",
	"/api/projects/{project}/cohorts/{id}":                                  "GET cohort:read, PATCH cohort:write",
	"/api/projects/{project}/cohorts/{id}/members":                          "GET cohort:read, POST cohort:write",
	"/api/projects/{project}/cohorts/{id}/add_persons_to_static_cohort":     "PATCH cohort:write",
	"/api/projects/{project}/cohorts/{id}/remove_person_from_static_cohort": "PATCH cohort:write",

	"/api/projects/{project}/cohorts/{id}/persons": "GET cohort:read+person:read",

	"/api/projects/{project}/persons":                      "GET person:read",
	"/api/projects/{project}/persons/{id}":                 "GET person:read, DELETE person:write",
	"/api/projects/{project}/persons/{id}/events":          "GET person:read",
	"/api/projects/{project}/persons/{id}/cohorts":         "GET cohort:read+person:read",
	"/api/projects/{project}/person_search":                "GET person:read",
	"/api/projects/{project}/persons/{id}/update_property": "POST person:write",
	"/api/projects/{project}/persons/{id}/delete_property": "POST person:write",
	"/api/projects/{project}/events":                       "GET query:read",
	"/api/projects/{project}/events/export":                "GET query:read",
	"/api/projects/{project}/events/{id}":                  "GET query:read",
	"/api/projects/{project}/event_definitions":            "GET event_definition:read",
	"/api/projects/{project}/property_definitions":         "GET property_definition:read",
	"/api/projects/{project}/groups_types":                 "GET group:read",
	"/api/projects/{project}/groups":                       "GET group:read",
	"/api/projects/{project}/groups/find":                  "GET group:read, DELETE group:write",
	"/api/projects/{project}/groups/update_property":       "POST group:write",
	"/api/projects/{project}/groups/delete_property":       "POST group:write",

	"/api/projects/{project}/surveys":                                     "GET survey:read, POST survey:write",
	"/api/projects/{project}/surveys/activity":                            "GET activity_log:read",
	"/api/projects/{project}/surveys/question_labels":                     "GET survey:read",
	"/api/projects/{project}/surveys/responses_count":                     "GET survey:read",
	"/api/projects/{project}/surveys/stats":                               "GET survey:read",
	"/api/projects/{project}/surveys/{id}":                                "GET survey:read, PUT survey:write, PATCH survey:write, DELETE survey:write",
	"/api/projects/{project}/surveys/{id}/activity":                       "GET activity_log:read",
	"/api/projects/{project}/surveys/{id}/archived-response-uuids":        "GET survey:read",
	"/api/projects/{project}/surveys/{id}/duplicate_to_projects":          "POST survey:write",
	"/api/projects/{project}/surveys/{id}/launch":                         "POST survey:write",
	"/api/projects/{project}/surveys/{id}/stop":                           "POST survey:write",
	"/api/projects/{project}/surveys/{id}/stats":                          "GET survey:read",
	"/api/projects/{project}/surveys/{id}/responses":                      "GET survey:read+query:read",
	"/api/projects/{project}/surveys/{id}/responses/{response}/archive":   "POST survey:write",
	"/api/projects/{project}/surveys/{id}/responses/{response}/unarchive": "POST survey:write",
	"/api/projects/{project}/surveys/{id}/summarize_responses":            "POST survey:read",
	"/api/projects/{project}/surveys/{id}/summary_headline":               "POST survey:read",
}

// segments stand for the wildcards of paths, for Ada.
var segments = strings.NewReplacer(
	"{user}", "@me", "{key}", "id-of-"+readerKey, "{organization}", "@current", "{project}", "1", "{id}", "1", "{response}", "1", "{token}", "x", "{invitation}", other, "{version}", "1", "{session}", other, "{flag}", "beta",
)

// aliases turns the other addresses of what belongs to a project into the one that is in
// tables.
var aliases = strings.NewReplacer("/api/projects/{project}/openfeature", "/openfeature", "/api/environments/{project}", "/api/projects/{project}", "/api/organizations/{organization}/projects/{project}", "/api/projects/{project}")

// A tableRow is a path with a method and the right to use it.
type tableRow struct{ pattern, path, method, who string }

// keyed reports whether a key of the management API is needed.
func (r tableRow) keyed() bool { return r.who == everyKey || strings.Contains(r.who, ":") }

// tableRows are all that a server answers, with the aliases of its routes. It fails
// for paths that the table does not have, and for paths that the server does not
// have.
func tableRows(t *testing.T, s *server.Server) []tableRow {
	t.Helper()
	unseen := maps.Clone(routeTable)
	var rows []tableRow
	for _, pattern := range s.Paths() {
		entry, ok := routeTable[aliases.Replace(pattern)]
		if !ok {
			t.Errorf("%s: routeTable does not say who may use it", pattern)
			continue
		}
		delete(unseen, aliases.Replace(pattern))
		for use := range strings.SplitSeq(entry, ", ") {
			method, who, _ := strings.Cut(use, " ")
			rows = append(rows, tableRow{pattern, segments.Replace(pattern), method, who})
		}
	}
	for pattern := range unseen {
		t.Errorf("%s: there is no such route", pattern)
	}
	return rows
}

// call is a request of the row, with a body that says nothing.
func (r tableRow) call(key string) call {
	c := api(r.method, r.path, "", "Authorization", "")
	if r.method != "GET" && r.method != "DELETE" {
		c = api(r.method, r.path, "{}", "Authorization", "")
	}
	if key != "" {
		c = c.with(key)
	}
	return c
}

func newRouteServer(t *testing.T) *apiServer {
	return newAPI(t, apiSetup{server: allRoutes})
}

// allRoutes configures a server that has all routes, and limits nobody.
func allRoutes(c *server.Config) {
	c.Capture.Collector, c.OFREP = noCollector{}, true
	c.Management.Limit = server.ManagementLimit{PerMinute: -1, PerHour: -1, Strangers: -1, Definitions: -1}
}

// TestRouteTable: all routes are in the table, with these methods and no others.
func TestRouteTable(t *testing.T) {
	a := newRouteServer(t)
	methods := make(map[string][]string) // by path
	who := make(map[string]string)
	for _, r := range tableRows(t, a.Server) {
		methods[r.path] = append(methods[r.path], r.method)
		who[r.path] = r.who
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, "GET") || !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/openfeature/") {
			allowed = append(allowed, "HEAD")
		}
		if who[path] != forHosts && !strings.HasPrefix(path, "/verify_email") && !strings.HasPrefix(path, "/signup") && !strings.HasPrefix(path, "/reset_password") {
			allowed = append(allowed, "OPTIONS")
		}
		slices.Sort(allowed)
		for _, slash := range []string{"", "/"} {
			if path == "/" && slash != "" {
				continue
			}
			c := api("BREW", path+slash, "", "Origin", "https://app.example")
			resp := c.do(a)
			got := strings.Split(resp.Header.Get("Allow"), ", ")
			slices.Sort(got)
			if resp.StatusCode != 405 || !slices.Equal(got, slices.Compact(allowed)) {
				t.Errorf("BREW %s%s = %d, Allow %q, want %q", path, slash, resp.StatusCode, got, allowed)
			}
			if origin := resp.Header.Get("Access-Control-Allow-Origin"); (origin != "") != (who[path] == forAll) {
				t.Errorf("%s%s is for %s, and other origins get %q", path, slash, who[path], origin)
			}
		}
	}
}

// TestRouteStrangers: a client without a key, with a wrong one, or with one of
// another kind, gets nothing from a route that is not open.
func TestRouteStrangers(t *testing.T) {
	a := newRouteServer(t)
	for _, r := range tableRows(t, a.Server) {
		if !r.keyed() {
			resp := r.call("").do(a)
			if resp.StatusCode == 403 || resp.StatusCode == 404 && r.who == forHosts || resp.Header.Get("Www-Authenticate") != "" {
				t.Errorf("%s %s is for %s, and strangers get %d", r.method, r.path, r.who, resp.StatusCode)
			}
			continue
		}
		a.fails(r.call(""), 401, "not_authenticated")
		a.fails(r.call("phx_wrong"), 401, "authentication_failed")
		a.fails(r.call("phc_acme"), 401, "authentication_failed")
	}
}

// TestRouteScopes: a key that may do everything but what a route is about may not
// use it, and one that may do nothing else may.
func TestRouteScopes(t *testing.T) {
	a := newRouteServer(t)
	rows := tableRows(t, a.Server)
	var all []string // scopes
	for _, r := range rows {
		if r.keyed() && r.who != everyKey {
			all = append(all, strings.Split(r.who, "+")...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	without := func(scope string) string {
		object, _, _ := strings.Cut(scope, ":")
		list := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == scope || s == object+":write" })
		if strings.HasSuffix(scope, ":write") {
			list = append(list, object+":read")
		}
		return a.withScopes(list...)
	}
	keys := make(map[string]string) // that lack a scope
	for _, scope := range all {
		keys[scope] = without(scope)
	}
	keys[everyKey] = a.withScopes(all...)

	for _, r := range rows {
		if !r.keyed() {
			continue
		}
		for scope := range strings.SplitSeq(r.who, "+") {
			e, _ := a.fails(r.call(keys[scope]), 403, "permission_denied")
			if want := fmt.Sprintf("API key missing required scope '%s'", scope); scope != everyKey && e.Detail != want {
				t.Errorf("%s %s without %s: %s", r.method, r.path, scope, e.Detail)
			}
		}
	}
	for _, r := range rows {
		if !r.keyed() {
			continue
		}
		one := newRouteServer(t) // the route may delete all there is
		key := one.withScopes(strings.Split(r.who, "+")...)
		if resp := r.call(key).do(one); resp.StatusCode == 401 || resp.StatusCode == 403 || resp.StatusCode == 405 {
			t.Errorf("%s %s with %s = %d %s", r.method, r.path, r.who, resp.StatusCode, bodyText(t, resp))
		}
	}
}

// TestRouteProjects: what belongs to a project is closed to users who are not in
// it, to keys for other projects, and to paths by which it does not belong there
// (management.md §1.5, §15.2).
func TestRouteProjects(t *testing.T) {
	a := newRouteServer(t)
	elsewhere := a.key(func(k *storage.PersonalKey) { k.Projects = []int64{2} })
	for _, r := range tableRows(t, a.Server) {
		if !r.keyed() || !strings.Contains(r.pattern, "{project}") {
			continue
		}
		own := !strings.HasPrefix(r.pattern, "/api/organizations/")
		if e, _ := a.fails(r.call(elsewhere), 403, "permission_denied"); !strings.Contains(e.Detail, "project") {
			t.Errorf("%s %s for a key for another project: %s", r.method, r.path, e.Detail)
		}
		// §1.5: a project of others, 2 for Ada, is like one that does not exist.
		a.fails(r.call(stellaKey), 404, "not_found")
		foreign := r
		for _, project := range []string{"2", "3", "0", "-1", "01", "x", "1%2F", "%00"} {
			foreign.path = segments.Replace(strings.Replace(r.pattern, "{project}", project, 1))
			a.fails(foreign.call(adaKey), 404, "not_found")
		}
		if !own {
			foreign.path = segments.Replace(strings.Replace(r.pattern, "{organization}", other, 1))
			a.fails(foreign.call(adaKey), 404, "not_found")
		}
	}
}

// TestRoutesWithout: routes that need something are not there without it.
func TestRoutesWithout(t *testing.T) {
	bare := newServer(t, nil)
	quiet := newAPI(t, apiSetup{management: func(c *management.Config) { c.Mailer = nil }})
	for _, r := range tableRows(t, newRouteServer(t).Server) {
		hasBare := r.who == forAll && (r.path == "/flags" || r.path == "/decide" || strings.HasPrefix(r.path, "/a")) ||
			r.who == forHosts && slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, r.path)
		hasQuiet := hasBare || strings.HasPrefix(r.path, "/api/") || strings.HasPrefix(r.path, "/signup/") || strings.HasPrefix(r.path, "/openfeature/") || r.path == definitionsPath
		for h, want := range map[http.Handler]bool{bare: hasBare, quiet: hasQuiet} {
			c := r.call("")
			c.method = "BREW"
			if resp := c.with(adaKey).do(h); (resp.StatusCode == 405) != want {
				t.Errorf("%s = %d, want it there: %v", r.path, resp.StatusCode, want)
			}
		}
	}
}
