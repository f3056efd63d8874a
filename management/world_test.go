package management_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/internal/password"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A world is a Service over a store in memory, with a clock that stands still and
// mail that goes nowhere, and somebody of each kind:
//
//	Acme    owner Ada, administrator Ben, member Cyd; projects Web and App
//	Umbra   owner Dov; project Shop
//	nobody  Sam of the staff; Eve, without a password; Old, who is not active
//
// All but Eve have the same password.
type world struct {
	*management.Service
	t      testing.TB
	store  sqlstore.Storage
	clock  *clock
	outbox *outbox
	log    *notebook
	cast
}

// A cast is what there is in a world in the beginning.
type cast struct {
	acme, umbra                       *storage.Organization
	web, app, shop                    *storage.Project
	ada, ben, cyd, dov, sam, eve, old *storage.User
}

const staple = "correct horse battery staple"

// errBroken is what storage says that fails on purpose.
var errBroken = errors.New("broken")

// hashed is the hash of staple, which takes long to make.
var hashed = sync.OnceValue(func() string {
	hash, err := password.New().Hash(context.Background(), staple)
	if err != nil {
		panic(err)
	}
	return hash
})

// secretKey returns a key for Config.SecretKeys.
func secretKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// begin is when each world begins.
var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// first is the cast of the store that all worlds copy.
var first cast

var worlds = sqlitetest.NewTemplate(func(t testing.TB, db sqlstore.Storage) {
	w := &world{t: t, store: db, clock: &clock{now: begin}}
	w.acme, w.umbra = w.organization("Acme"), w.organization("Umbra")
	w.web, w.app, w.shop = w.project(w.acme, "Web"), w.project(w.acme, "App"), w.project(w.umbra, "Shop")
	w.ada, w.ben, w.cyd, w.dov = w.user("ada"), w.user("ben"), w.user("cyd"), w.user("dov")
	w.sam, w.eve, w.old = w.user("sam"), w.user("eve"), w.user("old")
	w.join(w.ada, w.acme, storage.LevelOwner, w.web)
	w.join(w.ben, w.acme, storage.LevelAdmin, w.web)
	w.join(w.cyd, w.acme, storage.LevelMember, w.web)
	w.join(w.dov, w.umbra, storage.LevelOwner, w.shop)
	w.sam.Staff, w.eve.PasswordHash, w.old.Active = true, "", false
	w.put(w.sam, w.eve, w.old)
	first = w.cast
})

