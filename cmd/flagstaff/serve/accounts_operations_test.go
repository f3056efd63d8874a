package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An operation is a method of a path of the management API.
type operation struct {
	call  string           // method and pattern of the server's route
	scope management.Scope // that it needs; "" if it is open to everybody, "*" if the key must not be limited
	also  management.Scope // another one that it needs, or ""
	query string           // with which it succeeds, or ""
	body  string           // with which it succeeds; {id} and {new} mean what they mean in references
	want  int              // status of a success

	// self says that nobody may do it for another user, not even staff
	// (management.md §5.2).
	self bool

	// managed says that the operation is about what a project has, and does not
	// change the account or the project. alias says that most clients use another
	// address.
	managed, alias bool

	// prepare makes an account ready and returns another body. Nil: there is
	// nothing to prepare.
	prepare func(*testing.T, *site, *account) string
}

// operations returns the operations that are tried on a store. Other addresses of
// the same things do not depend on the store, so they are tried on one store only.
func (s *site) operations() []operation {
	if s.given != nil {
		return operations
	}
	return slices.DeleteFunc(slices.Clone(operations), func(o operation) bool { return o.alias })
}

// operations are all operations of the server: see the row "operations are
// complete".
var operations = slices.Concat([]operation{
	{call: "GET /api/users", scope: "user:read", want: 200},
	{call: "PATCH /api/users/cancel_email_change_request", scope: "user:write", want: 200, prepare: wantAddress},
	{call: "POST /api/users/request_email_verification", body: `{"uuid":"00000000-0000-7000-8000-000000000000"}`, want: 200},
	{call: "POST /api/users/verify_email", want: 200, prepare: func(t *testing.T, s *site, a *account) string {
		wantAddress(t, s, a)
		return s.verification(t, "new-"+a.Email, 1)
	}},
	{call: "GET /api/users/{user}", scope: "user:read", want: 200},
	{call: "PATCH /api/users/{user}", scope: "user:write", body: `{"first_name":"Eve"}`, want: 200},
	{call: "DELETE /api/users/{user}", scope: "user:write", want: 204, prepare: func(t *testing.T, s *site, a *account) string {
		if err := s.store.Organizations().Delete(t.Context(), storage.OrganizationID.Is(a.organization.ID)); err != nil {
			t.Fatal(err)
		}
		return ""
	}},
	{call: "GET /api/users/{user}/hedgehog_config", scope: "user:read", want: 200},
	{call: "PATCH /api/users/{user}/hedgehog_config", scope: "user:write", body: `{"version":2}`, want: 200},
	{call: "POST /api/users/{user}/scene_personalisation", scope: "user:write", body: `{"scene":"Person","dashboard":42}`, want: 200},
	{call: "GET /api/users/{user}/start_2fa_setup", scope: "user:write", want: 200, self: true},
	{call: "GET /api/users/{user}/two_factor_start_setup", scope: "user:write", want: 200, self: true},
	{call: "POST /api/users/{user}/validate_2fa", scope: "user:write", want: 200, self: true, prepare: setUp},
	{call: "POST /api/users/{user}/two_factor_validate", scope: "user:write", want: 200, self: true, prepare: setUp},
	{call: "GET /api/users/{user}/two_factor_status", scope: "user:read", want: 200},
	{call: "POST /api/users/{user}/two_factor_backup_codes", scope: "user:write", want: 200, self: true, prepare: func(t *testing.T, s *site, a *account) string {
		s.as(a).enroll(t)
		return ""
	}},
	{call: "POST /api/users/{user}/two_factor_disable", scope: "user:write", want: 200, self: true},
	{call: "GET /api/users/{user}/sessions", scope: "user:read", want: 200, self: true},
	{call: "DELETE /api/users/{user}/sessions", scope: "user:write", want: 204, self: true},
	{call: "DELETE /api/users/{user}/sessions/{session}", scope: "user:write", want: 204, self: true},
	{call: "POST /api/password_reset", want: 200, prepare: func(_ *testing.T, _ *site, a *account) string { return members("email", a.Email) }},
	{call: "GET /api/password_reset/{token}", want: 200},
	{call: "POST /api/password_reset/{token}", want: 200, prepare: func(t *testing.T, s *site, _ *account) string {
		return members("password", s.password(t))
	}},

	{call: "GET /api/personal_api_keys", scope: "*", want: 200},
	{call: "POST /api/personal_api_keys", scope: "*", body: `{"label":"another","scopes":["user:read"]}`, want: 201},
	{call: "GET /api/personal_api_keys/{key}", scope: "*", want: 200},
	{call: "PATCH /api/personal_api_keys/{key}", scope: "*", body: `{"label":"another"}`, want: 200},
	{call: "DELETE /api/personal_api_keys/{key}", scope: "*", want: 204},
	{call: "POST /api/personal_api_keys/{key}/roll", scope: "*", want: 200},

	{call: "GET /api/organizations", scope: "organization:read", want: 200},
	{call: "POST /api/organizations", scope: "organization:write", body: `{"name":"Another"}`, want: 201},
	{call: "GET /api/organizations/{organization}", scope: "organization:read", want: 200},
	{call: "PATCH /api/organizations/{organization}", scope: "organization:write", body: `{"name":"Another"}`, want: 200},
	{call: "DELETE /api/organizations/{organization}", scope: "organization:write", want: 204},
	{call: "GET /api/organizations/{organization}/members", scope: "organization_member:read", want: 200},
	{call: "POST /api/organizations/{organization}/members", scope: "organization_member:write", want: 202, prepare: func(_ *testing.T, _ *site, a *account) string {
		return members("email", "guest-of-"+a.Email)
	}},
	{call: "GET /api/organizations/{organization}/invites", scope: "organization_member:read", want: 200},
	{call: "POST /api/organizations/{organization}/invites", scope: "organization_member:write", want: 201, prepare: func(_ *testing.T, _ *site, a *account) string {
		return members("target_email", "guest-of-"+a.Email)
	}},
	{call: "DELETE /api/organizations/{organization}/invites/{invitation}", scope: "organization_member:write", want: 204},
	{call: "GET /api/signup/{token}", want: 200},
	{call: "POST /api/signup/{token}", want: 201, prepare: func(t *testing.T, s *site, _ *account) string {
		return members("password", s.password(t))
	}},
	{call: "PATCH /api/organizations/{organization}/members/{user}", scope: "organization_member:write", body: `{"level":8}`, want: 200},
	{call: "DELETE /api/organizations/{organization}/members/{user}", scope: "organization_member:write", want: 204},
	{call: "GET /api/organizations/{organization}/projects", scope: "project:read", want: 200},
	{call: "POST /api/organizations/{organization}/projects", scope: "project:write", body: `{"name":"Another"}`, want: 201},

	{call: "POST /openfeature/v0/manifest/flags", scope: "feature_flag:write", body: `{"key":"{new}","type":"boolean","defaultValue":false}`, want: 201},
	{call: "PUT /openfeature/v0/manifest/flags/{flag}", scope: "feature_flag:write", body: `{"key":"{flag}","type":"boolean","description":"another"}`, want: 200},
	{call: "DELETE /openfeature/v0/manifest/flags/{flag}", scope: "feature_flag:write", want: 200},

	{call: "GET /api/projects", scope: "project:read", want: 200},
	{call: "POST /api/projects", scope: "project:write", body: `{"name":"Another"}`, want: 201},
}, projectOperations(""), projectOperations("/reset_token"), projectOperations("/rotate_secret_token"), projectOperations("/delete_secret_token_backup"), managedOperations())

