package management_test

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var (
	client = netip.MustParseAddr("192.0.2.1")

	sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)
)

// changeEmail stages a new address and returns the message that proves it.
func (w *world) changeEmail(u *storage.User, email string) management.Message {
	w.t.Helper()
	w.mails()
	must(w.patch(w.as(u), "@me", fmt.Sprintf(`{"email":%q}`, email)))(w.t)
	return w.mails()[0]
}

// verify is VerifyEmail with a member of its body; the address of the caller is not
// known.
func (w *world) verify(u *storage.User, member, value string) error {
	w.t.Helper()
	_, err := w.VerifyEmail(w.t.Context(), netip.Addr{}, decode[management.EmailProof](w.t, fmt.Sprintf(`{"uuid":%q,%q:%q}`, u.UUID, member, value)))
	return err
}

// request is RequestEmailVerification by nobody in particular.
func (w *world) request(id string) error {
	w.t.Helper()
	return w.RequestEmailVerification(w.t.Context(), nil, decode[management.EmailRequest](w.t, fmt.Sprintf(`{"uuid":%q}`, id)))
}

// checkEmails checks the addresses that a user has and wants.
func (w *world) checkEmails(u *storage.User, email, pending string, verified *bool) {
	w.t.Helper()
	got := w.now(u)
	if got.Email != email || got.PendingEmail != pending || !cmp.Equal(got.EmailVerified, verified) {
		w.t.Errorf("email %q, pending %q, verified %v; want %q, %q, %v", got.Email, got.PendingEmail, got.EmailVerified, email, pending, verified)
	}
}

// Without a mailer addresses change at once, and nobody has verified them
// (management.md §4.4).
func TestEmailWithoutMailer(t *testing.T) {
	w := newWorld(t, func(c *management.Config) { c.Mailer = nil })
	w.ada.EmailVerified, w.ada.PendingEmail = new(true), "pending@example.com"
	w.put(w.ada)
	if w.MailAvailable() {
		t.Error("MailAvailable is true")
	}
	view, err := w.patch(w.as(w.ada), "@me", `{"email":" New@Example.COM "}`)
	checkFault(t, "UpdateUser", err, "")
	if view.Email != "new@example.com" || view.PendingEmail != nil || *view.IsEmailVerified {
		t.Errorf("UpdateUser = %+v", view)
	}
	w.checkEmails(w.ada, "new@example.com", "", new(false))
	checkFault(t, "RequestEmailVerification", w.request(w.ada.UUID.String()), "invalid email_not_available")
	w.checkMails("an address without a mailer")

	// Two who want one address: the store knows who was first.
	principals := []*management.Principal{w.as(w.ada), w.as(w.ben)}
	faults := make(chan string, len(principals))
	for _, p := range principals {
		go func() {
			_, err := w.UpdateUser(context.Background(), p, "@me", management.UserPatch{Email: optional.Of("one@example.com")})
			faults <- fault(err)
		}()
	}
	if first, second := <-faults, <-faults; first+second != "invalid unique email" {
		t.Errorf("answers %q and %q, want one to be refused", first, second)
	}
}

