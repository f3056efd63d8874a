package management_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const goodPassword = "purple-Walrus-71-teapot"

func passwords(current, new string) string {
	return fmt.Sprintf(`{"current_password":%q,"password":%q}`, current, new)
}

// management.md §4.4: the table of passwords.
func TestPassword(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"change", passwords(staple, goodPassword), ""},
		{"no current one", `{"password":"` + goodPassword + `"}`, "invalid required current_password"},
		{"wrong current one", passwords("wrong", goodPassword), "invalid incorrect_password current_password"},
		{"current one in capitals", passwords(strings.ToUpper(staple), goodPassword), "invalid incorrect_password current_password"},
		{"current one with a blank", passwords(staple+" ", goodPassword), "invalid incorrect_password current_password"},
		{"too short", passwords(staple, "aZ4-x7q"), "invalid invalid_input password"},
		{"too common", passwords(staple, "password123"), "invalid invalid_input password"},
		{"a sequence", passwords(staple, "abcdefghijkl"), "invalid invalid_input password"},
		{"the name", passwords(staple, "adaokafor-ada"), "invalid invalid_input password"},
		{"longest", passwords(staple, goodPassword+chars(128-len(goodPassword))), ""},
		{"not trimmed", passwords(staple, "  "+goodPassword+" "), ""},
		{"wrong current one is told before the policy", passwords("wrong", "x"), "invalid incorrect_password current_password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.ada.LastName = "Okafor"
			w.put(w.ada)
			p, before := w.as(w.ada), w.state()
			view, err := w.patch(p, "@me", tt.body)
			checkFault(t, "UpdateUser", err, tt.want)
			if err != nil {
				w.checkUnchanged("UpdateUser", before)
				return
			}
			changed := decode[struct{ Password string }](t, tt.body).Password
			if _, err := w.SignIn(t.Context(), w.ada.Email, changed); err != nil {
				t.Errorf("SignIn with the new password = %v", err)
			}
			_, err = w.SignIn(t.Context(), w.ada.Email, staple)
			checkFault(t, "SignIn with the old password", err, "unauthenticated invalid_credentials")
			w.checkMails("the password", "password_changed"+" to ada@example.com")
			if !view.HasPassword || strings.Contains(encode(t, view), changed) {
				t.Errorf("answer %+v", view)
			}
		})
	}
}

// Who has no password needs none to set one (management.md §4.4).
func TestFirstPassword(t *testing.T) {
	for _, hash := range []string{"", "!", "!unusable"} {
		w := newWorld(t)
		w.eve.PasswordHash = hash
		w.put(w.eve)
		if w.view(w.eve).HasPassword {
			t.Errorf("has_password with hash %q", hash)
		}
		_, err := w.patch(w.as(w.eve), "@me", `{"password":"`+goodPassword+`"}`)
		checkFault(t, "UpdateUser", err, "")
		if !w.view(w.eve).HasPassword {
			t.Error("has_password is false with a password")
		}
		_, err = w.patch(w.as(w.eve), "@me", `{"password":"`+goodPassword+`x"}`)
		checkFault(t, "UpdateUser again", err, "invalid required current_password")
	}
}

// The staff, too, needs the password that somebody has to change it.
func TestPasswordByStaff(t *testing.T) {
	w := newWorld(t)
	_, err := w.patch(w.as(w.sam), w.ada.UUID.String(), `{"password":"`+goodPassword+`"}`)
	checkFault(t, "UpdateUser", err, "invalid required current_password")
	_, err = w.patch(w.as(w.sam), w.ada.UUID.String(), `{"password":"`+goodPassword+`","current_password":"`+staple+`"}`)
	checkFault(t, "UpdateUser with the password", err, "")
	w.checkMails("the password", "password_changed"+" to ada@example.com")
}

// Five attempts a minute, then one each twelve seconds (management.md §2.6). What
// is refused is not even hashed.
func TestPasswordsAreThrottled(t *testing.T) {
	w := newWorld(t)
	try := func(body string) error {
		_, err := w.patch(w.as(w.ada), "@me", body)
		return err
	}
	for range 5 {
		n := hashing(func() {
			checkFault(t, "UpdateUser", try(passwords("wrong", goodPassword)), "invalid incorrect_password current_password")
		})
		if n != 1 {
			t.Errorf("%d passwords are hashed, want 1", n)
		}
	}
	for _, body := range []string{
		passwords(staple, goodPassword), passwords("wrong", "x"), `{"current_password":"x"}`, `{"current_password":null}`,
		`{"email":"x"}`, `{"email":"ada@example.com"}`, // addresses are guessed as well (§4.4)
	} {
		n := hashing(func() {
			err := try(body)
			checkFault(t, "UpdateUser "+body, err, "throttled throttled")
			want := &management.Error{
				Kind: management.ErrThrottled, Code: "throttled", RetryAfter: 12 * time.Second,
				Detail: "There were too many attempts. Try again in 12 seconds.",
			}
			if diff := cmp.Diff(error(want), err, equalKinds); diff != "" {
				t.Errorf("error (-want +got)\n%s", diff)
			}
		})
		if n != 0 {
			t.Errorf("%s: %d passwords are hashed, want 0", body, n)
		}
	}
	// What carries no password goes on, and so do others.
	checkFault(t, "UpdateUser without a password", try(`{"first_name":"Zoë"}`), "")
	_, err := w.patch(w.as(w.ben), "@me", passwords(staple, goodPassword))
	checkFault(t, "UpdateUser of somebody else", err, "")

	w.clock.advance(11 * time.Second)
	err = try(passwords(staple, goodPassword))
	if got := err.Error(); got != "management: There were too many attempts. Try again in 1 second." {
		t.Errorf("after 11 seconds: %s", got)
	}
	w.clock.advance(time.Second)
	checkFault(t, "UpdateUser after 12 seconds", try(passwords(staple, goodPassword)), "")
	checkFault(t, "UpdateUser again", try(passwords(goodPassword, staple)), "throttled throttled")
}

