package management_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The answers while two-factor authentication is off and on (management.md §5.4).
const (
	twoFactorOff = `{"is_enabled":false,"backup_codes":[],"backup_codes_remaining":0,"method":null,"has_passkeys":false,"has_totp":false,` +
		`"passkeys_enabled_for_2fa":false}`
	twoFactorOn = `{"is_enabled":true,"backup_codes":%s,"backup_codes_remaining":%d,"method":"TOTP","has_passkeys":false,"has_totp":true,` +
		`"passkeys_enabled_for_2fa":false}`
)

// checkStatus checks what somebody sees of a user's two-factor authentication.
func (w *world) checkStatus(who, of *storage.User, want string) {
	w.t.Helper()
	status, err := w.TwoFactorStatus(w.t.Context(), w.as(who), of.UUID.String())
	if got := encode(w.t, status); err != nil || got != want {
		w.t.Errorf("TwoFactorStatus = %s, %v; want %s", got, err, want)
	}
}

// factor is what VerifySecondFactor says: the method, or what is wrong.
func (w *world) factor(u *storage.User, code string) string {
	w.t.Helper()
	result, err := w.VerifySecondFactor(w.t.Context(), u.UUID, code)
	switch {
	case err != nil:
		return fault(err)
	case result.OK:
		return result.Method
	case result.Method != "":
		w.t.Errorf("VerifySecondFactor = %+v", result)
	}
	return "wrong"
}

