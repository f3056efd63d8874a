package management_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// In a day of mistakes and failures, nothing secret gets into the activity log,
// the log, an error, or what is shown of a user (management.md §15.2).
func TestSecretsStaySecret(t *testing.T) {
	broken := false
	w := newWorld(t, func(c *management.Config) { c.VerifyByCode, c.RevokeKeysOnPasswordChange = true, true }, alter(&altered{
		touchKey: func(storage.Store, context.Context, *storage.PersonalKey) error { return errBroken },
		addActivity: func(s storage.Store, ctx context.Context, entries ...*storage.Activity) error {
			if broken {
				return errBroken
			}
			return s.AddActivity(ctx, entries...)
		},
	}))
	ctx := t.Context()
	secrets := make(map[string]string) // what they are
	secret := func(what, value string) string {
		if len(value) < 5 {
			t.Fatalf("%s: %q cannot be looked for", what, value)
		}
		secrets[value] = what
		return value
	}
	var told strings.Builder // what anybody may see
	note := func(err error) {
		if err != nil {
			fmt.Fprintf(&told, "%v\n%+v\n%#v\n", err, err, err)
		}
	}
	show := func(v any) { told.WriteString(encode(t, v) + "\n") }
	ada := func() *management.Principal { return w.as(w.ada) }
	update := func(body string) {
		view, err := w.patch(ada(), "@me", body)
		note(err)
		if view != nil {
			show(view)
		}
		w.clock.advance(time.Minute)
	}

	// Passwords, in all the ways to get them wrong.
	secret("password", staple)
	for _, wrong := range []string{"hunter2-hunter2", "wrong-and-very-long" + strings.Repeat("x", 128), "ada-Ada-ada-1"} {
		secret("wrong password", wrong)
		update(passwords(wrong, secret("new password", "new-"+goodPassword)))
		update(passwords(staple, wrong))
		update(fmt.Sprintf(`{"current_password":%q,"theme_mode":"neon"}`, wrong))
		note(second(w.SignIn(ctx, w.ada.Email, wrong)))
		note(second(w.CreateUser(ctx, management.NewUser{Email: "fay@example.com", Password: wrong})))
	}
	update(`{"password":["` + secret("password in a list", "list-of-passwords") + `"]}`)
	update(passwords(staple, secret("password", goodPassword)))
	secret("password hash", w.now(w.ada).PasswordHash)
	secret("password hash", hashed())
	show(must(w.SignIn(ctx, w.ada.Email, goodPassword))(t).UUID)

	// Keys.
	key := must(w.newKey(ada(), `{"label":"ci","scopes":["*"]}`))(t)
	secret("key", *key.Value)
	secret("hash of a key", storage.HashKey(*key.Value))
	p, err := w.Authenticate(ctx, *key.Value, "the Authorization header")
	note(err)
	rolled := must(w.RollKey(ctx, p, "@current"))(t)
	secret("key", *rolled.Value)
	secret("hash of a key", storage.HashKey(*rolled.Value))
	note(second(w.RollKey(ctx, p, "@current")))
	note(second(w.Authenticate(ctx, *key.Value, "the query string")))
	note(second(w.Authenticate(ctx, secret("key that is none", "phx_"+strings.Repeat("q", 200)), "the request body")))
	note(second(w.newKey(w.key(w.ada, scopes("user:read")), `{"label":"x","scopes":["*"]}`)))
	show(must(w.Keys(ctx, ada()))(t))
	show(must(w.Key(ctx, ada(), key.ID))(t))
	issued := must(w.IssueKey(ctx, w.ada.Email, "cli"))(t)
	secret("key", *issued.Value)

	// Addresses.
	m := w.changeEmail(w.ada, "new@example.com")
	token, code := secret("token", tokenIn(t, m)), secret("code", codeIn(m))
	stored := must(w.store.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(w.ada.ID)))(t)
	secretBytes := func(what string, b []byte) {
		secret(what, string(b))
		secret(what, hex.EncodeToString(b))
		secret(what, base64.StdEncoding.EncodeToString(b))
		secret(what, strings.Trim(fmt.Sprint(b), "[]"))
	}
	secretBytes("hash of a token", stored.Hash)
	secretBytes("hash of a code", stored.CodeHash)
	note(w.verify(w.ben, "token", token))
	note(w.verify(w.ben, "code", code))
	note(w.verify(w.ada, "code", otherCode(m)))
	broken = true
	note(w.verify(w.ada, "token", token))
	broken = false
	note(w.verify(w.ada, "token", token))
	note(w.verify(w.ada, "token", token))
	w.outbox.refuse = func(context.Context, management.Message) error { return errBroken }
	update(`{"email":"newer@example.com"}`)
	w.mails()
	w.outbox.refuse = nil

	// Two-factor authentication.
	setup := must(w.StartTwoFactor(ctx, ada(), "@me"))(t)
	secret("authenticator", setup.Secret)
	secretBytes("sealed authenticator", must(w.store.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(w.ada.ID)))(t).Secret)
	note(w.ConfirmTwoFactor(ctx, ada(), "@me", tokenFor(w.code(setup.Secret, 7))))
	note(w.ConfirmTwoFactor(ctx, ada(), "@me", tokenFor(secret("code of the authenticator", w.code(setup.Secret, 0)))))
	codes := must(w.NewBackupCodes(ctx, ada(), "@me"))(t)
	for _, c := range codes {
		secret("backup code", c)
	}
	for _, c := range w.state().Codes {
		secretBytes("hash of a backup code", c.Hash)
		secretBytes("sealed backup code", c.Sealed)
	}
	for _, try := range []string{w.code(setup.Secret, 0), codes[0], codes[0], codes[1] + "x"} {
		note(second(w.VerifySecondFactor(ctx, w.ada.UUID, try)))
		w.clock.advance(time.Hour)
	}
	other := w.another(func(c *management.Config) {
		c.SecretKeys, c.Mutations = [][]byte{secretKey('z')}, management.MutationsStepUp
	})
	note(second(other.VerifySecondFactor(ctx, w.ada.UUID, w.code(setup.Secret, 0))))
	note(second(other.TwoFactorStatus(ctx, ada(), "@me")))
	stepped := w.key(w.ada)
	stepped.Proof = management.Proof{Password: "hunter2-hunter2", Code: codes[2] + "x"}
	note(other.DisableTwoFactor(ctx, stepped, "@me"))
	secret("secret key", string(secretKey('a')))
	secret("secret key", hex.EncodeToString(secretKey('a')))
	show(must(w.TwoFactorStatus(ctx, w.as(w.sam), w.ada.UUID.String()))(t))

	// Projects.
	made := must(w.newProject(`{"name":"New"}`))(t)
	secret("project secret key", *made.SecretToken)
	again := must(w.RotateSecretToken(ctx, ada(), "4"))(t)
	secret("project secret key", *again.SecretToken)
	secret("hash of a project secret key", storage.HashKey(*again.SecretToken))
	show(must(w.GetProject(ctx, ada(), "4"))(t))
	show(must(w.GetOrganization(ctx, ada(), "@current"))(t))
	show(w.view(w.ada))

	for _, a := range w.activities() {
		fmt.Fprintf(&told, "%+v\n%s\n", a, a.Detail)
	}
	told.WriteString(w.log.String())
	text := told.String()
	for _, expected := range []string{"incorrect_password", "was replaced", "cannot be read", "broken", "two_factor_enabled", "rolled", "not written"} {
		if !strings.Contains(text, expected) {
			t.Errorf("%q did not happen", expected)
		}
	}
	for value, what := range secrets {
		at := strings.Index(text, value)
		if strings.Trim(value, "0123456789") == "" { // or it is in some longer number, now and then
			at = -1
			if loc := regexp.MustCompile(`\b` + value + `\b`).FindStringIndex(text); loc != nil {
				at = loc[0]
			}
		}
		if at >= 0 {
			t.Errorf("a %s is in %q", what, text[max(0, at-100):min(len(text), at+len(value)+100)])
		}
	}
}
