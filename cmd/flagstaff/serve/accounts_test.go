package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	netmail "net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/keyfile"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// The tests of these files ask the program for what management.md says about
// accounts and what their projects have, over HTTP and on each of its stores:
//
//	accounts_cases_test.go        the cases of §15.3 that are about users
//	accounts_surveys_test.go      the ones about surveys, and §9 to §11
//	accounts_errors_test.go       the tables of §2.3, §4.8, §5.3, §6.2, §6.4 and §7.2
//	accounts_shapes_test.go       what a user consists of
//	accounts_operations_test.go   every operation, its scope, and things of others
//	accounts_managed_test.go      the operations of flags, cohorts, surveys and so on
//	accounts_definitions_test.go  definitions of flags, and the right to fetch them
//	accounts_security_test.go     the rules of §15.2
//	accounts_races_test.go        several at once
//	accounts_projects_test.go     projects and what their keys open
//	accounts_processes_test.go    two servers on one database
//	accounts_start_test.go        the command line
//
// Each row makes accounts of its own and sees nothing of the others'. Whatever a
// test is about, at its end everything that the program has answered and logged is
// searched for secrets: see [watch].

// An accountRow is a test on a site that all rows of a store share.
type accountRow struct {
	id, what string
	run      func(*testing.T, *site)
}

var accountRows = slices.Concat(
	caseRows, errorRows, shapeRows, operationRows, managedRows, definitionRows, surveyRows, securityRows, raceRows, projectRows,
)

// TestAccountsAreComplete: no case and no rule is left out, except the one that
// HTTP does not show: hashing is slow (rule 2).
func TestAccountsAreComplete(t *testing.T) {
	covered := make(map[string]int)
	for _, r := range accountRows {
		if covered[r.id]++; covered[r.id] > 1 {
			t.Errorf("row %s has %d tests; want one", r.id, covered[r.id])
		}
	}
	for _, list := range []struct {
		what        string
		first, last int
		but         []int
	}{
		{"case", 1, 40, nil},
		{"rule", 1, 16, []int{2}},
	} {
		for n := list.first; n <= list.last; n++ {
			if id := fmt.Sprintf("%s %d", list.what, n); covered[id] == 0 && !slices.Contains(list.but, n) {
				t.Errorf("%s has no test", id)
			}
		}
	}
}

