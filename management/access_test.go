package management_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The order of management.md §1.5: each key fails at one more step than the one
// before.
func TestAccessOrder(t *testing.T) {
	w := newWorld(t)
	// Ada is a member of Umbra, which forbids keys to its members. Secret is
	// nothing to her.
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	w.umbra.MembersCanUseKeys = false
	w.ok(w.store.Organizations().Update(t.Context(), w.umbra))
	secret := w.organization("Secret")
	plans := w.project(secret, "Plans")
	const (
		elsewhere    = "API key does not have access to project %d."
		otherCompany = "API key does not have access to organization %s."
		noKeys       = "Organization %s does not allow its members to use personal API keys."
		noScope      = "API key missing required scope 'survey:write'"
		missing      = "Project not found."
	)
	read := scopes("survey:read")
	for _, tt := range []struct {
		name string
		key  []func(*storage.PersonalKey)
		ref  int64
		want string // the detail
	}{
		{"unknown project", []func(*storage.PersonalKey){read, onlyProjects(w.web), onlyOrganizations(w.acme)}, 99, missing},
		{"another project", []func(*storage.PersonalKey){read, onlyProjects(w.web), onlyOrganizations(w.acme)}, w.shop.ID, fmt.Sprintf(elsewhere, w.shop.ID)},
		{"another project of others", []func(*storage.PersonalKey){read, onlyProjects(w.web), onlyOrganizations(w.acme)}, plans.ID, missing},
		{"another organization", []func(*storage.PersonalKey){read, onlyOrganizations(w.acme)}, w.shop.ID, fmt.Sprintf(otherCompany, w.umbra.ID)},
		{"another organization of others", []func(*storage.PersonalKey){read, onlyOrganizations(w.acme)}, plans.ID, missing},
		{"no keys there", []func(*storage.PersonalKey){read, onlyProjects(w.shop), onlyOrganizations(w.umbra)}, w.shop.ID, fmt.Sprintf(noKeys, w.umbra.ID)},
		{"no scope", []func(*storage.PersonalKey){read}, w.web.ID, noScope},
		{"no scope, and no member", []func(*storage.PersonalKey){read}, plans.ID, missing},
		{"no member", nil, plans.ID, missing},
		{"all is well", []func(*storage.PersonalKey){scopes("survey:write"), onlyProjects(w.web), onlyOrganizations(w.acme)}, w.web.ID, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.Access(t.Context(), w.key(w.ada, tt.key...), strconv.FormatInt(tt.ref, 10), "survey:write")
			switch e, ok := err.(*management.Error); {
			case err == nil && tt.want == "":
			case !ok || e.Detail != tt.want:
				t.Errorf("Access = %v, want %s", err, tt.want)
			case tt.want == missing:
				checkFault(t, "Access", err, "not found not_found")
			default:
				checkFault(t, "Access", err, "forbidden permission_denied")
			}
		})
	}
}

func TestAccess(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name, ref string
		who       *storage.User
		want      string // project, organization and level, or what is wrong
	}{
		{"owner", "1", w.ada, "Web Acme 15"},
		{"administrator", "2", w.ben, "App Acme 8"},
		{"member", "1", w.cyd, "Web Acme 1"},
		{"the current one", "@current", w.dov, "Shop Umbra 15"},
		{"no current one", "@current", w.eve, "not found not_found"},
		{"of others", "1", w.dov, "not found not_found"},
		{"the staff has no more rights", "1", w.sam, "not found not_found"},
		{"unknown", "99", w.ada, "not found not_found"},
		{"no number", "web", w.ada, "not found not_found"},
		{"a UUID", w.web.UUID.String(), w.ada, "not found not_found"},
		{"nothing", "", w.ada, "not found not_found"},
		{"zero", "0", w.ada, "not found not_found"},
		{"negative", "-1", w.ada, "not found not_found"},
		{"another way to write it", "01", w.ada, "not found not_found"},
		{"with a sign", "+1", w.ada, "not found not_found"},
		{"with a blank", "1 ", w.ada, "not found not_found"},
		{"too large", "9223372036854775808", w.ada, "not found not_found"},
		{"a key of a project", w.web.APIKey, w.ada, "not found not_found"},
	} {
		a, err := w.Access(t.Context(), w.as(tt.who), tt.ref, "survey:read")
		got := fault(err)
		if err == nil {
			got = fmt.Sprint(a.Project.Name, " ", a.Organization.Name, " ", a.Level)
		}
		if got != tt.want {
			t.Errorf("Access to %s = %s, want %s", tt.name, got, tt.want)
		}
	}
	// A current project can be one that is theirs no more.
	w.ok(w.store.Memberships().Delete(t.Context(), storage.MembershipOrganization.Is(w.umbra.ID), storage.MembershipUser.Is(w.dov.ID)))
	_, err := w.Access(t.Context(), w.as(w.dov), "@current")
	checkFault(t, "Access after leaving", err, "not found not_found")
}