// The whole way of a new address (management.md §4.4, §6).
func TestEmailChange(t *testing.T) {
	w := newWorld(t)
	w.ada.EmailVerified = new(true)
	w.put(w.ada)
	view, err := w.patch(w.as(w.ada), "@me", `{"email":"New@Example.com"}`)
	checkFault(t, "UpdateUser", err, "")
	if view.Email != "ada@example.com" || *view.PendingEmail != "new@example.com" || !*view.IsEmailVerified {
		t.Errorf("UpdateUser = %+v", view)
	}
	mails := w.checkMails("the new address", "email_verification"+" to new@example.com")
	token := tokenIn(t, mails[0])
	stored := must(w.store.EmailTokens().Get(t.Context(), storage.EmailTokenUser.Is(w.ada.ID)))(t)
	if stored.Target != "new@example.com" || !stored.Expires.Equal(begin.Add(24*time.Hour)) || strings.Contains(string(stored.Hash), token) {
		t.Errorf("stored %+v", stored)
	}

	echo, err := w.VerifyEmail(t.Context(), client, management.EmailProof{UUID: optional.Of(w.ada.UUID.String()), Token: optional.Of(token)})
	checkFault(t, "VerifyEmail", err, "")
	if echo != token {
		t.Errorf("VerifyEmail = %q, want %q", echo, token) // §6.4
	}
	w.checkEmails(w.ada, "new@example.com", "", new(true))
	mails = w.checkMails("the change", "email_changed_old"+" to ada@example.com", "email_changed_new"+" to new@example.com")
	for _, m := range mails {
		if !strings.Contains(m.Text, "Hello Ada,") || !strings.Contains(m.Text, "ada@example.com") || !strings.Contains(m.Text, "new@example.com") {
			t.Errorf("mail %s", m.Text)
		}
	}
	checkFault(t, "VerifyEmail again", w.verify(w.ada, "token", token), "invalid invalid_token token")
	if _, err := w.SignIn(t.Context(), "new@example.com", staple); err != nil {
		t.Errorf("SignIn with the new address = %v", err)
	}
}

func TestEmailUnchanged(t *testing.T) {
	w := newWorld(t)
	w.changeEmail(w.ada, "new@example.com")
	for _, email := range []string{"ada@example.com", " ADA@Example.com "} {
		before := w.state()
		_, err := w.patch(w.as(w.ada), "@me", fmt.Sprintf(`{"email":%q}`, email))
		checkFault(t, "UpdateUser to "+email, err, "")
		w.checkUnchanged("UpdateUser to "+email, before) // the pending one stays
		w.checkMails("no change")
	}
}

// A second change replaces the first and its token (management.md §4.4).
func TestEmailChangedTwice(t *testing.T) {
	w := newWorld(t)
	first := tokenIn(t, w.changeEmail(w.ada, "first@example.com"))
	second := tokenIn(t, w.changeEmail(w.ada, "second@example.com"))
	third := tokenIn(t, w.changeEmail(w.ada, "second@example.com")) // and so does asking for the same again
	checkFault(t, "VerifyEmail with the first token", w.verify(w.ada, "token", first), "invalid invalid_token token")
	checkFault(t, "VerifyEmail with the second token", w.verify(w.ada, "token", second), "invalid invalid_token token")
	checkFault(t, "VerifyEmail with the third token", w.verify(w.ada, "token", third), "")
	w.checkEmails(w.ada, "second@example.com", "", new(true))
}

// A token from before a change was staged does not confirm it (management.md
// §6.3).
func TestTokenOfBefore(t *testing.T) {
	w := newWorld(t)
	w.ok(w.request(w.ada.UUID.String()))
	before := tokenIn(t, w.mails()[0])
	w.changeEmail(w.ada, "new@example.com")
	checkFault(t, "VerifyEmail", w.verify(w.ada, "token", before), "invalid invalid_token token")

	// Not even if a store has kept it.
	u := w.now(w.ben)
	w.ok(w.request(u.UUID.String()))
	kept := tokenIn(t, w.mails()[0])
	u.PendingEmail = "new@example.com"
	w.put(u)
	checkFault(t, "VerifyEmail", w.verify(u, "token", kept), "invalid invalid_token token")
	w.checkEmails(u, "ben@example.com", "new@example.com", nil)
}

func TestTokenExpires(t *testing.T) {
	w := newWorld(t)
	token := tokenIn(t, w.changeEmail(w.ada, "new@example.com"))
	w.clock.advance(24 * time.Hour)
	checkFault(t, "VerifyEmail after a day", w.verify(w.ada, "token", token), "invalid invalid_token token")
	w.clock.advance(-time.Microsecond)
	checkFault(t, "VerifyEmail before", w.verify(w.ada, "token", token), "")
}

