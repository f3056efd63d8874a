package management_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// bootstrapped returns a world over a store, to look at what Bootstrap has made.
func bootstrapped(t *testing.T, store sqlstore.Storage) *world {
	t.Helper()
	s := must(management.New(management.Config{Store: store, SecretKeys: [][]byte{secretKey('a')}}))(t)
	return &world{Service: s, t: t, store: store}
}

// An empty store gets an organization, a project and an owner with a key.
func TestBootstrap(t *testing.T) {
	for _, tt := range []struct {
		name                               string
		first                              management.First
		organization, project, owner       string
		projectKey, secretKey, personalKey string // patterns
	}{
		{
			"defaults",
			management.First{},
			"Default organization", "Default project", "admin@localhost",
			`^phc_[0-9A-Za-z]{35,43}$`, `^phs_[0-9A-Za-z]{35,43}$`, `^phx_[0-9A-Za-z]{35,43}$`,
		},
		{
			"everything given",
			management.First{
				Organization: "Acme", Project: "Shop", APIKey: "phc_shop", SecretKey: "phs_shop", Owner: " Ada@Example.com ", PersonalKey: "phx_ada_ada",
			},
			"Acme", "Shop", "ada@example.com", `^phc_shop$`, `^phs_shop$`, `^phx_ada_ada$`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := sqlitetest.Open(t)
			c, err := management.Bootstrap(t.Context(), store, tt.first)
			if err != nil {
				t.Fatal(err)
			}
			if c.Organization.Name != tt.organization || c.Project.Name != tt.project || c.Owner.Email != tt.owner {
				t.Errorf("created %+v", c)
			}
			for pattern, key := range map[string]string{tt.projectKey: c.Project.APIKey, tt.secretKey: c.SecretKey, tt.personalKey: c.PersonalKey} {
				if !regexp.MustCompile(pattern).MatchString(key) {
					t.Errorf("key %s, want %s", key, pattern)
				}
			}
			if c.Project.ID != 1 || c.Project.SecretHash != storage.HashKey(c.SecretKey) || c.Project.Timezone != "UTC" {
				t.Errorf("project %+v", c.Project)
			}
			w := bootstrapped(t, store)
			s := w.state()
			if diff := cmp.Diff([]storage.Organization{c.Organization}, s.Organizations); diff != "" {
				t.Errorf("organizations (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]storage.Project{c.Project}, s.Projects); diff != "" {
				t.Errorf("projects (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]storage.User{c.Owner}, s.Users); diff != "" {
				t.Errorf("users (-want +got)\n%s", diff)
			}

			// The key does everything.
			p, err := w.Authenticate(t.Context(), c.PersonalKey, "the Authorization header")
			checkFault(t, "Authenticate", err, "")
			view := must(w.User(t.Context(), p, "@me"))(t)
			if got := current(view); got != tt.organization+" "+tt.project || !view.IsStaff || view.HasPassword || *view.Organization.MembershipLevel != storage.LevelOwner {
				t.Errorf("owner %s", encode(t, view))
			}
			if _, err := w.newKey(p, `{"label":"x","scopes":["*"]}`); err != nil {
				t.Errorf("CreateKey = %v", err)
			}

			before := w.state()
			if again, err := management.Bootstrap(t.Context(), store, tt.first); again != nil || err != nil {
				t.Errorf("Bootstrap again = %v, %v; want nil", again, err)
			}
			w.checkUnchanged("Bootstrap again", before)
		})
	}
}

// A store of before there were users gets an owner of its first organization, and
// nothing else.
func TestBootstrapOwner(t *testing.T) {
	store := sqlitetest.Open(t)
	first, second := storage.NewOrganization("First"), storage.NewOrganization("Second")
	second.Created = second.Created.AddDate(0, 0, 1)
	project := storage.NewProject(first, "Project")
	for _, err := range []error{
		store.Organizations().Create(t.Context(), second), store.Organizations().Create(t.Context(), first), store.Projects().Create(t.Context(), project),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := management.Bootstrap(t.Context(), store, management.First{Organization: "Acme", Owner: "ada@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Organization.Name != "" || c.Project.ID != 0 || c.SecretKey != "" {
		t.Errorf("created %+v, want an owner only", c)
	}
	w := bootstrapped(t, store)
	if s := w.state(); len(s.Organizations) != 2 || len(s.Projects) != 1 || len(s.Users) != 1 {
		t.Errorf("there are %v, %v, %v", s.Organizations, s.Projects, s.Users)
	}
	if got := current(w.view(&c.Owner)); got != "First Project" {
		t.Errorf("current %s, want First Project", got)
	}
}

// Where nobody is active, the one with the owner's address is again, with all
// that is theirs, and has another key.
func TestBootstrapInactiveOwner(t *testing.T) {
	store := sqlitetest.Open(t)
	c := must(management.Bootstrap(t.Context(), store, management.First{}))(t)
	w := bootstrapped(t, store)
	u := c.Owner
	u.Active, u.Staff, u.FirstName = false, false, "Ada"
	w.put(&u)
	m := must(store.Memberships().Get(t.Context(), storage.MembershipOrganization.Is(c.Organization.ID), storage.MembershipUser.Is(u.ID)))(t)
	m.Level = storage.LevelMember
	w.ok(store.Memberships().Update(t.Context(), m))

	again, err := management.Bootstrap(t.Context(), store, management.First{})
	if err != nil || again == nil {
		t.Fatalf("Bootstrap = %v, %v; want an owner", again, err)
	}
	want := u
	want.Active, want.Staff = true, true
	if diff := cmp.Diff([]storage.User{want}, w.state().Users); diff != "" {
		t.Errorf("users (-want +got)\n%s", diff)
	}
	if list := w.state().Memberships; len(list) != 1 || list[0].Level != storage.LevelOwner {
		t.Errorf("memberships %+v, want one of an owner", list)
	}
	for _, key := range []string{c.PersonalKey, again.PersonalKey} {
		_, err := w.Authenticate(t.Context(), key, "the Authorization header")
		checkFault(t, "Authenticate", err, "")
	}

	// Or somebody else, if another address is given.
	u = again.Owner
	u.Active = false
	w.put(&u)
	third, err := management.Bootstrap(t.Context(), store, management.First{Owner: "ben@example.com"})
	if err != nil || third == nil || third.Owner.ID == u.ID {
		t.Errorf("Bootstrap = %+v, %v; want another owner", third, err)
	}
}

// A key that is given may be one that its owner has already: the same command
// starts a server again.
func TestBootstrapWithTheSameKey(t *testing.T) {
	store := sqlitetest.Open(t)
	first := management.First{PersonalKey: "phx_demo_demo"}
	c := must(management.Bootstrap(t.Context(), store, first))(t)
	w := bootstrapped(t, store)
	u := c.Owner
	u.Active = false
	w.put(&u)
	if _, err := management.Bootstrap(t.Context(), store, first); err != nil {
		t.Fatalf("Bootstrap = %v", err)
	}
	_, err := w.Authenticate(t.Context(), first.PersonalKey, "the Authorization header")
	checkFault(t, "Authenticate", err, "")
}

// Of several processes that start on one store, one creates.
func TestBootstrapAtOnce(t *testing.T) {
	store := sqlitetest.Open(t)
	var mu sync.Mutex
	var all []*management.Created
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := management.Bootstrap(context.Background(), store, management.First{})
			if err != nil {
				t.Errorf("Bootstrap = %v", err)
			}
			if c != nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, c)
			}
		})
	}
	wg.Wait()
	if s := bootstrapped(t, store).state(); len(all) != 1 || len(s.Users) != 1 || len(s.Organizations) != 1 || len(s.Keys) != 1 {
		t.Errorf("%d have created %v, %v, %v", len(all), s.Users, s.Organizations, s.Keys)
	}
}

