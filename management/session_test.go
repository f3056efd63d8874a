package management_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var firefox = management.Client{
	Address:   netip.MustParseAddr("::ffff:192.0.2.7"),
	UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
}

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// signIn opens a session of a user who has no second factor.
func (w *world) signIn(u *storage.User) (token string, p *management.Principal) {
	w.t.Helper()
	o := must(w.OpenSession(w.t.Context(), u.Email, staple, firefox))(w.t)
	if o.Principal == nil {
		w.t.Fatal("the session waits for a second factor")
	}
	return o.Token, o.Principal
}

// checkSession checks whose session a token opens; nobody's if want is nil.
func (w *world) checkSession(what, token string, want *storage.User) {
	w.t.Helper()
	p, err := w.AuthenticateSession(w.t.Context(), token, firefox)
	if want == nil {
		checkFault(w.t, what, err, "unauthenticated authentication_failed")
		return
	}
	if err != nil || p.User.ID != want.ID || p.Session == nil || p.Key != nil {
		w.t.Errorf("%s: %+v, %v; want a session of %s", what, p, err, want.Email)
	}
}

// management.md §5.9.
func TestSessions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	token, p := w.signIn(w.ada)
	if len(token) != 43 {
		t.Errorf("token %s is no 256 bits in base64", token)
	}
	w.checkSession("just opened", token, w.ada)
	for _, s := range must(w.store.Sessions().List(ctx, storage.SessionUser.Is(w.ada.ID)))(t) {
		if strings.Contains(fmt.Sprintf("%+v", s), token) {
			t.Errorf("the store has the token: %+v", s)
		}
	}
	w.clock.advance(time.Hour)
	other, _ := w.signIn(w.ada)
	w.signIn(w.ben)
	view := func(seen, created time.Duration, address, browser string, current bool) management.SessionView {
		return management.SessionView{CreatedAt: begin.Add(created), SeenAt: begin.Add(seen), Address: address, Browser: browser, Current: current}
	}
	check := func(want ...management.SessionView) {
		t.Helper()
		got := must(w.Sessions(ctx, p, "@me"))(t)
		for i := range got {
			got[i].ID = [16]byte{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sessions (-want +got)\n%s", diff)
		}
	}
	check(view(time.Hour, time.Hour, "192.0.2.7", "Firefox on Linux", false), view(0, 0, "192.0.2.7", "Firefox on Linux", true))
	w.clock.advance(59 * time.Second)
	must(w.AuthenticateSession(ctx, other, management.Client{}))(t) // too early to be written
	check(view(time.Hour, time.Hour, "192.0.2.7", "Firefox on Linux", false), view(0, 0, "192.0.2.7", "Firefox on Linux", true))
	w.clock.advance(time.Second)
	must(w.AuthenticateSession(ctx, token, management.Client{Address: netip.MustParseAddr("fe80::1%eth0"), UserAgent: chrome}))(t)
	check(view(time.Hour+time.Minute, 0, "fe80::1", "Chrome on Windows", true), view(time.Hour, time.Hour, "192.0.2.7", "Firefox on Linux", false))
	for _, who := range []*management.Principal{w.as(w.sam), w.as(w.ben)} {
		_, err := w.Sessions(ctx, who, w.ada.UUID.String())
		checkFault(t, "Sessions of another user", err, "forbidden permission_denied")
		checkFault(t, "EndOtherSessions of another user", w.EndOtherSessions(ctx, who, w.ada.UUID.String()), "forbidden permission_denied")
	}

	id := must(w.Sessions(ctx, p, "@me"))(t)[1].ID.String()
	for _, wrong := range []string{"", "x", w.ada.UUID.String(), must(w.store.Sessions().List(ctx, storage.SessionUser.Is(w.ben.ID)))(t)[0].ID.String()} {
		checkFault(t, "EndSession("+wrong+")", w.EndSession(ctx, p, "@me", wrong), "not found not_found")
	}
	w.ok(w.EndSession(ctx, p, "@me", id))
	w.checkSession("ended", other, nil)
	w.checkSession("the other one", token, w.ada)
	third, _ := w.signIn(w.ada)
	w.ok(w.EndOtherSessions(ctx, p, "@me"))
	w.checkSession("ended with all others", third, nil)
	w.checkSession("the own one", token, w.ada)
	w.ok(w.CloseSession(ctx, token))
	w.checkSession("signed out", token, nil)
	for _, nothing := range []string{token, "", "x", strings.Repeat("x", 1000)} {
		w.ok(w.CloseSession(ctx, nothing))
		if nothing != "" {
			w.checkSession("no session", nothing, nil)
		}
	}
	_, err := w.AuthenticateSession(ctx, "", firefox)
	checkFault(t, "no token", err, "unauthenticated not_authenticated")
}

