package management_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/crypto/argon2"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Whatever is wrong, the answer is the same and as much is hashed (management.md
// §15.2).
func TestSignIn(t *testing.T) {
	w := newWorld(t)
	w.dov.PasswordHash = "!" + w.dov.PasswordHash
	w.put(w.dov)
	const wrong = "unauthenticated invalid_credentials"
	for _, tt := range []struct{ name, email, password, want string }{
		{"right", "ada@example.com", staple, ""},
		{"address in capitals", " ADA@Example.COM ", staple, ""},
		{"wrong password", "ada@example.com", "wrong", wrong},
		{"no password given", "ada@example.com", "", wrong},
		{"no password set", "eve@example.com", staple, wrong},
		{"none given to who has none", "eve@example.com", "", wrong},
		{"password not usable", "dov@example.com", staple, wrong},
		{"not active", "old@example.com", staple, wrong},
		{"unknown", "nobody@example.com", staple, wrong},
		{"no address", "", staple, wrong},
	} {
		var u *storage.User
		var err error
		if n := hashing(func() { u, err = w.SignIn(t.Context(), tt.email, tt.password) }); n != 1 {
			t.Errorf("%s: %d passwords are hashed, want 1", tt.name, n)
		}
		checkFault(t, tt.name, err, tt.want)
		if tt.want == "" && (u == nil || u.ID != w.ada.ID) || tt.want != "" && (u != nil || err.Error() != "management: Invalid email or password.") {
			t.Errorf("%s: %v, %v", tt.name, u, err)
		}
	}
}

// After 30 attempts for an address there are no more, also with the right
// password, and for addresses that nobody has (management.md §1.7).
func TestSignInIsThrottled(t *testing.T) {
	w := newWorld(t)
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for range 30 {
			// Too long for a password, so that nothing is hashed for this test.
			_, err := w.SignIn(t.Context(), email, strings.Repeat("x", 129))
			checkFault(t, "SignIn", err, "unauthenticated invalid_credentials")
		}
		n := hashing(func() {
			_, err := w.SignIn(t.Context(), strings.ToUpper(email), staple)
			checkFault(t, "SignIn", err, "throttled too_many_failed_attempts")
			if e := err.(*management.Error); e.RetryAfter != 20*time.Second {
				t.Errorf("RetryAfter %s, want 20s", e.RetryAfter)
			}
		})
		if n != 0 {
			t.Errorf("%d passwords are hashed, want 0", n)
		}
	}
	_, err := w.SignIn(t.Context(), "ben@example.com", staple)
	checkFault(t, "SignIn of somebody else", err, "")
	w.clock.advance(20 * time.Second)
	_, err = w.SignIn(t.Context(), "ada@example.com", staple)
	checkFault(t, "SignIn later", err, "")
}

// Passwords that were imported get a better hash when they are used, and only
// then.
func TestSignInRehashes(t *testing.T) {
	const imported = "$2a$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy" // of staple, by libxcrypt
	w := newWorld(t)
	w.ada.PasswordHash = imported
	w.put(w.ada)
	if _, err := w.SignIn(t.Context(), w.ada.Email, "wrong"); err == nil || w.now(w.ada).PasswordHash != imported {
		t.Errorf("SignIn with a wrong password = %v, hash %s", err, w.now(w.ada).PasswordHash)
	}
	before := w.activities()
	_, err := w.SignIn(t.Context(), w.ada.Email, staple)
	checkFault(t, "SignIn", err, "")
	fresh := w.now(w.ada).PasswordHash
	if !strings.HasPrefix(fresh, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %s, want argon2id", fresh)
	}
	if diff := cmp.Diff(before, w.activities()); diff != "" {
		t.Errorf("activities (-before +after)\n%s", diff)
	}
	_, err = w.SignIn(t.Context(), w.ada.Email, staple)
	checkFault(t, "SignIn again", err, "")
	if now := w.now(w.ada).PasswordHash; now != fresh {
		t.Errorf("hash %s, want it to stay %s", now, fresh)
	}
}

// weakHash returns a hash of staple with parameters of which there are better ones.
func weakHash() string {
	salt := []byte("sixteen bytes of")
	encode := base64.RawStdEncoding.EncodeToString
	return "$argon2id$v=19$m=256,t=1,p=1$" + encode(salt) + "$" + encode(argon2.IDKey([]byte(staple), salt, 1, 256, 1, 32))
}