// The whole life of an authenticator (management.md §5).
func TestTwoFactor(t *testing.T) {
	w := newWorld(t, func(c *management.Config) { c.AppName = "Acme & Co" })
	ctx := t.Context()
	w.checkStatus(w.ada, w.ada, twoFactorOff)
	checkFault(t, "ConfirmTwoFactor without a setup", w.ConfirmTwoFactor(ctx, w.as(w.ada), "@me", tokenFor("123456")), "invalid setup_expired")
	_, err := w.NewBackupCodes(ctx, w.as(w.ada), "@me")
	checkFault(t, "NewBackupCodes while it is off", err, "invalid 2fa_not_enabled")
	if got := w.factor(w.ada, "123456"); got != "not found not_found" {
		t.Errorf("VerifySecondFactor while it is off: %s", got)
	}

	setup := must(w.StartTwoFactor(ctx, w.as(w.ada), "@me"))(t)
	if !regexp.MustCompile(`^[A-Z2-7]{32}$`).MatchString(setup.Secret) || !setup.Success {
		t.Errorf("StartTwoFactor = %+v", setup)
	}
	u := must(url.Parse(setup.OTPAuthURL))(t)
	want := url.Values{
		"secret": {setup.Secret}, "issuer": {"Acme & Co"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"},
	}
	picture := must(setup.QRCode())(t)
	var finder strings.Builder
	for y := range 7 {
		for x := range 7 {
			red, _, _, _ := picture.At(x, y).RGBA()
			finder.WriteString(map[bool]string{true: "#", false: "."}[red == 0])
		}
	}
	if side := picture.Bounds().Dx(); side < 37 || side%4 != 1 || picture.Bounds().Dy() != side || finder.String() != "########.....##.###.##.###.##.###.##.....########" {
		t.Errorf("a QR code of %v with the corner %s", picture.Bounds(), finder.String())
	}
	if _, err := (&management.TwoFactorSetup{OTPAuthURL: strings.Repeat("x", 5000)}).QRCode(); err == nil {
		t.Error("a QR code has 5,000 bytes")
	}
	if diff := cmp.Diff(want, u.Query()); diff != "" || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Acme & Co:ada@example.com" {
		t.Errorf("URL %s (-want +got)\n%s", setup.OTPAuthURL, diff)
	}
	w.checkStatus(w.ada, w.ada, twoFactorOff) // nothing is in force yet
	w.checkMails("a setup")

	w.ok(w.ConfirmTwoFactor(ctx, w.as(w.ada), "@me", tokenFor(w.code(setup.Secret, 0))))
	w.checkMails("it", "two_factor_on"+" to ada@example.com")
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, "[]", 0)) // no codes are made by themselves (§5.3)
	if !w.view(w.ada).Is2FAEnabled || w.view(w.ben).Is2FAEnabled {
		t.Error("is_2fa_enabled is not that of Ada alone")
	}
	checkFault(t, "ConfirmTwoFactor again", w.ConfirmTwoFactor(ctx, w.as(w.ada), "@me", tokenFor(w.code(setup.Secret, 1))), "invalid setup_expired")

	codes := must(w.NewBackupCodes(ctx, w.as(w.ada), "@me"))(t)
	w.checkMails("codes", "backup_codes_replaced"+" to ada@example.com")
	seen := make(map[string]bool)
	for _, c := range codes {
		if !regexp.MustCompile(`^[a-z2-7]{8}$`).MatchString(c) || seen[c] {
			t.Errorf("code %q", c)
		}
		seen[c] = true
	}
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, encode(t, codes), 10))
	w.checkStatus(w.sam, w.ada, fmt.Sprintf(twoFactorOn, "[]", 10)) // the staff sees none (§5.4)

	w.clock.advance(step(1))
	if got := w.factor(w.ada, w.code(setup.Secret, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor = %s, want totp", got)
	}
	w.checkMails("signing in")
	if got := w.factor(w.ada, codes[4]); got != "backup_code" {
		t.Errorf("VerifySecondFactor = %s, want backup_code", got)
	}
	w.checkMails("the code", "backup_code_used"+" to ada@example.com")
	left := append(append([]string{}, codes[:4]...), codes[5:]...)
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, encode(t, left), 9))

	replaced := must(w.NewBackupCodes(ctx, w.as(w.ada), "@me"))(t)
	w.mails()
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, encode(t, replaced), 10))
	if got := w.factor(w.ada, codes[0]); got != "wrong" {
		t.Errorf("VerifySecondFactor with a replaced code = %s", got)
	}

	must(w.StartTwoFactor(ctx, w.as(w.ada), "@me"))(t)
	w.ok(w.DisableTwoFactor(ctx, w.as(w.ada), "@me"))
	w.checkMails("it", "two_factor_off"+" to ada@example.com")
	w.checkStatus(w.ada, w.ada, twoFactorOff)
	if s := w.state(); s.TOTPs != nil || s.Pending != nil || s.Codes != nil {
		t.Errorf("left are %v, %v, %v", s.TOTPs, s.Pending, s.Codes)
	}
	before := w.state()
	w.ok(w.DisableTwoFactor(ctx, w.as(w.ada), "@me")) // again
	w.checkUnchanged("DisableTwoFactor", before)
	w.checkMails("nothing")
}

// What is stored of secrets does not give them away, and is of no use for another
// user.
func TestTwoFactorIsSealed(t *testing.T) {
	w := newWorld(t)
	secret := w.enrol(w.ada)
	must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t)
	codes := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	s := w.state()
	var stored strings.Builder
	stored.WriteString(fmt.Sprintf("%s %s", s.TOTPs[0].Secret, s.Pending[0].Secret))
	for _, c := range s.Codes {
		stored.WriteString(fmt.Sprintf(" %s %s", c.Hash, c.Sealed))
	}
	for _, plain := range append(codes, secret) {
		if strings.Contains(stored.String(), plain) {
			t.Errorf("%q is stored as it is", plain)
		}
	}
	stolen := s.TOTPs[0]
	stolen.User, stolen.LastStep = w.ben.ID, 0
	w.ok(w.store.TOTPs().Set(t.Context(), &stolen))
	if _, err := w.VerifySecondFactor(t.Context(), w.ben.UUID, w.code(secret, 0)); err == nil || strings.Contains(fault(err), secret) || !strings.HasPrefix(fault(err), "failure") {
		t.Errorf("VerifySecondFactor with the secret of another user = %v", err)
	}
}