// Who is not active any more confirms nothing.
func TestTokenOfInactive(t *testing.T) {
	w := newWorld(t)
	token := tokenIn(t, w.changeEmail(w.ada, "new@example.com"))
	u := w.now(w.ada)
	u.Active = false
	w.put(u)
	checkFault(t, "VerifyEmail", w.verify(w.ada, "token", token), "invalid invalid_token token")
	w.checkEmails(w.ada, "ada@example.com", "new@example.com", nil)
}

// Without a change under way, the address of the account is verified, and nobody
// is told about it.
func TestVerifyOwnEmail(t *testing.T) {
	for _, verified := range []*bool{nil, new(false)} {
		w := newWorld(t)
		w.ada.EmailVerified = verified
		w.put(w.ada)
		w.ok(w.request(w.ada.UUID.String()))
		mails := w.checkMails("the address", "email_verification"+" to ada@example.com")
		w.ok(w.verify(w.ada, "token", tokenIn(t, mails[0])))
		w.checkEmails(w.ada, "ada@example.com", "", new(true))
		w.checkMails("a verified address")
		if got := w.describe(&w.activities()[0]); got != "User updated by ada in Acme" {
			t.Errorf("activity %s", got)
		}
	}
}

func TestVerifyEmailRefuses(t *testing.T) { // management.md §6.4
	w := newWorld(t, func(c *management.Config) { c.VerifyByCode = true })
	m := w.changeEmail(w.ada, "new@example.com")
	token := tokenIn(t, m)
	u := w.ada.UUID.String()
	for _, tt := range []struct{ name, body, want string }{
		{"nothing", `{}`, "invalid required token"},
		{"no proof", `{"uuid":"` + u + `"}`, "invalid required token"},
		{"no user", `{"token":"` + token + `"}`, "invalid required uuid"}, // §15.1 A19
		{"no user for the code", `{"code":"123456"}`, "invalid required uuid"},
		{"user null", `{"uuid":null,"token":"` + token + `"}`, "invalid null uuid"},
		{"token null", `{"uuid":"` + u + `","token":null}`, "invalid null token"},
		{"token of another type", `{"uuid":"` + u + `","token":[]}`, "invalid invalid_input token"},
		{"code null", `{"uuid":"` + u + `","code":null}`, "invalid null code"},
		{"code too short", `{"uuid":"` + u + `","code":"12345"}`, "invalid invalid_input code"},
		{"code too long", `{"uuid":"` + u + `","code":"1234567"}`, "invalid invalid_input code"},
		{"code no digits", `{"uuid":"` + u + `","code":"abcdef"}`, "invalid invalid_input code"},
		{"code of other digits", `{"uuid":"` + u + `","code":"１２３４５６"}`, "invalid invalid_input code"},

		{"wrong token", `{"uuid":"` + u + `","token":"x"}`, "invalid invalid_token token"},
		{"empty token", `{"uuid":"` + u + `","token":""}`, "invalid invalid_token token"},
		{"cut token", `{"uuid":"` + u + `","token":"` + token[1:] + `"}`, "invalid invalid_token token"},
		{"token of somebody else", `{"uuid":"` + w.ben.UUID.String() + `","token":"` + token + `"}`, "invalid invalid_token token"},
		{"unknown user", `{"uuid":"` + uuid.NewString() + `","token":"` + token + `"}`, "invalid invalid_token token"},
		{"inactive user", `{"uuid":"` + w.old.UUID.String() + `","token":"` + token + `"}`, "invalid invalid_token token"},
		{"no UUID", `{"uuid":"ada","token":"` + token + `"}`, "invalid invalid_token token"},
		{"wrong code", `{"uuid":"` + u + `","code":"` + otherCode(m) + `"}`, "invalid invalid_code code"},
		{"code of who has none", `{"uuid":"` + w.cyd.UUID.String() + `","code":"123456"}`, "invalid invalid_code code"},
		{"code of an unknown user", `{"uuid":"` + uuid.NewString() + `","code":"123456"}`, "invalid invalid_code code"},
		{"wrong token and the right code", `{"uuid":"` + u + `","token":"x","code":"` + codeIn(m) + `"}`, "invalid invalid_token token"},
	} {
		_, err := w.VerifyEmail(t.Context(), netip.Addr{}, decode[management.EmailProof](t, tt.body))
		checkFault(t, tt.name, err, tt.want)
		if strings.HasSuffix(tt.want, "_token token") || strings.HasSuffix(tt.want, "_code code") {
			w.clock.advance(20 * time.Second) // for the throttle, within ten minutes
		}
	}
	w.checkEmails(w.ada, "ada@example.com", "new@example.com", nil)
	checkFault(t, "the right code", w.verify(w.ada, "code", codeIn(m)), "")
}