// projectAddresses are the addresses of one project. The server's metrics use the
// first one.
var projectAddresses = []string{"/api/projects/{project}", "/api/environments/{project}", "/api/organizations/{organization}/projects/{project}"}

// projectOperations are the operations of a path below a project, which has three
// addresses.
func projectOperations(below string) []operation {
	var list []operation
	for _, address := range projectAddresses {
		path := address + below
		if below != "" {
			list = append(list, operation{call: "POST " + path, scope: "project:write", want: 200}, operation{call: "PATCH " + path, scope: "project:write", want: 200})
			continue
		}
		list = append(
			list,
			operation{call: "GET " + path, scope: "project:read", want: 200},
			operation{call: "PATCH " + path, scope: "project:write", body: `{"name":"Another"}`, want: 200},
			operation{call: "DELETE " + path, scope: "project:write", want: 204},
		)
	}
	return list
}

// wantAddress stages another address.
func wantAddress(t *testing.T, s *site, a *account) string {
	t.Helper()
	s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
	return ""
}

// setUp begins to set up an authenticator, and returns the body that ends it.
func setUp(t *testing.T, s *site, a *account) string {
	t.Helper()
	device := &authenticator{secret: s.as(a).call(t, setupPath, "").ok(t)["secret"].(string)}
	return members("token", device.code(t))
}