func TestBootstrapRefuses(t *testing.T) {
	for name, first := range map[string]management.First{
		"an owner without an address": {Owner: "ada"},
	} {
		store := sqlitetest.Open(t)
		c, err := management.Bootstrap(t.Context(), store, first)
		if err == nil || !strings.Contains(err.Error(), first.Owner) {
			t.Errorf("Bootstrap with %s = %v, %v; want an error that names it", name, c, err)
		}
		if s := bootstrapped(t, store).state(); len(s.Organizations) != 0 {
			t.Errorf("Bootstrap with %s has made %v", name, s.Organizations)
		}
	}
}

// Whatever step fails, nothing is made.
func TestBootstrapFails(t *testing.T) {
	for steps := 0; ; steps++ {
		store := sqlitetest.Open(t)
		ctx := &failing{t.Context(), steps}
		c, err := management.Bootstrap(ctx, store, management.First{})
		if ctx.steps >= 0 {
			if err != nil || c == nil {
				t.Errorf("Bootstrap = %v, %v", c, err)
			}
			return
		}
		if c != nil || !errors.Is(err, errBroken) {
			t.Errorf("Bootstrap when step %d fails = %v, %v; want %v", steps, c, err, errBroken)
		}
		bootstrapped(t, store).checkUnchanged("Bootstrap", &state{})
	}
}