// codeIn returns the code in a message.
func codeIn(m management.Message) string {
	_, text, _ := strings.Cut(m.Text, "type this code")
	return sixDigits.FindString(text)
}

// otherCode returns a code that is not in a message.
func otherCode(m management.Message) string {
	if codeIn(m) == "000000" {
		return "000001"
	}
	return "000000"
}

// A code is good for ten minutes and five guesses; the link that came with it
// stays good (management.md §6.3).
func TestVerifyByCode(t *testing.T) {
	byCode := func(c *management.Config) { c.VerifyByCode = true }
	t.Run("right", func(t *testing.T) {
		w := newWorld(t, byCode)
		m := w.changeEmail(w.ada, "new@example.com")
		w.clock.advance(10*time.Minute - time.Microsecond)
		echo, err := w.VerifyEmail(t.Context(), client, management.EmailProof{UUID: optional.Of(w.ada.UUID.String()), Code: optional.Of(codeIn(m))})
		checkFault(t, "VerifyEmail", err, "")
		if echo != "" {
			t.Errorf("VerifyEmail = %q, want no token", echo)
		}
		w.checkEmails(w.ada, "new@example.com", "", new(true))
		checkFault(t, "VerifyEmail again", w.verify(w.ada, "code", codeIn(m)), "invalid invalid_code code")
		checkFault(t, "VerifyEmail with its token", w.verify(w.ada, "token", tokenIn(t, m)), "invalid invalid_token token")
	})
	t.Run("too late", func(t *testing.T) {
		w := newWorld(t, byCode)
		m := w.changeEmail(w.ada, "new@example.com")
		w.clock.advance(10 * time.Minute)
		checkFault(t, "VerifyEmail", w.verify(w.ada, "code", codeIn(m)), "invalid invalid_code code")
		checkFault(t, "VerifyEmail with its token", w.verify(w.ada, "token", tokenIn(t, m)), "")
	})
	t.Run("too many guesses", func(t *testing.T) {
		w := newWorld(t, byCode)
		m := w.changeEmail(w.ada, "new@example.com")
		for range 5 {
			checkFault(t, "VerifyEmail", w.verify(w.ada, "code", otherCode(m)), "invalid invalid_code code")
		}
		checkFault(t, "VerifyEmail with the right code", w.verify(w.ada, "code", codeIn(m)), "invalid too_many_attempts code")
		w.clock.advance(200 * time.Second)
		checkFault(t, "VerifyEmail later", w.verify(w.ada, "code", codeIn(m)), "invalid too_many_attempts code")
		again := w.changeEmail(w.ada, "new@example.com")
		w.clock.advance(200 * time.Second)
		checkFault(t, "VerifyEmail with another code", w.verify(w.ada, "code", codeIn(again)), "")
	})
	t.Run("after a restart with another key", func(t *testing.T) {
		w := newWorld(t, byCode)
		m := w.changeEmail(w.ada, "new@example.com")
		w = w.another(func(c *management.Config) {
			c.VerifyByCode, c.SecretKeys = true, [][]byte{secretKey('b'), secretKey('a')}
		})
		checkFault(t, "VerifyEmail", w.verify(w.ada, "code", codeIn(m)), "")
	})
	t.Run("after a restart without keys", func(t *testing.T) {
		w := newWorld(t, byCode)
		m := w.changeEmail(w.ada, "new@example.com")
		w = w.another(func(c *management.Config) { c.SecretKeys = nil })
		checkFault(t, "VerifyEmail", w.verify(w.ada, "code", codeIn(m)), "invalid invalid_code code")
		checkFault(t, "VerifyEmail with the token", w.verify(w.ada, "token", tokenIn(t, m)), "")
	})
	t.Run("not asked for", func(t *testing.T) {
		w := newWorld(t)
		m := w.changeEmail(w.ada, "new@example.com")
		if code := codeIn(m); code != "" {
			t.Errorf("the message has the code %s", code)
		}
		checkFault(t, "VerifyEmail", w.verify(w.ada, "code", "123456"), "invalid invalid_code code")
	})
}