// A setup is good for ten minutes and five wrong tokens (management.md §5.3).
func TestSetupExpires(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	start := func() string { return must(w.StartTwoFactor(ctx, w.as(w.ada), "@me"))(t).Secret }
	confirm := func(code any) string { return fault(w.ConfirmTwoFactor(ctx, w.as(w.ada), "@me", tokenFor(code))) }
	const (
		expired = "invalid setup_expired"
		wrong   = "invalid token_invalid"
	)
	secret := start()
	w.clock.advance(10 * time.Minute)
	if got := confirm(w.code(secret, 0)); got != expired {
		t.Errorf("after ten minutes: %s, want %s", got, expired)
	}
	if s := w.state(); s.Pending != nil {
		t.Errorf("left is %v", s.Pending)
	}
	secret = start()
	w.clock.advance(10*time.Minute - time.Microsecond)
	if got := confirm(w.code(secret, 0)); got != "" {
		t.Errorf("before ten minutes: %s", got)
	}

	secret = start()
	for range 4 {
		if got := confirm(w.code(secret, 9)); got != wrong {
			t.Errorf("wrong token: %s, want %s", got, wrong)
		}
	}
	if got := confirm(w.code(secret, 0)); got != "" {
		t.Errorf("the fifth token: %s", got)
	}
	secret = start()
	for range 5 {
		if got := confirm("x"); got != wrong {
			t.Errorf("wrong token: %s, want %s", got, wrong)
		}
	}
	if got := confirm(w.code(secret, 0)); got != expired {
		t.Errorf("the sixth token: %s, want %s", got, expired)
	}

	// Another setup replaces the first one.
	first := start()
	second := start()
	if got := confirm(w.code(first, 0)); got != wrong {
		t.Errorf("token of the first setup: %s, want %s", got, wrong)
	}
	if got := confirm(w.code(second, 0)); got != "" {
		t.Errorf("token of the second setup: %s", got)
	}
}

// Tokens may be strings or numbers, and zeros at the beginning get lost in
// numbers (management.md §5.3).
func TestTokenForms(t *testing.T) {
	w := newWorld(t)
	secret := must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t).Secret
	for !strings.HasPrefix(w.code(secret, 0), "0") {
		secret = must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t).Secret
	}
	code := w.code(secret, 0)
	n := must(strconv.Atoi(code))(t)
	pending := must(w.store.PendingTOTPs().Get(t.Context(), storage.PendingTOTPUser.Is(w.ada.ID)))(t)
	for _, tt := range []struct{ body, want string }{
		{fmt.Sprintf(`{"token":%q}`, code), ""},
		{fmt.Sprintf(`{"token":%d}`, n), ""},
		{fmt.Sprintf(`{"token":"%d"}`, n), ""},
		{fmt.Sprintf(`{"token":" %s %s "}`, code[:3], code[3:]), ""},
		{fmt.Sprintf(`{"token":%q,"ignored":true}`, code), ""},
		{`{}`, "invalid required token"},
		{`{"token":null}`, "invalid required token"},
		{`{"token":""}`, "invalid token_invalid"},
		{`{"token":"0` + code + `"}`, "invalid token_invalid"},
		{`{"token":"` + code + `0"}`, "invalid token_invalid"},
		{`{"token":"-` + code[1:] + `"}`, "invalid token_invalid"},
		{fmt.Sprintf(`{"token":-%d}`, n), "invalid token_invalid"},
		{fmt.Sprintf(`{"token":%d.0}`, n), "invalid token_invalid"},
		{`{"token":1e5}`, "invalid token_invalid"},
		{`{"token":true}`, "invalid token_invalid"},
		{`{"token":["` + code + `"]}`, "invalid token_invalid"},
		{`{"token":"abcdef"}`, "invalid token_invalid"},
		{`{"token":"１２３４５６"}`, "invalid token_invalid"},
	} {
		w.ok(w.store.PendingTOTPs().Set(t.Context(), pending))
		err := w.ConfirmTwoFactor(t.Context(), w.as(w.ada), "@me", decode[management.TwoFactorPatch](t, tt.body))
		checkFault(t, tt.body, err, tt.want)
		if tt.want == "invalid token_invalid" {
			if got := "management: Token is not valid"; err.Error() != got { // §5.3
				t.Errorf("%s: %v, want %s", tt.body, err, got)
			}
		}
	}
}