// A project of others is like none, whatever else is wrong (management.md §1.5, §15.1 A15).
func TestRuling104ForeignProjects(t *testing.T) {
	w := newWorld(t)
	foreign := strconv.FormatInt(w.shop.ID, 10)
	var answers []string
	for _, p := range []*management.Principal{
		w.as(w.ada), w.key(w.ada), w.key(w.ada, scopes("user:read")), w.key(w.ada, onlyProjects(w.web)), w.key(w.ada, onlyOrganizations(w.acme)),
		w.as(w.sam),
	} {
		for _, ref := range []string{foreign, "99"} {
			_, err := w.Access(t.Context(), p, ref, "survey:read")
			checkFault(t, "Access to "+ref, err, "not found not_found")
			answers = append(answers, err.Error())
		}
		_, err := w.GetProject(t.Context(), p, foreign)
		checkFault(t, "GetProject", err, "not found not_found")
	}
	if n := strings.Count(strings.Join(answers, "\n"), answers[0]); n != len(answers) {
		t.Errorf("answers differ: %q", answers)
	}
	_, err := w.Access(t.Context(), w.key(w.ada, scopes("user:read")), "1", "survey:read")
	checkFault(t, "Access to an own project", err, "forbidden permission_denied")
}

func TestRequire(t *testing.T) {
	key := func(list ...string) *management.Principal {
		return &management.Principal{Key: &storage.PersonalKey{Scopes: list}}
	}
	for _, tt := range []struct {
		name string
		p    *management.Principal
		need []management.Scope
		want string // the first that is missing
	}{
		{"nothing needed", key("user:read"), nil, ""},
		{"no key", &management.Principal{}, []management.Scope{"user:write"}, ""},
		{"no scopes are all", key(), []management.Scope{"user:write"}, ""},
		{"all", key("user:read", "*"), []management.Scope{"user:write", "survey:read"}, ""},
		{"the same", key("user:write"), []management.Scope{"user:write"}, ""},
		{"write is read", key("user:write"), []management.Scope{"user:read"}, ""},
		{"read is not write", key("user:read"), []management.Scope{"user:write"}, "user:write"},
		{"another object", key("user:write"), []management.Scope{"survey:read"}, "survey:read"},
		{"an object that begins alike", key("organization:write"), []management.Scope{"organization_member:read"}, "organization_member:read"},
		{"one of two", key("survey:read"), []management.Scope{"survey:read", "query:read"}, "query:read"}, // §1.4
		{"none of two", key("user:read"), []management.Scope{"survey:read", "query:read"}, "survey:read"},
		{"both", key("query:write", "survey:read"), []management.Scope{"survey:read", "query:read"}, ""},
	} {
		err := tt.p.Require(tt.need...)
		if tt.want == "" {
			checkFault(t, tt.name, err, "")
			continue
		}
		checkFault(t, tt.name, err, "forbidden permission_denied")
		if e, ok := err.(*management.Error); ok && e.Detail != "API key missing required scope '"+tt.want+"'" {
			t.Errorf("%s: %s, want it to name %s", tt.name, e.Detail, tt.want)
		}
	}
}