// Of several who want one address, who confirms it first gets it. The others can
// cancel or try again (management.md §6.4).
func TestEmailTaken(t *testing.T) {
	w := newWorld(t)
	users := []*storage.User{w.ada, w.ben, w.cyd, w.dov}
	var proofs []management.EmailProof
	for _, u := range users {
		token := tokenIn(t, w.changeEmail(u, "one@example.com"))
		proofs = append(proofs, management.EmailProof{UUID: optional.Of(u.UUID.String()), Token: optional.Of(token)})
	}
	type result struct {
		user  *storage.User
		fault string
	}
	results := make(chan result, len(users))
	for i, u := range users {
		go func() {
			_, err := w.VerifyEmail(context.Background(), netip.Addr{}, proofs[i])
			results <- result{u, fault(err)}
		}()
	}
	winners := 0
	for range users {
		switch r := <-results; r.fault {
		case "":
			winners++
			w.checkEmails(r.user, "one@example.com", "", new(true))
		case "invalid email_taken email":
			w.checkEmails(r.user, r.user.Email, "one@example.com", nil) // pending stays
			must(w.store.EmailTokens().Get(t.Context(), storage.EmailTokenUser.Is(r.user.ID)))(t)
			must(w.CancelEmailChange(t.Context(), w.as(r.user)))(t)
		default:
			t.Errorf("VerifyEmail: %s", r.fault)
		}
	}
	if winners != 1 {
		t.Errorf("%d have got the address, want 1", winners)
	}
	_, err := w.patch(w.as(w.eve), "@me", `{"email":"one@example.com"}`)
	checkFault(t, "UpdateUser", err, "invalid unique email")
}

// Cancelling (management.md §6.5).
func TestCancelEmailChange(t *testing.T) {
	w := newWorld(t)
	_, err := w.CancelEmailChange(t.Context(), w.as(w.ada))
	checkFault(t, "CancelEmailChange of nothing", err, "invalid email_change_request_not_found")
	token := tokenIn(t, w.changeEmail(w.ada, "new@example.com"))
	view, err := w.CancelEmailChange(t.Context(), w.as(w.ada))
	checkFault(t, "CancelEmailChange", err, "")
	if view.PendingEmail != nil || view.Email != "ada@example.com" {
		t.Errorf("CancelEmailChange = %+v", view)
	}
	checkFault(t, "VerifyEmail", w.verify(w.ada, "token", token), "invalid invalid_token token")
	_, err = w.CancelEmailChange(t.Context(), w.as(w.ada))
	checkFault(t, "CancelEmailChange again", err, "invalid email_change_request_not_found")
	w.checkEmails(w.ada, "ada@example.com", "", nil)
}

