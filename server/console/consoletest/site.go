package consoletest

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
	"path/filepath"
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
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
	"github.com/flagstaff-go/flagstaff/server/console"
)

const (
	Password = "correct horse battery staple"
	Address  = "ada@example.com"
)

// A Site is a console on a store in memory that has the flags of the demo and 40 persons.
type Site struct {
	T       testing.TB
	Store   sqlstore.Storage
	Service *management.Service
	Served  *catalog.Catalog
	More    map[string]func() (list any, err error) // things of other screens, by kind
	Extra   any                                     // what tests of other screens keep
	Handler http.Handler
	Project int64
	Token   string // of the session; "" for nobody
	Owner   *management.Principal
	Broken  *BrokenStore
	Ahead   time.Duration // of the clock of the service
}

// template is the store that all sites copy. Its owner has the address and the password
// above.
var template = sqlitetest.NewTemplate(Fill)

func Fill(t testing.TB, store sqlstore.Storage) {
	ctx := t.Context()
	created, err := management.Bootstrap(ctx, store, management.First{Owner: Address, Organization: "Acme", Project: "Shop"})
	Fatal(t, err)
	service, err := management.New(management.Config{Store: store, Data: store})
	Fatal(t, err)
	token, err := service.NewSignInLink(ctx, Address)
	Fatal(t, err)
	_, err = service.UseSignInLink(ctx, token, &management.ChosenPassword{Password: optional.Of(Password)}, management.Client{})
	Fatal(t, err)
	document, err := os.ReadFile(File(t, "cmd/flagstaff/serve/demo.json"))
	Fatal(t, err)
	_, err = service.Import(ctx, created.Project.ID, document, management.ImportOptions{})
	Fatal(t, err)
	events, err := capture.NewClient(capture.ClientConfig{Sink: store, Project: created.Project.ID, MaxRetries: -1})
	Fatal(t, err)
	for i := range 40 {
		Fatal(t, events.Capture(capture.ClientEvent{
			Name: "signed up", DistinctID: fmt.Sprintf("user-%03d", i), Time: time.Now(),
			Properties: map[string]any{
				"$set": map[string]any{
					"plan": []string{"free", "pro", "team", "trial"}[i%4], "logins": i * 5,
					"email": fmt.Sprintf("user-%03d@example.org", i),
				},
			},
		}))
	}
	Fatal(t, events.Capture(capture.ClientEvent{
		Name: "$groupidentify", DistinctID: "user-001", Time: time.Now(),
		Properties: map[string]any{"$group_type": "company", "$group_key": "acme", "$group_set": map[string]any{"seats": 70}},
	}))
	Fatal(t, events.Close(ctx))
}

// NewStore returns a copy of the store that sites have.
func NewStore(t testing.TB) sqlstore.Storage { return template.Open(t) }

// A Setup is a site that is not as usual.
type Setup struct {
	Store      sqlstore.Storage // nil: a copy of the template
	Management func(*management.Config)
	Console    func(*console.Config)
}

// NewSite returns a site on which the owner is signed in.
func NewSite(t testing.TB, configure ...func(*console.Config)) *Site {
	t.Helper()
	return Setup{Console: func(c *console.Config) {
		for _, f := range configure {
			f(c)
		}
	}}.Site(t)
}

