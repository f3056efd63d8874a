package management_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// current returns the names of the current organization and project as a view
// shows them.
func current(v *management.UserView) string {
	organization, team := "none", "none"
	if v.Organization != nil {
		organization = v.Organization.Name
	}
	if v.Team != nil {
		team = v.Team.Name
	}
	return organization + " " + team
}

// management.md §4.3.
func TestSetCurrent(t *testing.T) {
	w := newWorld(t)
	empty := w.organization("Empty")
	w.join(w.ada, empty, storage.LevelMember, nil)
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	later := w.project(w.umbra, "Later")
	for _, tt := range []struct{ name, body, want string }{
		{"project", fmt.Sprintf(`{"set_current_team":%d}`, w.app.ID), "Acme App"},
		{"project as a string", fmt.Sprintf(`{"set_current_team":"%d"}`, w.web.ID), "Acme Web"},
		{"project of another organization", fmt.Sprintf(`{"set_current_team":%d}`, later.ID), "Umbra Later"},
		{"organization", fmt.Sprintf(`{"set_current_organization":%q}`, w.acme.ID), "Acme Web"},
		{"organization again: its first project", fmt.Sprintf(`{"set_current_organization":%q}`, w.umbra.ID), "Umbra Shop"},
		{"organization in capitals", fmt.Sprintf(`{"set_current_organization":%q}`, strings.ToUpper(w.acme.ID.String())), "Acme Web"},
		{"organization without projects", fmt.Sprintf(`{"set_current_organization":%q}`, empty.ID), "Empty none"},
		{"both", fmt.Sprintf(`{"set_current_organization":%q,"set_current_team":%d}`, w.umbra.ID, later.ID), "Umbra Later"},
		{"neither", `{}`, "Umbra Later"},
	} {
		view, err := w.patch(w.as(w.ada), "@me", tt.body)
		checkFault(t, tt.name, err, "")
		if got := current(view); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What does not exist and what belongs to others is the same.
func TestSetCurrentRefuses(t *testing.T) {
	w := newWorld(t)
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	secret := w.project(w.organization("Secret"), "Plans")
	for _, tt := range []struct {
		field string
		value any
	}{
		{"set_current_organization", secret.Organization},
		{"set_current_organization", uuid.NewString()},
		{"set_current_organization", "nonsense"},
		{"set_current_organization", ""},
		{"set_current_organization", 7},
		{"set_current_organization", []string{w.acme.ID.String()}},
		{"set_current_organization", strings.Repeat("€", 1000)},
		{"set_current_team", secret.ID},
		{"set_current_team", secret.ID + 1},
		{"set_current_team", 0},
		{"set_current_team", -1},
		{"set_current_team", 1.5},
		{"set_current_team", "one"},
		{"set_current_team", ""},
		{"set_current_team", true},
		{"set_current_team", "99999999999999999999"},
		{"set_current_team", []int64{w.web.ID}},
		{"set_current_team", w.web.UUID},
	} {
		p, before := w.as(w.ada), w.state()
		_, err := w.patch(p, "@me", encode(t, map[string]any{tt.field: tt.value}))
		checkFault(t, fmt.Sprintf("%s %.50v", tt.field, tt.value), err, "invalid does_not_exist "+tt.field)
		w.checkUnchanged("UpdateUser", before)
	}
	// The answer is the same to the letter.
	answer := func(field string, value any) string {
		_, err := w.patch(w.as(w.ada), "@me", encode(t, map[string]any{field: value}))
		return strings.ReplaceAll(err.Error(), fmt.Sprint(value), "…")
	}
	if foreign, unknown := answer("set_current_organization", secret.Organization), answer("set_current_organization", uuid.New()); foreign != unknown {
		t.Errorf("%q for foreign organizations, %q for unknown ones", foreign, unknown)
	}
	if foreign, unknown := answer("set_current_team", secret.ID), answer("set_current_team", 999); foreign != unknown {
		t.Errorf("%q for foreign projects, %q for unknown ones", foreign, unknown)
	}

	_, err := w.patch(w.as(w.ada), "@me", fmt.Sprintf(`{"set_current_organization":%q,"set_current_team":%d}`, w.acme.ID, w.shop.ID))
	checkFault(t, "both, mismatched", err, "invalid invalid_input set_current_team")
	_, err = w.patch(w.as(w.ada), "@me", fmt.Sprintf(`{"set_current_organization":%q,"set_current_team":%d}`, secret.Organization, w.shop.ID))
	checkFault(t, "both, the organization unknown", err, "invalid does_not_exist set_current_organization")
}

// It is the requesting user who must be a member (management.md §4.3).
func TestSetCurrentOfAnother(t *testing.T) {
	w := newWorld(t)
	body := fmt.Sprintf(`{"set_current_organization":%q}`, w.acme.ID)
	_, err := w.patch(w.as(w.sam), w.ada.UUID.String(), body)
	checkFault(t, "UpdateUser by the staff", err, "invalid does_not_exist set_current_organization")
	w.join(w.sam, w.acme, storage.LevelMember, nil)
	view, err := w.patch(w.as(w.sam), w.dov.UUID.String(), body)
	checkFault(t, "UpdateUser by a member of the staff", err, "")
	if got := current(view); got != "Acme Web" {
		t.Errorf("current %s, want Acme Web", got)
	}
}

// Who has no current organization or project gets the first one when they are
// shown, and keeps it (management.md §4.2).
func TestCurrentIsChosen(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(step(1))
	w.join(w.eve, w.umbra, storage.LevelMember, nil)
	w.clock.advance(step(1))
	w.join(w.eve, w.acme, storage.LevelMember, nil)
	if got := current(w.view(w.eve)); got != "Umbra Shop" { // which she joined first
		t.Errorf("current %s, want Umbra Shop", got)
	}
	if u := w.now(w.eve); u.CurrentOrganization == nil || *u.CurrentOrganization != w.umbra.ID || u.CurrentProject == nil || *u.CurrentProject != w.shop.ID {
		t.Errorf("stored %v, %v; want it to be what is shown", u.CurrentOrganization, u.CurrentProject)
	}
	if got := current(w.view(w.sam)); got != "none none" {
		t.Errorf("current %s of who is a member of nothing", got)
	}

	// Only the project is missing.
	u := w.now(w.ada)
	u.CurrentProject = nil
	w.put(u)
	if got := current(w.view(w.ada)); got != "Acme Web" {
		t.Errorf("current %s, want Acme Web", got)
	}
	// There is a current organization that is theirs no more.
	w.ok(w.store.Memberships().Delete(t.Context(), storage.MembershipOrganization.Is(w.umbra.ID), storage.MembershipUser.Is(w.eve.ID)))
	u = w.now(w.eve)
	u.CurrentProject = nil
	w.put(u)
	if got := current(w.view(w.eve)); got != "Acme Web" {
		t.Errorf("current %s, want Acme Web", got)
	}
}
