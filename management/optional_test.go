package management_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/management"
)

func TestOptional(t *testing.T) {
	type fields struct {
		S management.Optional[string]
		B management.Optional[bool]
		N management.Optional[int]
		R management.Optional[json.RawMessage]
	}
	raw := func(s string) management.Optional[json.RawMessage] { return management.Of(json.RawMessage(s)) }
	for _, tt := range []struct {
		body string
		want fields
	}{
		{`{}`, fields{}},
		{`{"S":"x","B":true,"N":7,"R":{"a": 1}}`, fields{management.Of("x"), management.Of(true), management.Of(7), raw(`{"a": 1}`)}},
		{`{"S":"","B":false,"N":0,"R":[]}`, fields{management.Of(""), management.Of(false), management.Of(0), raw(`[]`)}},
		{`{"S":null,"B":null,"N":null,"R":null}`, fields{
			management.Optional[string]{Set: true, Null: true},
			management.Optional[bool]{Set: true, Null: true},
			management.Optional[int]{Set: true, Null: true},
			management.Optional[json.RawMessage]{Set: true, Null: true},
		}},
		{`{"S":1,"S":null,"S":"last"}`, fields{S: management.Of("last")}},
		{`{"N":1,"N":"wrong","N":2}`, fields{N: management.Of(2)}},
		{`{"R":"x"}`, fields{R: raw(`"x"`)}},
	} {
		var got fields
		if err := json.Unmarshal([]byte(tt.body), &got); err != nil {
			t.Errorf("decode %s: %v", tt.body, err)
		}
		ignore := cmpopts.IgnoreUnexported(
			management.Optional[string]{}, management.Optional[bool]{}, management.Optional[int]{}, management.Optional[json.RawMessage]{})
		if diff := cmp.Diff(tt.want, got, ignore); diff != "" {
			t.Errorf("decode %s (-want +got)\n%s", tt.body, diff)
		}
	}
}

// A document that was decoded does not change with the memory that it came from.
func TestOptionalKeepsNothing(t *testing.T) {
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
