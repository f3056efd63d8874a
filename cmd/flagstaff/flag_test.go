package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

// A session runs commands against one server.
type session struct {
	t   *testing.T
	env []string
}

// session is a session of the owner of a server.
func (r *running) session(t *testing.T) *session {
	return &session{t, []string{"FLAGSTAFF_URL=" + r.url + "/", "FLAGSTAFF_KEY=" + r.key}}
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)

// do runs a command that must succeed, and returns what it prints, with DATE for times.
func (s *session) do(args ...string) string {
	s.t.Helper()
	got := call{args: args, env: s.env}.run(s.t)
	if got.Code != 0 || got.Stderr != "" {
		s.t.Errorf("%s: %+v", strings.Join(args, " "), got)
	}
	return times.ReplaceAllString(got.Stdout, "DATE")
}

// prints runs a command that must print a text.
func (s *session) prints(want string, args ...string) {
	s.t.Helper()
	if diff := gocmp.Diff(want, s.do(args...)); diff != "" {
		s.t.Errorf("%s (-want +got)\n%s", strings.Join(args, " "), diff)
	}
}

// fails runs a command that must fail with a message.
func (s *session) fails(want string, args ...string) {
	s.t.Helper()
	call{args: args, env: s.env}.run(s.t).want(s.t, outcome{1, "", "flagstaff " + want + "\n"})
}