// A session ends when it is not used, and in any case after a time.
func TestSessionsExpire(t *testing.T) {
	w := newWorld(t, func(c *management.Config) { c.SessionIdle, c.SessionLife = time.Hour, 3*time.Hour })
	token, p := w.signIn(w.ada)
	for range 3 {
		w.clock.advance(time.Hour - time.Minute)
		w.checkSession("in use", token, w.ada)
	}
	fresh := must(w.RenewSession(t.Context(), p))(t) // does not begin anew
	w.clock.advance(2 * time.Minute)
	w.checkSession("in use", fresh, w.ada)
	w.clock.advance(time.Minute)
	w.checkSession("after its life", fresh, nil)
	if got := must(w.Sessions(t.Context(), p, "@me"))(t); len(got) != 0 {
		t.Errorf("%d sessions are shown", len(got))
	}
	checkFault(t, "EndSession that has expired", w.EndSession(t.Context(), p, "@me", p.Session.ID.String()), "not found not_found")
	_, err := w.RenewSession(t.Context(), p)
	checkFault(t, "RenewSession that has expired", err, "unauthenticated authentication_failed")
	idle, _ := w.signIn(w.ada)
	w.clock.advance(time.Hour - time.Microsecond)
	w.checkSession("nearly idle", idle, w.ada)
	w.clock.advance(time.Hour)
	w.checkSession("idle", idle, nil)
	w.clock.advance(time.Microsecond)
	w.signIn(w.ben)
	if got := must(w.store.Sessions().List(t.Context(), storage.SessionUser.Is(w.ada.ID)))(t); len(got) != 0 {
		t.Errorf("%d sessions are kept", len(got))
	}
	for _, d := range []time.Duration{-time.Hour, time.Second} {
		for _, c := range []management.Config{{Store: w.store, SessionIdle: d}, {Store: w.store, SessionLife: d}} {
			if _, err := management.New(c); err == nil || !strings.Contains(err.Error(), d.String()) {
				t.Errorf("New with %v: %v", d, err)
			}
		}
	}
	usual := newWorld(t)
	token, _ = usual.signIn(usual.ada)
	for range 6 {
		usual.clock.advance(14*24*time.Hour - time.Minute)
		usual.checkSession("in use by default", token, usual.ada)
	}
	usual.clock.advance(6*24*time.Hour + 7*time.Minute)
	usual.checkSession("after 90 days", token, nil)
}

// A wrong password opens nothing, as SignIn says.
func TestOpenSessionRefused(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	for _, tt := range []struct{ email, password string }{{w.ada.Email, "wrong"}, {"nobody@example.com", staple}, {w.eve.Email, staple}, {w.old.Email, staple}, {"", ""}} {
		_, err := w.OpenSession(t.Context(), tt.email, tt.password, firefox)
		checkFault(t, "OpenSession("+tt.email+")", err, "unauthenticated invalid_credentials")
	}
	w.checkUnchanged("wrong passwords", before)
	var err error
	for range 31 {
		_, err = w.OpenSession(t.Context(), w.ada.Email, "wrong", firefox)
	}
	checkFault(t, "OpenSession again and again", err, "throttled too_many_failed_attempts")
}

