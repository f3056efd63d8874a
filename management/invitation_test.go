package management_test

import (
	"errors"
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

// invite invites an address to Acme, by Ada, and returns the invitation and its token.
func (w *world) invite(email string, level int) (*management.InvitationView, string) {
	w.t.Helper()
	v := must(w.Invite(w.t.Context(), w.as(w.ada), w.acme.ID.String(), management.InvitationPatch{
		Email: optional.Of(email), FirstName: optional.Of("Fay"), Level: optional.Of(level),
	}))(w.t)
	for _, m := range w.mails() {
		if m.Kind == "invitation" {
			return v, invitationIn(w.t, m)
		}
	}
	w.t.Fatalf("no mail to %s", email)
	return nil, ""
}

func (w *world) accept(p *management.Principal, token, body string) (*management.MemberView, error) {
	w.t.Helper()
	return w.AcceptInvitation(w.t.Context(), p, token, decode[management.Acceptance](w.t, body))
}

const newPassword = `{"password":"another-Horse-42-battery"}`

// To invite makes nobody a member, and the answer is the same for an address that has an
// account, has none, or has one that is not active (management.md §8.5).
func TestRuling67Invite(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	for i, email := range []string{"fay@example.com", "eve@example.com", "old@example.com"} {
		member, v, err := w.AddMember(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.MemberPatch](t, `{"email":"`+strings.ToUpper(email)+`","level":8}`))
		if err != nil || member != nil {
			t.Fatalf("AddMember = %v, %v; want an invitation", member, err)
		}
		want := &management.InvitationView{
			ID: v.ID, Email: email, Mailed: true, Level: storage.LevelAdmin, CreatedAt: begin, UpdatedAt: begin,
			CreatedBy: &management.Author{MemberUser: management.MemberUser{ID: w.ada.ID, UUID: w.ada.UUID, DistinctID: "d-ada", FirstName: "Ada", Email: "ada@example.com"}},
		}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Errorf("AddMember (-want +got)\n%s", diff)
		}
		w.checkMails("an invitation", "invitation"+" to "+email)
		if list := must(w.ListInvitations(t.Context(), w.as(w.ben), w.acme.ID.String(), 10, 0))(t); list.Total != i+1 || !cmp.Equal(list.Items[0], want) {
			t.Errorf("ListInvitations = %d, the first %+v", list.Total, list.Items[0])
		}
	}
	after := w.state()
	if !cmp.Equal(before.Users, after.Users) || !cmp.Equal(before.Memberships, after.Memberships) {
		t.Error("an invitation has made an account or a member")
	}
	_, _, err := w.AddMember(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.MemberPatch](t, `{"email":"cyd@example.com"}`))
	checkFault(t, "AddMember who is a member", err, "conflict conflict")
}