// TestFlag does with a flag all that the commands can do.
func TestFlag(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := serveProcess(t, "-store", open(t), "-drain", "0s")
			s := server.session(t)
			s.prints("the project has no flags yet: flagstaff flag create KEY makes one\n", "flag", "list")
			s.prints("[]\n", "flag", "list", "-json")

			s.prints("made flag base: on, for no one\n", "flag", "create", "base")
			s.prints("made flag button: on, for 10% of everyone; variants control 50%, test 50%\n",
				"flag", "create", "-name", "Button \x1b[31m", "-rollout", "10%", "-variant", "control=50", "-variant", "test=50", "-payload", `test={"hex": "#00f"}`, "-tag", "web", "button")
			file := write(t, "top.json", `{"id":77,"version":9,"key":"top","active":false,"filters":{"groups":[
				{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]},{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":50},
				{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.com"}],"rollout_percentage":0}]}}`)
			s.prints("made flag top: off\n", "flag", "create", "-file", file)
			s.prints(`KEY     STATE  AUDIENCE                                                      CHANGED           BY
top     off    50% of everyone where plan is pro or team and flag base is …  DATE  admin@localhost
button  on     10% of everyone (control 50%, test 50%)                       DATE  admin@localhost
base    on     no one                                                        DATE  admin@localhost
`, "flag", "list")
			s.prints("KEY   STATE  AUDIENCE  CHANGED           BY\nbase  on     no one    DATE  admin@localhost\n", "flag", "list", "-search", "bas", "-state", "on", "-kind", "boolean")
			s.prints("no flags are like that\n", "flag", "list", "-tag", "ios")
			s.prints("no flags are like that\n", "flag", "list", "-stale")

			s.prints(`flag             button
name             Button \x1b[31m
id               2
state            on
condition set 1  10% of everyone
variants         control 50%, test 50%
payload of test  {"hex":"#00f"}
tags             web
version          1
changed          DATE by admin@localhost
created          DATE by admin@localhost
`, "flag", "get", "button")
			s.prints(s.do("flag", "get", "button"), "flag", "get", "2")
			s.prints(`flag             top
id               3
state            off
condition set 1  50% of everyone where plan is pro or team and flag base is true
condition set 2  0% of everyone where email contains @example.com
version          1
changed          DATE by admin@localhost
created          DATE by admin@localhost
`, "flag", "get", "top")

			// The body of one flag is a flag again.
			again := write(t, "again.json", s.do("flag", "get", "-json", "button"))
			s.prints("made flag copy: on, for 10% of everyone; variants control 50%, test 50%\n", "flag", "create", "-file", again, "copy")

			s.prints("flag button: 10% → 25.5%, about 0 of 0 known persons\n", "flag", "rollout", "button", "25.5")
			s.prints("flag top: 0% → 100% in condition set 2, about 0 of 0 known persons; it is off: flagstaff flag on top\n", "flag", "rollout", "-condition", "2", "top", "100%")
			s.fails("flag rollout: flag top has 2 condition sets: say which one with -condition; 1 is 50% of everyone where plan is pro or team and flag base is t…; 2 is everyone where email contains @example.com", "flag", "rollout", "top", "5")
			s.fails("flag rollout: flag top has 2 condition sets, and no 3: say which one with -condition; 1 is 50% of everyone where plan is pro or team and flag base is t…; 2 is everyone where email contains @example.com", "flag", "rollout", "-condition", "3", "top", "5")

			s.prints("flag top: off → on, for 50% of everyone where plan is pro or team and flag base is true; everyone where email contains @example.com\n", "flag", "on", "top")
			s.prints("flag top is on already\n", "flag", "on", "top")
			s.prints("flag button: on → off\n", "flag", "off", "button")
			s.prints("flag button: off → archived\n", "flag", "archive", "button")
			s.fails("flag on: flag button is archived: flagstaff flag unarchive button comes first", "flag", "on", "button")
			s.prints("KEY     STATE     AUDIENCE                                   CHANGED           BY\nbutton  archived  25.5% of everyone (control 50%, test 50%)  DATE  admin@localhost\n", "flag", "list", "-state", "archived")
			s.prints("flag button: archived → off\n", "flag", "unarchive", "button")

			s.prints(`top = true (Matched condition set 2)
  depends on base = false
  condition set 1, by person: no_condition_match
    flag base is true, seen false: no match
    person plan is ["pro","team"], seen absent: not reached
  condition set 2, by person: condition_match
    person email contains "@example.com", seen "ada@example.com": match
    rollout: everyone
  why: condition set 2 is the first that matched
`, "flag", "explain", "-property", "email=ada@example.com", "top", "ada")
			var steps struct{ Key string }
			if err := json.Unmarshal([]byte(s.do("flag", "explain", "-json", "top", "ada")), &steps); err != nil || steps.Key != "top" {
				t.Errorf("explain -json: %+v, %v", steps, err)
			}

			s.prints(`VERSION  WHEN              WHO              WHAT
5        DATE  admin@localhost  archived: yes → no
4        DATE  admin@localhost  archived: no → yes
3        DATE  admin@localhost  state: on → off
2        DATE  admin@localhost  condition set 1, rollout percentage: 10% → 25.5%
1        DATE  admin@localhost  created
`, "flag", "history", "button")
			s.prints("flag button: version 6 is reverted to version 1: condition set 1, rollout percentage: 25.5% → 10%; state: off → on\n", "flag", "revert", "button", "1")
			s.prints("flag button has the content of version 1 already\n", "flag", "revert", "button", "1")
			s.prints(`VERSION  WHEN              WHO              WHAT
6        DATE  admin@localhost  reverted to version 1: condition set 1, rollout percentage: 25.5% → 10%; state: off → on
older ones are left out: -limit 0 prints all
`, "flag", "history", "-limit", "1", "button")
			if got := s.do("flag", "history", "-v", "2", "button"); !strings.Contains(got, "condition set 1  25.5% of everyone\n") || !strings.Contains(got, "version          2\n") {
				t.Errorf("version 2 is\n%s", got)
			}
			var versions []management.FlagVersion
			if err := json.Unmarshal([]byte(s.do("flag", "history", "-json", "-limit", "0", "button")), &versions); err != nil || len(versions) != 6 {
				t.Errorf("history -json: %d versions, %v", len(versions), err)
			}

			s.fails(`flag get: the project has no flag "buton"; did you mean button?`, "flag", "get", "buton")
			s.fails(`flag get: the project has no flag "xyzzy"`, "flag", "get", "xyzzy")
			s.fails(`flag get: flag "activity" has a key that the API uses itself: give the ID of the flag`, "flag", "get", "activity")
			s.fails(`flag explain: the project has no flag "xyzzy"`, "flag", "explain", "xyzzy", "ada")
			s.fails("flag history: flag button has no version 7: it has version 6 now, and flagstaff flag history button lists those that are kept", "flag", "history", "-v", "7", "button")
			s.fails("flag revert: the server refuses POST /api/projects/@current/feature_flags/2/revert/ with status 400: version: The flag has no version 7 to go back to; it has version 6 now.", "flag", "revert", "button", "7")
			s.fails("flag create: the server refuses POST /api/projects/@current/feature_flags/ with status 400: key: There is already a feature flag with this key.", "flag", "create", "button")
			s.fails("flag off: the server refuses PATCH /api/projects/@current/feature_flags/1/ with status 400: The flag cannot be disabled: other active flags depend on it: top.", "flag", "off", "base")

			words := strings.Fields(s.do("flag", "get", "--generate-shell-completion"))
			if !slices.Contains(words, "button") {
				t.Errorf("completion of flag get yields %q", words)
			}

			// Of what a key may not do, the command says what it needs.
			reader := *s
			reader.env = []string{s.env[0], "FLAGSTAFF_KEY=" + server.newKey(t, "feature_flag:read", "feature_flag:write")}
			reader.prints("flag copy: 10% → 20%\n", "flag", "rollout", "copy", "20")
			reader.fails("flag explain: the server refuses POST /api/projects/@current/feature_flags/copy/explain/ with status 403: API key missing required scope 'person:read'; use a key that may do it", "flag", "explain", "copy", "ada")
			(&session{t, []string{s.env[0], "FLAGSTAFF_KEY=phx_s3cret"}}).fails("flag list: the server refuses GET /api/projects/@current/feature_flags/?limit=100&offset=0 with status 401: The personal API key in the Authorization header is not valid; flagstaff serve -create-key makes a key on the machine of the server", "flag", "list")
			s.fails("flag list: the server refuses GET /api/projects/999/feature_flags/?limit=100&offset=0 with status 404: Project not found.", "flag", "list", "-project", "999")
		})
	}
}

