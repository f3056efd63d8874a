package management_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// addMember adds a member, for which the user who does it becomes staff.
func (w *world) addMember(by *storage.User, body string) (*management.MemberView, error) {
	w.t.Helper()
	if u := w.now(by); !u.Staff {
		u.Staff = true
		w.put(u)
	}
	m, _, err := w.AddMember(w.t.Context(), w.as(by), w.acme.ID.String(), decode[management.MemberPatch](w.t, body))
	return m, err
}

// Who has an account becomes a member with it.
func TestAddMember(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(time.Hour)
	m, err := w.addMember(w.ada, `{"email":" EVE@example.com","level":8,"first_name":"Ignored"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &management.MemberView{
		ID: m.ID, Level: storage.LevelAdmin, JoinedAt: begin.Add(time.Hour), UpdatedAt: begin.Add(time.Hour),
		User: management.MemberUser{ID: w.eve.ID, UUID: w.eve.UUID, DistinctID: "d-eve", FirstName: "Eve", Email: "eve@example.com"},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("AddMember (-want +got)\n%s", diff)
	}
	if got := current(w.view(w.eve)); got != "Acme Web" { // her first one
		t.Errorf("current %s, want Acme Web", got)
	}
	mails := w.checkMails("membership", "member_added"+" to eve@example.com")
	if m := mails[0]; m.Subject != "You are now a member of an organization" || !strings.Contains(m.Text, "Ada has added you to the organization Acme") {
		t.Errorf("mail %+v", m)
	}

	_, err = w.addMember(w.ada, `{"email":"dov@example.com"}`)
	checkFault(t, "AddMember", err, "")
	if got := current(w.view(w.dov)); got != "Umbra Shop" {
		t.Errorf("current %s, want it to stay Umbra Shop", got)
	}
	_, err = w.addMember(w.ada, `{"email":"dov@example.com"}`)
	checkFault(t, "AddMember again", err, "conflict conflict")
	w.mails()

	w.ada.FirstName = "" // nobody must be a member thanks to nobody
	w.put(w.ada)
	_, err = w.addMember(w.ada, `{"email":"fay@example.com"}`)
	checkFault(t, "AddMember", err, "")
	if text := w.mails()[0].Text; !strings.Contains(text, "ada@example.com has added you") {
		t.Errorf("mail %s", text)
	}

	w.acme.MemberJoinEmail = false
	w.ok(w.store.Organizations().Update(t.Context(), w.acme))
	_, err = w.addMember(w.ada, `{"email":"sam@example.com"}`)
	checkFault(t, "AddMember", err, "")
	w.checkMails("membership without mail")
}

// Who has no account gets one, without a password and without keys.
func TestAddStranger(t *testing.T) {
	w := newWorld(t)
	m, err := w.addMember(w.ben, `{"email":"Fay@Example.com","first_name":" Fay ","last_name":"Wray"}`)
	if err != nil {
		t.Fatal(err)
	}
	u := must(w.store.Users().Get(t.Context(), storage.UserUUID.Is(m.User.UUID)))(t)
	want := &storage.User{
		ID: u.ID, UUID: u.UUID, DistinctID: u.DistinctID, Active: true, Joined: begin, Email: "fay@example.com",
		FirstName: "Fay", LastName: "Wray", ToolbarMode: new("toolbar"), CurrentOrganization: &w.acme.ID, CurrentProject: &w.web.ID,
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if m.Level != storage.LevelMember || w.view(u).HasPassword {
		t.Errorf("AddMember = %+v", m)
	}
	w.checkMails("membership", "member_added"+" to fay@example.com")
}

func TestAddMemberRefuses(t *testing.T) {
	w := newWorld(t)
	w.ada.Staff = true
	w.put(w.ada)
	for body, want := range map[string]string{
		`{}`:                                                       "invalid required email",
		`{"level":1}`:                                              "invalid required email",
		`{"email":null}`:                                           "invalid null email",
		`{"email":""}`:                                             "invalid blank email",
		`{"email":"x"}`:                                            "invalid invalid_input email",
		`{"email":["a@b.example"]}`:                                "invalid invalid_input email",
		`{"email":"old@example.com"}`:                              "invalid invalid_input email",
		`{"email":"ben@example.com"}`:                              "conflict conflict",
		`{"email":"f@x.example","level":2}`:                        "invalid invalid_choice level",
		`{"email":"f@x.example","level":"8"}`:                      "invalid invalid_input level",
		`{"email":"f@x.example","level":1.5}`:                      "invalid invalid_input level",
		`{"email":"f@x.example","level":null}`:                     "invalid null level",
		`{"email":"f@x.example","first_name":"http://x"}`:          "invalid invalid_url first_name",
		`{"email":"f@x.example","first_name":[]}`:                  "invalid invalid_input first_name",
		`{"email":"f@x.example","last_name":null}`:                 "invalid null last_name",
		`{"email":"f@x.example","last_name":"` + chars(151) + `"}`: "invalid max_length last_name",
	} {
		before := w.state()
		_, err := w.addMember(w.ada, body)
		checkFault(t, "AddMember "+body, err, want)
		w.checkUnchanged("AddMember "+body, before)
	}
	w.checkMails("nobody")
}

func TestListMembers(t *testing.T) {
	w := newWorld(t)
	w.enrol(w.cyd)
	w.clock.advance(-time.Hour)
	w.join(w.eve, w.acme, storage.LevelMember, nil) // joined before
	for _, tt := range []struct {
		limit, offset int
		want          string
	}{
		{10, 0, "Eve 1, Ada 15, Ben 8, Cyd 1 2FA of 4"},
		{2, 1, "Ada 15, Ben 8 of 4"},
		{2, 9, " of 4"},
		{-1, -1, " of 4"},
	} {
		page, err := w.ListMembers(t.Context(), w.as(w.ben), w.acme.ID.String(), tt.limit, tt.offset)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range page.Items {
			text := fmt.Sprint(m.User.FirstName, " ", m.Level)
			if m.Is2FAEnabled {
				text += " 2FA"
			}
			list = append(list, text)
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(list, ", "), page.Total); got != tt.want || page.Items == nil {
			t.Errorf("ListMembers(%d, %d) = %s, want %s", tt.limit, tt.offset, got, tt.want)
		}
	}
}

// An organization keeps an owner (management.md §4.7).
func TestLastOwner(t *testing.T) {
	w := newWorld(t)
	acme := w.acme.ID.String()
	before := w.state()
	checkFault(t, "leave", w.RemoveMember(t.Context(), w.as(w.ada), acme, "@me"), "invalid invalid_input")
	_, err := w.UpdateMember(t.Context(), w.as(w.ada), acme, "@me", management.MemberPatch{Level: optional.Of(storage.LevelAdmin)})
	checkFault(t, "be an administrator", err, "invalid invalid_input")
	w.checkUnchanged("the last owner", before)

	_, err = w.UpdateMember(t.Context(), w.as(w.ada), acme, w.ben.UUID.String(), management.MemberPatch{Level: optional.Of(storage.LevelOwner)})
	checkFault(t, "hand over", err, "")
	checkFault(t, "leave", w.RemoveMember(t.Context(), w.as(w.ada), acme, "@me"), "")
	checkFault(t, "leave the last owner", w.RemoveMember(t.Context(), w.as(w.ben), acme, "@me"), "invalid invalid_input")
}

// Two owners who leave at once leave one.
func TestLastOwnerRace(t *testing.T) {
	w := newWorld(t)
	w.level(w.ben, storage.LevelOwner)
	faults := make(chan string, 2)
	for _, p := range []*management.Principal{w.as(w.ada), w.as(w.ben)} {
		go func() { faults <- fault(w.RemoveMember(context.Background(), p, w.acme.ID.String(), "@me")) }()
	}
	if first, second := <-faults, <-faults; first+second != "invalid invalid_input" {
		t.Errorf("answers %q and %q, want one to be refused", first, second)
	}
}

// Who leaves an organization that is their current one goes to another.
func TestRemoveMember(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(step(1))
	w.join(w.cyd, w.umbra, storage.LevelMember, nil)
	w.ok(w.RemoveMember(t.Context(), w.as(w.ben), w.acme.ID.String(), w.cyd.UUID.String()))
	if u := w.now(w.cyd); *u.CurrentOrganization != w.umbra.ID || *u.CurrentProject != w.shop.ID {
		t.Errorf("current %v, %v; want Umbra and Shop", u.CurrentOrganization, u.CurrentProject)
	}
	w.ok(w.RemoveMember(t.Context(), w.as(w.cyd), w.umbra.ID.String(), "@me"))
	if u := w.now(w.cyd); u.CurrentOrganization != nil || u.CurrentProject != nil {
		t.Errorf("current %v, %v; want nothing", u.CurrentOrganization, u.CurrentProject)
	}
	for _, ref := range []string{w.dov.UUID.String(), uuid.NewString(), "cyd", "", w.sam.UUID.String()} {
		checkFault(t, "RemoveMember "+ref, w.RemoveMember(t.Context(), w.as(w.ada), w.acme.ID.String(), ref), "not found not_found")
		_, err := w.UpdateMember(t.Context(), w.as(w.ada), w.acme.ID.String(), ref, management.MemberPatch{})
		checkFault(t, "UpdateMember "+ref, err, "not found not_found")
	}
}

func TestUpdateMember(t *testing.T) {
	w := newWorld(t)
	acme, cyd := w.acme.ID.String(), w.cyd.UUID.String()
	w.clock.advance(time.Hour)
	m, err := w.UpdateMember(t.Context(), w.as(w.ben), acme, cyd, decode[management.MemberPatch](t, `{"level":8,"email":"x","first_name":7}`))
	checkFault(t, "UpdateMember", err, "")
	if m.Level != storage.LevelAdmin || !m.UpdatedAt.Equal(begin.Add(time.Hour)) || !m.JoinedAt.Equal(begin) || m.User.FirstName != "Cyd" {
		t.Errorf("UpdateMember = %+v", m)
	}
	before := w.state()
	for body, want := range map[string]string{
		`{}`: "", `{"level":8}`: "", `{"level":null}`: "invalid null level", `{"level":"x"}`: "invalid invalid_input level",
		`{"level":0}`: "invalid invalid_choice level", `{"level":9}`: "invalid invalid_choice level",
	} {
		_, err := w.UpdateMember(t.Context(), w.as(w.ada), acme, cyd, decode[management.MemberPatch](t, body))
		checkFault(t, "UpdateMember "+body, err, want)
		w.checkUnchanged("UpdateMember "+body, before)
	}
}