// invite invites somebody to an account's organization, and returns the invitation and the
// token of its link.
func (s *site) invite(t *testing.T, a *account) (id, token string) {
	t.Helper()
	address := fmt.Sprintf("guest%d@example.com", names.Add(1))
	r := s.as(a).call(t, "POST /api/organizations/"+a.organization.ID.String()+"/invites/", members("target_email", address)).ok(t)
	m := invitationLink.FindStringSubmatch(s.mail.await(t, address, "invitation", 1).text)
	if m == nil {
		t.Fatal("no link")
	}
	s.watch.keep(m[1], "a token of a mail", "", 0)
	return r["id"].(string), m[1]
}

// reset asks for another password for an account, and returns the token of the link.
func (s *site) reset(t *testing.T, a *account) string {
	t.Helper()
	s.stranger().call(t, "POST /api/password_reset/", members("email", a.Email)).ok(t)
	m := resetLink.FindStringSubmatch(s.mail.await(t, a.Email, "password_reset", 1).text)
	if m == nil {
		t.Fatal("no link")
	}
	s.watch.keep(m[1], "a token of a mail", "", 0)
	return m[1]
}

var resetLink = regexp.MustCompile(`http://\S+/reset_password/([\w-]{43})\s`)

// session opens a session of an account, and returns its ID.
func (s *site) session(t *testing.T, a *account) string {
	t.Helper()
	link, err := s.service.NewSignInLink(t.Context(), a.Email)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := s.service.UseSignInLink(t.Context(), link, nil, management.Client{})
	if err != nil {
		t.Fatal(err)
	}
	s.watch.keep(link, "a token of a link", "", 0)
	s.watch.keep(opened.Token, "a token of a session", "", 0)
	return opened.Principal.Session.ID.String()
}

var invitationLink = regexp.MustCompile(`http://\S+/signup/([\w-]{43})\s`)

// references are the values for the wildcards of patterns.
type references struct {
	user, key, organization, project string
	ids                              map[string]string // {id}, by collection
	response                         string
	invitation, token                string // of the invitation's link
	session                          string
	flag                             string // its key
}

// nowhere refers to things that do not exist, except the caller.
var nowhere = references{"@me", "none", unknownUUID, unknownNumber, unknownIDs(), unknownUUID, unknownUUID, "x", unknownUUID, "none"}

// fill returns the call for things.
func (o *operation) fill(r references) string { return r.replace(o, o.call) + "/" + o.query }

// fillBody returns the body for things.
func (o *operation) fillBody(r references) string { return r.replace(o, o.body) }

func (r *references) replace(o *operation, text string) string {
	return strings.NewReplacer(
		"{user}", r.user, "{key}", r.key, "{organization}", r.organization, "{project}", r.project,
		"{id}", r.ids[o.collection()], "{response}", r.response, "{invitation}", r.invitation, "{token}", r.token, "{new}", newName(), "{version}", "1", "{session}", r.session, "{flag}", r.flag,
		"{import}", unknownUUID,
	).Replace(text)
}

// of refers to what an account has.
func (s *site) of(t *testing.T, a *account, key string) references {
	t.Helper()
	return references{a.UUID.String(), s.keyID(t, key), a.organization.ID.String(), fmt.Sprint(a.project.ID), unknownIDs(), uuid.NewString(), uuid.NewString(), "x", uuid.NewString(), "none"}
}

// attempt does an operation with a key of an account's own things, after it has
// prepared it.
func (o *operation) attempt(t *testing.T, s *site, a *account, key string) *answer {
	t.Helper()
	r := s.of(t, a, a.key)
	if strings.Contains(o.call, "{key}") {
		r.key = s.keyID(t, s.issue(t, a))
	}
	if strings.Contains(o.call, "/members/{user}") {
		r.user = s.member(t, a, storage.LevelMember).UUID.String()
	}
	switch {
	case strings.Contains(o.call, "/password_reset/{token}"):
		r.token = s.reset(t, a)
	case strings.Contains(o.call, "{invitation}"), strings.Contains(o.call, "{token}"):
		r.invitation, r.token = s.invite(t, a)
	}
	if strings.Contains(o.call, "{session}") {
		r.session = s.session(t, a)
	}
	if strings.Contains(o.call+o.body, "{id}") {
		r.ids[o.collection()] = s.make(t, a, o.collection())
	}
	if strings.Contains(o.call, "{flag}") {
		r.flag = newName()
		s.makeCalled(t, a, "feature_flags", r.flag)
	}
	body := o.fillBody(r)
	if o.prepare != nil {
		body = o.prepare(t, s, a)
	}
	c := s.with(key)
	if o.scope == "" {
		c = s.stranger()
	}
	return c.call(t, o.fill(r), body)
}

