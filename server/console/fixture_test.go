package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/management/survey"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
	"github.com/flagstaff-go/flagstaff/server/console"
)

const (
	password = "correct horse battery staple"
	address  = "ada@example.com"
)

// A site is a console on a store in memory that has the flags of the demo and 40 persons.
type site struct {
	t       testing.TB
	store   sqlstore.Storage
	service *management.Service
	served  *catalog.Catalog
	surveys *survey.Service
	handler http.Handler
	project int64
	token   string // of the session; "" for nobody
	owner   *management.Principal
	broken  *brokenStore
	ahead   time.Duration // of the clock of the service
}

// template is the store that all sites copy. Its owner has the address and the password
// above.
var template = sqlitetest.NewTemplate(fill)

func fill(t testing.TB, store sqlstore.Storage) {
	ctx := t.Context()
	created, err := management.Bootstrap(ctx, store, management.First{Owner: address, Organization: "Acme", Project: "Shop"})
	fatal(t, err)
	service, err := management.New(management.Config{Store: store, Data: store, FlagUsers: survey.FlagUsers{}})
	fatal(t, err)
	token, err := service.NewSignInLink(ctx, address)
	fatal(t, err)
	_, err = service.UseSignInLink(ctx, token, &management.ChosenPassword{Password: optional.Of(password)}, management.Client{})
	fatal(t, err)
	document, err := os.ReadFile("../../cmd/flagstaff/serve/demo.json")
	fatal(t, err)
	_, err = service.Import(ctx, created.Project.ID, document, management.ImportOptions{})
	fatal(t, err)
	events, err := capture.NewClient(capture.ClientConfig{Sink: store, Project: created.Project.ID, MaxRetries: -1})
	fatal(t, err)
	for i := range 40 {
		fatal(t, events.Capture(capture.ClientEvent{
			Name: "signed up", DistinctID: fmt.Sprintf("user-%03d", i), Time: time.Now(),
			Properties: map[string]any{
				"$set": map[string]any{
					"plan": []string{"free", "pro", "team", "trial"}[i%4], "logins": i * 5,
					"email": fmt.Sprintf("user-%03d@example.org", i),
				},
			},
		}))
	}
	fatal(t, events.Capture(capture.ClientEvent{
		Name: "$groupidentify", DistinctID: "user-001", Time: time.Now(),
		Properties: map[string]any{"$group_type": "company", "$group_key": "acme", "$group_set": map[string]any{"seats": 70}},
	}))
	fatal(t, events.Close(ctx))
}

// newSite returns a site on which the owner is signed in.
func newSite(t testing.TB, configure ...func(*console.Config)) *site {
	t.Helper()
	return newSiteOn(t, template.Open(t), configure...)
}

func newSiteOn(t testing.TB, store sqlstore.Storage, configure ...func(*console.Config)) *site {
	t.Helper()
	s := &site{t: t, store: store}
	s.broken = &brokenStore{Storage: s.store}
	var err error
	s.served, err = catalog.New(catalog.Config{Store: s.store, Registry: new(server.Registry)})
	fatal(t, err)
	fatal(t, s.served.Refresh(t.Context()))
	s.service, err = management.New(management.Config{
		Store: s.broken, Data: s.broken, FlagUsers: survey.FlagUsers{}, SecretKeys: [][]byte{make([]byte, 32)},
		OnChange: s.served.Changed, Snapshot: s.served.Snapshot, Now: func() time.Time { return time.Now().Add(s.ahead) },
	})
	fatal(t, err)
	s.surveys, err = survey.New(survey.Config{Management: s.service, Events: s.store})
	fatal(t, err)
	s.project = 1
	c := console.Config{
		Service: s.service, Surveys: s.surveys, Prefix: "/console", URL: "https://flags.example.com", Problems: problems,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range configure {
		f(&c)
	}
	s.handler, err = console.New(c)
	fatal(t, err)
	s.owner = s.signIn(address)
	return s
}

func problems(int64) []flags.Problem {
	return []flags.Problem{
		{
			Severity: flags.SeverityWarning,
			DefinitionError: &flags.DefinitionError{
				Flag: "power-tools", Path: "/filters/groups/0/properties/0", Err: fmt.Errorf("the cohort is empty"),
				Hint: "Choose another one.",
			},
		},
	}
}

func (s *site) signIn(email string) *management.Principal {
	s.t.Helper()
	o, err := s.service.OpenSession(s.t.Context(), email, password, management.Client{})
	fatal(s.t, err)
	s.token = o.Token
	return o.Principal
}

// member makes another user of the organization with a level.
func (s *site) member(email string, level int) {
	s.t.Helper()
	ctx := s.t.Context()
	u, err := s.service.CreateUser(ctx, management.NewUser{Email: email, Password: password})
	fatal(s.t, err)
	p, err := s.store.Project(ctx, s.project)
	fatal(s.t, err)
	fatal(s.t, s.store.CreateMembership(ctx, &storage.Membership{
		Organization: p.Organization, User: u.ID, Level: level, Joined: time.Now(),
	}))
}

// An answer is what a browser gets.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (s *site) do(r *http.Request) *answer {
	s.t.Helper()
	if s.token != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-flagstaff", Value: s.token})
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	body := w.Body.String()
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && w.Header().Get("Content-Encoding") == "" {
		body = unfolded(body)
	}
	return &answer{s.t, w.Code, w.Header(), body}
}

