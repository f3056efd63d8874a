package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testUsers(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p := s.project(t, o)
	full := storage.User{
		UUID: uuid.New(), DistinctID: "it's \"quoted\" \\ ; --", Active: true, Staff: true, Joined: s.now,
		Email: "zoë@example.com", PendingEmail: "zoe@example.com", EmailVerified: new(true),
		PasswordHash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
		FirstName:    strings.Repeat("é", 150), LastName: "O'Neill 💥",
		CurrentOrganization: &o.ID, CurrentProject: &p.ID, Notifications: json.RawMessage(`{"plugin_disabled":false,"n":1.50}`),
		AnonymizeData: new(true), AllowImpersonation: new(true), ToolbarMode: new("toolbar"),
		EventsColumnConfig: json.RawMessage(`{"active":["a","\u0000"]}`), SeenProductIntroFor: json.RawMessage(`{"x":true}`),
		ThemeMode: new("dark"), HedgehogConfig: json.RawMessage(`{"color":"é","big":12345678901234567890}`), SidebarSuggestions: new(true),
		ShortcutPosition: new("hidden"), Role: new("founder"), PasskeysFor2FA: new(true),
	}
	wantAllSet(t, full, "ID")
	bare := storage.User{UUID: uuid.New(), DistinctID: "bare", Email: "bare@example.com", Joined: s.now}
	for _, u := range []*storage.User{&full, &bare} {
		given := *u
		must(t, s.Users().Create(ctx, &given))
		u.ID = given.ID
		given.FirstName = "the caller's copy"
	}
	if full.ID < 1 || bare.ID <= full.ID {
		t.Errorf("user IDs %d, %d; want ascending ones from 1 on", full.ID, bare.ID)
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, u := range []*storage.User{&full, &bare} {
				want(t, "User", u)(store.Users().Get(ctx, storage.UserID.Is(u.ID)))
				want(t, "Users.Get", u)(store.Users().Get(ctx, storage.UserUUID.Is(u.UUID)))
				want(t, "Users.Get", u)(store.Users().Get(ctx, storage.UserEmail.Is(u.Email)))
			}
			want(t, "Users.List", []storage.User{full, bare})(store.Users().List(ctx, storage.UserID.In([]int64{full.ID, bare.ID})))
		}
	}
	check()
	got, err := s.Users().Get(ctx, storage.UserID.Is(full.ID))
	must(t, err)
	got.FirstName = "the caller's copy"
	check()

	for name, err := range map[string]error{
		"Users.Update": s.Users().Update(ctx, &storage.User{ID: 99, UUID: uuid.New(), DistinctID: "x", Email: "x@example.com", Joined: s.now}),
		"Users.Delete": s.Users().Delete(ctx, storage.UserID.Is(99)),
	} {
		wantError(t, name+" of nobody", storage.ErrNotFound, err)
	}
	wantErr(t, "User 99", storage.ErrNotFound)(s.Users().Get(ctx, storage.UserID.Is(99)))
	wantErr(t, "Users.Get of nobody", storage.ErrNotFound)(s.Users().Get(ctx, storage.UserUUID.Is(uuid.New())))
	wantErr(t, "Users.Get of nobody", storage.ErrNotFound)(s.Users().Get(ctx, storage.UserEmail.Is(full.PendingEmail)))
	for _, tt := range []struct {
		name string
		set  func(*storage.User)
		want error
	}{
		{"UUID", func(u *storage.User) { u.UUID = full.UUID }, storage.ErrConflict},
		{"distinct ID", func(u *storage.User) { u.DistinctID = full.DistinctID }, storage.ErrConflict},
		{"address", func(u *storage.User) { u.Email = full.Email }, storage.ErrConflict},
		{"organization", func(u *storage.User) { u.CurrentOrganization = new(uuid.New()) }, storage.ErrNotFound},
		{"project", func(u *storage.User) { u.CurrentProject = new(int64(99)) }, storage.ErrNotFound},
	} {
		fresh, changed := s.newUser("fresh"), bare
		tt.set(&fresh)
		wantError(t, "Users.Create with a wrong "+tt.name, tt.want, s.Users().Create(ctx, &fresh))
		changed.FirstName = "never"
		tt.set(&changed)
		wantError(t, "Users.Update with a wrong "+tt.name, tt.want, s.Users().Update(ctx, &changed))
	}
	check()

	// An address that is wanted is not taken.
	bare.PendingEmail = full.PendingEmail
	must(t, s.Users().Update(ctx, &bare))
	bare.PendingEmail = full.Email
	must(t, s.Users().Update(ctx, &bare))
	check()

	// Everything can be taken away, and be set later.
	before := full
	full = storage.User{ID: full.ID, UUID: full.UUID, DistinctID: full.DistinctID, Email: "new@example.com", Joined: s.now}
	must(t, s.Users().Update(ctx, &full))
	before.ID, before.UUID, before.DistinctID = bare.ID, bare.UUID, bare.DistinctID // and the address that is free now
	bare = before
	must(t, s.Users().Update(ctx, &bare))
	check()
	for bit := range 4 {
		alternate(&full, bit)
		must(t, s.Users().Update(ctx, &full))
		want(t, "User", &full)(s.Users().Get(ctx, storage.UserID.Is(full.ID)))
	}

	last := s.user(t, "last")
	must(t, s.Users().Delete(ctx, storage.UserID.Is(last.ID)))
	if next := s.user(t, "next"); next.ID <= last.ID {
		t.Errorf("user %d comes after user %d, who is deleted", next.ID, last.ID)
	}
	check()
}