// With a second factor a session opens nothing before the code, and has another token
// afterwards.
func TestSessionWithSecondFactor(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	secret := w.enrol(w.ada)
	codes := must(w.NewBackupCodes(ctx, w.as(w.ada), "@me"))(t)
	open := func() string {
		t.Helper()
		o := must(w.OpenSession(ctx, w.ada.Email, staple, firefox))(t)
		if o.Principal != nil {
			t.Fatal("the session is open without a code")
		}
		return o.Token
	}
	waiting := open()
	w.checkSession("without a code", waiting, nil)
	if got := must(w.Sessions(ctx, w.as(w.ada), "@me"))(t); len(got) != 0 {
		t.Errorf("it is shown: %+v", got)
	}
	_, err := w.ConfirmSession(ctx, waiting, "000000", firefox)
	checkFault(t, "ConfirmSession with a wrong code", err, "unauthenticated invalid_code code")
	w.checkSession("after a wrong code", waiting, nil)
	w.clock.advance(time.Minute)
	o := must(w.ConfirmSession(ctx, waiting, w.code(secret, 0), firefox))(t)
	w.checkSession("the token of before", waiting, nil)
	w.checkSession("the new one", o.Token, w.ada)
	if o.Token == waiting || o.Principal.User.ID != w.ada.ID || o.Principal.Session.Pending {
		t.Errorf("%+v", o)
	}
	_, err = w.ConfirmSession(ctx, o.Token, codes[0], firefox)
	checkFault(t, "ConfirmSession that needs none", err, "unauthenticated authentication_failed")
	for _, wrong := range []string{"x", waiting, strings.Repeat("x", 1000)} {
		_, err = w.ConfirmSession(ctx, wrong, codes[0], firefox)
		checkFault(t, "ConfirmSession of no session", err, "unauthenticated authentication_failed")
	}
	must(w.ConfirmSession(ctx, open(), codes[0], firefox))(t)

	late := open()
	w.clock.advance(10 * time.Minute)
	_, err = w.ConfirmSession(ctx, late, codes[1], firefox)
	checkFault(t, "ConfirmSession after ten minutes", err, "unauthenticated authentication_failed")
	w.checkSession("the session of before", o.Token, w.ada)
	for range 110 { // somebody who knows only the password pushes nobody out
		w.clock.advance(time.Minute)
		open()
	}
	w.checkSession("the session of before", o.Token, w.ada)
	if n := len(must(w.store.Sessions().List(ctx, storage.SessionUser.Is(w.ada.ID)))(t)); n != 100 {
		t.Errorf("%d sessions are kept, want 100", n)
	}
	off := open()
	w.ok(w.DisableTwoFactor(ctx, o.Principal, "@me"))
	_, err = w.ConfirmSession(ctx, off, codes[1], firefox)
	checkFault(t, "ConfirmSession after the second factor is off", err, "unauthenticated authentication_failed")
	w.checkSession("the session that has turned it off", o.Token, w.ada)
}