// scopes returns the scopes that an operation needs.
func (o *operation) scopes() []management.Scope {
	if o.also != "" {
		return []management.Scope{o.scope, o.also}
	}
	return []management.Scope{o.scope}
}

// accounts returns a function that returns an account for each operation: the same
// one for all operations that do not change it.
func (s *site) accounts(t *testing.T) func(*operation) *account {
	shared := s.account(t)
	return func(o *operation) *account {
		t.Helper()
		if o.managed {
			return shared
		}
		return s.account(t)
	}
}

// writeScopes are all scopes that operations need, in the form that includes
// reading.
var writeScopes = []management.Scope{
	"user:write", "organization:write", "organization_member:write", "project:write", "activity_log:write", "feature_flag:write",
	"cohort:write", "early_access_feature:write", "survey:write", "query:write", "person:write", "group:write",
}

var operationRows = []accountRow{
	{"operations", "are complete", operationsAreComplete},
	{"case 3", "a key without the scope", func(t *testing.T, s *site) {
		a := s.account(t)
		r := s.of(t, a, a.key)
		keys := make(map[management.Scope]string) // by the scope that they lack
		for _, o := range s.operations() {
			if o.scope == "" {
				continue
			}
			for _, scope := range o.scopes() {
				if keys[scope] == "" {
					rest := slices.DeleteFunc(slices.Clone(writeScopes), func(have management.Scope) bool {
						object, _, _ := strings.Cut(string(scope), ":")
						return string(have) == object+":write"
					})
					if object, write := strings.CutSuffix(string(scope), ":write"); write {
						rest = append(rest, management.Scope(object+":read"))
					}
					keys[scope] = s.issue(t, a, rest...)
				}
				detail := s.with(keys[scope]).call(t, o.fill(r), o.fillBody(r)).fails(t, 403, "permission_denied", "")
				if want := "API key missing required scope '" + string(scope) + "'"; scope != "*" && detail != want {
					t.Errorf("%s: detail %q, want %q", o.call, detail, want)
				}
			}
		}
	}},
	{"case 4", "a key with just the scope", func(t *testing.T, s *site) {
		account := s.accounts(t)
		keys := make(map[string]string) // of shared accounts, by what they may do
		for _, o := range s.operations() {
			lists := [][]management.Scope{o.scopes()}
			if object, read := strings.CutSuffix(string(o.scope), ":read"); read {
				writer := slices.Clone(o.scopes())
				writer[0] = management.Scope(object + ":write") // which may read as well
				lists = append(lists, writer)
			}
			a := account(&o)
			for _, scopes := range lists {
				name := fmt.Sprint(a.ID, scopes)
				if keys[name] == "" && o.scope != "" {
					keys[name] = s.issue(t, a, scopes...)
				}
				if r := o.attempt(t, s, a, keys[name]); r.status != o.want {
					t.Errorf("%s with %s = %d %s, want %d", o.call, scopes, r.status, r.body, o.want)
				}
			}
		}
	}},
	{"case 5", "a key with all scopes", func(t *testing.T, s *site) {
		account := s.accounts(t)
		for _, o := range s.operations() {
			a := account(&o)
			if r := o.attempt(t, s, a, a.key); r.status != o.want {
				t.Errorf("%s = %d %s, want %d", o.call, r.status, r.body, o.want)
			}
		}
	}},
	{"case 6", "a key for users only", func(t *testing.T, s *site) {
		a := s.account(t)
		c := s.with(s.issue(t, a, "user:read"))
		r := s.of(t, a, a.key)
		for _, o := range s.operations() {
			if o.scope == "" || strings.Contains(o.call, "/api/users") {
				continue
			}
			detail := c.call(t, o.fill(r), o.fillBody(r)).fails(t, 403, "permission_denied", "")
			if o.scope != "*" && detail != "API key missing required scope '"+string(o.scope)+"'" {
				t.Errorf("%s: detail %q", o.call, detail)
			}
		}
		// A key may see itself, whatever else it may do.
		c.call(t, "GET /api/personal_api_keys/@current/", "").ok(t)
		c.call(t, "GET /api/personal_api_keys/"+s.keyID(t, c.key)+"/", "").ok(t)
	}},
	{"rule 7", "things of others", foreignThings},
	{"references in bodies", "to things of others", foreignBodies},
	{"lists", "have nothing of others", foreignLists},
}