// A hash that cannot be replaced does not keep anybody out.
func TestSignInCannotRehash(t *testing.T) {
	w := newWorld(t)
	w.ada.PasswordHash = weakHash()
	w.put(w.ada)
	for steps := range 8 { // throttle, which asks twice, user, verify; then to hash and to store
		u, err := w.SignIn(&failing{t.Context(), steps}, w.ada.Email, staple)
		switch {
		case steps < 4 && err == nil, steps >= 4 && (err != nil || u.ID != w.ada.ID):
			t.Errorf("SignIn when step %d fails = %v, %v", steps, u, err)
		case steps >= 4 && w.now(w.ada).PasswordHash != weakHash():
			t.Errorf("the hash is %s", w.now(w.ada).PasswordHash)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "a password keeps its old hash") || strings.Contains(log, weakHash()) {
		t.Errorf("log %s", log)
	}
}

// A password that is changed while somebody signs in stays changed.
func TestSignInDuringChange(t *testing.T) {
	w := newWorld(t, alter(&altered{user: func(s storage.Store, ctx context.Context, where ...storage.Where[storage.User]) (*storage.User, error) {
		u, err := s.Users().Get(ctx, where...)
		if err == nil && where[0].Field == string(storage.UserID) && u.PasswordHash == weakHash() {
			u.PasswordHash = hashed()
			err = s.Users().Update(ctx, u)
		}
		return u, err
	}}))
	w.ada.PasswordHash = weakHash()
	w.put(w.ada)
	_, err := w.SignIn(t.Context(), w.ada.Email, staple)
	checkFault(t, "SignIn", err, "")
	if now := w.now(w.ada).PasswordHash; now != hashed() {
		t.Errorf("hash %s, want %s", now, hashed())
	}
}

func TestNeedsSecondFactor(t *testing.T) {
	w := newWorld(t)
	w.enrol(w.ada)
	for u, want := range map[*storage.User]bool{w.ada: true, w.ben: false} {
		if got, err := w.NeedsSecondFactor(t.Context(), u.UUID); got != want || err != nil {
			t.Errorf("NeedsSecondFactor(%s) = %t, %v; want %t", u.FirstName, got, err, want)
		}
	}
	_, err := w.NeedsSecondFactor(t.Context(), uuid.New())
	checkFault(t, "NeedsSecondFactor", err, "not found not_found")
}

func TestCreateUser(t *testing.T) {
	w := newWorld(t)
	u, err := w.CreateUser(t.Context(), management.NewUser{
		Email: " Fay@Example.com", FirstName: " Fay ", LastName: "Wray", Password: goodPassword, Staff: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &storage.User{
		ID: 8, UUID: u.UUID, DistinctID: u.DistinctID, Active: true, Staff: true, Joined: begin, Email: "fay@example.com",
		FirstName: "Fay", LastName: "Wray", PasswordHash: u.PasswordHash, ToolbarMode: new("toolbar"),
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("CreateUser (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(u, w.now(u)); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if len(u.DistinctID) < 40 || u.UUID.Version() != 7 {
		t.Errorf("distinct ID %s, UUID %s", u.DistinctID, u.UUID)
	}
	_, err = w.SignIn(t.Context(), "fay@example.com", goodPassword)
	checkFault(t, "SignIn", err, "")

	before := w.state()
	for _, tt := range []struct {
		name string
		new  management.NewUser
		want string
	}{
		{"taken", management.NewUser{Email: "ADA@example.com"}, "conflict unique email"},
		{"taken by who is not active", management.NewUser{Email: "old@example.com"}, "conflict unique email"},
		{"no address", management.NewUser{}, "invalid blank email"},
		{"no good address", management.NewUser{Email: "x"}, "invalid invalid_input email"},
		{"no good name", management.NewUser{Email: "g@example.com", FirstName: "http://x"}, "invalid invalid_url first_name"},
		{"too long a name", management.NewUser{Email: "g@example.com", LastName: chars(151)}, "invalid max_length last_name"},
		{"bad password", management.NewUser{Email: "g@example.com", Password: "password"}, "invalid invalid_input password"},
		{"blank password", management.NewUser{Email: "g@example.com", Password: strings.Repeat(" ", 9)}, "invalid blank password"},
		{"too long a password", management.NewUser{Email: "g@example.com", Password: chars(129)}, "invalid max_length password"},
	} {
		u, err := w.CreateUser(t.Context(), tt.new)
		checkFault(t, tt.name, err, tt.want)
		if u != nil {
			t.Errorf("%s: %+v", tt.name, u)
		}
	}
	w.checkUnchanged("CreateUser", before)

	u, err = w.CreateUser(t.Context(), management.NewUser{Email: "h@example.com"})
	if err != nil || u.PasswordHash != "" || w.view(u).HasPassword {
		t.Errorf("CreateUser without a password = %+v, %v", u, err)
	}
}

// Of many who make an account for one address, one succeeds.
func TestCreateUserRace(t *testing.T) {
	w := newWorld(t)
	const n = 8
	faults := make(chan string, n)
	for range n {
		go func() {
			_, err := w.CreateUser(context.Background(), management.NewUser{Email: "fay@example.com"})
			faults <- fault(err)
		}()
	}
	count := make(map[string]int)
	for range n {
		count[<-faults]++
	}
	if diff := cmp.Diff(map[string]int{"": 1, "conflict unique email": n - 1}, count); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
}

func TestPrincipalOf(t *testing.T) {
	w := newWorld(t)
	p, err := w.PrincipalOf(t.Context(), w.ada.UUID)
	if err != nil || p.User.ID != w.ada.ID || p.Key != nil {
		t.Errorf("PrincipalOf = %+v, %v", p, err)
	}
	for _, id := range []uuid.UUID{w.old.UUID, uuid.New(), uuid.Nil} {
		_, err := w.PrincipalOf(t.Context(), id)
		checkFault(t, "PrincipalOf", err, "unauthenticated not_authenticated")
	}
}

// TestRuling103SignInByClient: attempts are counted for the account, and for the network of
// the client over all accounts (management.md §2.6).
func TestRuling103SignInByClient(t *testing.T) {
	w := newWorld(t)
	try := func(email string, from management.Client) error {
		_, err := w.OpenSession(t.Context(), email, strings.Repeat("x", 129), from) // too long to be hashed
		return err
	}
	at := func(addr string) management.Client { return management.Client{Address: netip.MustParseAddr(addr)} }
	const wrong = "unauthenticated invalid_credentials"
	for i := range 100 { // of one network, for 100 accounts
		checkFault(t, "OpenSession", try(fmt.Sprintf("nobody%d@example.com", i), at(fmt.Sprintf("2001:db8::%x", i+1))), wrong)
	}
	err := try("ada@example.com", at("2001:db8::ffff"))
	checkFault(t, "OpenSession from the network", err, "throttled too_many_failed_attempts")
	if e := err.(*management.Error); e.RetryAfter != 6*time.Second {
		t.Errorf("RetryAfter %s, want 6s", e.RetryAfter)
	}
	for _, other := range []management.Client{at("2001:db8:0:1::1"), at("192.0.2.1"), at("::ffff:192.0.2.2"), {}} {
		checkFault(t, "OpenSession from elsewhere", try("ada@example.com", other), wrong)
	}
	w.clock.advance(6 * time.Second)
	checkFault(t, "OpenSession later", try("ben@example.com", at("2001:db8::ffff")), wrong)
}

// TestRuling103KnownBrowser: a browser that has signed in before is not locked out by the
// tries of others, and has no more tries than they have (management.md §5.9).
func TestRuling103KnownBrowser(t *testing.T) {
	w := newWorld(t)
	office := netip.MustParseAddr("192.0.2.7")
	open := func(email, password, device string) (*management.OpenedSession, error) {
		return w.OpenSession(t.Context(), email, password, management.Client{Address: office, Device: device})
	}
	long := strings.Repeat("x", 129)
	first, err := open("ada@example.com", staple, "")
	if err != nil || first.Device == "" {
		t.Fatalf("OpenSession = %+v, %v; want a device token", first, err)
	}
	if other, err := open("ben@example.com", staple, ""); err != nil || other.Device == first.Device {
		t.Fatalf("OpenSession = %+v, %v; want another device token", other, err)
	}
	for range 30 {
		open("ada@example.com", long, "") // others
	}
	for name, device := range map[string]string{"no token": "", "garbage": "x", "a long one": strings.Repeat("A", 5000), "one that was changed": "A" + first.Device[1:], "of ben": mustOpen(open("ben@example.com", staple, "")).Device} {
		_, err := open("ada@example.com", staple, device)
		checkFault(t, name, err, "throttled too_many_failed_attempts")
	}
	known, err := open("ADA@example.com", staple, first.Device)
	checkFault(t, "the known browser", err, "")
	for range 100 { // nor by many of its own network
		open("nobody@example.com", long, "")
	}
	for range 28 {
		_, err := open("ada@example.com", long, first.Device)
		checkFault(t, "a wrong password in the known browser", err, "unauthenticated invalid_credentials")
	}
	_, err = open("ada@example.com", staple, first.Device)
	checkFault(t, "the known browser", err, "")
	_, err = open("ada@example.com", staple, first.Device)
	checkFault(t, "the known browser after 30 tries", err, "throttled too_many_failed_attempts")
	_, err = open("ada@example.com", staple, known.Device)
	checkFault(t, "another one that is known", err, "")

	// Another password ends it, and before the second factor there is none.
	u := w.now(w.ada)
	u.PasswordHash = weakHash()
	w.put(u)
	_, err = open("ada@example.com", staple, known.Device)
	checkFault(t, "after another password", err, "throttled too_many_failed_attempts")
	w.clock.advance(time.Hour)
	w.enrol(w.ada)
	if o := mustOpen(open("ada@example.com", staple, "")); o.Device != "" || o.Principal != nil {
		t.Errorf("before the second factor: %+v", o)
	}
}

func mustOpen(o *management.OpenedSession, err error) *management.OpenedSession {
	if err != nil {
		panic(err)
	}
	return o
}