// newKey makes another key of the owner of the store.
func (r *running) newKey(t *testing.T, scopes ...string) string {
	t.Helper()
	var made struct{ Value string }
	body, err := json.Marshal(map[string]any{"label": "test", "scopes": scopes})
	if err != nil {
		t.Fatal(err)
	}
	r.ask(t, "POST", "/api/personal_api_keys/", string(body), &made)
	return made.Value
}

// TestFlagPages lists more flags than a page has.
func TestFlagPages(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", t.TempDir()+"/a.db", "-drain", "0s")
	for i := range 120 {
		server.ask(t, "POST", "/api/projects/@current/feature_flags/", fmt.Sprintf(`{"key":"f%d","filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`, i), nil)
	}
	var list []management.FlagView
	if err := json.Unmarshal([]byte(server.session(t).do("flag", "list", "-json")), &list); err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, f := range list {
		keys[f.Key] = true
	}
	if len(list) != 120 || len(keys) != 120 {
		t.Errorf("%d flags with %d keys are listed, want 120", len(list), len(keys))
	}
}

// TestRefusals: whatever a server answers, the message says what was asked and what to do,
// and has no key.
func TestRefusals(t *testing.T) {
	t.Parallel()
	flag := `{"id":7,"key":"a","active":true,"version":3,"filters":{"groups":[{"properties":[],"rollout_percentage":10}]}}`
	refusal := func(status int, code, attr, detail string) string {
		return fmt.Sprintf(`%d {"type":"x","code":%q,"attr":%q,"detail":%q}`, status, code, attr, detail)
	}
	for _, tt := range []struct {
		name    string
		args    []string
		answers map[string]string // to methods
		want    string
	}{
		{"401", []string{"flag", "get", "a"}, map[string]string{"GET": refusal(401, "authentication_failed", "", "No.")}, "flag get: the server refuses GET /api/projects/@current/feature_flags/a/ with status 401: No; flagstaff serve -create-key makes a key on the machine of the server"},
		{"403", []string{"flag", "get", "a"}, map[string]string{"GET": refusal(403, "permission_denied", "", "No.")}, "flag get: the server refuses GET /api/projects/@current/feature_flags/a/ with status 403: No; use a key that may do it"},
		{"404 of another server", []string{"flag", "list"}, map[string]string{"GET": "404 <html>"}, "flag list: the server refuses GET /api/projects/@current/feature_flags/?limit=100&offset=0 with status 404: Not Found; is this the address of a Flagstaff server?"},
		{"405 of another server", []string{"flag", "create", "a"}, map[string]string{"POST": "405 "}, "flag create: the server refuses POST /api/projects/@current/feature_flags/ with status 405: Method Not Allowed; is this the address of a Flagstaff server?"},
		{"409", []string{"flag", "rollout", "a", "20"}, map[string]string{"GET": "200 " + flag, "POST": refusal(409, "conflict", "version", "Changed.")}, `flag rollout: flag "a" was changed by somebody else at this moment, and stays as it is: look at flagstaff flag history a, and try again`},
		{"409 of a document", []string{"flag", "off", "a"}, map[string]string{"GET": "200 " + flag, "PATCH": refusal(409, "conflict", "", "The flags come from flags.json.")}, "flag off: the server refuses PATCH /api/projects/@current/feature_flags/7/ with status 409: The flags come from flags.json."},
		{"412", []string{"flag", "revert", "a", "1"}, map[string]string{"GET": "200 " + flag, "POST": refusal(412, "precondition_failed", "", "Changed.")}, `flag revert: flag "a" was changed by somebody else at this moment, and stays as it is: look at flagstaff flag history a, and try again`},
		{"413", []string{"flag", "create", "a"}, map[string]string{"POST": refusal(413, "request_too_large", "", "The body has more than 9 bytes.")}, "flag create: the server refuses POST /api/projects/@current/feature_flags/ with status 413: The body has more than 9 bytes."},
		{"429", []string{"flag", "list"}, map[string]string{"GET": refusal(429, "throttled", "", "Request was throttled.")}, "flag list: the server refuses GET /api/projects/@current/feature_flags/?limit=100&offset=0 with status 429: Request was throttled; try again in 2m0s"},
		{"500", []string{"flag", "list"}, map[string]string{"GET": refusal(500, "error", "", "A server error occurred.")}, "flag list: the server refuses GET /api/projects/@current/feature_flags/?limit=100&offset=0 with status 500: A server error occurred; the log of the server says more"},
		{"a redirect", []string{"flag", "list"}, map[string]string{"GET": "302 "}, "flag list: the server at HOST sends the client elsewhere, to https://elsewhere.example/: give the address of the server itself"},
		{"a page of another site", []string{"flag", "get", "a"}, map[string]string{"GET": "200 <html>"}, "flag get: the answer of HOST to GET /api/projects/@current/feature_flags/a/ is not what the management API sends: invalid character '<' looking for beginning of value; is it a Flagstaff server?"},
		{"a flag without condition sets", []string{"flag", "rollout", "a", "20"}, map[string]string{"GET": `200 {"id":7,"key":"a","filters":{"groups":[]}}`}, "flag rollout: flag a has no condition set whose percentage could change"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, body, _ := strings.Cut(tt.answers[r.Method], " ")
				w.Header().Set("Location", "https://elsewhere.example/")
				w.Header().Set("Retry-After", "120")
				var code int
				fmt.Sscan(status, &code)
				w.WriteHeader(code)
				fmt.Fprint(w, body)
			}))
			defer server.Close()
			got := call{args: tt.args, env: []string{"FLAGSTAFF_URL=" + server.URL, "FLAGSTAFF_KEY=phx_s3cret"}}.run(t)
			got.Stderr = strings.ReplaceAll(got.Stderr, strings.TrimPrefix(server.URL, "http://"), "HOST")
			got.want(t, outcome{1, "", "flagstaff " + tt.want + "\n"})
		})
	}
	got := call{args: []string{"flag", "list"}, env: []string{"FLAGSTAFF_URL=http://127.0.0.1:1", "FLAGSTAFF_KEY=phx_s3cret"}}.run(t)
	got.want(t, outcome{1, "", "flagstaff flag list: the server at 127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused\n"})
}

// TestListStale: why flags are stale.
func TestListStale(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("active") != "STALE" {
			t.Errorf("the tool asks for %s", r.URL)
		}
		fmt.Fprint(w, `{"count":2,"next":null,"previous":null,"results":[{"key":"old","active":true,"status":"STALE","stale_reason":"No client has reported a value for 45 days, since 9 October 2026","filters":{"groups":[{}]}},`+
			`{"key":"older","active":true,"status":"STALE","filters":{"groups":[{}]}}]}`)
	}))
	defer server.Close()
	for _, state := range [][]string{{"-stale"}, {"-state", "stale"}} {
		got := call{args: append([]string{"flag", "list"}, state...), env: []string{"FLAGSTAFF_URL=" + server.URL, "FLAGSTAFF_KEY=phx_s3cret"}}.run(t)
		got.want(t, outcome{0, `KEY    WHY                                                               BY
old    No client has reported a value for 45 days, since 9 October 2026  -
older  -                                                                 -
`, ""})
	}
}