func TestRuling67InviteRefuses(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{}`:                      "invalid required target_email",
		`{"target_email":null}`:   "invalid null target_email",
		`{"target_email":""}`:     "invalid blank target_email",
		`{"target_email":"x"}`:    "invalid invalid_input target_email",
		`{"target_email":["a"]}`:  "invalid invalid_input target_email",
		`{"email":"f@x.example"}`: "invalid required target_email",
		`{"target_email":"f@x.example","level":15}`:                        "forbidden permission_denied", // above Ben's
		`{"target_email":"f@x.example","level":2}`:                         "invalid invalid_choice level",
		`{"target_email":"f@x.example","level":null}`:                      "invalid null level",
		`{"target_email":"f@x.example","first_name":"http://evil"}`:        "invalid invalid_url first_name",
		`{"target_email":"f@x.example","first_name":"` + chars(151) + `"}`: "invalid max_length first_name",
	} {
		before := w.state()
		_, err := w.Invite(t.Context(), w.as(w.ben), w.acme.ID.String(), decode[management.InvitationPatch](t, body))
		checkFault(t, "Invite "+body, err, want)
		w.checkUnchanged("Invite "+body, before)
	}
	w.checkMails("nobody")
	_, err := w.another(func(c *management.Config) { c.Mailer = nil }).Invite(t.Context(), w.as(w.ada), w.acme.ID.String(),
		management.InvitationPatch{Email: optional.Of("f@x.example")})
	checkFault(t, "Invite without mail", err, "invalid email_not_available")
}

// The link works once, for three days, and an invitation that replaces it ends it.
func TestRuling67Accept(t *testing.T) {
	w := newWorld(t)
	_, first := w.invite("fay@example.com", storage.LevelAdmin)
	w.clock.advance(time.Hour)
	_, token := w.invite("fay@example.com", storage.LevelAdmin)
	if n := len(w.state().Invitations); n != 1 {
		t.Errorf("%d invitations of one address, want 1", n)
	}
	for _, wrong := range []string{first, "", "x", token + "x", token[1:], strings.ToLower(token), chars(1000), "\x00"} {
		_, err := w.OpenInvitation(t.Context(), wrong)
		checkFault(t, "OpenInvitation "+wrong, err, "invalid invalid_token token")
		_, err = w.accept(nil, wrong, newPassword)
		checkFault(t, "AcceptInvitation "+wrong, err, "invalid invalid_token token")
	}
	for body, want := range map[string]string{
		`{}`: "invalid required password", `{"password":null}`: "invalid null password", `{"password":""}`: "invalid blank password",
		`{"password":"short"}`: "invalid invalid_input password", `{"password":"` + chars(129) + `"}`: "invalid max_length password",
		`{"password":"another-Horse-42-battery","first_name":"www.evil"}`: "invalid invalid_url first_name",
		`{"password":"another-Horse-42-battery","last_name":null}`:        "invalid null last_name",
	} {
		before := w.state()
		_, err := w.accept(nil, token, body)
		checkFault(t, "AcceptInvitation "+body, err, want)
		w.checkUnchanged("AcceptInvitation "+body, before)
	}
	offer := must(w.OpenInvitation(t.Context(), token))(t)
	if want := (management.InvitationOffer{ID: offer.ID, Email: "fay@example.com", FirstName: "Fay", Organization: "Acme"}); *offer != want {
		t.Errorf("OpenInvitation = %+v, want %+v", *offer, want)
	}
	m, err := w.accept(nil, token, `{"password":"another-Horse-42-battery","last_name":"Wray"}`)
	if err != nil {
		t.Fatal(err)
	}
	u := must(w.SignIn(t.Context(), "fay@example.com", "another-Horse-42-battery"))(t)
	want := &storage.User{
		ID: u.ID, UUID: u.UUID, DistinctID: u.DistinctID, Active: true, Joined: begin.Add(time.Hour), Email: "fay@example.com", EmailVerified: new(true),
		PasswordHash: u.PasswordHash, FirstName: "Fay", LastName: "Wray", ToolbarMode: new("toolbar"), CurrentOrganization: &w.acme.ID, CurrentProject: &w.web.ID,
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if m.Level != storage.LevelAdmin || m.User.ID != u.ID || len(w.state().Invitations) != 0 {
		t.Errorf("AcceptInvitation = %+v", m)
	}
	_, err = w.accept(nil, token, newPassword)
	checkFault(t, "AcceptInvitation again", err, "invalid invalid_token token")

	_, late := w.invite("gus@example.com", storage.LevelMember)
	w.clock.advance(72*time.Hour - time.Microsecond)
	must(w.OpenInvitation(t.Context(), late))(t)
	w.clock.advance(time.Microsecond)
	_, err = w.accept(nil, late, newPassword)
	checkFault(t, "AcceptInvitation after three days", err, "invalid invalid_token token")
	if list := must(w.ListInvitations(t.Context(), w.as(w.ada), w.acme.ID.String(), 10, 0))(t); len(list.Items) != 1 || !list.Items[0].Expired {
		t.Errorf("ListInvitations = %+v, want it to say what has expired", list.Items)
	}
}

// The account with the address becomes a member, and no other.
func TestRuling67AcceptWithAccount(t *testing.T) {
	w := newWorld(t)
	_, token := w.invite("eve@example.com", storage.LevelMember)
	if offer := must(w.OpenInvitation(t.Context(), token))(t); !offer.HasAccount {
		t.Errorf("OpenInvitation = %+v, want it to say that there is an account", *offer)
	}
	before := w.state()
	for name, tt := range map[string]struct {
		p    *management.Principal
		want string
	}{
		"somebody else":                 {w.as(w.dov), "invalid invalid_recipient"},
		"the inviter":                   {w.as(w.ada), "invalid invalid_recipient"},
		"staff":                         {w.as(w.sam), "invalid invalid_recipient"},
		"a key that only reads":         {w.key(w.eve, scopes("user:read")), "forbidden permission_denied"},
		"a key of another organization": {w.key(w.dov, onlyOrganizations(w.umbra)), "forbidden permission_denied"},
	} {
		before.Keys = w.state().Keys
		_, err := w.accept(tt.p, token, `{}`)
		checkFault(t, "AcceptInvitation by "+name, err, tt.want)
		w.checkUnchanged("AcceptInvitation by "+name, before)
	}
	m, err := w.accept(w.key(w.eve, scopes("user:write")), token, `{"first_name":"Ignored","password":"ignored"}`)
	if err != nil || m.User.ID != w.eve.ID || m.User.FirstName != "Eve" || w.now(w.eve).PasswordHash != "" {
		t.Errorf("AcceptInvitation = %+v, %v", m, err)
	}
	if got := current(w.view(w.eve)); got != "Acme Web" {
		t.Errorf("current %s, want Acme Web", got)
	}

	// The reader of the mail may not be the user of an account whose address nobody has
	// verified.
	_, token = w.invite("dov@example.com", storage.LevelMember)
	w.dov.EmailVerified = new(false)
	w.put(w.dov)
	_, err = w.accept(nil, token, newPassword)
	checkFault(t, "AcceptInvitation for an account that is not verified", err, "invalid not_verified")
	_, err = w.accept(w.as(w.dov), token, `{}`)
	checkFault(t, "AcceptInvitation by that account", err, "")

	_, token = w.invite("sam@example.com", storage.LevelMember)
	_, err = w.accept(nil, token, `{}`)
	checkFault(t, "AcceptInvitation by the reader of the mail", err, "")
	_, token = w.invite("old@example.com", storage.LevelMember)
	_, err = w.accept(nil, token, newPassword)
	checkFault(t, "AcceptInvitation for an account that is not active", err, "invalid invalid_token token")
}

// Nobody comes in by an invitation of somebody who may not invite any more.
// TestShownLink: whoever invites can have a link, which proves no address (management.md §8.5).
func TestShownLink(t *testing.T) {
	w := newWorld(t)
	invite := func(email string) (shown, mailed string) {
		t.Helper()
		v := must(w.Invite(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.InvitationPatch](t, `{"target_email":"`+email+`","show_link":true}`)))(t)
		return v.Link[strings.LastIndex(v.Link, "/")+1:], invitationIn(t, w.mails()[0])
	}
	shown, mailed := invite("new@example.com")
	if shown == mailed {
		t.Fatal("the mail has the link that is shown")
	}
	for _, token := range []string{shown, mailed} {
		if offer := must(w.OpenInvitation(t.Context(), token))(t); offer.Email != "new@example.com" {
			t.Errorf("OpenInvitation = %+v", offer)
		}
	}
	if list := must(w.ListInvitations(t.Context(), w.as(w.ada), w.acme.ID.String(), 10, 0))(t); list.Items[0].Link != "" {
		t.Errorf("the list has the link %s", list.Items[0].Link)
	}
	m := must(w.accept(nil, shown, newPassword))(t)
	if v := m.User.IsEmailVerified; v == nil || *v {
		t.Error("the link that was shown proves the address")
	}
	_, err := w.accept(nil, mailed, newPassword)
	checkFault(t, "the link of the mail after the other one", err, "invalid invalid_token token")

	shown, mailed = invite("eve@example.com")
	_, err = w.accept(nil, shown, `{}`)
	checkFault(t, "AcceptInvitation for an account by the inviter", err, "invalid not_verified")
	must(w.accept(nil, mailed, `{}`))(t)
	shown, _ = invite("old@example.com")
	_, err = w.accept(nil, shown, newPassword)
	checkFault(t, "AcceptInvitation for an account that is not active", err, "invalid invalid_token token")

	w = newWorld(t, func(c *management.Config) { c.Mailer = nil })
	v := must(w.Invite(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.InvitationPatch](t, `{"target_email":"fay@example.com","show_link":true}`)))(t)
	if v.Mailed || v.Link == "" {
		t.Errorf("Invite without mail = %+v", v)
	}
	_, err = w.Invite(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.InvitationPatch](t, `{"target_email":"fay@example.com","show_link":false}`))
	checkFault(t, "Invite without mail and without a link", err, "invalid email_not_available")
	for _, value := range []string{"null", `"maybe"`} {
		_, err = w.Invite(t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.InvitationPatch](t, `{"target_email":"fay@example.com","show_link":`+value+`}`))
		if e, ok := errors.AsType[*management.Error](err); !ok || e.Attr != "show_link" {
			t.Errorf("show_link %s: %v", value, err)
		}
	}
}

func TestRuling67FormerAdministrators(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"has left": func(w *world) {
			w.ok(w.RemoveMember(w.t.Context(), w.as(w.ada), w.acme.ID.String(), w.ben.UUID.String()))
		},
		"is a member":   func(w *world) { w.level(w.ben, storage.LevelMember) },
		"is not active": func(w *world) { w.ben.Active = false; w.put(w.ben) },
		"is deleted":    func(w *world) { w.ok(w.DeleteUser(w.t.Context(), w.as(w.ben), "@me")) },
		"has withdrawn it": func(w *world) {
			w.ok(w.WithdrawInvitation(w.t.Context(), w.as(w.ben), w.acme.ID.String(), w.state().Invitations[0].ID.String()))
		},
		"has lost its place": func(w *world) { w.ok(w.DeleteOrganization(w.t.Context(), w.as(w.ada), w.acme.ID.String())) },
	} {
		w := newWorld(t)
		must(w.Invite(t.Context(), w.as(w.ben), w.acme.ID.String(), management.InvitationPatch{Email: optional.Of("fay@example.com"), Level: optional.Of(8)}))(t)
		token := invitationIn(t, w.mails()[0])
		change(w)
		_, err := w.accept(nil, token, newPassword)
		checkFault(t, "AcceptInvitation of an inviter who "+name, err, "invalid invalid_token token")
	}
}

// Two who accept at once: one does (management.md §15.2).
func TestRuling67AcceptRace(t *testing.T) {
	w := newWorld(t)
	_, token := w.invite("eve@example.com", storage.LevelMember)
	faults := make(chan string, 2)
	for range 2 {
		go func() {
			_, err := w.AcceptInvitation(t.Context(), nil, token, management.Acceptance{})
			faults <- fault(err)
		}()
	}
	if first, second := <-faults, <-faults; first+second != "invalid invalid_token token" {
		t.Errorf("answers %q and %q, want one to be refused", first, second)
	}
}

func TestRuling67Withdraw(t *testing.T) {
	w := newWorld(t)
	v, _ := w.invite("fay@example.com", storage.LevelMember)
	for _, id := range []string{uuid.NewString(), "", "x", strings.ToUpper(v.ID.String())[1:]} {
		checkFault(t, "WithdrawInvitation "+id, w.WithdrawInvitation(t.Context(), w.as(w.ada), w.acme.ID.String(), id), "not found not_found")
	}
	checkFault(t, "WithdrawInvitation of others", w.WithdrawInvitation(t.Context(), w.as(w.dov), w.umbra.ID.String(), v.ID.String()), "not found not_found")
	checkFault(t, "WithdrawInvitation", w.WithdrawInvitation(t.Context(), w.as(w.ben), w.acme.ID.String(), v.ID.String()), "")
}

// Mail to one address, and mail from one organization, of all callers together (management.md
// §2.6).
func TestRuling67MailLimits(t *testing.T) {
	const throttled = "throttled throttled"
	w := newWorld(t)
	invite := func(by *storage.User, o *storage.Organization, email string) string {
		_, err := w.Invite(t.Context(), w.as(by), o.ID.String(), management.InvitationPatch{Email: optional.Of(email)})
		return fault(err)
	}
	// Six mails of all kinds reach a stranger: the address cannot be written differently.
	got := []string{
		invite(w.ada, w.acme, "victim@example.net"), invite(w.ben, w.acme, "VICTIM@example.net"), invite(w.dov, w.umbra, "ｖictim@ｅxample.net"),
		second2(w.patch(w.as(w.cyd), "@me", `{"email":"victim@example.net"}`)), second2(w.patch(w.as(w.eve), "@me", `{"email":"victim@Example.net"}`)),
		second2(w.addMember(w.ada, `{"email":"victim@example.net"}`)),
	}
	if diff := cmp.Diff([]string{"", "", "", "", "", ""}, got); diff != "" {
		t.Errorf("the first six (-want +got)\n%s", diff)
	}
	if n := len(w.mails()); n != 6 {
		t.Errorf("%d mails, want 6", n)
	}
	before := w.state()
	got = []string{
		invite(w.ada, w.acme, "victim@example.net"), invite(w.dov, w.umbra, "victim@example.net"),
		second2(w.patch(w.as(w.dov), "@me", `{"email":"victim@example.net"}`)), second2(w.addMember(w.ada, `{"email":"victim@example.net"}`)),
	}
	if diff := cmp.Diff([]string{throttled, throttled, throttled, throttled}, got); diff != "" {
		t.Errorf("the next (-want +got)\n%s", diff)
	}
	w.ok(w.request(w.cyd.UUID.String())) // whose pending address it is
	w.checkMails("a victim")
	w.checkUnchanged("what is throttled", before)

	w.clock.advance(24 * time.Hour)
	for i := range 50 {
		if got := invite(w.ben, w.acme, fmt.Sprintf("guest%d@example.com", i)); got != "" {
			t.Fatalf("invitation %d: %s", i, got)
		}
	}
	for _, by := range []*storage.User{w.ada, w.ben} {
		if got := invite(by, w.acme, "one.more@example.com"); got != throttled {
			t.Errorf("the next invitation of %s: %q, want %q", by.FirstName, got, throttled)
		}
	}
	if got := invite(w.dov, w.umbra, "one.more@example.com"); got != "" {
		t.Errorf("an invitation of another organization: %q", got)
	}
}

// second2 returns what is wrong with the result of a call.
func second2[T any](_ T, err error) string { return fault(err) }

// Names of organizations and persons are in no subject, and are not links in a text.
func TestRuling67NamesInMail(t *testing.T) {
	w := newWorld(t)
	must(w.UpdateOrganization(t.Context(), w.as(w.ada), w.acme.ID.String(), management.OrganizationPatch{Name: optional.Of("evil.com")}))(t)
	must(w.patch(w.as(w.ada), "@me", `{"first_name":"win.money.ru","last_name":"J. de Vries"}`))(t)
	w.invite("fay@example.com", 1)
	must(w.Invite(t.Context(), w.as(w.ada), w.acme.ID.String(), management.InvitationPatch{Email: optional.Of("gus@example.com")}))(t)
	_, err := w.addMember(w.ada, `{"email":"eve@example.com"}`)
	w.ok(err)
	for _, m := range w.mails() {
		for _, text := range []string{"evil", "win", "Vries"} {
			if strings.Contains(m.Subject, text) {
				t.Errorf("subject %q", m.Subject)
			}
		}
		if strings.Contains(m.Text, "evil.com") || strings.Contains(m.Text, "money.ru") || !strings.Contains(m.Text, "win. money. ru J. de Vries") {
			t.Errorf("text %s", m.Text)
		}
	}
}

// The names of organizations are held to the same rules as the names of persons, whose
// cases are in TestRuling58Names (management.md §8.3).
func TestRuling67OrganizationNames(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]string{
		"Acme & Søns (Ltd.)": "", "Example.com": "", "شرکت": "", "株式会社。": "",
		"see http://evil": "invalid invalid_url name", "www.evil": "invalid invalid_url name", "evil.com/x": "invalid invalid_url name",
		"ｅｖｉｌ。ｃｏｍ／x": "invalid invalid_url name", "evil｡com/": "invalid invalid_url name",
		"a\u202eb": "invalid invalid_invisible_char name", "a\u200eb": "invalid invalid_invisible_char name", "a\u2066b": "invalid invalid_invisible_char name",
		"a\u2028b": "invalid invalid_control_char name", "a\nb": "invalid invalid_control_char name", "<b>": "invalid invalid_bracket name",
	} {
		_, err := w.CreateOrganization(t.Context(), w.as(w.ada), management.OrganizationPatch{Name: optional.Of(name)})
		checkFault(t, "CreateOrganization "+name, err, want)
	}
}
