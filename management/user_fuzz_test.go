package management_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/management"
)

// A document that was decoded does not change with the memory that it came from.
func TestPatchKeepsNothing(t *testing.T) {
	body := []byte(`{"hedgehog_config":{"color":"green"},"first_name":["x"]}`)
	var patch management.UserPatch
	if err := json.Unmarshal(body, &patch); err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = '!'
	}
	w := newWorld(t)
	_, err := w.UpdateUser(t.Context(), w.as(w.ada), "@me", management.UserPatch{HedgehogConfig: patch.HedgehogConfig})
	checkFault(t, "UpdateUser", err, "")
	if got := string(w.view(w.ada).HedgehogConfig); got != `{"color":"green"}` {
		t.Errorf("hedgehog_config %s", got)
	}
}

// Whatever is in a request: it is refused with an Error, or it is stored and shown
// as JSON.
func FuzzUserPatch(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"first_name":"Zoë","last_name":null}`, `{"email":"a@b.example"}`, `{"email":"ben@example.com","theme_mode":"dark"}`,
		`{"notification_settings":{"plugin_disabled":false,"realtime_notifications_disabled":{"a":{"1":true}}}}`,
		`{"toolbar_mode":"","shortcut_position":null,"role_at_organization":"sales"}`, `{"anonymize_data":"yes","allow_impersonation":0}`,
		`{"set_current_team":1}`, `{"set_current_organization":"x","set_current_team":"2"}`, `{"is_staff":false}`,
		`{"events_column_config":[1,{"a":"\u0000"}],"hedgehog_config":{},"has_seen_product_intro_for":null}`,
		`{"password":"short","current_password":"x"}`, `{"passkeys_enabled_for_2fa":true}`, `{"first_name":"\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var patch management.UserPatch
		if json.Unmarshal(body, &patch) != nil {
			return // the server refuses it
		}
		w := newWorld(t)
		w.eve.Staff = true // and without a password, so that nothing is hashed to compare
		w.put(w.eve)
		view, err := w.UpdateUser(t.Context(), w.as(w.eve), "@me", patch)
		if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") {
			t.Fatalf("UpdateUser(%q) = %s", body, got)
		}
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Errorf("UpdateUser(%q) = %q, which is not UTF-8", body, err)
			}
			return
		}
		shown, err := json.Marshal(view)
		if err != nil || !utf8.Valid(shown) {
			t.Errorf("UpdateUser(%q) shows %q, %v", body, shown, err)
		}
	})
}

// Whatever somebody sends to have or to use a link, without an account: nothing fails, and
// nothing happens.
func FuzzLinks(f *testing.F) {
	for _, body := range []string{`{"email":"ada@example.com","password":"another-Horse-42-battery"}`, `{"email":" ","password":null}`, `{"email":[1],"password":{}}`, `{"email":"\ud800@\u0000"}`} {
		f.Add([]byte(body), "x")
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body []byte, token string) {
		var request management.PasswordResetRequest
		var chosen management.ChosenPassword
		if json.Unmarshal(body, &request) != nil || json.Unmarshal(body, &chosen) != nil {
			return // the server refuses it
		}
		for call, err := range map[string]error{
			"RequestPasswordReset": w.RequestPasswordReset(t.Context(), request),
			"ResetPassword":        w.ResetPassword(t.Context(), token, chosen),
			"CloseSession":         w.CloseSession(t.Context(), token),
		} {
			if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") || call == "ResetPassword" && err == nil {
				t.Fatalf("%s(%q, %q) = %s", call, body, token, got)
			}
		}
		if _, err := w.AuthenticateSession(t.Context(), token, management.Client{UserAgent: token}); !errors.Is(err, management.ErrUnauthenticated) {
			t.Fatalf("AuthenticateSession(%q) = %v", token, err)
		}
	})
}