// unfolded returns a page whose tags have blanks where templates have ends of lines.
func unfolded(page string) string {
	return tagForm.ReplaceAllStringFunc(page, func(tag string) string {
		parts := strings.Split(tag, `"`)
		for i := 0; i < len(parts); i += 2 { // the others are values
			parts[i] = strings.ReplaceAll(parts[i], "\n", " ")
		}
		return strings.Join(parts, `"`)
	})
}

func (s *site) get(path string) *answer {
	s.t.Helper()
	return s.do(httptest.NewRequestWithContext(s.t.Context(), "GET", "https://flags.example.com/console"+path, nil))
}

func (s *site) post(path string, form url.Values) *answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), "POST", "https://flags.example.com/console"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.do(r)
}

// want checks the status, and that texts are on the page.
func (a *answer) want(status int, texts ...string) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d; Location %q, page:\n%s", a.status, status, a.header.Get("Location"), words(a.body))
	}
	for _, text := range texts {
		if !strings.Contains(words(a.body), text) {
			a.t.Errorf("the page does not say %q:\n%s", text, words(a.body))
		}
	}
	return a
}

// withoutUndo takes from an address how a change is taken back.
func withoutUndo(address string) string { return undoForm.ReplaceAllString(address, "") }

var undoForm = regexp.MustCompile(`&undo=[^&]*`)

// thing returns the path of the thing to which an answer leads.
func (a *answer) thing() string {
	path, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Location"), "/console"), "?")
	return path
}

// leads checks that the answer leads to another page.
func (a *answer) leads(path string) {
	a.t.Helper()
	if a.want(http.StatusSeeOther); withoutUndo(a.header.Get("Location")) != "/console"+path {
		a.t.Errorf("Location: %s, want %s", a.header.Get("Location"), "/console"+path)
	}
}

var (
	tagForm   = regexp.MustCompile(`<[^>]*>`)
	blankForm = regexp.MustCompile(`\s+`)
)

// words returns the text of a page.
func words(page string) string {
	page = tagForm.ReplaceAllString(page, " ")
	for code, sign := range map[string]string{"&#39;": "'", "&#34;": `"`, "&lt;": "<", "&gt;": ">", "&#43;": "+", "&amp;": "&"} {
		page = strings.ReplaceAll(page, code, sign)
	}
	return strings.TrimSpace(blankForm.ReplaceAllString(page, " "))
}

// flag returns a flag as it is stored.
func (s *site) flag(key string) *management.FlagView {
	s.t.Helper()
	f, err := s.service.Flag(s.t.Context(), s.owner, strconv.FormatInt(s.project, 10), key)
	fatal(s.t, err)
	return f
}

func (s *site) flagPath(key string) string {
	s.t.Helper()
	return fmt.Sprintf("/projects/%d/flags/%d", s.project, s.flag(key).ID)
}

// compact returns JSON with members in order and without blanks.
func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var v any
	fatal(t, json.Unmarshal(raw, &v))
	b, err := json.Marshal(v)
	fatal(t, err)
	return string(b)
}

// A brokenStore fails when it is told to.
type brokenStore struct {
	sqlstore.Storage
	broken    atomic.Bool
	update    atomic.Bool  // of persons fails
	importing func() error // is called before a transaction begins, unless it is nil
}

func (b *brokenStore) Atomic(ctx context.Context, f func(storage.Store) error) error {
	if b.importing != nil {
		if err := b.importing(); err != nil {
			return err
		}
	}
	return b.Storage.Atomic(ctx, f)
}

var errBroken = fmt.Errorf("%w: the disk is gone", io.ErrUnexpectedEOF)

func (b *brokenStore) Project(ctx context.Context, id int64) (*storage.Project, error) {
	if b.broken.Load() {
		return nil, errBroken
	}
	return b.Storage.Project(ctx, id)
}

func (b *brokenStore) UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage,
	unset []string,
) (*storage.Person, error) {
	if b.update.Load() {
		return nil, errBroken
	}
	return b.Storage.UpdatePerson(ctx, project, id, set, unset)
}

// object returns the members of an object.
func object(t testing.TB, raw []byte) (out map[string]json.RawMessage) {
	t.Helper()
	fatal(t, json.Unmarshal(raw, &out))
	return out
}

// with returns a form with other values.
func with(form url.Values, pairs ...string) url.Values {
	out := maps.Clone(form)
	if out == nil {
		out = make(url.Values)
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []string{pairs[i+1]}
	}
	return out
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shown returns filters as clients see them.
func shown(f flags.Filters) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}