// A new authenticator replaces the old one, which works until then (management.md
// §5.2 and §5.3).
func TestReplaceAuthenticator(t *testing.T) {
	w := newWorld(t)
	old := w.enrol(w.ada)
	setup := must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t)
	if got := w.factor(w.ada, w.code(old, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor with the old one = %s", got)
	}
	w.ok(w.ConfirmTwoFactor(t.Context(), w.as(w.ada), "@me", tokenFor(w.code(setup.Secret, 0))))
	w.clock.advance(step(1))
	if got := w.factor(w.ada, w.code(old, 0)); got != "wrong" {
		t.Errorf("VerifySecondFactor with the old one = %s", got)
	}
	w.clock.advance(step(1))
	if got := w.factor(w.ada, w.code(setup.Secret, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor with the new one = %s", got)
	}
	if n := len(w.state().TOTPs); n != 1 {
		t.Errorf("%d authenticators, want 1", n)
	}
}

// A clock that is a step wrong is allowed for, and what was seen of it is
// remembered (management.md §5.1).
func TestDrift(t *testing.T) {
	for _, tt := range []struct {
		steps int
		want  string
	}{{-2, "invalid token_invalid"}, {-1, ""}, {0, ""}, {1, ""}, {2, "invalid token_invalid"}} {
		w := newWorld(t)
		secret := must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t).Secret
		checkFault(t, fmt.Sprint("ConfirmTwoFactor with drift ", tt.steps), w.ConfirmTwoFactor(t.Context(), w.as(w.ada), "@me", tokenFor(w.code(secret, tt.steps))), tt.want)
		if tt.want != "" {
			continue
		}
		if d := must(w.store.TOTPs().Get(t.Context(), storage.TOTPUser.Is(w.ada.ID)))(t); d.Drift != tt.steps {
			t.Errorf("drift %d, want %d", d.Drift, tt.steps)
		}
		for _, more := range []int{-2, 2, -1, 0, 1} { // from the clock of the authenticator
			want := "wrong"
			if more >= -1 && more <= 1 {
				want = "totp"
			}
			w.clock.advance(5 * time.Minute)
			if got := w.factor(w.ada, w.code(secret, tt.steps+more)); got != want {
				t.Errorf("VerifySecondFactor with drift %d after %d = %s, want %s", tt.steps+more, tt.steps, got, want)
			}
			after := must(w.store.TOTPs().Get(t.Context(), storage.TOTPUser.Is(w.ada.ID)))(t)
			if want == "totp" && after.Drift != tt.steps+more {
				t.Errorf("drift %d, want %d", after.Drift, tt.steps+more)
			}
			after.Drift = tt.steps
			w.ok(w.store.TOTPs().Set(t.Context(), after))
		}
	}
}

// A clock that is wrong by more each time is followed, but not for ever.
func TestDriftHasAnEnd(t *testing.T) {
	w := newWorld(t)
	secret := w.enrol(w.ada)
	for drift := 1; drift <= 20; drift++ {
		w.clock.advance(time.Hour)
		if got := w.factor(w.ada, w.code(secret, drift)); got != "totp" {
			if drift != 12 { // ten that are remembered, and one
				t.Errorf("the clock may be %d steps wrong, want 11", drift-1)
			}
			return
		}
	}
	t.Error("the clock may be 20 steps wrong")
}