// What ends sessions, and which.
func TestSessionsEnd(t *testing.T) {
	const fresh = "another-Horse-42-battery"
	password := func(current string) management.UserPatch {
		return management.UserPatch{Password: optional.Of(fresh), CurrentPassword: optional.Of(current)}
	}
	turnOn := func(w *world, own *management.Principal) {
		secret := must(w.StartTwoFactor(w.t.Context(), own, "@me"))(w.t).Secret
		w.ok(w.ConfirmTwoFactor(w.t.Context(), own, "@me", tokenFor(w.code(secret, 0))))
	}
	for _, tt := range []struct {
		name      string
		end       func(w *world, own *management.Principal)
		own, rest bool // whether the session in which it is done is left, and others
	}{
		{"nothing", func(*world, *management.Principal) {}, true, true},
		{"another name", func(w *world, own *management.Principal) {
			must(w.UpdateUser(w.t.Context(), own, "@me", management.UserPatch{FirstName: optional.Of("Adele")}))(w.t)
		}, true, true},
		{"a password", func(w *world, own *management.Principal) {
			must(w.UpdateUser(w.t.Context(), own, "@me", password(staple)))(w.t)
		}, true, false},
		{"a password with a key", func(w *world, _ *management.Principal) {
			must(w.UpdateUser(w.t.Context(), w.key(w.ada), "@me", password(staple)))(w.t)
		}, false, false},
		{"a password by the staff", func(w *world, _ *management.Principal) {
			_, p := w.signIn(w.sam)
			must(w.UpdateUser(w.t.Context(), p, w.ada.UUID.String(), password(staple)))(w.t)
		}, false, false},
		{"a second factor", func(w *world, own *management.Principal) {
			turnOn(w, own)
		}, true, false},
		{"no second factor any more", func(w *world, own *management.Principal) {
			turnOn(w, own)
			w.ok(w.DisableTwoFactor(w.t.Context(), own, "@me"))
		}, true, false},
		{"a second factor that was never on", func(w *world, own *management.Principal) {
			w.ok(w.DisableTwoFactor(w.t.Context(), own, "@me"))
		}, true, true},
		{"a forgotten password", func(w *world, _ *management.Principal) {
			w.mails()
			w.ok(w.RequestPasswordReset(w.t.Context(), management.PasswordResetRequest{Email: optional.Of(w.ada.Email)}))
			w.ok(w.ResetPassword(w.t.Context(), resetIn(w.t, w.mails()[0]), management.ChosenPassword{Password: optional.Of(fresh)}))
		}, false, false},
		{"a sign-in link", func(w *world, _ *management.Principal) {
			must(w.UseSignInLink(w.t.Context(), must(w.NewSignInLink(w.t.Context(), w.ada.Email))(w.t), nil, firefox))(w.t)
		}, true, true},
		{"a sign-in link with a password", func(w *world, _ *management.Principal) {
			token := must(w.NewSignInLink(w.t.Context(), w.ada.Email))(w.t)
			must(w.UseSignInLink(w.t.Context(), token, &management.ChosenPassword{Password: optional.Of(fresh)}, firefox))(w.t)
		}, false, false},
		{"deactivation", func(w *world, _ *management.Principal) {
			w.ada.Active = false
			w.put(w.ada)
			w.ada.Active = true
			w.put(w.ada)
		}, false, false},
		{"deletion", func(w *world, own *management.Principal) {
			m := must(w.store.Memberships().Get(w.t.Context(), storage.MembershipOrganization.Is(w.acme.ID), storage.MembershipUser.Is(w.ben.ID)))(w.t)
			m.Level = storage.LevelOwner
			w.ok(w.store.Memberships().Update(w.t.Context(), m))
			w.ok(w.DeleteUser(w.t.Context(), own, "@me"))
		}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.sam.PasswordHash = w.ada.PasswordHash
			w.put(w.sam)
			token, own := w.signIn(w.ada)
			other, _ := w.signIn(w.ada)
			foreign, _ := w.signIn(w.ben)
			tt.end(w, own)
			whose := map[bool]*storage.User{true: w.ada}
			w.checkSession("its own session", token, whose[tt.own])
			w.checkSession("another session", other, whose[tt.rest])
			w.checkSession("a session of another user", foreign, w.ben)
		})
	}
}

// A renewed session has another token, and is the same session.
func TestRenewSession(t *testing.T) {
	w := newWorld(t)
	token, p := w.signIn(w.ada)
	fresh := must(w.RenewSession(t.Context(), p))(t)
	w.checkSession("the token of before", token, nil)
	w.checkSession("the new one", fresh, w.ada)
	if list := must(w.Sessions(t.Context(), p, "@me"))(t); len(list) != 1 || !list[0].Current {
		t.Errorf("%+v", list)
	}
	for _, none := range []*management.Principal{w.as(w.ada), w.key(w.ada)} {
		_, err := w.RenewSession(t.Context(), none)
		checkFault(t, "RenewSession without one", err, "unauthenticated authentication_failed")
	}
}