func newWorld(t testing.TB, configure ...func(*management.Config)) *world {
	t.Helper()
	w := &world{t: t, store: worlds.Open(t), clock: &clock{now: begin}, outbox: new(outbox), log: new(notebook)}
	w.cast = cast{
		new(*first.acme), new(*first.umbra),
		new(*first.web), new(*first.app), new(*first.shop),
		new(*first.ada), new(*first.ben), new(*first.cyd), new(*first.dov), new(*first.sam), new(*first.eve), new(*first.old),
	}
	c := management.Config{
		Store: w.store, Mailer: w.outbox, AppURL: "https://flags.example.com/", SecretKeys: [][]byte{secretKey('a')},
		Now: w.clock.Now, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range configure {
		f(&c)
	}
	w.Service = must(management.New(c))(t)
	return w
}

// withData is for newWorld: there are persons.
func withData(c *management.Config) { c.Data = c.Store.(storage.Data) }

// filtersOf reads the filters of a flag as a store does.
func filtersOf(raw string) flags.Filters {
	f, _ := flags.DecodeFilters([]byte(raw), "") // what cannot be understood is kept
	return f
}

// filtersText returns the filters of a flag as they are stored.
func filtersText(t testing.TB, f *storage.Flag) string {
	t.Helper()
	return string(must(f.Filters.Normal())(t))
}

// same compares filters and trees by their normal form.
var same = cmp.Options{
	cmp.Comparer(func(a, b flags.Filters) bool {
		return normal(a.Normal()) == normal(b.Normal())
	}),
	cmp.Comparer(func(a, b *flags.CohortNode) bool {
		return normal(a.Normal()) == normal(b.Normal())
	}),
}

func normal(b []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// another returns a Service over the same store with another configuration, as
// after a restart.
func (w *world) another(configure func(*management.Config)) *world {
	w.t.Helper()
	other := *w
	c := management.Config{
		Store: w.store, Mailer: w.outbox, SecretKeys: [][]byte{secretKey('a')},
		Now: w.clock.Now, Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	configure(&c)
	other.Service = must(management.New(c))(w.t)
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

func (w *world) user(name string) *storage.User {
	w.t.Helper()
	u := &storage.User{
		UUID: uuid.Must(uuid.NewV7()), DistinctID: "d-" + name, Active: true, Joined: begin, Email: name + "@example.com",
		FirstName: strings.ToUpper(name[:1]) + name[1:], PasswordHash: hashed(), ToolbarMode: new("toolbar"),
	}
	w.ok(w.store.Users().Create(w.t.Context(), u))
	return u
}

// join makes a user a member and the project their current one, unless it is nil.
func (w *world) join(u *storage.User, o *storage.Organization, level int, current *storage.Project) {
	w.t.Helper()
	m := &storage.Membership{
		ID: uuid.Must(uuid.NewV7()), Organization: o.ID, User: u.ID, Level: level, Joined: w.clock.Now(), Updated: w.clock.Now(),
	}
	w.ok(w.store.Memberships().Create(w.t.Context(), m))
	if current != nil {
		u.CurrentOrganization, u.CurrentProject = &o.ID, &current.ID
		w.put(u)
	}
}

// put stores users as they are.
func (w *world) put(users ...*storage.User) {
	w.t.Helper()
	for _, u := range users {
		w.ok(w.store.Users().Update(w.t.Context(), u))
	}
}

// now returns what is stored of a user.
func (w *world) now(u *storage.User) *storage.User {
	w.t.Helper()
	return must(w.store.Users().Get(w.t.Context(), storage.UserID.Is(u.ID)))(w.t)
}

// as returns a Principal for a user without a key.
func (w *world) as(u *storage.User) *management.Principal {
	w.t.Helper()
	return must(w.PrincipalOf(w.t.Context(), u.UUID))(w.t)
}

// key returns a Principal for a user with a new key that may do everything, or
// what is left of it.
func (w *world) key(u *storage.User, change ...func(*storage.PersonalKey)) *management.Principal {
	w.t.Helper()
	value := storage.NewPersonalKey()
	k := &storage.PersonalKey{
		ID: uuid.NewString(), User: u.ID, Label: "test", Mask: "phx_...test", Hash: storage.HashKey(value), Scopes: []string{"*"}, Created: begin,
	}
	for _, f := range change {
		f(k)
	}
	w.ok(w.store.Keys().Create(w.t.Context(), k))
	return must(w.Authenticate(w.t.Context(), value, "the Authorization header"))(w.t)
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

func onlyOrganizations(list ...*storage.Organization) func(*storage.PersonalKey) {
	return func(k *storage.PersonalKey) {
		for _, o := range list {
			k.Organizations = append(k.Organizations, o.ID)
		}
	}
}

// mails delivers what waits and returns it.
func (w *world) mails() []management.Message {
	w.t.Helper()
	ended, cancel := context.WithCancel(w.t.Context())
	cancel()
	w.ok(w.Run(ended))
	return w.outbox.take()
}

// activities returns the activity log, newest first.
func (w *world) activities() []storage.Activity {
	w.t.Helper()
	list, _, err := w.store.Activities(w.t.Context(), storage.ActivityFilter{}, 1000, 0)
	w.ok(err)
	return list
}

// view returns how somebody without a key sees a user.
func (w *world) view(u *storage.User) *management.UserView {
	w.t.Helper()
	return must(w.User(w.t.Context(), w.as(u), "@me"))(w.t)
}

// patch changes a user with a JSON document, as a request does.
func (w *world) patch(p *management.Principal, ref, body string) (*management.UserView, error) {
	w.t.Helper()
	return w.UpdateUser(w.t.Context(), p, ref, decode[management.UserPatch](w.t, body))
}

func decode[T any](t testing.TB, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("decode %.100s: %v", body, err)
	}
	return v
}

// read is decode for a patch, with the error that the API has for members that nothing knows.
func read[T any](t testing.TB, body string) (v T, err error) {
	t.Helper()
	v = decode[T](t, body)
	return v, management.CheckBody(&v, []byte(body), false)
}

func encode(t testing.TB, v any) string {
	t.Helper()
	return string(must(json.Marshal(v))(t))
}

// fault says what is wrong, as "invalid max_length first_name": kind, code and
// attr of an Error. It is "" if nothing is.
func fault(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return "failure: " + err.Error()
	}
	kinds := map[error]string{
		management.ErrInvalid: "invalid", management.ErrUnauthenticated: "unauthenticated", management.ErrForbidden: "forbidden",
		management.ErrThrottled: "throttled", management.ErrNotFound: "not found", management.ErrConflict: "conflict",
		management.ErrPrecondition: "precondition",
	}
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

// hashing returns how many passwords were hashed during f. Each takes 19 MiB, and
// nothing else takes as much.
func hashing(f func()) int {
	const each = 19 << 20
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	f()
	return int((allocated() - before) / each)
}

// A state is all that a store keeps but for events.
type state struct {
	Users         []storage.User
	Scenes        []storage.Scene
	Keys          []storage.PersonalKey
	TOTPs         []storage.TOTP
	Pending       []storage.PendingTOTP
	Codes         []storage.BackupCode
	Tokens        []storage.EmailToken
	Organizations []storage.Organization
	Memberships   []storage.Membership
	Invitations   []storage.Invitation
	Projects      []storage.Project
	Activities    []storage.Activity
	Flags         []storage.Flag
	Versions      []storage.Flag
	Sessions      []storage.Session
	Cohorts       []storage.Cohort
	EarlyAccess   []storage.EarlyAccessFeature
	Persons       []storage.Person
	Groups        []storage.Group
}

// state returns what is stored. Of users, flags and cohorts that are deleted it
// finds what has one of the next IDs after the last one that is not.
func (w *world) state() *state {
	w.t.Helper()
	ctx := w.t.Context()
	users := must(w.store.Users().List(ctx, storage.UserID.In(idsUpTo(50))))(w.t)
	ids := idsUpTo(2)
	if len(users) > 0 {
		ids = idsUpTo(users[len(users)-1].ID + 2)
	}
	s := &state{
		Users: users, Scenes: must(w.store.Scenes().List(ctx, storage.SceneUser.In(ids)))(w.t),
		Organizations: must(w.store.Organizations().List(ctx))(w.t), Memberships: must(w.store.Memberships().List(ctx, storage.MembershipUser.In(ids)))(w.t),
		Projects: must(w.store.Projects().List(ctx))(w.t), Activities: w.activities(),
	}
	for i := range s.Organizations {
		s.Invitations = append(s.Invitations, must(w.store.Invitations().List(ctx, storage.InvitationOrganization.Is(s.Organizations[i].ID)))(w.t)...)
	}
	for i := range s.Projects {
		s.Persons = append(s.Persons, w.persons(&s.Projects[i])...)
		s.Groups = append(s.Groups, w.groups(&s.Projects[i])...)
	}
	for _, id := range ids {
		s.Keys = append(s.Keys, must(w.store.Keys().List(ctx, storage.KeyUser.Is(id)))(w.t)...)
		s.Codes = append(s.Codes, must(w.store.BackupCodes().List(ctx, storage.BackupCodeUser.Is(id)))(w.t)...)
		s.Sessions = append(s.Sessions, must(w.store.Sessions().List(ctx, storage.SessionUser.Is(id)))(w.t)...)
		if d, err := w.store.TOTPs().Get(ctx, storage.TOTPUser.Is(id)); err == nil {
			s.TOTPs = append(s.TOTPs, *d)
		}
		if d, err := w.store.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(id)); err == nil {
			s.Pending = append(s.Pending, *d)
		}
		if t, err := w.store.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(id)); err == nil {
			s.Tokens = append(s.Tokens, *t)
		}
	}
	var last int64
	for _, p := range s.Projects {
		for _, f := range must(w.store.CalledFlags(ctx, p.ID))(w.t) {
			last = max(last, f.ID)
		}
		for _, c := range must(w.store.Cohorts().List(ctx, storage.CohortProject.Is(p.ID), storage.CohortDeleted.Is(false)))(w.t) {
			last = max(last, c.ID)
		}
	}
	for _, p := range s.Projects {
		for _, id := range idsUpTo(last + 6) {
			if f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(id)); err == nil {
				s.Flags = append(s.Flags, *f)
				list, _, err := w.store.FlagVersions().Page(ctx, 1000, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(id))
				w.ok(err)
				s.Versions = append(s.Versions, list...)
			}
			if c, err := w.store.Cohorts().Get(ctx, storage.CohortProject.Is(p.ID), storage.CohortID.Is(id)); err == nil {
				s.Cohorts = append(s.Cohorts, *c)
			}
		}
		s.EarlyAccess = append(s.EarlyAccess, must(w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(p.ID)))(w.t)...)
	}
	return s
}