// A code is good once, and not after a later one (management.md §5.1); that which
// enrolled the authenticator has been used.
func TestReplay(t *testing.T) {
	w := newWorld(t, alter(unlimited()))
	secret := must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t).Secret
	w.ok(w.ConfirmTwoFactor(t.Context(), w.as(w.ada), "@me", tokenFor(w.code(secret, 0))))
	for _, tt := range []struct {
		name  string
		steps int
		want  string
	}{
		{"the code that enrolled", 0, "wrong"},
		{"the one before", -1, "wrong"},
		{"the next one", 1, "totp"},
		{"the next one again", 1, "wrong"},
		{"an earlier one", 0, "wrong"},
	} {
		if got := w.factor(w.ada, w.code(secret, tt.steps)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		w.forgive(w.ada)
	}
}

// unlimited is for alter.
func unlimited() *altered {
	return &altered{throttle: func(storage.Store, context.Context, string, storage.Limit, time.Time) (time.Duration, error) {
		return 0, nil
	}}
}

// forgive forgets wrong codes.
func (w *world) forgive(u *storage.User) {
	w.t.Helper()
	d := must(w.store.TOTPs().Get(w.t.Context(), storage.TOTPUser.Is(u.ID)))(w.t)
	d.Failures, d.FailedAt = 0, nil
	w.ok(w.store.TOTPs().Set(w.t.Context(), d))
}

// After wrong codes the next one has to wait, 1, 2, 4 … seconds (management.md
// §5.7).
func TestBackOff(t *testing.T) {
	w := newWorld(t, alter(unlimited()))
	secret := w.enrol(w.ada)
	check := func(code, want string) {
		t.Helper()
		if got := w.factor(w.ada, code); got != want {
			t.Errorf("VerifySecondFactor = %s, want %s", got, want)
		}
	}
	const wait = "throttled 2fa_too_many_attempts"
	for n := range 6 {
		pause := time.Second << n
		check("000000", "wrong")
		_, err := w.VerifySecondFactor(t.Context(), w.ada.UUID, w.code(secret, 0))
		checkFault(t, "VerifySecondFactor at once", err, wait)
		if e, ok := err.(*management.Error); ok && e.RetryAfter != pause {
			t.Errorf("RetryAfter %s after %d failures, want %s", e.RetryAfter, n+1, pause)
		}
		w.clock.advance(pause - time.Microsecond)
		check(w.code(secret, 0), wait)
		w.clock.advance(time.Microsecond)
	}
	check(w.code(secret, 0), "totp") // success begins anew
	check("000000", "wrong")
	w.clock.advance(time.Second)
	check("zzzzzzzz", "wrong") // backup codes count as well
	w.clock.advance(time.Second)
	check("zzzzzzzz", wait)
}

// Six attempts in twenty minutes, right or wrong (management.md §5.7).
func TestSecondFactorsAreThrottled(t *testing.T) {
	w := newWorld(t)
	w.enrol(w.ada)
	codes := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	for i := range 6 {
		if got := w.factor(w.ada, codes[i]); got != "backup_code" {
			t.Errorf("VerifySecondFactor %d = %s", i, got)
		}
	}
	_, err := w.VerifySecondFactor(t.Context(), w.ada.UUID, codes[6])
	checkFault(t, "VerifySecondFactor", err, "throttled 2fa_too_many_attempts")
	if e, ok := err.(*management.Error); ok && e.RetryAfter != 200*time.Second {
		t.Errorf("RetryAfter %s, want 200s", e.RetryAfter)
	}
	w.clock.advance(200 * time.Second)
	if got := w.factor(w.ada, codes[6]); got != "backup_code" {
		t.Errorf("VerifySecondFactor later = %s", got)
	}
	_, err = w.VerifySecondFactor(t.Context(), uuid.New(), "123456")
	checkFault(t, "VerifySecondFactor of nobody", err, "not found not_found")
	_, err = w.VerifySecondFactor(t.Context(), w.old.UUID, "123456")
	checkFault(t, "VerifySecondFactor of who is not active", err, "not found not_found")
}

