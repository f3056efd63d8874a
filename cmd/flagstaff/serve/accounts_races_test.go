package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// raceRows send several requests at the same moment (management.md §15.2, rules 9
// and 10): exactly one wins, and the others get an error.
var raceRows = []accountRow{
	{"race 1", "changes to one address", func(t *testing.T, s *site) {
		own := s.startWithoutMail(t)
		repeat(t, func(t *testing.T, n int) {
			email := fmt.Sprintf("contested-%d-%d@example.com", names.Add(1), n)
			var calls []func() (*answer, error)
			for range 4 {
				calls = append(calls, own.racer(t, own.account(t).key, "PATCH /api/users/@me/", members("email", email)))
			}
			race(t, calls, "200", map[string]int{"200": 1, "400 unique": 3})
		})
	}},
	{"rule 10", "users who verify one address", func(t *testing.T, s *site) {
		repeat(t, func(t *testing.T, n int) {
			email := fmt.Sprintf("contested-%d-%d@example.com", names.Add(1), n)
			var accounts []*account
			var calls []func() (*answer, error)
			for i := range 2 {
				a := s.account(t)
				s.as(a).patch(t, members("email", email)).ok(t)
				accounts = append(accounts, a)
				calls = append(calls, s.racer(t, "", "POST /api/users/verify_email/", s.verification(t, email, i+1)))
			}
			race(t, calls, "200", map[string]int{"200": 1, "400 email_taken": 1})
			owners := 0
			for _, a := range accounts {
				user := s.as(a).me(t)
				switch {
				case user["email"] == email && user["pending_email"] == nil:
					owners++
				case user["email"] != a.Email || user["pending_email"] != email:
					t.Errorf("the loser is %v", user)
				}
			}
			if owners != 1 {
				t.Errorf("%d users have the address", owners)
			}
		})
	}},
	{"rule 9", "one token", func(t *testing.T, s *site) {
		repeat(t, func(t *testing.T, _ int) {
			a := s.account(t)
			s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
			proof := s.verification(t, "new-"+a.Email, 1)
			race(t, slices.Repeat([]func() (*answer, error){s.racer(t, "", "POST /api/users/verify_email/", proof)}, 4), "200", map[string]int{"200": 1, "400 invalid_token": 3})
		})
	}},
	{"race 2", "one backup code", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-account-mutations", "stepup")
		repeat(t, func(t *testing.T, _ int) {
			a := own.account(t)
			device := own.as(a).enroll(t)
			code := own.as(a).backupCodes(t, "X-2FA-Token", device.code(t))[3]
			var calls []func() (*answer, error)
			for n := range 3 {
				calls = append(calls, own.racer(t, a.key, "PATCH /api/users/@me/", members("email", fmt.Sprintf("new%d-%s", n, a.Email)), "X-2FA-Token", code))
			}
			// A loser that is not the first has to wait, as after any wrong code.
			outcomes := race(t, calls, "200", nil)
			if refused := outcomes["403 sensitive_action_required_reauth"]; outcomes["200"] != 1 || refused+outcomes["429 2fa_too_many_attempts"] != 2 || refused == 0 {
				t.Errorf("outcomes %v", outcomes)
			}
			status := own.as(a).call(t, "GET /api/users/@me/two_factor_status/", "").ok(t)
			if left := texts(status["backup_codes"]); len(left) != 9 || slices.Contains(left, code) {
				t.Errorf("codes left: %q", left)
			}
		})
	}},
	{"race 3", "one code of an authenticator", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-account-mutations", "stepup")
		repeat(t, func(t *testing.T, _ int) {
			a := own.account(t)
			device := own.as(a).enroll(t)
			calls := slices.Repeat([]func() (*answer, error){
				own.racer(t, a.key, "POST /api/users/@me/two_factor_backup_codes/", "", "X-2FA-Token", device.code(t)),
			}, 3)
			outcomes := race(t, calls, "200", nil)
			if outcomes["200"] != 1 || outcomes["403 sensitive_action_required_reauth"]+outcomes["429 2fa_too_many_attempts"] != 2 {
				t.Errorf("outcomes %v", outcomes)
			}
		})
	}},
	{"race 4", "rolling one key", func(t *testing.T, s *site) {
		repeat(t, func(t *testing.T, _ int) {
			a := s.account(t)
			calls := slices.Repeat([]func() (*answer, error){s.racer(t, a.key, "POST /api/personal_api_keys/@current/roll/", "")}, 4)
			race(t, calls, "200", map[string]int{"200": 1, "401 authentication_failed": 3})
			s.as(a).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
		})
	}},
	{"race 5", "the tenth key", func(t *testing.T, s *site) {
		a := s.user(t, management.NewUser{})
		for range 8 {
			s.issue(t, a)
		}
		calls := slices.Repeat([]func() (*answer, error){s.racer(t, a.key, "POST /api/personal_api_keys/", `{"label":"x","scopes":["*"]}`)}, 4)
		race(t, calls, "201", map[string]int{"201": 1, "400 invalid_input": 3})
	}},
	{"race 6", "a token for an authenticator", func(t *testing.T, s *site) {
		repeat(t, func(t *testing.T, _ int) {
			a := s.account(t)
			calls := slices.Repeat([]func() (*answer, error){s.racer(t, a.key, "POST /api/users/@me/two_factor_validate/", setUp(t, s, a))}, 3)
			race(t, calls, "200", map[string]int{"200": 1, "400 setup_expired": 2})
		})
	}},
	{"race 7", "the last owner", func(t *testing.T, s *site) {
		repeat(t, func(t *testing.T, _ int) {
			a := s.account(t)
			b := s.member(t, a, storage.LevelOwner)
			var calls []func() (*answer, error)
			for _, u := range []*account{a, b} {
				calls = append(calls, s.racer(t, u.key, "DELETE /api/organizations/"+a.organization.ID.String()+"/members/@me/", ""))
			}
			race(t, calls, "204", map[string]int{"204": 1, "400 invalid_input": 1})
		})
	}},
}

// repeat runs a race a few times: which request is first is up to chance.
func repeat(t *testing.T, f func(t *testing.T, n int)) {
	t.Helper()
	for n := range 4 {
		f(t, n)
	}
}

// racer returns a request that is ready to be sent.
func (s *site) racer(t *testing.T, key, call, body string, header ...string) func() (*answer, error) {
	return func() (*answer, error) { return s.with(key).send(t.Context(), call, body, header...) }
}

// race sends requests at the same moment and returns how often each status and code
// of an error came. If want is nil, the losers may get any answer.
func race(t *testing.T, calls []func() (*answer, error), winner string, want map[string]int) map[string]int {
	t.Helper()
	var wg sync.WaitGroup
	gate := make(chan struct{})
	answers := make([]*answer, len(calls))
	for i, send := range calls {
		wg.Go(func() {
			<-gate
			a, err := send()
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	close(gate)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	outcomes := make(map[string]int)
	for _, a := range answers {
		a.check(t)
		outcome := fmt.Sprint(a.status)
		if a.status >= http.StatusBadRequest {
			outcome += fmt.Sprint(" ", object(t, []byte(a.body))["code"])
		}
		outcomes[outcome]++
	}
	if want != nil && !maps.Equal(want, outcomes) {
		t.Errorf("outcomes (-want +got):\n%s", gocmp.Diff(want, outcomes))
	}
	if outcomes[winner] != 1 {
		t.Errorf("%d requests have won", outcomes[winner])
	}
	return outcomes
}