// The purpose of a route, as its answers show it. Pages of any origin may use what
// is delivered, and the secret key of a project opens definitions; operations
// refuse both. So an operation that is missing in the table cannot pass for
// something else.
const (
	forPeople  = "operation"
	forSDKs    = "definitions"
	forAnybody = "delivery"
)

// otherRoutes are the routes below /api that are not operations. Definitions have
// tests in accounts_definitions_test.go.
var otherRoutes = map[string]string{
	"GET /api/surveys":                forAnybody,
	"POST /api/surveys":               forAnybody,
	"GET /api/early_access_features":  forAnybody,
	"POST /api/early_access_features": forAnybody,
	"GET /api/schema":                 forAnybody,
	"GET /api/docs":                   forAnybody,

	"GET /openfeature/v0/manifest":                                 forSDKs,
	"GET /flags/definitions":                                       forSDKs,
	"GET /api/feature_flag/local_evaluation":                       forSDKs,
	"GET /api/projects/{project}/feature_flags/local_evaluation":   forSDKs,
	"GET /api/projects/{project}/feature_flags/{id}/remote_config": forSDKs,
}

// operationsAreComplete compares the tables with the program: its API document has all
// routes, and OPTIONS shows the methods of each.
func operationsAreComplete(t *testing.T, s *site) {
	a := s.account(t)
	r := s.of(t, a, a.key)
	r.ids["feature_flags"] = s.remoteConfig(t, a)
	w, err := s.stranger().send(t.Context(), "GET /api/schema/?format=json", "")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(w.body), &document); err != nil {
		t.Fatal(err)
	}
	served := make(map[string]string)
	for path := range document.Paths {
		if !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/openfeature/") && path != "/flags/definitions" {
			continue
		}
		options, err := s.stranger().send(t.Context(), (&operation{call: "OPTIONS " + path}).fill(r), "", "Origin", origin)
		if err != nil {
			t.Fatal(err)
		}
		use := forPeople
		switch {
		case options.header.Get("Access-Control-Allow-Origin") != "":
			use = forAnybody
		case s.opens(t, a, (&operation{call: "GET " + path}).fill(r)):
			use = forSDKs
		default:
			options.check(t)
		}
		for method := range strings.SplitSeq(options.header.Get("Allow"), ", ") {
			if method != http.MethodHead && method != http.MethodOptions {
				served[method+" "+path] = use
			}
		}
	}
	if len(served) == 0 {
		t.Fatalf("no routes in the API document:\n%s", w.body)
	}
	listed := maps.Clone(otherRoutes)
	for _, o := range operations {
		for _, other := range projectAddresses { // which count as the first one
			if method, path, _ := strings.Cut(o.call, " "); strings.HasPrefix(path, other) {
				o.call = method + " " + projectAddresses[0] + strings.TrimPrefix(path, other)
			}
		}
		listed[o.call] = forPeople
	}
	if diff := gocmp.Diff(served, listed); diff != "" {
		t.Errorf("operations (-served +in the tables):\n%s", diff)
	}
}

// opens reports whether the secret key of an account's project opens something.
func (s *site) opens(t *testing.T, a *account, call string) bool {
	t.Helper()
	r, err := s.with(*a.project.SecretToken).send(t.Context(), call, "")
	if err != nil {
		t.Fatal(err)
	}
	return r.status/100 == 2
}

// A target has what other users must not reach.
type target struct {
	*account
	member  *account // of the organization
	foreign references
	told    []string // texts that tell about it
}

