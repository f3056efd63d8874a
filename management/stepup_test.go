package management_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

func mutations(m management.Mutations) func(*management.Config) {
	return func(c *management.Config) { c.Mutations = m }
}

// management.md §1.8: no key may change an account, while users may.
func TestMutationsOff(t *testing.T) {
	for _, m := range methods() {
		if m.kind == ofNobody {
			continue
		}
		want := ""
		if m.step != 0 {
			want = "forbidden permission_denied"
		}
		c := m.callable(t, mutations(management.MutationsOff))
		checkFault(t, m.name+" without a key", m.call(c), "")
		c = m.callable(t, mutations(management.MutationsOff))
		c.p = c.world.key(c.ada)
		before := c.state()
		checkFault(t, m.name+" with a key", m.call(c), want)
		if m.step != 0 {
			c.checkUnchanged(m.name, before)
		}
	}
}

// management.md §1.8: a key needs the password or a code besides.
func TestStepUp(t *testing.T) {
	const refused = "forbidden sensitive_action_required_reauth"
	for _, m := range methods() {
		if m.kind == ofNobody {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t, mutations(management.MutationsStepUp))
			checkFault(t, m.name+" without a key", m.call(c), "")

			c = m.callable(t, mutations(management.MutationsStepUp))
			c.p = c.world.key(c.ada)
			before := c.state()
			switch err := m.call(c); {
			case m.step != withProof, m.name == "UpdateUser with a password": // has it in current_password
				checkFault(t, m.name+" without proof", err, "")
			default:
				checkFault(t, m.name+" without proof", err, refused)
				c.checkUnchanged(m.name, before)
			}

			c = m.callable(t, mutations(management.MutationsStepUp))
			c.p = c.world.key(c.ada)
			c.p.Proof.Password = staple
			checkFault(t, m.name+" with the password", m.call(c), "")
		})
	}
}

func TestProofs(t *testing.T) {
	const (
		accepted = ""
		refused  = "forbidden sensitive_action_required_reauth"
	)
	for _, tt := range []struct {
		name                string
		password, twoFactor bool // what the user has
		proof               func(w *world, secret string) management.Proof
		want                string
	}{
		{"nothing to present", false, false, func(*world, string) management.Proof { return management.Proof{} }, accepted},
		{"nothing presented", true, true, func(*world, string) management.Proof { return management.Proof{} }, refused},
		{"the password", true, false, func(*world, string) management.Proof { return management.Proof{Password: staple} }, accepted},
		{"another password", true, false, func(*world, string) management.Proof { return management.Proof{Password: staple + "!"} }, refused},
		{"a code without an authenticator", true, false, func(*world, string) management.Proof { return management.Proof{Code: "123456"} }, refused},
		{"the password for who has both", true, true, func(*world, string) management.Proof { return management.Proof{Password: staple} }, accepted},
		{"a password that there is not", false, true, func(*world, string) management.Proof { return management.Proof{Password: staple} }, refused},
		{"a code", true, true, func(w *world, secret string) management.Proof { return management.Proof{Code: w.code(secret, 1)} }, accepted},
		{"a code for who has no password", false, true, func(w *world, secret string) management.Proof {
			return management.Proof{Code: w.code(secret, 0)}
		}, accepted},
		{"the code that was used to enrol", true, true, func(w *world, secret string) management.Proof {
			return management.Proof{Code: w.code(secret, -1)}
		}, refused},
		{"a backup code", true, true, func(w *world, _ string) management.Proof {
			codes := must(w.NewBackupCodes(w.t.Context(), w.as(w.ada), "@me"))(w.t)
			return management.Proof{Code: codes[3]}
		}, accepted},
		{"a wrong code and the password", true, true, func(w *world, secret string) management.Proof {
			return management.Proof{Code: w.code(secret, 5), Password: staple}
		}, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, mutations(management.MutationsStepUp))
			if !tt.password {
				w.ada.PasswordHash = "!"
				w.put(w.ada)
			}
			secret := ""
			if tt.twoFactor {
				secret = w.enrol(w.ada)
			}
			p := w.key(w.ada)
			p.Proof = tt.proof(w, secret)
			_, err := w.CreateKey(t.Context(), p, management.KeyPatch{Label: optional.Of("ci"), Scopes: anyJSON([]string{"*"})})
			checkFault(t, "CreateKey", err, tt.want)
		})
	}
}

// Who has only the key cannot try passwords faster through one method than
// through another.
func TestStepUpIsThrottled(t *testing.T) {
	w := newWorld(t, mutations(management.MutationsStepUp))
	try := func(secret string) error {
		p := w.key(w.ada)
		p.Proof.Password = secret
		return w.DisableTwoFactor(t.Context(), p, "@me")
	}
	for range 5 {
		checkFault(t, "DisableTwoFactor", try("wrong"), "forbidden sensitive_action_required_reauth")
	}
	if n := hashing(func() { checkFault(t, "DisableTwoFactor", try(staple), "throttled throttled") }); n != 0 {
		t.Errorf("%d passwords are hashed, want 0", n)
	}
	p := w.key(w.ada)
	checkFault(t, "DeleteUser", w.DeleteUser(t.Context(), withPassword(p, staple), "@me"), "throttled throttled")
	w.clock.advance(12 * time.Second) // one of five a minute
	checkFault(t, "DisableTwoFactor", try(staple), "")
}

func withPassword(p *management.Principal, secret string) *management.Principal {
	p.Proof.Password = secret
	return p
}

// A request in which the password comes as current_password counts once.
func TestStepUpCountsOnce(t *testing.T) {
	w := newWorld(t, mutations(management.MutationsStepUp))
	for i := range 5 {
		_, err := w.patch(w.key(w.ada), "@me", `{"email":"ada`+string(rune('a'+i))+`@example.com","current_password":"`+staple+`"}`)
		checkFault(t, "UpdateUser", err, "")
	}
	_, err := w.patch(w.key(w.ada), "@me", `{"current_password":"`+staple+`"}`)
	checkFault(t, "UpdateUser", err, "throttled throttled")
}

// The proof is checked before anything is told about addresses of others
// (management.md §4.4).
func TestStepUpComesFirst(t *testing.T) {
	w := newWorld(t, mutations(management.MutationsStepUp))
	for _, email := range []string{"ben@example.com", "nonsense", "free@example.com"} {
		_, err := w.patch(w.key(w.ada), "@me", `{"email":"`+email+`"}`)
		checkFault(t, "UpdateUser to "+email, err, "forbidden sensitive_action_required_reauth")
	}
}
