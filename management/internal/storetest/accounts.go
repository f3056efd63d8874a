package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// same compares what was stored with what comes back: times in UTC, and
// documents by what they say, since a store may keep them in another form.
var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() }),
	cmp.FilterValues(
		func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 },
		cmp.Comparer(func(a, b json.RawMessage) bool { return cmp.Equal(document(a), document(b)) }),
	),
	cmp.Comparer(func(a, b flags.Filters) bool {
		return encoded(a.Encode()) == encoded(b.Encode())
	}),
	cmp.Comparer(func(a, b *flags.CohortNode) bool {
		return (a == nil) == (b == nil) && encoded(a.Encode()) == encoded(b.Encode())
	}),
}

// encoded returns what was encoded, or why it was not.
func encoded(b []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// document decodes a JSON document, without loss.
func document(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// want returns a function that checks the results of a call.
func want(t *testing.T, call string, value any) func(got any, err error) {
	return func(got any, err error) {
		t.Helper()
		if diff := cmp.Diff(value, got, same); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", call, err, diff)
		}
	}
}

// wantPage is want for calls that return a page of a list.
func wantPage(t *testing.T, call string, value any, total int) func(got any, all int, err error) {
	return func(got any, all int, err error) {
		t.Helper()
		if diff := cmp.Diff(value, got, same); err != nil || diff != "" || all != total {
			t.Errorf("%s: %v, total %d, want %d (-want +got)\n%s", call, err, all, total, diff)
		}
	}
}

// wantErr returns a function that checks the error of a call.
func wantErr(t *testing.T, call string, target error) func(_ any, err error) {
	return func(_ any, err error) {
		t.Helper()
		wantError(t, call, target, err)
	}
}

func wantError(t *testing.T, call string, target, err error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: error %v, want %v", call, err, target)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantAllSet checks that a test sets all fields of a struct, those included that
// it will have one day.
func wantAllSet(t *testing.T, v any, except ...string) {
	t.Helper()
	for field, value := range reflect.ValueOf(v).Fields() {
		if value.IsZero() && !slices.Contains(except, field.Name) {
			t.Errorf("the test does not set %T.%s", v, field.Name)
		}
	}
}

// alternate sets the booleans of a struct by a bit of the number that each of them
// has, so that any two of up to sixteen differ for one of the bits 0 to 3.
// Strings that can be nil are empty or nil.
func alternate(v any, bit int) {
	n := 0
	for _, value := range reflect.ValueOf(v).Elem().Fields() {
		on := n>>bit&1 == 1
		switch value.Interface().(type) {
		case bool:
			value.SetBool(on)
		case *bool:
			value.Set(reflect.ValueOf(&on))
		case *string:
			value.SetZero()
			if on {
				value.Set(reflect.ValueOf(new("")))
			}
		default:
			continue
		}
		n++
	}
}

// newUser returns a user who is not stored.
func (s *suite) newUser(name string) storage.User {
	return storage.User{UUID: uuid.New(), DistinctID: "of " + name, Active: true, Joined: s.now, Email: name + "@example.com"}
}

func (s *suite) user(t *testing.T, name string) *storage.User {
	t.Helper()
	u := s.newUser(name)
	must(t, s.Users().Create(t.Context(), &u))
	return &u
}

func (s *suite) organization(t *testing.T, slug string) *storage.Organization {
	t.Helper()
	o := &storage.Organization{ID: uuid.New(), Name: slug, Slug: slug, Created: s.now, Updated: s.now}
	must(t, s.Organizations().Create(t.Context(), o))
	return o
}

func (s *suite) project(t *testing.T, o *storage.Organization) *storage.Project {
	t.Helper()
	p := storage.NewProject(o, "a project")
	must(t, s.Projects().Create(t.Context(), p))
	return p
}

// furnish gives a user something of everything that a user can have.
func (s *suite) furnish(t *testing.T, u *storage.User, o *storage.Organization, p *storage.Project) {
	t.Helper()
	ctx := t.Context()
	name := u.Email
	key := storage.PersonalKey{ID: name, User: u.ID, Hash: "hash of " + name, Created: s.now}
	codes := []storage.BackupCode{{User: u.ID, Hash: []byte("1"), Created: s.now}, {User: u.ID, Hash: []byte("2"), Created: s.now}}
	must(t, s.Keys().Create(ctx, &key))
	must(t, s.TOTPs().Set(ctx, &storage.TOTP{User: u.ID, Secret: []byte(name), Created: s.now}))
	must(t, s.PendingTOTPs().Set(ctx, &storage.PendingTOTP{User: u.ID, Secret: []byte(name), Expires: s.now}))
	must(t, s.BackupCodes().Create(ctx, &codes[0], &codes[1]))
	must(t, s.EmailTokens().Set(ctx, &storage.EmailToken{User: u.ID, Hash: []byte(name), Target: name, Created: s.now, Expires: s.now}))
	must(t, s.Scenes().Set(ctx, &storage.Scene{User: u.ID, Project: p.ID, Scene: "Person", Dashboard: 1}))
	must(t, s.Memberships().Create(ctx, &storage.Membership{ID: uuid.New(), Organization: o.ID, User: u.ID, Level: 1, Joined: s.now, Updated: s.now}))
	must(t, s.AddActivity(ctx, &storage.Activity{
		ID: uuid.New(), Organization: &o.ID, Project: &p.ID, User: &u.ID, Activity: "created", Scope: "Thing", ItemID: name, Created: s.now,
	}))
	flag := storage.Flag{Project: p.ID, Key: name, CreatedBy: &u.ID, ModifiedBy: &u.ID, Created: s.now, Updated: s.now}
	must(t, s.Flags().Create(ctx, &flag))
	must(t, s.Cohorts().Create(ctx, &storage.Cohort{Project: p.ID, Name: name, CreatedBy: &u.ID, Created: s.now}))
	must(t, s.EarlyAccess().Create(ctx, &storage.EarlyAccessFeature{ID: uuid.New(), Project: p.ID, Flag: flag.ID, Name: name, Created: s.now}))
}

// A world is all that a store has about some users, and about organizations.
type world struct {
	Users         []storage.User
	Scenes        []storage.Scene
	Keys          map[int64][]storage.PersonalKey
	WithTOTP      []int64
	TOTPs         map[int64]*storage.TOTP
	PendingTOTPs  map[int64]*storage.PendingTOTP
	BackupCodes   map[int64][]storage.BackupCode
	EmailTokens   map[int64]*storage.EmailToken
	Organizations []storage.Organization
	Memberships   []storage.Membership
	Invitations   []storage.Invitation
	Projects      []storage.Project
	Activities    []storage.Activity

	// What projects have, and what is counted.
	Flags       []storage.Flag
	Cohorts     []storage.Cohort
	EarlyAccess []storage.EarlyAccessFeature
	ActiveUsers int
	Members     map[uuid.UUID]int
	FlagTotals  map[int64]int
}

// overview returns the world of users, as a store shows it.
func overview(ctx context.Context, s storage.Store, users ...int64) (w world, err error) {
	note := func(e error) {
		if !errors.Is(e, storage.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	var e error
	w.Users, e = s.Users().List(ctx, storage.UserID.In(users))
	note(e)
	w.Scenes, e = s.Scenes().List(ctx, storage.SceneUser.In(users))
	note(e)
	w.WithTOTP, e = usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In(users)))
	note(e)
	w.Organizations, e = s.Organizations().List(ctx)
	note(e)
	w.Memberships, e = s.Memberships().List(ctx, storage.MembershipUser.In(users))
	note(e)
	w.Projects, e = s.Projects().List(ctx)
	note(e)
	w.Activities, _, e = s.Activities(ctx, storage.ActivityFilter{}, 1000, 0)
	note(e)
	w.Keys = make(map[int64][]storage.PersonalKey)
	w.TOTPs, w.PendingTOTPs = make(map[int64]*storage.TOTP), make(map[int64]*storage.PendingTOTP)
	w.BackupCodes, w.EmailTokens = make(map[int64][]storage.BackupCode), make(map[int64]*storage.EmailToken)
	for _, id := range users {
		w.Keys[id], e = s.Keys().List(ctx, storage.KeyUser.Is(id))
		note(e)
		w.TOTPs[id], e = s.TOTPs().Get(ctx, storage.TOTPUser.Is(id))
		note(e)
		w.PendingTOTPs[id], e = s.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(id))
		note(e)
		w.BackupCodes[id], e = s.BackupCodes().List(ctx, storage.BackupCodeUser.Is(id))
		note(e)
		w.EmailTokens[id], e = s.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(id))
		note(e)
	}
	_, w.ActiveUsers, e = s.Users().Page(ctx, 1, 0, storage.UserFilter{}.Where()...)
	note(e)
	var ids []uuid.UUID
	for _, o := range w.Organizations {
		ids = append(ids, o.ID)
	}
	for _, id := range ids {
		list, e := s.Invitations().List(ctx, storage.InvitationOrganization.Is(id))
		note(e)
		w.Invitations = append(w.Invitations, list...)
	}
	w.Members, e = s.CountMembers(ctx, ids)
	note(e)
	maps.DeleteFunc(w.Members, func(_ uuid.UUID, n int) bool { return n == 0 })
	w.FlagTotals = make(map[int64]int)
	for _, p := range w.Projects {
		note(w.look(ctx, s, p.ID))
	}
	return w, err
}

// look adds what a project has.
func (w *world) look(ctx context.Context, s storage.Store, project int64) error {
	flags, err1 := s.CalledFlags(ctx, project)
	cohorts, err2 := s.Cohorts().List(ctx, storage.CohortProject.Is(project), storage.CohortDeleted.Is(false))
	earlyAccess, err3 := s.EarlyAccess().List(ctx, storage.FeatureProject.Is(project))
	_, total, err4 := s.Flags().Page(ctx, 1, 0, storage.FlagFilter{}.Where(project)...)
	w.Flags, w.Cohorts = append(w.Flags, flags...), append(w.Cohorts, cohorts...)
	w.EarlyAccess = append(w.EarlyAccess, earlyAccess...)
	w.FlagTotals[project] = total
	return errors.Join(err1, err2, err3, err4)
}

// forget removes what a project has.
func (w *world) forget(project int64) {
	w.Flags = keep(w.Flags, func(f storage.Flag) bool { return f.Project != project })
	w.Cohorts = keep(w.Cohorts, func(c storage.Cohort) bool { return c.Project != project })
	w.EarlyAccess = keep(w.EarlyAccess, func(f storage.EarlyAccessFeature) bool { return f.Project != project })
	delete(w.FlagTotals, project)
}