func (s *site) target(t *testing.T) *target {
	t.Helper()
	a := s.account(t)
	v := &target{account: a, member: s.member(t, a, storage.LevelMember)}
	spare := s.issue(t, a)
	v.foreign = s.of(t, a, spare)
	v.foreign.invitation, v.foreign.token = s.invite(t, a)
	v.foreign.session = s.session(t, a)
	for _, u := range []*account{v.account, v.member} {
		v.told = append(v.told, u.Email, u.FirstName, u.UUID.String(), u.DistinctID)
	}
	o, p := a.organization, a.project
	v.told = append(v.told, o.ID.String(), o.Name, o.Slug, p.Name, p.UUID.String(), p.APIToken, v.foreign.key, "phx_..."+spare[len(spare)-4:])
	for name, c := range collections {
		called := newName()
		v.foreign.ids[name] = s.makeCalled(t, a, name, called)
		v.told = append(v.told, called)
		if name == "feature_flags" {
			v.foreign.flag = called
		}
		if c.unknown == unknownUUID {
			v.told = append(v.told, v.foreign.ids[name])
		}
	}
	s.define(t, a)
	return v
}

// define waits until the definitions of a project have its two events, of a person and of
// their own, so that what an account shows changes no more. On PostgreSQL, that takes as
// long as the transactions that others have begun before.
func (s *site) define(t *testing.T, a *account) {
	t.Helper()
	for count, deadline := 0, time.Now().Add(time.Minute); count < 2; {
		_, err := s.store.DefineEvents(t.Context())
		if err == nil {
			_, count, err = s.store.Definitions(t.Context(), a.project.ID, storage.DefinesEvent, "", 10, 0)
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of the project's 2 events have definitions: %v", count, err)
		}
	}
}

// checkSilent checks that an answer tells only what the request has said about a
// target.
func (v *target) checkSilent(t *testing.T, r *answer, request string) {
	t.Helper()
	for _, text := range v.told {
		if strings.Contains(r.body, text) && !strings.Contains(request, text) {
			t.Errorf("%s = %s, which tells %q", request, r.body, text)
		}
	}
}

var lastUse = regexp.MustCompile(`"last_used_at":[^,]*,`)

// state returns everything that an account shows.
func (s *site) state(t *testing.T, a *account) []string {
	t.Helper()
	var list []string
	for _, call := range []string{
		"GET /api/users/@me/", "GET /api/users/@me/two_factor_status/", "GET /api/personal_api_keys/", "GET /api/organizations/",
		"GET /api/organizations/" + a.organization.ID.String() + "/members/", "GET /api/projects/",
	} {
		r := s.as(a).call(t, call, "")
		r.ok2xx(t)
		list = append(list, lastUse.ReplaceAllString(r.body, ""))
	}
	// The log has more about the project's things than is compared here.
	r := s.of(t, a, a.key)
	for _, o := range s.operations() {
		if o.managed && !o.alias && strings.HasPrefix(o.call, "GET ") && !strings.Contains(o.call, "{id}") && o.want == 200 {
			r := s.as(a).call(t, o.fill(r), "")
			r.ok2xx(t)
			list = append(list, r.body)
		}
	}
	return list
}