// The session that was not seen for longest makes room for the hundred and first.
// management.md §5.9 rule 9.
func TestAddressNeedsPasswordInSession(t *testing.T) {
	w := newWorld(t)
	_, p := w.signIn(w.ada)
	patch := func(body string) error {
		_, err := w.UpdateUser(t.Context(), p, "@me", decode[management.UserPatch](t, body))
		return err
	}
	checkFault(t, "no password", patch(`{"email":"new@example.com"}`), "invalid required current_password")
	checkFault(t, "a wrong password", patch(`{"email":"new@example.com","current_password":"wrong"}`), "invalid incorrect_password current_password")
	if err := patch(`{"email":"` + w.ada.Email + `","first_name":"Ada"}`); err != nil {
		t.Errorf("the address that it is: %v", err)
	}
	if err := patch(`{"email":"new@example.com","current_password":"` + staple + `"}`); err != nil {
		t.Errorf("with the password: %v", err)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	w := newWorld(t)
	first, _ := w.signIn(w.ada)
	second, _ := w.signIn(w.ada)
	for range 98 {
		w.clock.advance(time.Minute)
		must(w.UseSignInLink(t.Context(), must(w.NewSignInLink(t.Context(), w.ada.Email))(t), nil, firefox))(t)
	}
	w.checkSession("the first", first, w.ada) // and now it was seen
	w.signIn(w.ada)
	w.checkSession("the first", first, w.ada)
	w.checkSession("the second", second, nil)
	if n := len(must(w.store.Sessions().List(t.Context(), storage.SessionUser.Is(w.ada.ID)))(t)); n != 100 {
		t.Errorf("%d sessions, want 100", n)
	}
}

// A failure to note that a session was seen keeps nobody out.
func TestSessionIsSeenWithoutStore(t *testing.T) {
	w := newWorld(t, alter(&altered{touchSession: func(storage.Store, context.Context, *storage.Session) error { return errBroken }}))
	token, _ := w.signIn(w.ada)
	w.clock.advance(time.Hour)
	w.checkSession("seen", token, w.ada)
	if !strings.Contains(w.log.String(), "the last use of a session is not written") {
		t.Errorf("log %s", w.log)
	}
}

// management.md §6.7: another password by mail.
func TestPasswordReset(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const fresh = "another-Horse-42-battery"
	ask := func(email string) error {
		return w.RequestPasswordReset(ctx, management.PasswordResetRequest{Email: optional.Of(email)})
	}
	reset := func(token, password string) error {
		return w.ResetPassword(ctx, token, management.ChosenPassword{Password: optional.Of(password)})
	}
	w.ok(ask(" ADA@example.com"))
	token := resetIn(t, w.checkMails("a reset", "password_reset to ada@example.com")[0])
	offer := must(w.OpenLink(ctx, storage.LinkPasswordReset, token))(t)
	if diff := cmp.Diff(&management.LinkOffer{Email: w.ada.Email, FirstName: "Ada", HasPassword: true}, offer); diff != "" {
		t.Errorf("offer (-want +got)\n%s", diff)
	}
	before := w.state()
	for _, tt := range []struct{ token, password, want string }{
		{"x", fresh, "invalid invalid_token token"},
		{"", fresh, "invalid invalid_token token"},
		{strings.Repeat("x", 101), fresh, "invalid invalid_token token"},
		{token + "x", fresh, "invalid invalid_token token"},
		{token, "", "invalid required password"},
		{token, "short", "invalid invalid_input password"},
		{token, "ada@example.com", "invalid invalid_input password"},
		{token, strings.Repeat("é", 129), "invalid max_length password"},
	} {
		err := reset(tt.token, tt.password)
		if tt.password == "" {
			err = w.ResetPassword(ctx, tt.token, management.ChosenPassword{})
		}
		checkFault(t, fmt.Sprintf("ResetPassword(%.50s, %.50s)", tt.token, tt.password), err, tt.want)
	}
	_, err := w.UseSignInLink(ctx, token, nil, firefox)
	checkFault(t, "UseSignInLink with a link of another kind", err, "invalid invalid_token token")
	w.checkUnchanged("wrong resets", before)

	w.ok(reset(token, fresh))
	w.checkMails("the new password", "password_changed to ada@example.com")
	if _, err := w.OpenSession(ctx, w.ada.Email, staple, firefox); err == nil {
		t.Error("the old password is good")
	}
	must(w.OpenSession(ctx, w.ada.Email, fresh, firefox))(t)
	if u := w.now(w.ada); u.EmailVerified == nil || !*u.EmailVerified {
		t.Error("the address is not verified")
	}
	checkFault(t, "ResetPassword again", reset(token, fresh+"x"), "invalid invalid_token token")

	// A link ends in an hour, with the next one, and with the address.
	w.ok(ask(w.ada.Email))
	first := resetIn(t, w.mails()[0])
	w.ok(ask(w.ada.Email))
	second := resetIn(t, w.mails()[0])
	_, err = w.OpenLink(ctx, storage.LinkPasswordReset, first)
	checkFault(t, "OpenLink of the one before", err, "invalid invalid_token token")
	w.clock.advance(time.Hour - time.Microsecond)
	must(w.OpenLink(ctx, storage.LinkPasswordReset, second))(t)
	w.clock.advance(time.Microsecond)
	checkFault(t, "ResetPassword after an hour", reset(second, fresh+"x"), "invalid invalid_token token")
	w.ok(ask(w.ada.Email))
	third := resetIn(t, w.mails()[0])
	u := w.now(w.ada)
	u.Email = "ada@elsewhere.example.com"
	w.put(u)
	checkFault(t, "ResetPassword for an address of before", reset(third, fresh+"x"), "invalid invalid_token token")

	checkFault(t, "no address", w.RequestPasswordReset(ctx, management.PasswordResetRequest{}), "invalid required email")
	checkFault(t, "no address", ask("x"), "invalid invalid_input email")
	silent := w.another(func(c *management.Config) { c.Mailer = nil })
	checkFault(t, "without mail", silent.RequestPasswordReset(ctx, management.PasswordResetRequest{Email: optional.Of(w.ben.Email)}), "invalid email_not_available")
}

// Nobody learns which addresses have accounts, and nobody is flooded.
func TestPasswordResetTellsNothing(t *testing.T) {
	w := newWorld(t)
	w.cyd.EmailVerified = new(false)
	w.put(w.cyd)
	for _, email := range []string{w.old.Email, w.cyd.Email, "nobody@example.com", w.ben.Email} {
		before := w.state()
		sent := 0
		for n := range 7 {
			err := w.RequestPasswordReset(t.Context(), management.PasswordResetRequest{Email: optional.Of(email)})
			want := ""
			if n == 6 {
				want = "throttled throttled"
			}
			checkFault(t, fmt.Sprintf("request %d for %s", n, email), err, want)
			sent += len(w.mails())
		}
		if want := map[bool]int{true: 6}[email == w.ben.Email]; sent != want {
			t.Errorf("%d messages to %s, want %d", sent, email, want)
		}
		w.checkUnchanged("requests for "+email, before)
	}
}

// The second factor stays on, and the link of an account that has one does not replace it.
func TestLinksWithSecondFactor(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	secret := w.enrol(w.ada)
	w.mails()
	w.ok(w.RequestPasswordReset(ctx, management.PasswordResetRequest{Email: optional.Of(w.ada.Email)}))
	w.ok(w.ResetPassword(ctx, resetIn(t, w.mails()[0]), management.ChosenPassword{Password: optional.Of("another-Horse-42-battery")}))
	if on := must(w.NeedsSecondFactor(ctx, w.ada.UUID))(t); !on {
		t.Error("the second factor is off")
	}
	o := must(w.UseSignInLink(ctx, must(w.NewSignInLink(ctx, w.ada.Email))(t), nil, firefox))(t)
	if o.Principal != nil {
		t.Error("the link has replaced the second factor")
	}
	w.clock.advance(time.Minute)
	must(w.ConfirmSession(ctx, o.Token, w.code(secret, 0), firefox))(t)
}

// A sign-in link works once, for a day, and lets the user choose a password.
func TestSignInLink(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	first := must(w.NewSignInLink(ctx, w.eve.Email))(t) // who has no password
	token := must(w.NewSignInLink(ctx, " EVE@example.com "))(t)
	_, err := w.UseSignInLink(ctx, first, nil, firefox)
	checkFault(t, "UseSignInLink of the one before", err, "invalid invalid_token token")
	if offer := must(w.OpenLink(ctx, storage.LinkSignIn, token))(t); offer.HasPassword || offer.Email != w.eve.Email {
		t.Errorf("offer %+v", offer)
	}
	_, err = w.UseSignInLink(ctx, token, &management.ChosenPassword{Password: optional.Of("short")}, firefox)
	checkFault(t, "UseSignInLink with a weak password", err, "invalid invalid_input password")
	checkFault(t, "ResetPassword with a link of another kind", w.ResetPassword(ctx, token, management.ChosenPassword{Password: optional.Of("another-Horse-42-battery")}), "invalid invalid_token token")
	w.clock.advance(24*time.Hour - time.Microsecond)
	o := must(w.UseSignInLink(ctx, token, &management.ChosenPassword{Password: optional.Of("another-Horse-42-battery")}, firefox))(t)
	w.checkSession("the link", o.Token, w.eve)
	must(w.OpenSession(ctx, w.eve.Email, "another-Horse-42-battery", firefox))(t)
	_, err = w.UseSignInLink(ctx, token, nil, firefox)
	checkFault(t, "UseSignInLink again", err, "invalid invalid_token token")
	late := must(w.NewSignInLink(ctx, w.eve.Email))(t)
	w.clock.advance(24 * time.Hour)
	_, err = w.UseSignInLink(ctx, late, nil, firefox)
	checkFault(t, "UseSignInLink after a day", err, "invalid invalid_token token")
	for _, nobody := range []string{"nobody@example.com", w.old.Email, ""} {
		_, err := w.NewSignInLink(ctx, nobody)
		checkFault(t, "NewSignInLink("+nobody+")", err, "not found not_found")
	}
	if w.eve.Email != "eve@example.com" || strings.Contains(w.log.String(), token) {
		t.Error("the log has a token")
	}
}

// Of several uses of one link at once, one succeeds.
func TestLinksAtOnce(t *testing.T) {
	w := newWorld(t)
	token := must(w.NewSignInLink(t.Context(), w.ada.Email))(t)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.UseSignInLink(t.Context(), token, nil, firefox) })
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(errs, func(err error) bool { return err != nil })); n != 1 {
		t.Errorf("%d uses succeeded, want 1", n)
	}
	if n := len(must(w.store.Sessions().List(t.Context(), storage.SessionUser.Is(w.ada.ID)))(t)); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A password that is changed while somebody signs in with it lets nobody in.
func TestOpenSessionWhilePasswordChanges(t *testing.T) {
	a := new(altered)
	w := newWorld(t, alter(a))
	changed := false
	a.user = func(s storage.Store, ctx context.Context, where ...storage.Where[storage.User]) (*storage.User, error) {
		u, err := s.Users().Get(ctx, where...)
		if err == nil && !changed && where[0].Field == string(storage.UserID) { // as if somebody had changed it just before
			changed = true
			u.PasswordHash = ""
			err = errors.Join(s.Users().Update(ctx, u))
		}
		return u, err
	}
	_, err := w.OpenSession(t.Context(), w.ada.Email, staple, firefox)
	checkFault(t, "OpenSession", err, "unauthenticated invalid_credentials")
}
