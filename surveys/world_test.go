package surveys_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// A world is a Service over a store in memory, with a clock that stands still, and with
// users:
//
//	Acme    owner Ada, administrator Ben, member Cyd; projects Web and App
//	Umbra   owner Dov; project Shop
//	none    Sam, who is of the staff
type world struct {
	*surveys.Service
	management *management.Service
	t          testing.TB
	store      dataStore
	clock      *clock
	log        *notebook
	cast
}

// A dataStore is a store with its surveys.
type dataStore struct {
	sqlstore.Storage
	*surveys.Data
}

func dataIn(t testing.TB, store sqlstore.Storage) dataStore {
	t.Helper()
	return dataStore{store, must(surveys.DataIn(store))(t)}
}

// A cast is what a world has in the beginning.
type cast struct {
	acme, umbra             *storage.Organization
	web, app, shop          *storage.Project
	ada, ben, cyd, dov, sam *storage.User
}

// A config configures a world.
type config struct {
	surveys.Config
	management management.Config
	events     func(surveys.EventStore) surveys.EventStore // what is asked of the events; nil: as it is
}

// errBroken is the error of storage that fails on purpose.
var errBroken = errors.New("broken")

// begin is when each world begins.
var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// first is the cast of the store that all worlds copy.
var first cast

var worlds = sqlitetest.NewTemplate(func(t testing.TB, store sqlstore.Storage) {
	w := &world{t: t, store: dataIn(t, store)}
	w.acme, w.umbra = w.organization("Acme"), w.organization("Umbra")
	w.web, w.app, w.shop = w.project(w.acme, "Web"), w.project(w.acme, "App"), w.project(w.umbra, "Shop")
	w.ada, w.ben = w.user("ada", w.acme, storage.LevelOwner), w.user("ben", w.acme, storage.LevelAdmin)
	w.cyd, w.dov = w.user("cyd", w.acme, storage.LevelMember), w.user("dov", w.umbra, storage.LevelOwner)
	w.sam = w.user("sam", nil, 0)
	first = w.cast
}, surveys.Extension())

func newWorld(t testing.TB, configure ...func(*config)) *world {
	t.Helper()
	w := &world{t: t, store: dataIn(t, worlds.Open(t)), clock: &clock{now: begin}, log: new(notebook)}
	w.cast = cast{
		new(*first.acme), new(*first.umbra), new(*first.web), new(*first.app), new(*first.shop),
		new(*first.ada), new(*first.ben), new(*first.cyd), new(*first.dov), new(*first.sam),
	}
	return w.another(configure...)
}

// another returns Services over the same store with another configuration, as after a
// restart.
func (w *world) another(configure ...func(*config)) *world {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := config{
		Config:     surveys.Config{Now: w.clock.Now, Log: log},
		management: management.Config{Store: w.store.Storage, Data: w.store, FlagUsers: surveys.FlagUsers{}, Now: w.clock.Now, Log: log},
	}
	for _, f := range configure {
		f(&c)
	}
	other := *w
	other.management = must(management.New(c.management))(w.t)
	c.Management = other.management
	other.Service = must(surveys.New(c.Config))(w.t)
	if c.events != nil {
		surveys.SetEvents(other.Service, c.events)
	}
	return &other
}

// must turns an error into the end of the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) organization(name string) *storage.Organization {
	w.t.Helper()
	o := storage.NewOrganization(name)
	o.Created, o.Updated = begin, begin
	w.ok(w.store.Organizations().Create(w.t.Context(), o))
	return o
}

func (w *world) project(o *storage.Organization, name string) *storage.Project {
	w.t.Helper()
	p := storage.NewProject(o, name)
	p.Created, p.Updated = begin, begin
	w.ok(w.store.Projects().Create(w.t.Context(), p))
	return p
}

// user makes a user, who is a member of an organization or of the staff.
func (w *world) user(name string, o *storage.Organization, level int) *storage.User {
	w.t.Helper()
	u := &storage.User{
		UUID: uuid.Must(uuid.NewV7()), DistinctID: "d-" + name, Active: true, Joined: begin, Email: name + "@example.com",
		FirstName: strings.ToUpper(name[:1]) + name[1:], Staff: o == nil,
	}
	w.ok(w.store.Users().Create(w.t.Context(), u))
	if o != nil {
		w.ok(w.store.Memberships().Create(w.t.Context(), &storage.Membership{
			ID: uuid.Must(uuid.NewV7()), Organization: o.ID, User: u.ID, Level: level, Joined: begin, Updated: begin,
		}))
	}
	return u
}