// Site returns a site on which the owner is signed in.
func (setup Setup) Site(t testing.TB) *Site {
	t.Helper()
	if setup.Store == nil {
		setup.Store = NewStore(t)
	}
	s := &Site{T: t, Store: setup.Store, Broken: &BrokenStore{Storage: setup.Store}, Project: 1}
	var err error
	s.Served, err = catalog.New(catalog.Config{Store: s.Store, Registry: new(server.Registry)})
	Fatal(t, err)
	Fatal(t, s.Served.Refresh(t.Context()))
	m := management.Config{
		Store: s.Broken, Data: s.Broken, SecretKeys: [][]byte{make([]byte, 32)},
		Catalog: s.Served, Now: func() time.Time { return time.Now().Add(s.Ahead) },
	}
	if setup.Management != nil {
		setup.Management(&m)
	}
	s.Service, err = management.New(m)
	Fatal(t, err)
	c := console.Config{
		Service: s.Service, Prefix: "/console", URL: "https://flags.example.com", Problems: problems,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if setup.Console != nil {
		setup.Console(&c)
	}
	s.Handler, err = console.New(c)
	Fatal(t, err)
	s.Owner = s.SignIn(Address)
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

func (s *Site) SignIn(email string) *management.Principal {
	s.T.Helper()
	o, err := s.Service.OpenSession(s.T.Context(), email, Password, management.Client{})
	Fatal(s.T, err)
	s.Token = o.Token
	return o.Principal
}

// Member makes another user of the organization with a level.
func (s *Site) Member(email string, level int) {
	s.T.Helper()
	ctx := s.T.Context()
	u, err := s.Service.CreateUser(ctx, management.NewUser{Email: email, Password: Password})
	Fatal(s.T, err)
	p, err := s.Store.Projects().Get(ctx, storage.ProjectID.Is(s.Project))
	Fatal(s.T, err)
	Fatal(s.T, s.Store.Memberships().Create(ctx, &storage.Membership{
		Organization: p.Organization, User: u.ID, Level: level, Joined: time.Now(),
	}))
}

// An Answer is what a browser gets.
type Answer struct {
	T      testing.TB
	Status int
	Header http.Header
	Body   string
}

func (s *Site) Do(r *http.Request) *Answer {
	s.T.Helper()
	if s.Token != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-flagstaff", Value: s.Token})
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	body := w.Body.String()
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && w.Header().Get("Content-Encoding") == "" {
		body = unfolded(body)
	}
	return &Answer{s.T, w.Code, w.Header(), body}
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

func (s *Site) Get(path string) *Answer {
	s.T.Helper()
	return s.Do(httptest.NewRequestWithContext(s.T.Context(), "GET", "https://flags.example.com/console"+path, nil))
}

func (s *Site) Post(path string, form url.Values) *Answer {
	s.T.Helper()
	r := httptest.NewRequestWithContext(s.T.Context(), "POST", "https://flags.example.com/console"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.Do(r)
}

// Want checks the status, and that texts are on the page.
func (a *Answer) Want(status int, texts ...string) *Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("status %d, want %d; Location %q, page:\n%s", a.Status, status, a.Header.Get("Location"), Words(a.Body))
	}
	for _, text := range texts {
		if !strings.Contains(Words(a.Body), text) {
			a.T.Errorf("the page does not say %q:\n%s", text, Words(a.Body))
		}
	}
	return a
}

// WithoutUndo takes from an address how a change is taken back.
func WithoutUndo(address string) string { return undoForm.ReplaceAllString(address, "") }

var undoForm = regexp.MustCompile(`&undo=[^&]*`)

// Thing returns the path of the thing to which an answer leads.
func (a *Answer) Thing() string {
	path, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Location"), "/console"), "?")
	return path
}

// Leads checks that the answer leads to another page.
func (a *Answer) Leads(path string) {
	a.T.Helper()
	if a.Want(http.StatusSeeOther); WithoutUndo(a.Header.Get("Location")) != "/console"+path {
		a.T.Errorf("Location: %s, want %s", a.Header.Get("Location"), "/console"+path)
	}
}

var (
	tagForm   = regexp.MustCompile(`<[^>]*>`)
	BlankForm = regexp.MustCompile(`\s+`)
)

// Words returns the text of a page.
func Words(page string) string {
	page = tagForm.ReplaceAllString(page, " ")
	for code, sign := range map[string]string{"&#39;": "'", "&#34;": `"`, "&lt;": "<", "&gt;": ">", "&#43;": "+", "&amp;": "&"} {
		page = strings.ReplaceAll(page, code, sign)
	}
	return strings.TrimSpace(BlankForm.ReplaceAllString(page, " "))
}

// Flag returns a flag as it is stored.
func (s *Site) Flag(key string) *management.FlagView {
	s.T.Helper()
	f, err := s.Service.Flag(s.T.Context(), s.Owner, strconv.FormatInt(s.Project, 10), key)
	Fatal(s.T, err)
	return f
}

func (s *Site) FlagPath(key string) string {
	s.T.Helper()
	return fmt.Sprintf("/projects/%d/flags/%d", s.Project, s.Flag(key).ID)
}

// EditPath is the form of a flag.
func (s *Site) EditPath(key string) string {
	s.T.Helper()
	return s.FlagPath(key) + "/edit"
}

// Compact returns JSON with members in order and without blanks.
func Compact(t testing.TB, raw []byte) string {
	t.Helper()
	var v any
	Fatal(t, json.Unmarshal(raw, &v))
	b, err := json.Marshal(v)
	Fatal(t, err)
	return string(b)
}

// A BrokenStore fails when it is told to.
type BrokenStore struct {
	sqlstore.Storage
	Broken    atomic.Bool
	Update    atomic.Bool  // of persons fails
	Importing func() error // is called before a transaction begins, unless it is nil
}

func (b *BrokenStore) Atomic(ctx context.Context, f func(storage.Store) error) error {
	if b.Importing != nil {
		if err := b.Importing(); err != nil {
			return err
		}
	}
	return b.Storage.Atomic(ctx, f)
}

var ErrBroken = fmt.Errorf("%w: the disk is gone", io.ErrUnexpectedEOF)

func (b *BrokenStore) Projects() storage.Table[storage.Project] {
	return brokenProjects{b.Storage.Projects(), b}
}

type brokenProjects struct {
	storage.Table[storage.Project]
	store *BrokenStore
}

func (p brokenProjects) Get(ctx context.Context, where ...storage.Where[storage.Project]) (*storage.Project, error) {
	if p.store.Broken.Load() {
		return nil, ErrBroken
	}
	return p.Table.Get(ctx, where...)
}

func (b *BrokenStore) UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage,
	unset []string,
) (*storage.Person, error) {
	if b.Update.Load() {
		return nil, ErrBroken
	}
	return b.Storage.UpdatePerson(ctx, project, id, set, unset)
}

// Object returns the members of an object.
func Object(t testing.TB, raw []byte) (out map[string]json.RawMessage) {
	t.Helper()
	Fatal(t, json.Unmarshal(raw, &out))
	return out
}

// With returns a form with other values.
func With(form url.Values, pairs ...string) url.Values {
	out := maps.Clone(form)
	if out == nil {
		out = make(url.Values)
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []string{pairs[i+1]}
	}
	return out
}

func Fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Shown returns filters as clients see them.
func Shown(f flags.Filters) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// File returns the path of a file of the repository, wherever in it a test runs.
func File(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	Fatal(t, err)
	for {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("there is no file %s", name)
		}
		dir = filepath.Dir(dir)
	}
}