// Blanks, hyphens and capitals do not matter in backup codes (management.md §5.5).
func TestBackupCodeForms(t *testing.T) {
	w := newWorld(t, alter(unlimited()))
	w.enrol(w.ada)
	w.enrol(w.ben)
	codes := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	foreign := must(w.NewBackupCodes(t.Context(), w.as(w.ben), "@me"))(t)
	for _, tt := range []struct{ code, want string }{
		{codes[0], "backup_code"},
		{codes[0], "wrong"},
		{strings.ToUpper(codes[1]), "backup_code"},
		{codes[2][:4] + "-" + codes[2][4:], "backup_code"},
		{" " + codes[3][:2] + " " + codes[3][2:] + " ", "backup_code"},
		{foreign[0], "wrong"},
		{codes[4][:7], "wrong"},
		{codes[4] + "a", "wrong"},
		{"", "wrong"},
		{strings.Repeat("a", 1<<20), "wrong"},
		{codes[4], "backup_code"},
	} {
		if got := w.factor(w.ada, tt.code); got != tt.want {
			t.Errorf("VerifySecondFactor(%.20q) = %s, want %s", tt.code, got, tt.want)
		}
		w.clock.advance(time.Hour) // for the back-off
	}
}

// Of several who use one code at once, one gets in.
func TestCodesAtOnce(t *testing.T) {
	w := newWorld(t, alter(unlimited()))
	secret := w.enrol(w.ada)
	backup := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)[0]
	for _, code := range []string{backup, w.code(secret, 0)} {
		results := make(chan bool, 8)
		for range cap(results) {
			go func() {
				result, err := w.VerifySecondFactor(context.Background(), w.ada.UUID, code)
				results <- err == nil && result.OK
			}()
		}
		n := 0
		for range cap(results) {
			if <-results {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d have got in with one code, want 1", n)
		}
		w.forgive(w.ada)
	}
}

func TestHideBackupCodes(t *testing.T) { // management.md §5.4
	w := newWorld(t, func(c *management.Config) { c.HideBackupCodes = true })
	w.enrol(w.ada)
	codes := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, "[]", 10))
	for _, c := range w.state().Codes {
		if c.Sealed != nil {
			t.Errorf("stored %+v, want only a hash", c)
		}
	}
	if got := w.factor(w.ada, codes[0]); got != "backup_code" {
		t.Errorf("VerifySecondFactor = %s", got)
	}
	// Codes from then are not shown by a server that would show others.
	shows := w.another(func(*management.Config) {})
	shows.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, "[]", 9))
	// Nor are those shown that were made when they were.
	must(shows.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, "[]", 10))
}