var equalKinds = cmp.Comparer(func(a, b error) bool {
	x, isX := a.(*management.Error)
	y, isY := b.(*management.Error)
	return isX && isY && reflect.DeepEqual(x, y)
})

// Without attempts to count there are none (management.md §2.6).
func TestThrottleFails(t *testing.T) {
	w := newWorld(t, alter(&altered{
		throttle: func(storage.Store, context.Context, string, storage.Limit, time.Time) (time.Duration, error) {
			return 0, errBroken
		},
	}))
	n := hashing(func() {
		_, err := w.patch(w.as(w.ada), "@me", passwords(staple, goodPassword))
		checkFault(t, "UpdateUser", err, "failure: management: count an attempt: broken")
		_, err = w.SignIn(t.Context(), w.ada.Email, staple)
		checkFault(t, "SignIn", err, "failure: management: count an attempt: broken")
		_, err = w.VerifySecondFactor(t.Context(), w.ada.UUID, "123456")
		checkFault(t, "VerifySecondFactor", err, "failure: management: count an attempt: broken")
	})
	if n != 0 {
		t.Errorf("%d passwords are hashed, want 0", n)
	}
}

// If two callers change a password with the old one at once, one succeeds: the
// caller that knows an old password cannot undo the change.
func TestPasswordRace(t *testing.T) {
	w := newWorld(t)
	const n = 4
	principals := make([]*management.Principal, n)
	for i := range principals {
		principals[i] = w.as(w.ada)
	}
	faults := make(chan string, n)
	for i, p := range principals {
		go func() {
			_, err := w.UpdateUser(context.Background(), p, "@me", management.UserPatch{
				CurrentPassword: optional.Of(staple), Password: optional.Of(fmt.Sprint(goodPassword, i)),
			})
			faults <- fault(err)
		}()
	}
	count := make(map[string]int)
	for range n {
		count[<-faults]++
	}
	if diff := cmp.Diff(map[string]int{"": 1, "invalid incorrect_password current_password": n - 1}, count); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
}

func TestRevokeKeysOnPasswordChange(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		w := newWorld(t, func(c *management.Config) { c.RevokeKeysOnPasswordChange = revoke })
		own, other, foreign := w.key(w.ada), w.key(w.ada, scopes("user:read")), w.key(w.ben)
		_, err := w.patch(own, "@me", passwords(staple, goodPassword))
		checkFault(t, "UpdateUser", err, "")
		var left []string
		for _, k := range w.state().Keys {
			left = append(left, k.ID)
		}
		want := []string{own.Key.ID, foreign.Key.ID}
		if !revoke {
			want = []string{own.Key.ID, other.Key.ID, foreign.Key.ID}
		}
		sorted := cmp.Transformer("Sort", sortedCopy)
		if diff := cmp.Diff(want, left, sorted); diff != "" {
			t.Errorf("keys with RevokeKeysOnPasswordChange %t (-want +got)\n%s", revoke, diff)
		}
		var log []string
		for _, a := range w.activities() {
			log = append(log, w.describe(&a))
		}
		wantLog := []string{"User updated by ada in Acme"}
		if revoke {
			wantLog = append(wantLog, "PersonalAPIKey deleted by ada in Acme")
		}
		if diff := cmp.Diff(wantLog, log); diff != "" {
			t.Errorf("activities (-want +got)\n%s", diff)
		}
	}
	// By the staff: all keys of the user, and none of the staff.
	w := newWorld(t, func(c *management.Config) { c.RevokeKeysOnPasswordChange = true })
	w.key(w.ada)
	staff := w.key(w.sam)
	_, err := w.patch(staff, w.ada.UUID.String(), `{"password":"`+goodPassword+`","current_password":"`+staple+`"}`)
	checkFault(t, "UpdateUser by the staff", err, "")
	if keys := w.state().Keys; len(keys) != 1 || keys[0].ID != staff.Key.ID {
		t.Errorf("keys %+v, want that of the staff", keys)
	}
}