func idsUpTo(last int64) []int64 {
	ids := make([]int64, last)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	return ids
}

// checkUnchanged checks that what is stored is as it was.
func (w *world) checkUnchanged(call string, before *state) {
	w.t.Helper()
	if diff := cmp.Diff(before, w.state(), same); diff != "" {
		w.t.Errorf("%s has changed the store (-before +after)\n%s", call, diff)
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

// An outbox is a Mailer that keeps what it is given.
type outbox struct {
	mu   sync.Mutex
	sent []management.Message

	// refuse is asked about each message; nil takes all.
	refuse func(ctx context.Context, m management.Message) error
}

func (o *outbox) Send(ctx context.Context, m management.Message) error {
	if o.refuse != nil {
		if err := o.refuse(ctx, m); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, m)
	return nil
}

// take empties the outbox.
func (o *outbox) take() []management.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.sent
	o.sent = nil
	return sent
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

// linkedFlags are the things that are linked to flags, by their IDs.
type linkedFlags map[int64][]management.FlagUser

func (l linkedFlags) Linked(context.Context, *management.UnitOfWork, int64) (map[int64][]management.FlagUser, error) {
	return l, nil
}

func (linkedFlags) CheckUnused(context.Context, *management.UnitOfWork, *storage.Flag) error {
	return nil
}

func (linkedFlags) Unlink(context.Context, *management.UnitOfWork, *storage.Flag) error { return nil }

// An altered store does something else, or something more, in some methods, also
// in transactions.
type altered struct {
	storage.Store
	addActivity  func(storage.Store, context.Context, ...*storage.Activity) error
	throttle     func(storage.Store, context.Context, string, storage.Limit, time.Time) (time.Duration, error)
	touchKey     func(storage.Store, context.Context, *storage.PersonalKey) error
	touchSession func(storage.Store, context.Context, *storage.Session) error
	user         func(storage.Store, context.Context, ...storage.Where[storage.User]) (*storage.User, error)
}

func (a *altered) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return a.Store.Atomic(ctx, a.within(f))
}

func (a *altered) AtOnce(ctx context.Context, f func(storage.Store) error) error {
	return a.Store.AtOnce(ctx, a.within(f))
}

// within returns f for the store of a transaction, which is altered as well.
func (a *altered) within(f func(storage.Store) error) func(storage.Store) error {
	return func(s storage.Store) error {
		inner := *a
		inner.Store = s
		return f(&inner)
	}
}

func (a *altered) AddActivity(ctx context.Context, entries ...*storage.Activity) error {
	if a.addActivity != nil {
		return a.addActivity(a.Store, ctx, entries...)
	}
	return a.Store.AddActivity(ctx, entries...)
}

func (a *altered) Throttle(ctx context.Context, bucket string, l storage.Limit, now time.Time) (time.Duration, error) {
	if a.throttle != nil {
		return a.throttle(a.Store, ctx, bucket, l, now)
	}
	return a.Store.Throttle(ctx, bucket, l, now)
}

func (a *altered) Keys() storage.Table[storage.PersonalKey] {
	return tapped[storage.PersonalKey]{Table: a.Store.Keys(), store: a.Store, touch: a.touchKey}
}

func (a *altered) Sessions() storage.Table[storage.Session] {
	return tapped[storage.Session]{Table: a.Store.Sessions(), store: a.Store, touch: a.touchSession}
}

func (a *altered) Users() storage.Table[storage.User] {
	return tapped[storage.User]{Table: a.Store.Users(), store: a.Store, get: a.user}
}

// A tapped table does something else in the methods of which there is a function. read is called
// for each Get and List.
type tapped[T any] struct {
	storage.Table[T]
	store storage.Store
	get   func(storage.Store, context.Context, ...storage.Where[T]) (*T, error)
	touch func(storage.Store, context.Context, *T) error
	read  func(where []storage.Where[T])
}

func (t tapped[T]) Get(ctx context.Context, where ...storage.Where[T]) (*T, error) {
	if t.read != nil {
		t.read(where)
	}
	if t.get != nil {
		return t.get(t.store, ctx, where...)
	}
	return t.Table.Get(ctx, where...)
}

func (t tapped[T]) List(ctx context.Context, where ...storage.Where[T]) ([]T, error) {
	if t.read != nil {
		t.read(where)
	}
	return t.Table.List(ctx, where...)
}

func (t tapped[T]) Touch(ctx context.Context, v *T) error {
	if t.touch != nil {
		return t.touch(t.store, ctx, v)
	}
	return t.Table.Touch(ctx, v)
}

// alter is for newWorld.
func alter(a *altered) func(*management.Config) {
	return func(c *management.Config) {
		a.Store = c.Store
		c.Store = a
	}
}

// kindsOf returns what messages are about, and to whom they are, in order.
func kindsOf(list []management.Message) []string {
	var kinds []string
	for _, m := range list {
		kinds = append(kinds, m.Kind+" to "+m.To)
	}
	return kinds
}

// checkMails checks what waits to be sent, in any order.
func (w *world) checkMails(what string, want ...string) []management.Message {
	w.t.Helper()
	list := w.mails()
	got := kindsOf(list)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("mail about %s (-want +got)\n%s", what, diff)
	}
	return list
}