func testUserList(t *testing.T, s *suite) {
	ctx := t.Context()
	var users []storage.User // a to e
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		u := s.newUser(name)
		u.Active, u.Staff = name != "b", name < "c" || name == "e"
		u.Joined = s.now.AddDate(0, 0, -i)
		must(t, s.Users().Create(ctx, &u))
		users = append(users, u)
	}
	for _, tt := range []struct {
		name          string
		filter        storage.UserFilter
		limit, offset int
		want          string
		total         int
	}{
		{"all who are active", storage.UserFilter{}, 1000, 0, "acde", 4},
		{"the first page", storage.UserFilter{}, 3, 0, "acd", 4},
		{"the last page", storage.UserFilter{}, 3, 3, "e", 4},
		{"just behind the end", storage.UserFilter{}, 3, 4, "", 4},
		{"far behind the end", storage.UserFilter{}, 3, 1000, "", 4},
		{"staff", storage.UserFilter{Staff: new(true)}, 10, 0, "ae", 2},
		{"the second of the staff", storage.UserFilter{Staff: new(true)}, 1, 1, "e", 2},
		{"no staff", storage.UserFilter{Staff: new(false)}, 1, 0, "c", 2},
		{"an address", storage.UserFilter{Email: new("d@example.com")}, 10, 0, "d", 1},
		{"part of an address", storage.UserFilter{Email: new("d@example")}, 10, 0, "", 0},
		{"the address of who is not active", storage.UserFilter{Email: new("b@example.com")}, 10, 0, "", 0},
		{"an ID", storage.UserFilter{ID: &users[2].ID}, 10, 0, "c", 1},
		{"an ID, behind the end", storage.UserFilter{ID: &users[2].ID}, 10, 1, "", 1},
		{"the ID of who is not active", storage.UserFilter{ID: &users[1].ID}, 10, 0, "", 0},
		{"all filters", storage.UserFilter{ID: &users[4].ID, Email: new("e@example.com"), Staff: new(true)}, 10, 0, "e", 1},
		{"filters that exclude each other", storage.UserFilter{ID: &users[4].ID, Staff: new(false)}, 10, 0, "", 0},
	} {
		var list []storage.User
		for _, name := range tt.want {
			list = append(list, users[name-'a'])
		}
		wantPage(t, "Users: "+tt.name, list, tt.total)(s.Users().Page(ctx, tt.limit, tt.offset, tt.filter.Where()...))
	}

	want(t, "Users.List of nobody", []storage.User(nil))(s.Users().List(ctx, storage.UserID.In(nil)))
	want(t, "Users.List of a stranger", []storage.User(nil))(s.Users().List(ctx, storage.UserID.In([]int64{1000})))
	want(t, "Users.List", []storage.User{users[0], users[1], users[4]})(
		s.Users().List(ctx, storage.UserID.In([]int64{users[4].ID, 1000, users[0].ID, users[1].ID, users[0].ID})))
	want(t, "Users.List of many", users)(s.Users().List(ctx, storage.UserID.In(many(users[4].ID, users[3].ID, users[2].ID, users[1].ID, users[0].ID))))
}

// many returns IDs among thousands that do not exist.
func many(ids ...int64) []int64 {
	var list []int64
	for _, id := range ids {
		list = append(list, id)
		for i := range int64(1000) {
			list = append(list, 1_000_000*(id+1)-i)
		}
	}
	return list
}