// as returns a Principal for a user without a key.
func (w *world) as(u *storage.User) *management.Principal {
	w.t.Helper()
	return must(w.management.PrincipalOf(w.t.Context(), u.UUID))(w.t)
}

// key returns a Principal for a user with a new key that may do everything, or what the
// change leaves of it.
func (w *world) key(u *storage.User, change func(*storage.PersonalKey)) *management.Principal {
	w.t.Helper()
	value := storage.NewPersonalKey()
	k := &storage.PersonalKey{
		ID: uuid.NewString(), User: u.ID, Label: "test", Mask: "phx_...test", Hash: storage.HashKey(value), Scopes: []string{"*"}, Created: begin,
	}
	change(k)
	w.ok(w.store.Keys().Create(w.t.Context(), k))
	return must(w.management.Authenticate(w.t.Context(), value, "the Authorization header"))(w.t)
}

func scopes(s ...string) func(*storage.PersonalKey) {
	return func(k *storage.PersonalKey) { k.Scopes = s }
}

func onlyProjects(list ...*storage.Project) func(*storage.PersonalKey) {
	return func(k *storage.PersonalKey) {
		for _, p := range list {
			k.Projects = append(k.Projects, p.ID)
		}
	}
}

// activities returns the activity log, newest first.
func (w *world) activities() []storage.Activity {
	w.t.Helper()
	list, _, err := w.store.Activities(w.t.Context(), storage.ActivityFilter{}, 1000, 0)
	w.ok(err)
	return list
}

// run runs the Service until stop is called, which waits for its end.
func (w *world) run() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		w.t.Helper()
		cancel()
		w.ok(<-ended)
	}
}

func decode[T any](t testing.TB, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("decode %.100s: %v", body, err)
	}
	return v
}

func encode(t testing.TB, v any) string {
	t.Helper()
	return string(must(json.Marshal(v))(t))
}

// anyJSON returns a field that may hold any JSON.
func anyJSON(v any) optional.Value[json.RawMessage] {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return optional.Of(json.RawMessage(b))
}

// chars returns a text of n characters.
func chars(n int) string { return strings.Repeat("ä", n) }

// nested returns a JSON document of a depth.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// filtersOf returns filters as they are stored.
func filtersOf(raw string) flags.Filters {
	f, _ := flags.DecodeFilters([]byte(raw), "") // what cannot be understood is kept
	return f
}

// filtersText returns the filters of a flag as they are stored.
func filtersText(t testing.TB, f *storage.Flag) string {
	t.Helper()
	return string(must(f.Filters.Normal())(t))
}

// shown returns filters as clients see them.
func shown(f flags.Filters) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// same compares filters by their normal form.
var same = cmp.Comparer(func(a, b flags.Filters) bool { return normal.SameFilters(&a, &b) })

// fault says what is wrong, as "invalid max_length name": kind, code and attr of a
// management.Error. It is "" if nothing is.
func fault(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return "failure: " + err.Error()
	}
	kinds := map[error]string{management.ErrInvalid: "invalid", management.ErrForbidden: "forbidden", management.ErrNotFound: "not found"}
	if e.Detail == "" || e.Code == "" || kinds[e.Kind] == "" || !errors.Is(err, e.Kind) || !strings.HasSuffix(e.Error(), e.Detail) {
		return fmt.Sprintf("incomplete: %#v", e)
	}
	return strings.TrimSpace(kinds[e.Kind] + " " + e.Code + " " + e.Attr)
}

// checkFault checks what is wrong with the result of a call.
func checkFault(t testing.TB, call string, err error, want string) {
	t.Helper()
	if got := fault(err); got != want {
		t.Errorf("%s: %q (%v), want %q", call, got, err, want)
	}
}

// A clock is one that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A notebook is a log that can be read.
type notebook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notebook) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(b)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// An altered store does something else in AddActivity, also in transactions.
type altered struct {
	storage.Store
	addActivity func(storage.Store, context.Context, ...*storage.Activity) error
}

func (a *altered) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return a.Store.Atomic(ctx, func(s storage.Store) error {
		return f(&altered{s, a.addActivity})
	})
}

func (a *altered) AddActivity(ctx context.Context, entries ...*storage.Activity) error {
	return a.addActivity(a.Store, ctx, entries...)
}

// A toldCatalog notes of which projects it is told, and serves nothing.
type toldCatalog struct{ told *[]int64 }

func (c toldCatalog) Snapshot(int64) *flags.Snapshot           { return nil }
func (c toldCatalog) Changed(_ context.Context, project int64) { *c.told = append(*c.told, project) }

// alter is for newWorld.
func alter(a *altered) func(*config) {
	return func(c *config) {
		a.Store = c.management.Store
		c.management.Store = a
	}
}