// foreignThings does every operation with things of others (management.md §15.2,
// rules 5 and 7). It never succeeds and never tells anything about them; to a user
// outside of their organization, it does not even tell whether they exist.
func foreignThings(t *testing.T, s *site) {
	v := s.target(t)
	other, staff, elsewhere := s.account(t), s.accountOf(t, management.NewUser{Staff: true}), s.account(t)
	s.join(t, v.account, elsewhere)
	users := func(o *operation) bool { return strings.Contains(o.call, "/api/users/") }
	issue := func(a *account) func() string { return func() string { return s.issue(t, a) } }
	restrict := func(a *account, patch management.KeyPatch) func() string {
		return func() string { return s.restrict(t, a, patch) }
	}
	inOrganization := func(a *account) management.KeyPatch {
		return management.KeyPatch{Organizations: optional.Of(json.RawMessage(`["` + a.organization.ID.String() + `"]`))}
	}
	callers := []struct {
		what   string
		issue  func() string
		home   references
		but    func(*operation) bool // what may succeed
		unlike bool                  // things that do not exist may get another answer
		knows  string                // what may be told, since users can see all of their organizations
	}{
		{"another user", issue(other), s.of(t, other, other.key), nil, false, ""},
		{"a user of staff", issue(staff), s.of(t, staff, staff.key), func(o *operation) bool { return users(o) && !o.self }, true, ""},
		{"a member of the organization", issue(v.member), references{}, func(o *operation) bool {
			return strings.Contains(o.call, "{organization}") || strings.Contains(o.call, "{project}") || strings.Contains(o.call, "{flag}")
		}, false, ""},
		{"a key for another organization", restrict(v.account, inOrganization(elsewhere)), s.of(t, elsewhere, elsewhere.key), users, true, v.foreign.organization},
		{"a key of another user for their organization", restrict(other, inOrganization(other)), s.of(t, other, other.key), nil, true, ""},
		{"a key for another project", restrict(v.account, management.KeyPatch{
			Projects: optional.Of(json.RawMessage(fmt.Sprintf("[%d]", elsewhere.project.ID))),
		}), s.of(t, elsewhere, elsewhere.key), users, true, ""},
	}
	before := s.state(t, v.account)
	for _, c := range callers {
		t.Run(c.what, func(t *testing.T) {
			next := func(key string) string {
				s.revoke(t, key)
				return c.issue()
			}
			key := c.issue()
			defer func() { s.revoke(t, key) }()
			for i, o := range s.operations() {
				if i%maxPerKey == 0 {
					key = next(key)
				}
				if !strings.Contains(o.call, "{") || o.scope == "" || c.but != nil && c.but(&o) {
					continue
				}
				for _, pair := range v.mixed(&o, c.home) {
					call := o.fill(pair.foreign)
					got := s.with(key).call(t, call, o.fillBody(pair.foreign))
					switch {
					case pair.own:
						got.fails(t, 404, "not_found", "")
					case got.status != http.StatusForbidden && got.status != http.StatusNotFound:
						t.Errorf("%s = %d %s, want 403 or 404", call, got.status, got.body)
					}
					v.checkSilent(t, got, call+c.knows)
					if c.unlike {
						continue
					}
					unknown := s.with(key).call(t, o.fill(pair.unknown), o.fillBody(pair.unknown))
					if got.status != unknown.status || got.body != unknown.body {
						t.Errorf("%s = %d %s\nif it does not exist: %d %s", call, got.status, got.body, unknown.status, unknown.body)
					}
				}
			}
		})
	}
	if diff := gocmp.Diff(before, s.state(t, v.account)); diff != "" {
		t.Errorf("what the victim has (-before +after):\n%s", diff)
	}
}

// maxPerKey is how many operations can be done eight times each before a key has
// made too many requests (management.md §2.6).
const maxPerKey = 60

// revoke deletes a key.
func (s *site) revoke(t *testing.T, key string) {
	t.Helper()
	if err := s.store.Keys().Delete(t.Context(), storage.KeyID.Is(s.keyID(t, key))); err != nil {
		t.Fatal(err)
	}
}

// A pair refers to a thing of another user, and to one that does not exist.
type pair struct {
	foreign, unknown references
	own              bool // the thing is looked for in the caller's project
}

// mixed returns the ways in which an operation can be about things of others: some
// or all of its wildcards refer to them.
func (v *target) mixed(o *operation, home references) []pair {
	nothing := nowhere
	nothing.user = uuid.NewString()
	foreign := v.foreign
	if strings.Contains(o.call, "/members/{user}") {
		foreign.user = v.member.UUID.String()
	}
	list := []pair{{foreign, nothing, false}}
	if o.managed && strings.Contains(o.call, "{id}") {
		own := pair{foreign, nothing, true}
		for _, r := range []*references{&own.foreign, &own.unknown} {
			r.organization, r.project = home.organization, home.project
		}
		list = append(list, own)
	}
	for _, second := range []string{"{user}", "{invitation}", "{project}"} {
		if !strings.Contains(o.call, "{organization}") || !strings.Contains(o.call, second) {
			continue
		}
		own, theirs := pair{foreign, nothing, false}, pair{foreign, nothing, false}
		own.foreign.organization, own.unknown.organization = home.organization, home.organization
		switch second {
		case "{user}":
			theirs.foreign.user, theirs.unknown.user = "@me", "@me"
		case "{project}":
			theirs.foreign.project, theirs.unknown.project = home.project, home.project
		}
		list = append(list, own, theirs)
	}
	return list
}