func testDeleteUser(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p := s.project(t, o)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	s.furnish(t, bob, o, p)
	before, err := overview(ctx, s, ann.ID, bob.ID)
	must(t, err)
	s.furnish(t, ann, o, p)
	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))

	after, err := overview(ctx, s.another(t), ann.ID, bob.ID)
	must(t, err)
	var log []storage.Activity
	for _, a := range after.Activities {
		if a.ItemID != ann.Email {
			log = append(log, a)
		} else if a.User != nil || a.Organization == nil || a.Project == nil {
			t.Errorf("activity of a user who is deleted: %+v", a)
		}
	}
	if len(log)+1 != len(after.Activities) {
		t.Errorf("%d entries, want one of who is deleted", len(after.Activities))
	}
	after.Activities = log
	checkNobodys(t, &after, ann.Email)
	before.ActiveUsers--
	before.Users = slices.DeleteFunc(before.Users, func(u storage.User) bool { return u.ID == ann.ID })
	want(t, "what others have", before)(after, nil)
	wantErr(t, "the key of a user who is deleted", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyID.Is(ann.Email)))
	want(t, "Members", before.Memberships)(s.Memberships().List(ctx, storage.MembershipOrganization.Is(o.ID)))
	wantErr(t, "the user who is deleted", storage.ErrNotFound)(s.Users().Get(ctx, storage.UserEmail.Is(ann.Email)))
	wantError(t, "Users.Delete again", storage.ErrNotFound, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))

	again := s.user(t, "ann") // nothing is taken any more
	s.furnish(t, again, o, s.project(t, o))
}

// checkNobodys checks that what a user has made is by nobody, and removes it.
func checkNobodys(t *testing.T, w *world, name string) {
	t.Helper()
	n := 0
	stays := func(other string, authors ...*int64) bool {
		if other != name {
			return true
		}
		n++
		if slices.ContainsFunc(authors, func(id *int64) bool { return id != nil }) {
			t.Errorf("who has made something of %s, and is deleted, is in it", name)
		}
		return false
	}
	w.Flags = keep(w.Flags, func(f storage.Flag) bool {
		if f.Key == name {
			w.FlagTotals[f.Project]--
		}
		return stays(f.Key, f.CreatedBy, f.ModifiedBy)
	})
	w.Cohorts = keep(w.Cohorts, func(c storage.Cohort) bool { return stays(c.Name, c.CreatedBy) })
	w.EarlyAccess = keep(w.EarlyAccess, func(f storage.EarlyAccessFeature) bool { return stays(f.Name) })
	if n != 3 {
		t.Errorf("%d things of %s are left, want 3", n, name)
	}
}

func testScenes(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	long := strings.Repeat("é", 200)
	scene := func(u *storage.User, p *storage.Project, name string, dashboard int64) storage.Scene {
		return storage.Scene{User: u.ID, Project: p.ID, Scene: name, Dashboard: dashboard}
	}
	scenes := []storage.Scene{
		scene(ann, q, "Person", 5), scene(bob, p, "Person", 6), scene(ann, p, "person", 3), scene(ann, p, "Person", 1<<31-1), scene(ann, p, long, 1),
	}
	for _, sc := range scenes {
		must(t, s.Scenes().Set(ctx, &sc))
	}
	scenes[0].Dashboard = 42 // which does not move it
	must(t, s.Scenes().Set(ctx, &scenes[0]))
	check := func(call string, users []int64, list ...storage.Scene) {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			got, err := store.Scenes().List(ctx, storage.SceneUser.In(users))
			slices.SortStableFunc(got, func(a, b storage.Scene) int { return int(a.User - b.User) })
			want(t, call, list)(got, err)
		}
	}
	check("Scenes", []int64{bob.ID, ann.ID, 99, ann.ID}, scenes[0], scenes[2], scenes[3], scenes[4], scenes[1])
	check("Scenes of one", []int64{bob.ID}, scenes[1])
	check("Scenes of nobody", nil)
	check("Scenes of a stranger", []int64{99})
	want(t, "Scenes of many", scenes[1:2])(s.Scenes().List(ctx, storage.SceneUser.In(many(bob.ID))))

	wantError(t, "Scenes.Set of nobody", storage.ErrNotFound, s.Scenes().Set(ctx, &storage.Scene{User: 99, Project: p.ID, Scene: "x", Dashboard: 1}))
	wantError(t, "Scenes.Set of no project", storage.ErrNotFound, s.Scenes().Set(ctx, &storage.Scene{User: bob.ID, Project: 99, Scene: "x", Dashboard: 1}))
	want(t, "DeleteAll of a scene", 1)(s.Scenes().DeleteAll(ctx, storage.SceneUser.Is(ann.ID), storage.SceneProject.Is(p.ID), storage.SceneName.Is("Person")))
	want(t, "DeleteAll of a scene", 0)(s.Scenes().DeleteAll(ctx, storage.SceneUser.Is(ann.ID), storage.SceneProject.Is(p.ID), storage.SceneName.Is("Person")))
	want(t, "DeleteAll of a scene", 0)(s.Scenes().DeleteAll(ctx, storage.SceneUser.Is(99), storage.SceneProject.Is(99), storage.SceneName.Is("x")))
	check("Scenes after a deletion", []int64{ann.ID, bob.ID}, scenes[0], scenes[2], scenes[4], scenes[1])
	must(t, s.Scenes().Set(ctx, &scenes[3]))
	check("Scenes", []int64{ann.ID}, scenes[0], scenes[2], scenes[4], scenes[3])
}