func TestAccounts(t *testing.T) {
	list := kinds[:1]
	if fulltest.Enabled() {
		list = kinds[1:] // the first is the second without a file
	}
	for _, k := range list {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := deploy(t, k.open(t)).start(t)
			for _, r := range accountRows {
				t.Run(r.id+" "+r.what, func(t *testing.T) { r.run(t, s) })
			}
			// At the end, the metrics are searched for secrets as well.
			if _, err := s.stranger().send(t.Context(), "GET /metrics", ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// A deployment is a store for accounts, with what its servers have in common.
type deployment struct {
	*system
	service       *management.Service // makes accounts without HTTP
	surveyService *surveys.Service
	keyFile       string // with the keys that encrypt
	watch         *watch
}

// deploy makes a deployment of a system. When the test ends, it must have kept
// its secrets.
func deploy(t *testing.T, s *system) *deployment {
	t.Helper()
	service, err := management.New(management.Config{Store: s.store, FlagUsers: surveys.FlagUsers{}})
	if err != nil {
		t.Fatal(err)
	}
	surveys, err := surveys.New(surveys.Config{Management: service})
	if err != nil {
		t.Fatal(err)
	}
	if s.given != nil {
		s.args = []string{"-store", ":memory:"} // which is not opened, as there is one
	}
	key := hex.EncodeToString(keyfile.New())
	d := &deployment{system: s, service: service, surveyService: surveys, keyFile: filepath.Join(t.TempDir(), "keys"), watch: new(watch)}
	if err := os.WriteFile(d.keyFile, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.watch.keep(key, "a key of -secret-key-file", "", 0)
	t.Cleanup(func() {
		d.watch.check(t)
		if filepath.IsAbs(s.args[1]) { // an SQLite file
			d.watch.checkFiles(t, s.args[1], s.args[1]+"-wal")
		}
	})
	return d
}

// A site is the program while it runs on a deployment.
type site struct {
	*deployment
	url    string
	stop   func() int
	stdout *output
	stderr *output
	mail   mailbox
}

// start starts the program, with mail, until the test ends. It trusts the tests
// as a proxy, so that each caller can have an address of its own.
func (d *deployment) start(t *testing.T, more ...string) *site {
	t.Helper()
	box := mailbox(t.TempDir())
	s := d.startWithoutMail(t, append([]string{"-mail-dir", string(box)}, more...)...)
	s.mail = box
	return s
}

func (d *deployment) startWithoutMail(t *testing.T, more ...string) *site {
	t.Helper()
	s := d.run(t, slices.Concat([]string{"-secret-key-file", d.keyFile, "-trusted-proxies", "127.0.0.1"}, more)...)
	d.watch.listen(s.stdout)
	return s
}

// run starts the program with these settings. What it prints on standard output
// may be secret.
func (d *deployment) run(t *testing.T, settings ...string) *site {
	t.Helper()
	s := &site{deployment: d, stdout: newOutput()}
	args := slices.Concat(d.args, []string{"-addr", "127.0.0.1:0", "-log-level", "debug"}, settings)
	s.url, s.stderr, s.stop = launch(t, &Main{Args: args, store: d.given, Stdout: s.stdout})
	d.watch.listen(s.stderr)
	return s
}

// names numbers the accounts, so that no text of one is part of another's.
var names atomic.Int64

// An account is a user who owns an organization with one project.
type account struct {
	*storage.User
	password     string // "": none
	key          string // for everything
	organization *management.OrganizationView
	project      *management.ProjectView // with its keys
}

// account makes an account without a password, which would take time.
func (d *deployment) account(t *testing.T) *account { return d.accountOf(t, management.NewUser{}) }

func (d *deployment) accountWithPassword(t *testing.T) *account {
	t.Helper()
	return d.accountOf(t, management.NewUser{Password: d.password(t)})
}

// password returns an unused password.
func (d *deployment) password(t *testing.T) string {
	t.Helper()
	p := "pw-" + uuid.NewString()
	d.watch.keep(p, "a password", "", 0)
	return p
}

func (d *deployment) accountOf(t *testing.T, n management.NewUser) *account {
	t.Helper()
	a := d.user(t, n)
	p := &management.Principal{User: a.User}
	organization, err := d.service.CreateOrganization(t.Context(), p, management.OrganizationPatch{Name: optional.Of("Organization of " + a.FirstName)})
	if err != nil {
		t.Fatal(err)
	}
	project, err := d.service.CreateProject(t.Context(), p, organization.ID.String(), management.ProjectPatch{Name: optional.Of("Project of " + a.FirstName)})
	if err != nil {
		t.Fatal(err)
	}
	d.watch.keep(*project.SecretToken, "a project secret key", "", 0)
	a.organization, a.project = organization, project
	return a
}

// user makes an account that is a member of nothing.
func (d *deployment) user(t *testing.T, n management.NewUser) *account {
	t.Helper()
	name := fmt.Sprintf("Ada%dx", names.Add(1))
	n.Email, n.FirstName, n.LastName = cmp.Or(n.Email, strings.ToLower(name)+"@example.com"), name, "of Acme"
	u, err := d.service.CreateUser(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	a := &account{User: u, password: n.Password}
	a.key = d.issue(t, a)
	return a
}

func (d *deployment) staff(t *testing.T) *account {
	t.Helper()
	return d.user(t, management.NewUser{Staff: true})
}

// member makes an account that is a member of another one's organization.
func (d *deployment) member(t *testing.T, of *account, level int) *account {
	t.Helper()
	a := d.user(t, management.NewUser{})
	staff := *of.User // who adds members unasked
	staff.Staff = true
	p := &management.Principal{User: &staff}
	_, _, err := d.service.AddMember(t.Context(), p, of.organization.ID.String(), management.MemberPatch{
		Email: optional.Of(a.Email), Level: optional.Of(level),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes another key for an account. No scopes are all.
func (d *deployment) issue(t *testing.T, a *account, scopes ...management.Scope) string {
	t.Helper()
	key, err := d.service.IssueKey(t.Context(), a.Email, "key of "+a.FirstName, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	d.watch.keep(*key.Value, "a personal API key", "", 0)
	return *key.Value
}

// restrict makes a key for everything, but only in some places.
func (d *deployment) restrict(t *testing.T, a *account, patch management.KeyPatch) string {
	t.Helper()
	patch.Label, patch.Scopes = optional.Of("restricted"), optional.Of(json.RawMessage(`["*"]`))
	key, err := d.service.CreateKey(t.Context(), &management.Principal{User: a.User}, patch)
	if err != nil {
		t.Fatal(err)
	}
	d.watch.keep(*key.Value, "a personal API key", "", 0)
	return *key.Value
}

// keyID returns the ID of one of an account's keys.
func (d *deployment) keyID(t *testing.T, key string) string {
	t.Helper()
	k, err := d.store.Keys().Get(t.Context(), storage.KeyHash.Is(storage.HashKey(key)))
	if err != nil {
		t.Fatal(err)
	}
	return k.ID
}

// A caller sends requests to a site, from an address of its own.
type caller struct {
	site    *site
	key     string // "": none
	address string
}

// callers numbers addresses.
var callers atomic.Int64

func (s *site) with(key string) *caller {
	n := callers.Add(1)
	return &caller{s, key, fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)}
}

func (s *site) as(a *account) *caller { return s.with(a.key) }

func (s *site) stranger() *caller { return s.with("") }

// An answer has arrived in full.
type answer struct {
	call   string // method and path
	status int
	header http.Header
	body   string
}

// send sends a request: call is its method and target. Header lines are names and
// values.
func (c *caller) send(ctx context.Context, call, body string, header ...string) (*answer, error) {
	method, target, _ := strings.Cut(call, " ")
	r, err := http.NewRequestWithContext(ctx, method, c.site.url+target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Forwarded-For", c.address)
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w, err := plainClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, err
	}
	path, _, _ := strings.Cut(target, "?")
	a := &answer{method + " " + path, w.StatusCode, w.Header, string(b)}
	c.site.watch.overhear(r.Header, body, a)
	return a, nil
}

// call sends a request and checks what every answer has.
func (c *caller) call(t *testing.T, call, body string, header ...string) *answer {
	t.Helper()
	a, err := c.send(t.Context(), call, body, header...)
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	a.check(t)
	return a
}

// check checks what every answer of the management API has (management.md §0,
// §15.2).
func (a *answer) check(t *testing.T) {
	t.Helper()
	h := a.header
	if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || uuid.Validate(h.Get("X-Request-Id")) != nil {
		t.Errorf("%s = %d with %v; want no-store, nosniff and a request id", a.call, a.status, h)
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s = %d with %s; other origins have no business here", a.call, a.status, name)
		}
	}
	switch {
	case a.body == "":
		return
	case h.Get("Content-Type") == "application/x-ndjson" && strings.Contains(a.call, "/events/export/"):
		for line := range strings.Lines(a.body) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s = %d with the line %q, which is not JSON", a.call, a.status, line)
			}
		}
		return
	case h.Get("Content-Type") != "application/json":
		t.Errorf("%s = %d with content type %q", a.call, a.status, h.Get("Content-Type"))
	}
	if strings.Contains(a.call, "/export/") { // a document for people, with line breaks
		if !json.Valid([]byte(a.body)) {
			t.Errorf("%s = %d %s, which is not JSON", a.call, a.status, a.body)
		}
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(a.body)); err != nil || compact.String() != a.body {
		t.Errorf("%s = %d %s, which is not compact JSON", a.call, a.status, a.body)
	}
}

// ok returns the object that is the answer to a request that must succeed.
func (a *answer) ok(t *testing.T) map[string]any {
	t.Helper()
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		t.Fatalf("%s = %d %s, want success", a.call, a.status, a.body)
	}
	return object(t, []byte(a.body))
}

// ok2xx checks that a request has succeeded, whatever the answer is.
func (a *answer) ok2xx(t *testing.T) {
	t.Helper()
	if a.status/100 != 2 {
		t.Fatalf("%s = %d %s, want success", a.call, a.status, a.body)
	}
}

// done checks the answer to a request that must succeed without content.
func (a *answer) done(t *testing.T) {
	t.Helper()
	if a.status != http.StatusNoContent || a.body != "" {
		t.Fatalf("%s = %d %q, want 204 and nothing", a.call, a.status, a.body)
	}
}

// manifestError turns an error about a manifest, of which wire.md §7.5 has the form, into
// one of the form that others have.
func manifestError(got map[string]any, status int) map[string]any {
	e, _ := got["error"].(map[string]any)
	details, _ := e["details"].([]any)
	if len(details) != 1 || e["status"] != float64(status) {
		return got
	}
	d, _ := details[0].(map[string]any)
	return map[string]any{"type": errorTypes[status], "code": d["code"], "attr": d["field"], "detail": d["message"]}
}

// errorTypes has the type of an error with a status (management.md §2.2).
var errorTypes = map[int]string{
	400: "validation_error", 401: "authentication_error", 403: "authentication_error", 404: "invalid_request", 405: "invalid_request",
	409: "server_error", 413: "invalid_request", 415: "invalid_request", 429: "throttled_error", 500: "server_error", 503: "server_error",
}

// fails checks an error and returns its detail. An empty attr is null.
func (a *answer) fails(t *testing.T, status int, code, attr string) (detail string) {
	t.Helper()
	want := map[string]any{"type": errorTypes[status], "code": code, "attr": any(attr)}
	if attr == "" {
		want["attr"] = nil
	}
	if code == "parse_error" {
		want["type"] = "invalid_request"
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%s = %d %s, want %d %s", a.call, a.status, a.body, status, code)
	}
	if strings.Contains(a.call, "/openfeature/v0/") {
		got = manifestError(got, status)
	}
	detail, _ = got["detail"].(string)
	delete(got, "detail")
	if a.status != status || !maps.Equal(got, want) || detail == "" {
		t.Errorf("%s = %d %s, want %d %v with a detail", a.call, a.status, a.body, status, want)
	}
	h := a.header
	if (h.Get("Www-Authenticate") == "Bearer") != (status == 401) {
		t.Errorf("%s = %d with WWW-Authenticate %q", a.call, a.status, h.Get("Www-Authenticate"))
	}
	var seconds int
	_, err := fmt.Sscan(h.Get("Retry-After"), &seconds)
	if waits := status == 429 || status == 503; waits != (err == nil && seconds > 0) {
		t.Errorf("%s = %d with Retry-After %q", a.call, a.status, h.Get("Retry-After"))
	}
	return detail
}

// me returns the caller's user.
func (c *caller) me(t *testing.T) map[string]any {
	t.Helper()
	return c.call(t, "GET /api/users/@me/", "").ok(t)
}

// patch changes the caller's user.
func (c *caller) patch(t *testing.T, body string, header ...string) *answer {
	t.Helper()
	return c.call(t, "PATCH /api/users/@me/", body, header...)
}

// members writes a JSON object of names and values.
func members(pairs ...any) string {
	m := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// An authenticator is the app on a telephone whose owner does not want to wait
// for its next code: its clock goes ahead by a step when a code was used. The
// server follows a clock that drifts (management.md §5.1).
type authenticator struct {
	secret string
	ahead  int64 // steps
	last   int64 // step
}

const totpStep = 30 // seconds

func (a *authenticator) code(t *testing.T) string {
	t.Helper()
	now := time.Now().Unix() / totpStep
	step := now + a.ahead
	if step <= a.last {
		step = a.last + 1
		a.ahead = step - now
	}
	a.last = step
	code, err := totp.GenerateCode(a.secret, time.Unix(step*totpStep, 0))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// enroll turns two-factor authentication on.
func (c *caller) enroll(t *testing.T, header ...string) *authenticator {
	t.Helper()
	setup := c.call(t, "GET /api/users/@me/two_factor_start_setup/", "", header...).ok(t)
	a := &authenticator{secret: setup["secret"].(string)}
	c.call(t, "POST /api/users/@me/two_factor_validate/", members("token", a.code(t)), header...).ok(t)
	return a
}

// backupCodes makes new ones.
func (c *caller) backupCodes(t *testing.T, header ...string) []string {
	t.Helper()
	return texts(c.call(t, "POST /api/users/@me/two_factor_backup_codes/", "", header...).ok(t)["backup_codes"])
}

// texts returns the strings of a decoded list.
func texts(v any) []string {
	list := []string{}
	for _, item := range v.([]any) {
		list = append(list, item.(string))
	}
	return list
}

// A mailbox is the folder of -mail-dir.
type mailbox string

// A letter is a message that was sent.
type letter struct{ kind, to, text string }

// all returns the letters that were sent so far, in order.
func (m mailbox) all(t *testing.T) []letter {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(string(m), "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	var list []letter
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		message, err := netmail.ReadMessage(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		to, err := netmail.ParseAddress(message.Header.Get("To"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(message.Body)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		list = append(list, letter{strings.Split(filepath.Base(name), "-")[1], to.Address, string(text)})
	}
	return list
}

// to returns the letters to an address.
func (m mailbox) to(t *testing.T, address string) []letter {
	t.Helper()
	return slices.DeleteFunc(m.all(t), func(l letter) bool { return l.to != address })
}

// await returns the n-th letter of a kind to an address.
func (m mailbox) await(t *testing.T, address, kind string, n int) letter {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		list := slices.DeleteFunc(m.to(t, address), func(l letter) bool { return l.kind != kind })
		if len(list) >= n {
			return list[n-1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are %d letters %s to %s, want %d", len(list), kind, address, n)
		}
		time.Sleep(5 * time.Millisecond) // of a poll; nothing depends on its length
	}
}

var (
	verificationLink = regexp.MustCompile(`(http://\S+)/verify_email/([0-9a-f-]{36})/([\w-]{43})\s`)
	verificationCode = regexp.MustCompile(`ten minutes: (\d{6})\s`)
)

// proof returns the body that confirms the address of a letter.
func (s *site) proof(t *testing.T, l letter) string {
	t.Helper()
	m := verificationLink.FindStringSubmatch(l.text)
	if m == nil {
		t.Fatalf("no link in %q", l.text)
	}
	s.watch.keep(m[3], "a token of a mail", "POST /api/users/verify_email/", 1)
	return members("uuid", m[2], "token", m[3])
}

// verification awaits the n-th verification letter to an address and returns the
// body that confirms it.
func (s *site) verification(t *testing.T, address string, n int) string {
	t.Helper()
	return s.proof(t, s.mail.await(t, address, "email_verification", n))
}

// verify confirms an address, as its owner does by opening a link.
func (s *site) verify(t *testing.T, proof string) *answer {
	t.Helper()
	return s.stranger().call(t, "POST /api/users/verify_email/", proof)
}

// A watch remembers what a deployment's servers have said, and which secrets
// occurred meanwhile: secrets that tests send, and secrets that answers show.
type watch struct {
	mu      sync.Mutex
	answers []*answer
	outputs []*output
	secrets map[string]secret
}

// A secret may be in so many answers to some calls, and nowhere else.
type secret struct {
	what string
	in   *regexp.Regexp
	most int
}

// keep adds a secret. What was added first counts.
func (w *watch) keep(text, what, in string, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keepLocked(text, what, in, most)
}

func (w *watch) keepLocked(text, what, in string, most int) {
	const short = 8 // what is shorter can be anywhere by chance
	if _, ok := w.secrets[text]; ok || len(text) < short {
		return
	}
	if w.secrets == nil {
		w.secrets = make(map[string]secret)
	}
	w.secrets[text] = secret{what, regexp.MustCompile("^(?:" + in + ")$"), most}
}

func (w *watch) listen(outputs ...*output) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outputs = append(w.outputs, outputs...)
}

var printedKey = regexp.MustCompile(`ph[xs]_[0-9A-Za-z]{30,}`)

// overhear notes an answer, and the secrets of it and of its request. Which calls
// may show which secret is said here and nowhere else (management.md §15.2, rules
// 1 and 6).
func (w *watch) overhear(request http.Header, body string, a *answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
	if key := printedKey.FindString(request.Get("Authorization")); key != "" {
		w.keepLocked(key, "a key that was sent", "", 0)
	}
	w.keepLocked(request.Get("X-2FA-Token"), "an X-2FA-Token", "", 0)
	var sent map[string]any
	if json.Unmarshal([]byte(body), &sent) == nil {
		for _, name := range []string{"password", "current_password", "token", "personal_api_key"} {
			if text, ok := sent[name].(string); ok && strings.TrimSpace(text) != "" {
				w.keepLocked(text, "a "+name+" that was sent", "", 0)
			}
		}
	}

	const (
		keys     = `POST /api/personal_api_keys/?|POST /api/personal_api_keys/[^/]+/roll/?`
		projects = `POST /api/(?:organizations/[^/]+/)?projects/?|(?:POST|PATCH) /api/.*/rotate_secret_token/?`
		setup    = `GET /api/users/[^/]+/(?:two_factor_start_setup|start_2fa_setup)/?`
		codes    = `POST /api/users/[^/]+/two_factor_backup_codes/?|GET /api/users/[^/]+/two_factor_status/?`
	)
	for _, key := range printedKey.FindAllString(a.body, -1) {
		if strings.HasPrefix(key, "phx_") {
			w.keepLocked(key, "a personal API key", keys, 1)
		} else {
			w.keepLocked(key, "a project secret key", projects, 1)
		}
	}
	var shown struct {
		Secret string   `json:"secret"`
		Codes  []string `json:"backup_codes"`
	}
	if json.Unmarshal([]byte(a.body), &shown) == nil {
		w.keepLocked(shown.Secret, "the secret of an authenticator", setup, 1)
		for _, code := range shown.Codes {
			w.keepLocked(code, "a backup code", codes, 1000)
		}
	}
}

// hashes are how stored hashes begin.
var hashes = regexp.MustCompile(`sha256\$|\$argon2|secure_value|password_hash`)

// check searches everything for secrets.
func (w *watch) check(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.answers) == 0 && len(w.outputs) == 0 {
		t.Error("nothing was said: the test tests nothing")
	}
	answers := make([]string, len(w.answers))
	for i, a := range w.answers {
		var b strings.Builder
		_ = a.header.Write(&b) // a Builder never fails
		b.WriteString(a.body)
		answers[i] = b.String()
		if m := hashes.FindString(answers[i]); m != "" {
			t.Errorf("the answer to %s has %q", a.call, m)
		}
	}
	everything := strings.Join(answers, "\n")
	for text, s := range w.secrets {
		for _, o := range w.outputs {
			if strings.Contains(o.String(), text) {
				t.Errorf("the program has printed %s, %q", s.what, text)
			}
		}
		if !strings.Contains(everything, text) {
			continue
		}
		n := 0
		for i, a := range w.answers {
			if !strings.Contains(answers[i], text) {
				continue
			}
			if n++; n > s.most || !s.in.MatchString(a.call) {
				t.Errorf("the answer to %s has %s, %q, and it is the answer no. %d that has it", a.call, s.what, text, n)
			}
		}
	}
	for _, o := range w.outputs {
		if m := hashes.FindString(o.String()); m != "" {
			t.Errorf("the program has printed %q", m)
		}
	}
}

// checkFiles searches the files of a store, if they exist. What is in them is
// encrypted or hashed.
func (w *watch) checkFiles(t *testing.T, files ...string) {
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for text, s := range w.secrets {
			if bytes.Contains(b, []byte(text)) {
				t.Errorf("%s has %s, %q", name, s.what, text)
			}
		}
	}
}
