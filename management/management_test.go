package management_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
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
	var store memstore.Store
	created, err := management.Bootstrap(t.Context(), &store, management.First{})
	if err != nil {
		t.Fatal(err)
	}
	p := created.Project
	if got, want := p.SecretHash, management.HashKey(created.SecretKey); got != want {
		t.Errorf("SecretHash = %s, want %s", got, want)
	}
	if !strings.HasPrefix(p.APIKey, "phc_") || !strings.HasPrefix(created.SecretKey, "phs_") || p.ID != 1 || p.Timezone != "UTC" {
		t.Errorf("project %+v with secret key %s", p, created.SecretKey)
	}
	projects, err := store.Projects(t.Context())
	if diff := cmp.Diff([]management.Project{p}, projects); err != nil || diff != "" {
		t.Errorf("Projects: %v (-want +got)\n%s", err, diff)
	}
	organizations, err := store.Organizations(t.Context())
	if diff := cmp.Diff([]management.Organization{created.Organization}, organizations); err != nil || diff != "" {
		t.Errorf("Organizations: %v (-want +got)\n%s", err, diff)
	}
}

// A broken store creates nothing.
type broken struct{ management.OrganizationStore }

var errBroken = errors.New("broken")

func (broken) CreateFirst(context.Context, *management.Organization, *management.Project) (bool, error) {
	return false, errBroken
}

func TestBootstrapFails(t *testing.T) {
	created, err := management.Bootstrap(t.Context(), broken{}, management.First{})
	if created != nil || !errors.Is(err, errBroken) {
		t.Errorf("Bootstrap = %v, %v; want nil, %v", created, err, errBroken)
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