// The answer is the same for everybody; the mail is not (management.md §6.2).
func TestRequestEmailVerification(t *testing.T) {
	w := newWorld(t)
	w.ada.EmailVerified, w.ben.EmailVerified = new(true), new(false)
	w.dov.EmailVerified, w.dov.PendingEmail = new(true), "new@example.com"
	w.put(w.ada, w.ben, w.dov)
	for _, tt := range []struct{ name, id, mail string }{
		{"verified", w.ada.UUID.String(), ""},
		{"unverified", w.ben.UUID.String(), "ben@example.com"},
		{"of before verification", w.cyd.UUID.String(), "cyd@example.com"},
		{"verified with a change under way", w.dov.UUID.String(), "new@example.com"},
		{"inactive", w.old.UUID.String(), ""},
		{"unknown", uuid.NewString(), ""},
		{"malformed", "ada", ""},
		{"empty", "", ""},
	} {
		checkFault(t, tt.name, w.request(tt.id), "")
		var want []string
		if tt.mail != "" {
			want = []string{"email_verification" + " to " + tt.mail}
		}
		w.checkMails(tt.name, want...)
	}
	for body, want := range map[string]string{
		`{}`: "invalid required uuid", `{"uuid":null}`: "invalid null uuid", `{"uuid":{}}`: "invalid invalid_input uuid",
	} {
		err := w.RequestEmailVerification(t.Context(), nil, decode[management.EmailRequest](t, body))
		checkFault(t, body, err, want)
	}
}

// Six messages a day for each user, whether or not they exist; a known user has
// attempts of their own (management.md §2.6).
func TestVerificationMailsAreThrottled(t *testing.T) {
	w := newWorld(t)
	unknown := uuid.NewString()
	for _, id := range []string{w.ada.UUID.String(), unknown} {
		for range 6 {
			checkFault(t, "RequestEmailVerification", w.request(id), "")
		}
		checkFault(t, "RequestEmailVerification", w.request(strings.ToUpper(id)), "throttled throttled")
	}
	if n := len(w.mails()); n != 6 {
		t.Errorf("%d messages, want 6", n)
	}
	for range 10 { // what is nobody's UUID is not counted against anybody
		checkFault(t, "RequestEmailVerification of no UUID", w.request("ada"), "")
	}
	for range 6 {
		err := w.RequestEmailVerification(t.Context(), w.as(w.ada), management.EmailRequest{UUID: optional.Of(w.ada.UUID.String())})
		checkFault(t, "RequestEmailVerification by Ada", err, "")
	}
	err := w.RequestEmailVerification(t.Context(), w.as(w.ada), management.EmailRequest{UUID: optional.Of(w.ben.UUID.String())})
	checkFault(t, "RequestEmailVerification by Ada", err, "throttled throttled")
	checkFault(t, "RequestEmailVerification for Ben", w.request(w.ben.UUID.String()), "")
	w.clock.advance(4 * time.Hour)
	checkFault(t, "RequestEmailVerification four hours later", w.request(w.ada.UUID.String()), "")
	checkFault(t, "RequestEmailVerification again", w.request(w.ada.UUID.String()), "throttled throttled")
}

// Six proofs in twenty minutes, for each user and from each address (management.md
// §2.6).
func TestProofsAreThrottled(t *testing.T) {
	w := newWorld(t)
	token := tokenIn(t, w.changeEmail(w.ada, "new@example.com"))
	try := func(client, id, token string) string {
		from := netip.Addr{}
		if client != "" {
			from = netip.MustParseAddr(client)
		}
		_, err := w.VerifyEmail(t.Context(), from, management.EmailProof{UUID: optional.Of(id), Token: optional.Of(token)})
		return fault(err)
	}
	const (
		wrong     = "invalid invalid_token token"
		throttled = "throttled throttled"
	)
	ada, ben := w.ada.UUID.String(), w.ben.UUID.String()
	for i := range 6 { // from everywhere
		if got := try(fmt.Sprint("192.0.2.", i), ada, "x"); got != wrong {
			t.Errorf("VerifyEmail %d of Ada: %s", i, got)
		}
	}
	if got := try("192.0.2.99", ada, token); got != throttled {
		t.Errorf("VerifyEmail of Ada: %s, want %s", got, throttled)
	}
	for i := range 6 { // for everybody
		if got := try("2001:db8::1", uuid.NewString(), "x"); got != wrong {
			t.Errorf("VerifyEmail %d: %s", i, got)
		}
	}
	if got := try("2001:db8::1", ben, "x"); got != throttled {
		t.Errorf("VerifyEmail of Ben: %s, want %s", got, throttled)
	}
	if got := try("2001:db8::2", ben, "x"); got != wrong {
		t.Errorf("VerifyEmail of Ben from elsewhere: %s, want %s", got, wrong)
	}
	w.clock.advance(200 * time.Second)
	if got := try("192.0.2.99", ada, token); got != "" {
		t.Errorf("VerifyEmail of Ada later: %s", got)
	}
}

