package management_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// chars returns a string of n characters.
func chars(n int) string { return strings.Repeat("ä", n) }

// nested returns a JSON document of a depth.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// document returns a JSON string of n bytes.
func document(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

// management.md §4.1: what each field takes, and how it is shown then.
func TestPatchAccepts(t *testing.T) {
	for _, tt := range []struct {
		name, body  string
		field, want string // of the view
	}{
		{"name", `{"first_name":"Zoë"}`, "first_name", `"Zoë"`},
		{"name, trimmed", `{"first_name":"\t Zoë  Ann \n"}`, "first_name", `"Zoë  Ann"`},
		{"no name", `{"first_name":""}`, "first_name", `""`},
		{"blank name", `{"first_name":"   "}`, "first_name", `""`},
		{"longest name", `{"first_name":"` + chars(150) + `"}`, "first_name", `"` + chars(150) + `"`},
		{"longest name and blanks", `{"last_name":" ` + chars(150) + ` "}`, "last_name", `"` + chars(150) + `"`},
		{"number for a string", `{"last_name":42}`, "last_name", `"42"`},
		{"name in another script", `{"last_name":"李小龍 بن سينا"}`, "last_name", `"李小龍 بن سينا"`},
		{"name with dots and hyphens", `{"last_name":"St. John-O'Neill Jr. & Co"}`, "last_name", `"St. John-O'Neill Jr. \u0026 Co"`},
		{"name stays decomposed", `{"last_name":"Zoe\u0308"}`, "last_name", "\"Zoe\u0308\""},

		{"anonymize_data", `{"anonymize_data":true}`, "anonymize_data", `true`},
		{"anonymize_data, null", `{"anonymize_data":null}`, "anonymize_data", `null`},
		{"allow_impersonation", `{"allow_impersonation":false}`, "allow_impersonation", `false`},
		{"allow_impersonation, null", `{"allow_impersonation":null}`, "allow_impersonation", `null`},
		{"allow_sidebar_suggestions", `{"allow_sidebar_suggestions":"on"}`, "allow_sidebar_suggestions", `true`},
		{"allow_sidebar_suggestions, null", `{"allow_sidebar_suggestions":null}`, "allow_sidebar_suggestions", `null`},
		{"passkeys_enabled_for_2fa, false", `{"passkeys_enabled_for_2fa":false}`, "passkeys_enabled_for_2fa", `false`},
		{"passkeys_enabled_for_2fa, null", `{"passkeys_enabled_for_2fa":null}`, "passkeys_enabled_for_2fa", `null`},

		{"toolbar_mode", `{"toolbar_mode":"disabled"}`, "toolbar_mode", `"disabled"`},
		{"toolbar_mode, null", `{"toolbar_mode":null}`, "toolbar_mode", `null`},
		{"toolbar_mode, empty", `{"toolbar_mode":""}`, "toolbar_mode", `""`},
		{"theme_mode light", `{"theme_mode":"light"}`, "theme_mode", `"light"`},
		{"theme_mode dark", `{"theme_mode":"dark"}`, "theme_mode", `"dark"`},
		{"theme_mode system", `{"theme_mode":"system"}`, "theme_mode", `"system"`},
		{"theme_mode, null", `{"theme_mode":null}`, "theme_mode", `null`},
		{"theme_mode, empty", `{"theme_mode":""}`, "theme_mode", `""`},
		{"shortcut_position", `{"shortcut_position":"hidden"}`, "shortcut_position", `"hidden"`},
		{"shortcut_position, null", `{"shortcut_position":null}`, "shortcut_position", `"above"`},
		{"shortcut_position, empty", `{"shortcut_position":""}`, "shortcut_position", `""`},
		{"role_at_organization", `{"role_at_organization":"leadership"}`, "role_at_organization", `"leadership"`},

		{"events_column_config", `{"events_column_config":{"active":["a"]}}`, "events_column_config", `{"active":["a"]}`},
		{"events_column_config, a list", `{"events_column_config":[1, 2]}`, "events_column_config", `[1,2]`},
		{"has_seen_product_intro_for", `{"has_seen_product_intro_for":{"feature_flags":true}}`, "has_seen_product_intro_for", `{"feature_flags":true}`},
		{"has_seen_product_intro_for, null", `{"has_seen_product_intro_for":null}`, "has_seen_product_intro_for", `null`},
		{"hedgehog_config", `{"hedgehog_config":{"color":"green"}}`, "hedgehog_config", `{"color":"green"}`},
		{"hedgehog_config, text", `{"hedgehog_config":"x"}`, "hedgehog_config", `"x"`},
		{"hedgehog_config, null", `{"hedgehog_config":null}`, "hedgehog_config", `null`},
		{"numbers as they are", `{"hedgehog_config":[1.50,1e400,123456789012345678901234567890]}`, "hedgehog_config", `[1.50,1e400,123456789012345678901234567890]`},
		{"largest document", `{"hedgehog_config":` + document(64<<10) + `}`, "hedgehog_config", document(64 << 10)},
		{"largest document, but for blanks", `{"hedgehog_config":[   ` + document(64<<10-2) + `   ]}`, "hedgehog_config", `[` + document(64<<10-2) + `]`},
		{"deepest document", `{"events_column_config":` + nested(32) + `}`, "events_column_config", nested(32)},
		{"brackets in strings", `{"hedgehog_config":"` + strings.Repeat(`\"[{`, 40) + `"}`, "hedgehog_config", `"` + strings.Repeat(`\"[{`, 40) + `"`},

		{"nothing", `{}`, "first_name", `"Ada"`},
		{"the last of equal members", `{"first_name":"A","first_name":"B"}`, "first_name", `"B"`},
		{"the last of equal members, of which one is wrong", `{"first_name":["A"],"first_name":"B"}`, "first_name", `"B"`},
		{"current_password alone", `{"current_password":"wrong"}`, "first_name", `"Ada"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			view, err := w.patch(w.as(w.ada), "@me", tt.body)
			if err != nil {
				t.Fatalf("UpdateUser(%.100s) = %v", tt.body, err)
			}
			got := decode[map[string]json.RawMessage](t, encode(t, view))[tt.field]
			if string(got) != tt.want {
				t.Errorf("UpdateUser(%.100s) shows %s %.200s, want %.200s", tt.body, tt.field, got, tt.want)
			}
			if diff := cmp.Diff(view, w.view(w.ada)); diff != "" {
				t.Errorf("answer (-) and what is stored (+)\n%s", diff)
			}
		})
	}
}

// management.md §2.2 and §4.1: what each field refuses.
func TestPatchRefuses(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"name, null", `{"first_name":null}`, "invalid null first_name"},
		{"name, a boolean", `{"first_name":true}`, "invalid invalid_input first_name"},
		{"name, an object", `{"last_name":{"a":1}}`, "invalid invalid_input last_name"},
		{"name, a list", `{"last_name":["a"]}`, "invalid invalid_input last_name"},
		{"name, too long", `{"first_name":"` + chars(151) + `"}`, "invalid max_length first_name"},
		{"name, NUL", `{"first_name":"a\u0000b"}`, "invalid null_characters_not_allowed first_name"},
		{"name, line break", `{"first_name":"a\nb"}`, "invalid invalid_control_char first_name"},
		{"name, control character", `{"first_name":"a\u001bb"}`, "invalid invalid_control_char first_name"},
		{"name, next line", `{"first_name":"a\u0085b"}`, "invalid invalid_control_char first_name"},
		{"name, line separator", `{"first_name":"a\u2028b"}`, "invalid invalid_control_char first_name"},
		{"name, bracket", `{"first_name":"<b>"}`, "invalid invalid_bracket first_name"},
		{"name, wide bracket", `{"first_name":"a＜b"}`, "invalid invalid_bracket first_name"}, // NFKC
		{"name, zero-width space", `{"first_name":"a\u200bb"}`, "invalid invalid_invisible_char first_name"},
		{"name, bidi override", `{"first_name":"a\u202eb"}`, "invalid invalid_invisible_char first_name"},
		{"name, byte order mark", `{"first_name":"a\ufeffb"}`, "invalid invalid_invisible_char first_name"},
		{"name, soft hyphen", `{"first_name":"a\u00adb"}`, "invalid invalid_invisible_char first_name"},
		{"name, filler", `{"first_name":"a\u3164b"}`, "invalid invalid_invisible_char first_name"},
		{"name, URL", `{"first_name":"see http://evil.example"}`, "invalid invalid_url first_name"},
		{"name, any scheme", `{"first_name":"ftp://x"}`, "invalid invalid_url first_name"},
		{"name, www", `{"first_name":"www.evil"}`, "invalid invalid_url first_name"},
		{"name, page", `{"last_name":"evil.com/x"}`, "invalid invalid_url last_name"},
		{"name, wide page", `{"last_name":"ｅｖｉｌ．ｃｏｍ／"}`, "invalid invalid_url last_name"}, // NFKC
		{"name, page with an ideographic stop", `{"last_name":"evil。com/"}`, "invalid invalid_url last_name"},
		{"name, page of more labels", `{"last_name":"click a.b.evil.CO/ now"}`, "invalid invalid_url last_name"},
		{"name, joiner in front", `{"first_name":"\u200da"}`, "invalid invalid_invisible_char first_name"},
		{"name, two joiners", `{"first_name":"a\u200c\u200cb"}`, "invalid invalid_invisible_char first_name"},
		{"name, mark of direction", `{"first_name":"a\u200fb"}`, "invalid invalid_invisible_char first_name"},

		{"email, null", `{"email":null}`, "invalid null email"},
		{"email, a boolean", `{"email":false}`, "invalid invalid_input email"},
		{"email, empty", `{"email":""}`, "invalid blank email"},
		{"email, blank", `{"email":"  "}`, "invalid blank email"},
		{"email, too long", `{"email":"` + strings.Repeat("x", 250) + `@a.example"}`, "invalid max_length email"},
		{"email, a number", `{"email":7}`, "invalid invalid_input email"},
		{"email, taken", `{"email":"ben@example.com"}`, "invalid unique email"},
		{"email, taken in capitals", `{"email":" BEN@Example.COM "}`, "invalid unique email"},
		{"email, taken by an inactive account", `{"email":"old@example.com"}`, "invalid unique email"},

		{"notification_settings, null", `{"notification_settings":null}`, "invalid null notification_settings"},
		{"notification_settings, a list", `{"notification_settings":[]}`, "invalid not_a_dict notification_settings"},

		{"anonymize_data, text", `{"anonymize_data":"maybe"}`, "invalid invalid_input anonymize_data"},
		{"anonymize_data, another number", `{"anonymize_data":2}`, "invalid invalid_input anonymize_data"},
		{"allow_impersonation, an object", `{"allow_impersonation":{}}`, "invalid invalid_input allow_impersonation"},
		{"allow_sidebar_suggestions, empty", `{"allow_sidebar_suggestions":""}`, "invalid invalid_input allow_sidebar_suggestions"},
		{"passkeys_enabled_for_2fa, without passkeys", `{"passkeys_enabled_for_2fa":true}`, "invalid no_passkeys passkeys_enabled_for_2fa"},
		{"passkeys_enabled_for_2fa, a list", `{"passkeys_enabled_for_2fa":[true]}`, "invalid invalid_input passkeys_enabled_for_2fa"},

		{"toolbar_mode, another value", `{"toolbar_mode":"side"}`, "invalid invalid_choice toolbar_mode"},
		{"toolbar_mode, a boolean", `{"toolbar_mode":true}`, "invalid invalid_choice toolbar_mode"},
		{"theme_mode, another value", `{"theme_mode":"neon"}`, "invalid invalid_choice theme_mode"}, // §4.8
		{"theme_mode, capitals", `{"theme_mode":"Dark"}`, "invalid invalid_choice theme_mode"},
		{"theme_mode, blanks", `{"theme_mode":" dark "}`, "invalid invalid_choice theme_mode"},
		{"shortcut_position, a number", `{"shortcut_position":1}`, "invalid invalid_choice shortcut_position"},
		{"role_at_organization, another value", `{"role_at_organization":"boss"}`, "invalid invalid_choice role_at_organization"},
		{"role_at_organization, null", `{"role_at_organization":null}`, "invalid null role_at_organization"},
		{"role_at_organization, empty", `{"role_at_organization":""}`, "invalid invalid_choice role_at_organization"},

		{"is_staff", `{"is_staff":true}`, "forbidden permission_denied"},
		{"is_staff as it is", `{"is_staff":false}`, "forbidden permission_denied"},
		{"is_staff, null", `{"is_staff":null}`, "forbidden permission_denied"},
		{"is_staff and something wrong", `{"theme_mode":"neon","is_staff":"?"}`, "forbidden permission_denied"},

		{"set_current_organization, null", `{"set_current_organization":null}`, "invalid null set_current_organization"},
		{"set_current_team, null", `{"set_current_team":null}`, "invalid null set_current_team"},

		{"password, null", `{"password":null}`, "invalid null password"},
		{"password, empty", `{"password":""}`, "invalid blank password"},
		{"password, blank", `{"password":"          "}`, "invalid blank password"},
		{"password, too long", `{"password":"` + chars(129) + `"}`, "invalid max_length password"},
		{"password, a list", `{"password":[]}`, "invalid invalid_input password"},
		{"current_password, null", `{"current_password":null}`, "invalid null current_password"},
		{"current_password, an object", `{"current_password":{}}`, "invalid invalid_input current_password"},

		{"events_column_config, null", `{"events_column_config":null}`, "invalid null events_column_config"},
		{"events_column_config, too large", `{"events_column_config":` + document(64<<10+1) + `}`, "invalid invalid_input events_column_config"},
		{"has_seen_product_intro_for, too large", `{"has_seen_product_intro_for":` + document(64<<10+1) + `}`, "invalid invalid_input has_seen_product_intro_for"},
		{"hedgehog_config, too large", `{"hedgehog_config":` + document(64<<10+1) + `}`, "invalid invalid_input hedgehog_config"},
		{"events_column_config, too deep", `{"events_column_config":` + nested(33) + `}`, "invalid invalid_input events_column_config"},
		{"hedgehog_config, much too deep", `{"hedgehog_config":` + nested(5000) + `}`, "invalid invalid_input hedgehog_config"},
		{"notification_settings, too deep", `{"notification_settings":{"plugin_disabled":` + nested(40) + `}}`, "invalid invalid_input notification_settings"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p, before := w.as(w.ada), w.state()
			_, err := w.patch(p, "@me", tt.body)
			checkFault(t, "UpdateUser", err, tt.want)
			w.checkUnchanged("UpdateUser", before)
			w.checkMails("UpdateUser")
		})
	}
}

// The texts of management.md §2.3 that clients know.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ body, want string }{
		{`{"first_name":null}`, "This field may not be null."},
		{`{"email":""}`, "This field may not be blank."},
		{`{"first_name":[]}`, "Not a valid string."},
		{`{"first_name":"` + chars(151) + `"}`, "Ensure this field has no more than 150 characters."},
		{`{"email":"x"}`, "Enter a valid email address."},
		{`{"anonymize_data":"x"}`, "Must be a valid boolean."},
		{`{"theme_mode":"neon"}`, `"neon" is not a valid choice.`},
		{`{"notification_settings":"x"}`, `Expected a dictionary of items but got type "str".`},
		{`{"notification_settings":[]}`, `Expected a dictionary of items but got type "list".`},
		{`{"notification_settings":1}`, `Expected a dictionary of items but got type "int".`},
		{`{"notification_settings":1.5}`, `Expected a dictionary of items but got type "float".`},
		{`{"notification_settings":true}`, `Expected a dictionary of items but got type "bool".`},
		{`{"set_current_team":99}`, "Object with id=99 does not exist."},
		{`{"password":"2short","current_password":"` + staple + `"}`, "This password is too short. It must contain at least 8 characters."},
	} {
		p := w.as(w.ada)
		_, err := w.patch(p, "@me", tt.body)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("UpdateUser(%.60s) = %v, want %s", tt.body, err, tt.want)
		}
		w.clock.advance(step(1))
	}
	_, err := w.User(t.Context(), w.as(w.ada), "someone")
	if want := "management: You do not have permission to perform this action."; err == nil || err.Error() != want {
		t.Errorf("User(someone) = %v, want %s", err, want)
	}
}

// Of several mistakes the first field's is reported, in the order of management.md
// §4.1 and not in the order of the request.
func TestPatchReportsFirst(t *testing.T) {
	mistakes := []struct{ member, want string }{
		{`"first_name":null`, "invalid null first_name"},
		{`"last_name":null`, "invalid null last_name"},
		{`"email":"x"`, "invalid invalid_input email"},
		{`"notification_settings":1`, "invalid not_a_dict notification_settings"},
		{`"anonymize_data":"x"`, "invalid invalid_input anonymize_data"},
		{`"allow_impersonation":"x"`, "invalid invalid_input allow_impersonation"},
		{`"toolbar_mode":"x"`, "invalid invalid_choice toolbar_mode"},
		{`"is_staff":null`, "invalid null is_staff"},
		{`"set_current_organization":null`, "invalid null set_current_organization"},
		{`"set_current_team":null`, "invalid null set_current_team"},
		{`"password":""`, "invalid blank password"},
		{`"current_password":""`, "invalid blank current_password"},
		{`"events_column_config":null`, "invalid null events_column_config"},
		{`"has_seen_product_intro_for":` + nested(33), "invalid invalid_input has_seen_product_intro_for"},
		{`"theme_mode":"x"`, "invalid invalid_choice theme_mode"},
		{`"hedgehog_config":` + nested(33), "invalid invalid_input hedgehog_config"},
		{`"allow_sidebar_suggestions":"x"`, "invalid invalid_input allow_sidebar_suggestions"},
		{`"shortcut_position":"x"`, "invalid invalid_choice shortcut_position"},
		{`"role_at_organization":"x"`, "invalid invalid_choice role_at_organization"},
		{`"passkeys_enabled_for_2fa":true`, "invalid no_passkeys passkeys_enabled_for_2fa"},
	}
	w := newWorld(t)
	for i := range mistakes {
		var members []string
		for j := len(mistakes) - 1; j >= i; j-- {
			members = append(members, mistakes[j].member)
		}
		_, err := w.patch(w.as(w.sam), "@me", "{"+strings.Join(members, ",")+"}")
		checkFault(t, "UpdateUser", err, mistakes[i].want)
		w.clock.advance(step(1)) // attempts
	}
}

// What is not UTF-8 cannot come in a request, but from a host application, and no
// database takes it.
func TestPatchOfBytes(t *testing.T) {
	w := newWorld(t)
	raw := optional.Of(json.RawMessage("{\"a\":\"\xff\"}"))
	for _, tt := range []struct {
		want  string
		patch management.UserPatch
	}{
		{"invalid invalid_input first_name", management.UserPatch{FirstName: optional.Of("a\xff")}},
		{"invalid invalid_input email", management.UserPatch{Email: optional.Of("a\xff@b.example")}},
		{"invalid invalid_input password", management.UserPatch{Password: optional.Of("\xff" + goodPassword)}},
		{"invalid invalid_choice theme_mode", management.UserPatch{ThemeMode: optional.Of("\xff")}},
		{"invalid invalid_input events_column_config", management.UserPatch{EventsColumnConfig: raw}},
		{"invalid invalid_input hedgehog_config", management.UserPatch{HedgehogConfig: raw}},
		{"invalid invalid_input hedgehog_config", management.UserPatch{HedgehogConfig: optional.Of(json.RawMessage("{"))}},
		{"invalid invalid_input notification_settings", management.UserPatch{NotificationSettings: raw}},
		{"invalid does_not_exist set_current_team", management.UserPatch{SetCurrentTeam: raw}},
	} {
		_, err := w.UpdateUser(t.Context(), w.as(w.ada), "@me", tt.patch)
		checkFault(t, "UpdateUser", err, tt.want)
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("error %q", err)
		}
	}
}

// Members that cannot be written are ignored, whatever they are (management.md
// §4.1, §15.1 A23).
func TestPatchIgnores(t *testing.T) {
	w := newWorld(t)
	p, before := w.as(w.ada), w.state()
	_, err := w.patch(p, "@me", `{
		"id":99,"uuid":"x","distinct_id":[],"date_joined":1,"pending_email":"x@y.example","is_email_verified":true,
		"team":{"id":3},"organization":null,"organizations":[],"scene_personalisation":7,"has_password":false,
		"is_2fa_enabled":true,"has_social_auth":true,"nonsense":{"a":[]},"":0
	}`)
	checkFault(t, "UpdateUser", err, "")
	w.checkUnchanged("UpdateUser", before)
}

func TestLenientBooleans(t *testing.T) { // management.md §2.3
	w := newWorld(t)
	yes := []string{`true`, `1`, `"true"`, `"True"`, `"TRUE"`, `"t"`, `"T"`, `"y"`, `"Y"`, `"yes"`, `"Yes"`, `"YES"`, `"on"`, `"On"`, `"ON"`, `"1"`}
	no := []string{`false`, `0`, `"false"`, `"False"`, `"FALSE"`, `"f"`, `"F"`, `"n"`, `"N"`, `"no"`, `"No"`, `"NO"`, `"off"`, `"Off"`, `"OFF"`, `"0"`}
	for want, list := range map[bool][]string{true: yes, false: no} {
		for _, text := range list {
			view, err := w.patch(w.as(w.ada), "@me", `{"anonymize_data":`+text+`}`)
			if err != nil || view.AnonymizeData == nil || *view.AnonymizeData != want {
				t.Errorf("anonymize_data %s: %v, %v; want %t", text, view, err, want)
			}
		}
	}
	for _, text := range []string{`2`, `-1`, `1.5`, `10`, `"2"`, `""`, `" "`, `"tru"`, `"null"`, `"\"true\""`, `[]`, `{}`, `[true]`, `"truefalse"`} {
		_, err := w.patch(w.as(w.ada), "@me", `{"anonymize_data":`+text+`}`)
		checkFault(t, "anonymize_data "+text, err, "invalid invalid_input anonymize_data")
	}
}

func TestEmailSyntax(t *testing.T) {
	w := newWorld(t, func(c *management.Config) { c.Mailer = nil })
	for _, email := range []string{
		"a@b.example", "first.last+tag@sub.domain.example", "o'neil@example.com", "x_y-z@example.co.uk", "1@2.example",
		"root@localhost", "ü@xn--bcher-kva.example", "a@xn--bcher-kva.example", strings.Repeat("x", 64) + "@" + strings.Repeat("y", 63) + ".example",
	} {
		view, err := w.patch(w.as(w.ada), "@me", encode(t, map[string]string{"email": email}))
		if err != nil || view.Email != email {
			t.Errorf("UpdateUser to %s = %v", email, err)
		}
		w.clock.advance(step(1))
	}
	for _, email := range []string{
		"a", "a@", "@b.example", "a@b", "a@b..example", "a@.example", "a@-b.example", "a@b-.example", "a b@c.example", "a@b c.example",
		"a@b@c.example", "Ada <a@b.example>", "<a@b.example>", "a@b.example, c@d.example", `"a b"@c.example`, "a@[192.0.2.1]", "a@b.example(c)",
		".a@b.example", "a.@b.example", "a..b@c.example", "a@b.example\nBcc: c@d.example", "a\u200b@b.example", "a\u202e@b.example", "a\u0085@b.example",
		"a\u00a0b@c.example", "mailto:a@b.example", "a@" + strings.Repeat("y", 64) + ".example", "a@b.example.",
	} {
		_, err := w.patch(w.as(w.ada), "@me", encode(t, map[string]string{"email": email}))
		checkFault(t, "UpdateUser to "+email, err, "invalid invalid_input email")
		w.clock.advance(step(1))
	}
}

// A readCounter notes how a Store is asked for users and memberships.
type readCounter struct {
	storage.Store
	reads *[]string
}

func (s readCounter) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return s.Store.Atomic(ctx, func(store storage.Store) error { return f(readCounter{store, s.reads}) })
}

func (s readCounter) Users() storage.Table[storage.User] {
	return tapped[storage.User]{Table: s.Store.Users(), read: func(where []storage.Where[storage.User]) {
		*s.reads = append(*s.reads, "user by "+where[0].Field)
	}}
}

func (s readCounter) Memberships() storage.Table[storage.Membership] {
	return tapped[storage.Membership]{Table: s.Store.Memberships(), read: func([]storage.Where[storage.Membership]) {
		*s.reads = append(*s.reads, "memberships")
	}}
}

// A change reads the row of the user once, and memberships only for the answer and
// to switch.
func TestPatchReads(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"a name", `{"first_name":"Zoë"}`, []string{"user by uuid", "memberships"}},
		{"a switch to another project", `{"set_current_team":0}`, []string{"user by uuid", "memberships"}},
		{"a password", `{"current_password":"` + staple + `","first_name":"Zoë"}`, []string{"user by uuid", "user by uuid", "memberships"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var reads []string
			w := newWorld(t, func(c *management.Config) { c.Store = readCounter{c.Store, &reads} })
			var patch management.UserPatch
			if err := json.Unmarshal([]byte(tt.body), &patch); err != nil {
				t.Fatal(err)
			}
			_, _ = w.UpdateUser(t.Context(), &management.Principal{User: w.ada}, "@me", patch)
			if diff := cmp.Diff(tt.want, reads); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}
