package management_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  func() string
		want string
	}{
		{"project", management.NewProjectKey, `^phc_[0-9A-Za-z]{35,43}$`}, // shorter has a chance below 62⁻⁷
		{"secret", management.NewSecretKey, `^phs_[0-9A-Za-z]{35,43}$`},
		{"personal", management.NewPersonalKey, `^phx_[0-9A-Za-z]{35,43}$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := regexp.MustCompile(tt.want)
			seen := make(map[string]bool)
			used := make(map[rune]bool)
			for range 1000 {
				key := tt.key()
				if !want.MatchString(key) {
					t.Errorf("key %q, want %s", key, tt.want)
				}
				if seen[key] {
					t.Errorf("key %q comes twice", key)
				}
				seen[key] = true
				for _, r := range key[len("phc_"):] {
					used[r] = true
				}
			}
			if len(used) != 62 {
				t.Errorf("%d characters are in use, want 62", len(used))
			}
		})
	}
}

func TestHashKey(t *testing.T) {
	const want = "sha256$ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc, FIPS 180-2
	if got := management.HashKey("abc"); got != want {
		t.Errorf("HashKey(abc) = %s, want %s", got, want)
	}
}

func TestBootstrap(t *testing.T) {
	for _, tt := range []struct {
		name                                string
		first                               management.First
		organization, project, key, wantKey string // wantKey is a pattern
	}{
		{"defaults", management.First{}, "Default organization", "Default project", `^phc_`, `^phs_`},
		{
			"everything given",
			management.First{Organization: "Acme", Project: "Shop", APIKey: "phc_shop", SecretKey: "phs_shop"},
			"Acme", "Shop", `^phc_shop$`, `^phs_shop$`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var store memstore.Store
			created, err := management.Bootstrap(t.Context(), &store, tt.first)
			if err != nil {
				t.Fatal(err)
			}
			o, p := created.Organization, created.Project
			if o.Name != tt.organization || p.Name != tt.project || p.Organization != o.ID || p.ID != 1 || p.Timezone != "UTC" {
				t.Errorf("created %+v", created)
			}
			if !regexp.MustCompile(tt.key).MatchString(p.APIKey) || !regexp.MustCompile(tt.wantKey).MatchString(created.SecretKey) {
				t.Errorf("keys %s, %s; want %s, %s", p.APIKey, created.SecretKey, tt.key, tt.wantKey)
			}
			if got, want := p.SecretHash, management.HashKey(created.SecretKey); got != want {
				t.Errorf("SecretHash = %s, want %s", got, want)
			}
			projects, err := store.Projects(t.Context())
			if diff := cmp.Diff([]management.Project{p}, projects); err != nil || diff != "" {
				t.Errorf("Projects: %v (-want +got)\n%s", err, diff)
			}
			organizations, err := store.Organizations(t.Context())
			if diff := cmp.Diff([]management.Organization{o}, organizations); err != nil || diff != "" {
				t.Errorf("Organizations: %v (-want +got)\n%s", err, diff)
			}
			if again, err := management.Bootstrap(t.Context(), &store, management.First{}); again != nil || err != nil {
				t.Errorf("Bootstrap again = %v, %v; want nil", again, err)
			}
		})
	}
}

// A broken store fails at the step of Bootstrap that has a name.
type broken struct {
	management.Store
	at string
}

var errBroken = errors.New("broken")

func (b broken) fails(at string) error {
	if b.at == at {
		return errBroken
	}
	return nil
}

func (b broken) Atomic(ctx context.Context, f func(management.Store) error) error {
	err := b.Store.Atomic(ctx, func(s management.Store) error { return f(broken{s, b.at}) })
	return errors.Join(err, b.fails("Atomic"))
}

func (b broken) Organizations(ctx context.Context) ([]management.Organization, error) {
	list, err := b.Store.Organizations(ctx)
	return list, errors.Join(err, b.fails("Organizations"))
}

func (b broken) CreateOrganization(ctx context.Context, o *management.Organization) error {
	return errors.Join(b.Store.CreateOrganization(ctx, o), b.fails("CreateOrganization"))
}

func (b broken) CreateProject(ctx context.Context, p *management.Project) error {
	return errors.Join(b.Store.CreateProject(ctx, p), b.fails("CreateProject"))
}

func TestBootstrapFails(t *testing.T) {
	for _, at := range []string{"Atomic", "Organizations", "CreateOrganization", "CreateProject"} {
		store := new(memstore.Store)
		created, err := management.Bootstrap(t.Context(), broken{store, at}, management.First{})
		if created != nil || !errors.Is(err, errBroken) {
			t.Errorf("Bootstrap without %s = %v, %v; want nil, %v", at, created, err, errBroken)
		}
		if at == "Atomic" { // a commit whose outcome is not known
			continue
		}
		if list, err := store.Organizations(t.Context()); len(list) > 0 || err != nil {
			t.Errorf("without %s there are %v, %v", at, list, err)
		}
	}
}

func TestSightings(t *testing.T) {
	before := time.Now().UTC().Truncate(time.Microsecond)
	list := management.Sightings(7, []string{"a", "", " \t", "b", "a"})
	var ids []string
	for _, e := range list {
		ids = append(ids, e.DistinctID)
		if e.Project != 7 || e.Name != "" || string(e.Properties) != "{}" || e.NoPerson {
			t.Errorf("event %+v", e)
		}
		if e.Time.Before(before) || e.Time != e.Received || e.Time.Location() != time.UTC || e.Time.Nanosecond()%1000 != 0 {
			t.Errorf("times %v, %v; want now, in UTC with microseconds", e.Time, e.Received)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, ids); diff != "" {
		t.Errorf("distinct IDs (-want +got)\n%s", diff)
	}
	if list := management.Sightings(7, nil); len(list) != 0 {
		t.Errorf("Sightings of nobody = %v", list)
	}
}