// Guesses are counted before they are looked at, so that many at once are not
// more than one after the other.
func TestGuessesAtOnce(t *testing.T) {
	unlimited := alter(&altered{
		throttle: func(storage.Store, context.Context, string, storage.Limit, time.Time) (time.Duration, error) {
			return 0, nil
		},
	})
	w := newWorld(t, unlimited, func(c *management.Config) { c.VerifyByCode = true })
	m := w.changeEmail(w.ada, "new@example.com")
	faults := make(chan string, 20)
	for range cap(faults) {
		go func() {
			_, err := w.VerifyEmail(context.Background(), client, management.EmailProof{
				UUID: optional.Of(w.ada.UUID.String()), Code: optional.Of(otherCode(m)),
			})
			faults <- fault(err)
		}()
	}
	count := make(map[string]int)
	for range cap(faults) {
		count[<-faults]++
	}
	if diff := cmp.Diff(map[string]int{"invalid invalid_code code": 5, "invalid too_many_attempts code": 15}, count); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
}

// Six messages a day to one address, for all callers together (management.md §15.2,
// rule 4).
func TestAddressesAreSpared(t *testing.T) {
	w := newWorld(t)
	want := func(u *storage.User, email, fault string) {
		t.Helper()
		w.clock.advance(time.Minute)
		_, err := w.patch(w.as(u), "@me", `{"email":"`+email+`"}`)
		checkFault(t, "UpdateUser to "+email, err, fault)
	}
	for i := range 6 {
		want([]*storage.User{w.ada, w.ben}[i%2], "victim@example.net", "")
	}
	want(w.ada, "victim@example.net", "throttled throttled")
	want(w.cyd, "victim@example.net", "throttled throttled")
	want(w.ada, "else@example.net", "")
	w.clock.advance(4 * time.Hour)
	want(w.cyd, "victim@example.net", "")
}

// What a token proves is the address that it was mailed to, also for an account that was
// never verified and wants another address (management.md §6.3, §6.6).
func TestRuling55UnverifiedWithPendingAddress(t *testing.T) {
	for name, verified := range map[string]*bool{"never asked": nil, "not verified": new(false), "verified": new(true)} {
		w := newWorld(t)
		w.ada.EmailVerified = verified
		w.put(w.ada)
		var old string // mailed to the address before
		if verified == nil || !*verified {
			w.ok(w.request(w.ada.UUID.String()))
			old = tokenIn(t, w.checkMails("the first address", "email_verification"+" to ada@example.com")[0])
		}
		must(w.patch(w.as(w.ada), "@me", `{"email":"new@example.com"}`))(t)
		token := tokenIn(t, w.checkMails("the other address", "email_verification"+" to new@example.com")[0])
		if old != "" {
			checkFault(t, name+": the token of the old address", w.verify(w.ada, "token", old), "invalid invalid_token token")
		}
		w.ok(w.verify(w.ada, "token", token))
		if u := w.now(w.ada); u.Email != "new@example.com" || u.PendingEmail != "" || u.EmailVerified == nil || !*u.EmailVerified {
			t.Errorf("%s: %+v, want the new address, verified", name, u)
		}
	}
}