// join makes an account a member of another one's organization.
func (d *deployment) join(t *testing.T, a, of *account) {
	t.Helper()
	m := &storage.Membership{
		ID: uuid.Must(uuid.NewV7()), Organization: of.organization.ID, User: a.ID, Level: storage.LevelMember, Joined: a.Joined, Updated: a.Joined,
	}
	if err := d.store.Memberships().Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// foreignBodies names things of others in bodies and queries.
func foreignBodies(t *testing.T, s *site) {
	v := s.target(t)
	other := s.account(t)
	before := s.state(t, v.account)
	me := s.as(other)
	for _, tt := range []struct {
		call, format, attr string
		foreign, unknown   any
	}{
		{"PATCH /api/users/@me/", `{"set_current_team":"%v"}`, "set_current_team", v.foreign.project, 99999999},
		{"PATCH /api/users/@me/", `{"set_current_team":%v}`, "set_current_team", v.foreign.project, 99999999},
		{"PATCH /api/users/@me/", `{"set_current_organization":"%v"}`, "set_current_organization", v.foreign.organization, uuid.New()},
		{"POST /api/personal_api_keys/", `{"label":"x","scopes":["*"],"scoped_teams":[%v]}`, "scoped_teams", v.foreign.project, 99999999},
		{"POST /api/personal_api_keys/", `{"label":"x","scopes":["*"],"scoped_organizations":["%v"]}`, "scoped_organizations", v.foreign.organization, uuid.New()},
		{"PATCH /api/personal_api_keys/@current/", `{"scoped_teams":[%v]}`, "scoped_teams", v.foreign.project, 99999999},
		{"PATCH /api/personal_api_keys/@current/", `{"scoped_organizations":["%v"]}`, "scoped_organizations", v.foreign.organization, uuid.New()},
	} {
		var bodies []string
		for _, id := range []any{tt.foreign, tt.unknown} {
			body := fmt.Sprintf(tt.format, id)
			r := me.call(t, tt.call, body)
			if r.status != http.StatusBadRequest || !strings.Contains(r.body, `"attr":"`+tt.attr+`"`) {
				t.Errorf("%s %s = %d %s, want 400 about %s", tt.call, body, r.status, r.body, tt.attr)
			}
			v.checkSilent(t, r, body)
			bodies = append(bodies, strings.ReplaceAll(r.body, fmt.Sprint(id), "ID"))
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s: %s\nif it does not exist: %s", tt.call, bodies[0], bodies[1])
		}
	}
	// What names another user is ignored.
	for call, body := range map[string]string{
		"PATCH /api/users/@me/":                                          members("id", v.ID, "uuid", v.UUID, "email", "own-"+other.Email),
		"POST /api/users/@me/scene_personalisation/":                     members("scene", "Person", "dashboard", 42, "user", v.ID, "team", v.project.ID),
		"POST /api/users/@me/two_factor_disable/?user=" + v.foreign.user: members("uuid", v.UUID, "user", v.ID),
		"POST /api/projects/?organization=" + v.foreign.organization:     members("name", "Own", "organization", v.foreign.organization, "organization_id", v.foreign.organization),
		"POST /api/personal_api_keys/":                                   members("label", "own", "scopes", []string{"user:read"}, "user", v.ID, "user_id", v.ID),
	} {
		r := me.call(t, call, body)
		r.ok2xx(t)
		v.checkSilent(t, r, body)
	}
	if diff := gocmp.Diff(before, s.state(t, v.account)); diff != "" {
		t.Errorf("what the victim has (-before +after):\n%s", diff)
	}
}

// foreignLists asks for all lists.
func foreignLists(t *testing.T, s *site) {
	v := s.target(t)
	other, elsewhere := s.account(t), s.account(t)
	s.join(t, v.account, elsewhere)
	restricted := s.restrict(t, v.account, management.KeyPatch{
		Organizations: optional.Of(json.RawMessage(`["` + elsewhere.organization.ID.String() + `"]`)),
	})
	queries := []string{
		"", "?limit=1000", "?is_staff=false", "?email=" + v.Email, "?uuid=" + v.foreign.user, "?user=" + v.foreign.user, "?id=1",
		"?organization=" + v.foreign.organization, "?project=" + v.foreign.project, "?team_id=" + v.foreign.project, "?search=Ada", "?offset=-1",
	}
	for _, list := range []string{"users", "organizations", "projects", "personal_api_keys", "organizations/@current/members", "organizations/@current/projects"} {
		for _, query := range queries {
			call := "GET /api/" + list + "/" + query
			r := s.as(other).call(t, call, "")
			r.ok2xx(t)
			v.checkSilent(t, r, call)
		}
	}
	// A restricted key sees only the part of its user's organizations that it may.
	for _, list := range []string{"organizations", "projects"} {
		r := s.with(restricted).call(t, "GET /api/"+list+"/", "")
		if results := r.ok(t)["results"].([]any); len(results) != 1 {
			t.Errorf("%s: %s", list, r.body)
		}
		v.checkSilent(t, r, "")
	}
}