// step returns how long steps of an authenticator are.
func step(n int) time.Duration { return time.Duration(n) * 30 * time.Second }

var link = regexp.MustCompile(`https?://\S+/verify_email/(\S+)/(\S+)`)

// tokenIn returns the token of the link in a message.
func tokenIn(t testing.TB, m management.Message) string {
	t.Helper()
	match := link.FindStringSubmatch(m.Text)
	if match == nil {
		t.Fatalf("no link in %q", m.Text)
	}
	return match[2]
}

var invitationLink = regexp.MustCompile(`https?://\S+/signup/(\S+)`)

// invitationIn returns the token of the link in a message that invites.
func invitationIn(t testing.TB, m management.Message) string {
	t.Helper()
	match := invitationLink.FindStringSubmatch(m.Text)
	if match == nil || m.Kind != "invitation" {
		t.Fatalf("no invitation: %+v", m)
	}
	return match[1]
}

var resetLink = regexp.MustCompile(`https?://\S+/reset_password/(\S+)`)

// resetIn returns the token in a message for another password.
func resetIn(t testing.TB, m management.Message) string {
	t.Helper()
	match := resetLink.FindStringSubmatch(m.Text)
	if match == nil || m.Kind != "password_reset" {
		t.Fatalf("no link: %+v", m)
	}
	return match[1]
}

func sortedCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// A calledStore is one whose flags were called at a time.
type calledStore struct {
	storage.Store
	at *time.Time
}

func (s *calledStore) Flags() storage.Table[storage.Flag] {
	return tapped[storage.Flag]{Table: s.Store.Flags(), store: s.Store, get: func(store storage.Store, ctx context.Context, where ...storage.Where[storage.Flag]) (*storage.Flag, error) {
		f, err := store.Flags().Get(ctx, where...)
		if err == nil {
			f.LastCalled = s.at
		}
		return f, err
	}}
}

func (s *calledStore) CalledFlags(ctx context.Context, project int64) ([]storage.Flag, error) {
	list, err := s.Store.CalledFlags(ctx, project)
	for i := range list {
		list[i].LastCalled = s.at
	}
	return list, err
}

// A toldCatalog is told of changes, and serves nothing.
type toldCatalog func(project int64)

func (toldCatalog) Snapshot(int64) *flags.Snapshot                { return nil }
func (told toldCatalog) Changed(_ context.Context, project int64) { told(project) }

// A servedCatalog serves the same for each project.
type servedCatalog struct{ served *flags.Snapshot }

func (c *servedCatalog) Snapshot(int64) *flags.Snapshot { return c.served }
func (*servedCatalog) Changed(context.Context, int64)   {}

// A countingData calls a function before it iterates over all persons.
type countingData struct {
	storage.Data
	before func()
}

func (d *countingData) AllPersons(ctx context.Context, project int64) iter.Seq2[storage.Person, error] {
	d.before()
	return d.Data.AllPersons(ctx, project)
}

// shown returns filters as clients see them.
func shown(f flags.Filters) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}