// What was sealed with a key is read as long as it is among the SecretKeys.
func TestSecretKeysRotate(t *testing.T) {
	w := newWorld(t)
	secret := w.enrol(w.ada)
	codes := must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	unused := w.enrol(w.dov)
	pending := must(w.StartTwoFactor(t.Context(), w.as(w.ben), "@me"))(t).Secret

	rotated := w.another(func(c *management.Config) { c.SecretKeys = [][]byte{secretKey('b'), secretKey('a')} })
	if got := rotated.factor(w.ada, w.code(secret, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor = %s", got)
	}
	if got := rotated.factor(w.ada, codes[0]); got != "backup_code" {
		t.Errorf("VerifySecondFactor = %s", got)
	}
	rotated.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, encode(t, codes[1:]), 9))
	w.ok(rotated.ConfirmTwoFactor(t.Context(), w.as(w.ben), "@me", tokenFor(w.code(pending, 0))))
	// The new key seals what is new.
	fresh := rotated.enrol(w.cyd)
	only := w.another(func(c *management.Config) { c.SecretKeys = [][]byte{secretKey('b')} })
	if got := only.factor(w.cyd, w.code(fresh, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor with the new key only = %s", got)
	}

	// So does an authenticator's use.
	w.clock.advance(step(1))
	if got := only.factor(w.ada, w.code(secret, 0)); got != "totp" {
		t.Errorf("VerifySecondFactor with the new key only = %s", got)
	}

	// Without the old key, what only it has sealed is lost. That is a failure of
	// the server and nobody's wrong code; turning it off helps.
	before := w.state()
	if _, err := only.VerifySecondFactor(t.Context(), w.dov.UUID, w.code(unused, 0)); !strings.HasPrefix(fault(err), "failure: management: the secret of an authenticator cannot be read") {
		t.Errorf("VerifySecondFactor without the old key = %v", err)
	}
	w.checkUnchanged("VerifySecondFactor", before)
	w.ok(only.DisableTwoFactor(t.Context(), w.as(w.dov), "@me"))
	only.checkStatus(w.dov, w.dov, twoFactorOff)
}

// Without SecretKeys nothing can be set up, but what is there can be turned off.
func TestTwoFactorNotAvailable(t *testing.T) {
	w := newWorld(t)
	secret := w.enrol(w.ada)
	must(w.NewBackupCodes(t.Context(), w.as(w.ada), "@me"))(t)
	pending := must(w.StartTwoFactor(t.Context(), w.as(w.ben), "@me"))(t).Secret
	w = w.another(func(c *management.Config) { c.SecretKeys = nil })
	const unavailable = "invalid 2fa_not_available"
	_, err := w.StartTwoFactor(t.Context(), w.as(w.eve), "@me")
	checkFault(t, "StartTwoFactor", err, unavailable)
	checkFault(t, "ConfirmTwoFactor", w.ConfirmTwoFactor(t.Context(), w.as(w.ben), "@me", tokenFor(w.code(pending, 0))), unavailable)
	_, err = w.NewBackupCodes(t.Context(), w.as(w.ada), "@me")
	checkFault(t, "NewBackupCodes", err, unavailable)
	_, err = w.NewBackupCodes(t.Context(), w.as(w.eve), "@me")
	checkFault(t, "NewBackupCodes without two-factor authentication", err, "invalid 2fa_not_enabled")
	if got := w.factor(w.ada, w.code(secret, 0)); got != unavailable {
		t.Errorf("VerifySecondFactor = %s, want %s", got, unavailable)
	}
	w.checkStatus(w.ada, w.ada, fmt.Sprintf(twoFactorOn, "[]", 10))
	w.ok(w.DisableTwoFactor(t.Context(), w.as(w.ada), "@me"))
	w.checkStatus(w.ada, w.ada, twoFactorOff)
}

// Oathtool is an authenticator by somebody else. It knows the time only if it is
// told.
func TestOathtool(t *testing.T) {
	path, err := exec.LookPath("oathtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("oathtool is missing: apt-get install oathtool")
		}
		t.Skip("oathtool is missing")
	}
	w := newWorld(t)
	setup := must(w.StartTwoFactor(t.Context(), w.as(w.ada), "@me"))(t)
	shows := func() string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), path, "--totp", "--base32", "--now", w.clock.Now().Format("2006-01-02 15:04:05 UTC"), setup.Secret).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	w.ok(w.ConfirmTwoFactor(t.Context(), w.as(w.ada), "@me", tokenFor(shows())))
	if got := w.factor(w.ada, shows()); got != "wrong" {
		t.Errorf("VerifySecondFactor with the same code = %s", got)
	}
	w.clock.advance(step(1))
	if got := w.factor(w.ada, shows()); got != "totp" {
		t.Errorf("VerifySecondFactor = %s", got)
	}
}
