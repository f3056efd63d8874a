package management_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// management.md §1.6: who may name whom.
func TestTarget(t *testing.T) {
	w := newWorld(t)
	compact := strings.ReplaceAll(w.ada.UUID.String(), "-", "")
	const (
		forbidden = "forbidden permission_denied"
		notFound  = "not found not_found"
	)
	for _, tt := range []struct {
		name, ref    string
		asAda, asSam string
	}{
		{"oneself as @me", "@me", "", ""},
		{"Ada", w.ada.UUID.String(), "", ""},
		{"Ada in capitals", strings.ToUpper(w.ada.UUID.String()), "", ""},
		{"somebody", w.ben.UUID.String(), forbidden, ""},
		{"somebody of the staff", w.sam.UUID.String(), forbidden, ""},
		{"somebody who is not active", w.old.UUID.String(), forbidden, notFound},
		{"nobody", uuid.NewString(), forbidden, notFound},
		{"no UUID", "nonsense", forbidden, notFound},
		{"an ID", "1", forbidden, notFound},
		{"nothing", "", forbidden, notFound},
		{"the nil UUID", uuid.Nil.String(), forbidden, notFound},
		{"other forms of Ada", "urn:uuid:" + w.ada.UUID.String(), forbidden, notFound},
		{"a form in braces", "{" + w.ada.UUID.String() + "}", forbidden, notFound},
		{"a form without hyphens", compact, forbidden, notFound},
		{"@me in capitals", "@ME", forbidden, notFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for who, want := range map[*storage.User]string{w.ada: tt.asAda, w.sam: tt.asSam} {
				p := w.as(who)
				_, err := w.User(t.Context(), p, tt.ref)
				checkFault(t, "User by "+who.FirstName, err, want)
				_, err = w.UpdateUser(t.Context(), p, tt.ref, management.UserPatch{})
				checkFault(t, "UpdateUser by "+who.FirstName, err, want)
				_, err = w.Hedgehog(t.Context(), p, tt.ref)
				checkFault(t, "Hedgehog by "+who.FirstName, err, want)
				_, err = w.SetHedgehog(t.Context(), p, tt.ref, json.RawMessage(`{}`))
				checkFault(t, "SetHedgehog by "+who.FirstName, err, want)
				_, err = w.TwoFactorStatus(t.Context(), p, tt.ref)
				checkFault(t, "TwoFactorStatus by "+who.FirstName, err, want)
				if want != "" {
					checkFault(t, "DeleteUser by "+who.FirstName, w.DeleteUser(t.Context(), p, tt.ref), want)
					_, err = w.SetScene(t.Context(), p, tt.ref, management.ScenePatch{Scene: optional.Of("x"), Dashboard: anyJSON(1)})
					checkFault(t, "SetScene by "+who.FirstName, err, want)
				}

				// Nobody has the authenticator of somebody else, so nobody can
				// set it up.
				if own := tt.ref == "@me" || strings.EqualFold(tt.ref, who.UUID.String()); !own && want == "" {
					want = forbidden
				} else if own {
					continue
				}
				_, err = w.StartTwoFactor(t.Context(), p, tt.ref)
				checkFault(t, "StartTwoFactor by "+who.FirstName, err, want)
				checkFault(t, "ConfirmTwoFactor by "+who.FirstName, w.ConfirmTwoFactor(t.Context(), p, tt.ref, tokenFor("123456")), want)
				_, err = w.NewBackupCodes(t.Context(), p, tt.ref)
				checkFault(t, "NewBackupCodes by "+who.FirstName, err, want)
				checkFault(t, "DisableTwoFactor by "+who.FirstName, w.DisableTwoFactor(t.Context(), p, tt.ref), want)
			}
		})
	}
}

// management.md §3.3: who sees whom.
func TestListUsers(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name          string
		who           *storage.User
		query         storage.UserFilter
		limit, offset int
		total         int
		want          string
	}{
		{"who is not staff sees themselves", w.ada, storage.UserFilter{}, 10, 0, 1, "Ada"},
		{"by their address", w.ada, storage.UserFilter{Email: new("ADA@example.com ")}, 10, 0, 1, "Ada"},
		{"by another address nobody", w.ada, storage.UserFilter{Email: new("ben@example.com")}, 10, 0, 0, ""},
		{"by an unknown address nobody", w.ada, storage.UserFilter{Email: new("x@example.com")}, 10, 0, 0, ""},
		{"not as staff", w.ada, storage.UserFilter{Staff: new(true)}, 10, 0, 0, ""},
		{"as no staff", w.ada, storage.UserFilter{Staff: new(false)}, 10, 0, 1, "Ada"},
		{"behind the end", w.ada, storage.UserFilter{}, 10, 1, 1, ""},

		{"the staff sees all who are active", w.sam, storage.UserFilter{}, 10, 0, 6, "Ada Ben Cyd Dov Sam Eve"},
		{"a page", w.sam, storage.UserFilter{}, 2, 1, 6, "Ben Cyd"},
		{"the last page", w.sam, storage.UserFilter{}, 4, 4, 6, "Sam Eve"},
		{"behind all pages", w.sam, storage.UserFilter{}, 4, 100, 6, ""},
		{"nothing of it", w.sam, storage.UserFilter{}, 0, 0, 6, ""},
		{"nonsense", w.sam, storage.UserFilter{}, -1, -1, 6, ""},
		{"an address", w.sam, storage.UserFilter{Email: new("ben@EXAMPLE.com")}, 10, 0, 1, "Ben"},
		{"the address of who is not active", w.sam, storage.UserFilter{Email: new("old@example.com")}, 10, 0, 0, ""},
		{"the staff", w.sam, storage.UserFilter{Staff: new(true)}, 10, 0, 1, "Sam"},
		{"all others", w.sam, storage.UserFilter{Staff: new(false)}, 3, 0, 5, "Ada Ben Cyd"},
		{"an address of the others", w.sam, storage.UserFilter{Staff: new(true), Email: new("ben@example.com")}, 10, 0, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := w.ListUsers(t.Context(), w.as(tt.who), tt.query, tt.limit, tt.offset)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, v := range page.Items {
				names = append(names, v.FirstName)
				if diff := cmp.Diff(must(w.User(t.Context(), w.as(tt.who), v.UUID.String()))(t), v); diff != "" {
					t.Errorf("User (-) and ListUsers (+)\n%s", diff)
				}
			}
			if got := strings.Join(names, " "); got != tt.want || page.Total != tt.total || page.Items == nil {
				t.Errorf("ListUsers = %q of %d (nil: %t), want %q of %d", got, page.Total, page.Items == nil, tt.want, tt.total)
			}
		})
	}
}

// membership_level is the caller's, whichever user is shown, so that it says
// nothing about others (management.md §8.1).
func TestMembershipLevel(t *testing.T) {
	w := newWorld(t)
	levels := func(v *management.UserView) string {
		text := func(level *int) string {
			if level == nil {
				return "none"
			}
			return strconv.Itoa(*level)
		}
		got := "in none"
		if v.Organization != nil {
			got = "in " + text(v.Organization.MembershipLevel)
			if teams := len(v.Organization.Teams); teams > 0 {
				got += fmt.Sprintf(" with %d teams", teams)
			}
		}
		for _, o := range v.Organizations {
			got += ", " + o.Name + " " + text(o.MembershipLevel)
		}
		return got
	}
	w.join(w.sam, w.umbra, storage.LevelMember, w.shop)
	for _, tt := range []struct{ who, of, want string }{
		{"ada", "@me", "in 15 with 2 teams, Acme 15"},
		{"cyd", "@me", "in 1 with 2 teams, Acme 1"},
		{"sam", "@me", "in 1 with 1 teams, Umbra 1"},
		{"sam", w.ada.UUID.String(), "in none, Acme none"},
		{"sam", w.dov.UUID.String(), "in 1 with 1 teams, Umbra 1"},
		{"eve", "@me", "in none"},
	} {
		u := must(w.store.Users().Get(t.Context(), storage.UserEmail.Is(tt.who+"@example.com")))(t)
		view, err := w.User(t.Context(), w.as(u), tt.of)
		if err != nil || levels(view) != tt.want {
			t.Errorf("%s sees %s: %s (%v), want %s", tt.who, tt.of, levels(view), err, tt.want)
		}
	}
}

// The whole of a user, in the order of management.md §8.1.
func TestUserView(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(time.Hour)
	logo, role := uuid.New(), uuid.New()
	w.acme.LogoMediaID, w.acme.DefaultRoleID, w.acme.NotActiveReason, w.acme.CustomerID = &logo, &role, new("none"), new("c1")
	w.ok(w.store.Organizations().Update(t.Context(), w.acme))
	_, err := w.patch(w.as(w.ada), "@me", `{"last_name":"Okafor","theme_mode":"system","has_seen_product_intro_for":{"feature_flags":true},`+
		`"anonymize_data":false,"role_at_organization":"engineering","email":"okafor@example.com"}`)
	checkFault(t, "UpdateUser", err, "")
	_, err = w.SetScene(t.Context(), w.as(w.ada), "@me", management.ScenePatch{Scene: optional.Of("Person"), Dashboard: anyJSON(42)})
	checkFault(t, "SetScene", err, "")
	w.enrol(w.ada)

	organization := `"id":"ACME","name":"Acme","slug":"acme","logo_media_id":"LOGO",`
	web := `{"id":1,"uuid":"WEB","organization":"ACME","project_id":1,"api_token":"PHC1","name":"Web","completed_snippet_onboarding":false,` +
		`"has_completed_onboarding_for":null,"ingested_event":false,"is_demo":false,"timezone":"UTC","access_control":false}`
	app := strings.NewReplacer(`"id":1`, `"id":2`, `"project_id":1`, `"project_id":2`, `"WEB"`, `"APP"`, "PHC1", "PHC2", `"Web"`, `"App"`).Replace(web)
	want := `{"date_joined":"2026-03-04T05:06:07Z","uuid":"ADA","distinct_id":"d-ada","first_name":"Ada","last_name":"Okafor",` +
		`"email":"ada@example.com","pending_email":"okafor@example.com","is_email_verified":null,"notification_settings":` + defaultNotifications +
		`,"anonymize_data":false,"allow_impersonation":null,"toolbar_mode":"toolbar","has_password":true,"id":1,"is_staff":false,` +
		`"is_impersonated":false,"is_impersonated_until":null,"is_impersonated_read_only":null,"sensitive_session_expires_at":null,` +
		`"team":` + web + `,"organization":{` + organization + `"created_at":"2026-03-04T05:06:07Z","updated_at":"2026-03-04T05:06:07Z",` +
		`"membership_level":15,"plugins_access_level":3,"teams":[` + web + `,` + app + `],` +
		`"projects":[{"id":1,"organization_id":"ACME","name":"Web"},{"id":2,"organization_id":"ACME","name":"App"}],` +
		`"available_product_features":[],"is_member_join_email_enabled":true,"metadata":"{\"instance_tag\":\"none\"}","customer_id":"c1",` +
		`"enforce_2fa":null,"members_can_invite":true,"members_can_use_personal_api_keys":true,"allow_publicly_shared_resources":true,` +
		`"member_count":"3","is_ai_data_processing_approved":null,"default_experiment_stats_method":"bayesian","default_anonymize_ips":false,` +
		`"default_role_id":"ROLE","is_active":true,"is_not_active_reason":"none"},` +
		`"organizations":[{` + organization + `"membership_level":15,"members_can_use_personal_api_keys":true,"is_active":true,` +
		`"is_not_active_reason":"none","is_pending_deletion":false}],"events_column_config":{"active":"DEFAULT"},"is_2fa_enabled":true,"has_social_auth":false,` +
		`"has_sso_enforcement":false,"has_seen_product_intro_for":{"feature_flags":true},` +
		`"scene_personalisation":[{"scene":"Person","dashboard":42}],"theme_mode":"system","hedgehog_config":null,` +
		`"allow_sidebar_suggestions":null,"shortcut_position":"above","role_at_organization":"engineering","passkeys_enabled_for_2fa":null}`
	names := strings.NewReplacer(
		w.ada.UUID.String(), "ADA", w.acme.ID.String(), "ACME", w.web.UUID.String(), "WEB", w.app.UUID.String(), "APP",
		w.web.APIKey, "PHC1", w.app.APIKey, "PHC2", logo.String(), "LOGO", role.String(), "ROLE",
	)
	if diff := cmp.Diff(want, names.Replace(encode(t, w.view(w.ada)))); diff != "" {
		t.Errorf("User (-want +got)\n%s", diff)
	}

	native := w.another(func(c *management.Config) { c.NativeTypes = true }) // management.md §8.3
	if got := encode(t, native.view(w.ada).Organization); !strings.Contains(got, `"member_count":3,`) || !strings.Contains(got, `"metadata":{"instance_tag":"none"},`) {
		t.Errorf("organization with native types: %s", got)
	}
}

// Who is not active does not count as a member, and organizations come in the
// order in which they were made.
func TestOrganizationsOfUser(t *testing.T) {
	w := newWorld(t)
	w.join(w.old, w.acme, storage.LevelMember, nil)
	early := storage.NewOrganization("Early")
	early.Created = begin.Add(-time.Hour)
	w.ok(w.store.Organizations().Create(t.Context(), early))
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	w.join(w.ada, early, storage.LevelMember, nil)
	view := w.view(w.ada)
	var names []string
	for _, o := range view.Organizations {
		names = append(names, o.Name)
	}
	if names[0] != "Early" || len(names) != 3 {
		t.Errorf("organizations %v, want Early and two others", names)
	}
	if got := string(view.Organization.MemberCount); got != `"3"` {
		t.Errorf("member_count %s, want \"3\"", got)
	}
}

func TestIsStaff(t *testing.T) { // management.md §4.5
	w := newWorld(t)
	view, err := w.patch(w.as(w.sam), w.ada.UUID.String(), `{"is_staff":true}`)
	checkFault(t, "give staff access", err, "")
	if !view.IsStaff || !w.now(w.ada).Staff {
		t.Error("Ada has no staff access")
	}
	w.checkMails("staff access", "staff_changed"+" to ada@example.com")

	_, err = w.patch(w.as(w.ada), w.sam.UUID.String(), `{"is_staff":"off"}`)
	checkFault(t, "take staff access away", err, "")
	w.checkMails("staff access", "staff_changed"+" to sam@example.com")
	_, err = w.patch(w.as(w.sam), "@me", `{"is_staff":true}`)
	checkFault(t, "take it back", err, "forbidden permission_denied")

	p, before := w.as(w.ada), w.state()
	_, err = w.patch(p, "@me", `{"is_staff":false,"first_name":"Zoë"}`)
	checkFault(t, "the last of the staff", err, "conflict conflict")
	w.checkUnchanged("UpdateUser", before)
	_, err = w.patch(p, "@me", `{"is_staff":true}`)
	checkFault(t, "no change", err, "")
	w.checkUnchanged("UpdateUser", before)
	w.checkMails("no change")

	// Others of the staff who are not active do not count.
	w.old.Staff = true
	w.put(w.old)
	_, err = w.patch(w.as(w.ada), "@me", `{"is_staff":false}`)
	checkFault(t, "the last of the active staff", err, "conflict conflict")
}

// Two of the staff who take it from each other leave one.
func TestLastStaffRace(t *testing.T) {
	w := newWorld(t)
	w.ada.Staff = true
	w.put(w.ada)
	sam, ada := w.as(w.sam), w.as(w.ada)
	faults := make(chan string, 2)
	for p, other := range map[*management.Principal]*storage.User{sam: w.ada, ada: w.sam} {
		go func() {
			_, err := w.UpdateUser(context.Background(), p, other.UUID.String(), management.UserPatch{IsStaff: optional.Of(false)})
			faults <- fault(err)
		}()
	}
	first, second := <-faults, <-faults
	if first+second != "conflict conflict" {
		t.Errorf("answers %q and %q, want a conflict for one", first, second)
	}
	if w.now(w.ada).Staff == w.now(w.sam).Staff {
		t.Error("there is not one of the staff")
	}
}

func TestRuling48Hedgehog(t *testing.T) { // management.md §7.1
	w := newWorld(t)
	check := func(want string) {
		t.Helper()
		if got, err := w.Hedgehog(t.Context(), w.as(w.ada), "@me"); err != nil || string(got) != want {
			t.Errorf("Hedgehog = %.100s, %v; want %.100s", got, err, want)
		}
	}
	check("{}") // for new users
	for _, tt := range []struct{ doc, answer, want string }{
		{`{"version": 2, "actor_options":{"color":"green"}}`, `{"version":2,"actor_options":{"color":"green"}}`, ""},
		{`{"a":1}`, `{"a":1}`, ""}, // replaced, not merged
		{`{}`, `{}`, ""},
		{`null`, `{}`, ""},
		{``, "", "invalid required"},
		{`{"hedgehog_config":{"version":3}}`, `{"version":3}`, ""},
		{`{"hedgehog_config":{}}`, `{}`, ""},
		{`{"hedgehog_config":{"hedgehog_config":{}}}`, `{"hedgehog_config":{}}`, ""}, // one wrapping
		{`{"hedgehog_config":{},"version":4}`, `{"hedgehog_config":{},"version":4}`, ""},
		{`{"hedgehog_config":null}`, `{}`, ""},
		{`{"hedgehog_config":[]}`, "", "invalid invalid_input hedgehog_config"},
		{`{"hedgehog_config":"x"}`, "", "invalid invalid_input hedgehog_config"},
		{`{"hedgehog_config":{"a":` + document(16<<10) + `}}`, "", "invalid invalid_input hedgehog_config"},
		{`{"a":` + document(16<<10-6) + `}`, `{"a":` + document(16<<10-6) + `}`, ""},
		{`{"a":` + document(16<<10-5) + `}`, "", "invalid invalid_input"},
		{`{"a":` + nested(31) + `}`, `{"a":` + nested(31) + `}`, ""},
		{`{"a":` + nested(32) + `}`, "", "invalid invalid_input"},
		{`[]`, "", "invalid invalid_input"},
		{`"green"`, "", "invalid invalid_input"},
		{`7`, "", "invalid invalid_input"},
		{`true`, "", "invalid invalid_input"},
		{`{`, "", "invalid invalid_input"},
	} {
		got, err := w.SetHedgehog(t.Context(), w.as(w.ada), "@me", json.RawMessage(tt.doc))
		checkFault(t, fmt.Sprintf("SetHedgehog(%.50s)", tt.doc), err, tt.want)
		if err == nil {
			if string(got) != tt.answer {
				t.Errorf("SetHedgehog(%.50s) = %.100s, want %.100s", tt.doc, got, tt.answer)
			}
			check(tt.answer)
		}
	}
	// It is the field of the user.
	view, err := w.patch(w.as(w.ada), "@me", `{"hedgehog_config":{"b":2}}`)
	checkFault(t, "UpdateUser", err, "")
	check(string(view.HedgehogConfig))

	if _, err := w.SetHedgehog(t.Context(), w.as(w.sam), w.ada.UUID.String(), json.RawMessage(`{"c":3}`)); err != nil {
		t.Errorf("SetHedgehog by the staff = %v", err)
	}
	check(`{"c":3}`)
}

func TestScenes(t *testing.T) { // management.md §7.2
	w := newWorld(t, func(c *management.Config) {
		c.DashboardExists = func(_ context.Context, project, dashboard int64) (bool, error) {
			if dashboard == 500 {
				return false, errBroken
			}
			return dashboard/100 == project, nil
		}
	})
	for _, tt := range []struct{ name, body, want, shown string }{
		{"add", `{"scene":"Person","dashboard":101}`, "", "Person 101"},
		{"change", `{"scene":"Person","dashboard":102}`, "", "Person 102"},
		{"add another, by text", `{"scene":" Group ","dashboard":"103","user":9,"team":3}`, "", "Person 102, Group 103"},
		{"no dashboard", `{"scene":"Person"}`, "invalid invalid_input", ""},
		{"no scene", `{"dashboard":101}`, "invalid invalid_input", ""},
		{"nothing", `{}`, "invalid invalid_input", ""},
		{"scene null", `{"scene":null,"dashboard":101}`, "invalid invalid_input", ""},
		{"scene blank", `{"scene":" ","dashboard":101}`, "invalid blank scene", ""},
		{"scene of another type", `{"scene":[],"dashboard":101}`, "invalid invalid_input scene", ""},
		{"longest scene", `{"scene":"` + chars(200) + `","dashboard":101}`, "", "Person 102, Group 103, " + chars(200) + " 101"},
		{"too long scene", `{"scene":"` + chars(201) + `","dashboard":101}`, "invalid max_length scene", ""},
		{"dashboard of another type", `{"scene":"Person","dashboard":[1]}`, "invalid incorrect_type dashboard", ""},
		{"dashboard that is a fraction", `{"scene":"Person","dashboard":1.5}`, "invalid incorrect_type dashboard", ""},
		{"dashboard that is a word", `{"scene":"Person","dashboard":"main"}`, "invalid incorrect_type dashboard", ""},
		{"dashboard that is true", `{"scene":"Person","dashboard":true}`, "invalid incorrect_type dashboard", ""},
		{"unknown dashboard", `{"scene":"Person","dashboard":201}`, "invalid does_not_exist dashboard", ""},
		{"hook fails", `{"scene":"Person","dashboard":500}`, "failure: broken", ""},
		{"remove", `{"scene":"Person","dashboard":null}`, "", "Group 103, " + chars(200) + " 101"},
		{"remove what is not there", `{"scene":"Person","dashboard":null}`, "", "Group 103, " + chars(200) + " 101"},
	} {
		p, before := w.as(w.ada), w.state()
		view, err := w.SetScene(t.Context(), p, "@me", decode[management.ScenePatch](t, tt.body))
		checkFault(t, tt.name, err, tt.want)
		if err != nil {
			w.checkUnchanged(tt.name, before)
			continue
		}
		var shown []string
		for _, s := range view.ScenePersonalisation {
			shown = append(shown, fmt.Sprint(s.Scene, " ", s.Dashboard))
		}
		if got := strings.Join(shown, ", "); got != tt.shown {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.shown)
		}
	}
	// All rows are shown, also rows of other projects.
	_, err := w.patch(w.as(w.ada), "@me", `{"set_current_team":2}`)
	checkFault(t, "UpdateUser", err, "")
	view, err := w.SetScene(t.Context(), w.as(w.ada), "@me", decode[management.ScenePatch](t, `{"scene":"Group","dashboard":201}`))
	if err != nil || len(view.ScenePersonalisation) != 3 {
		t.Errorf("scenes %v, %v; want 3", view.ScenePersonalisation, err)
	}
	_, err = w.SetScene(t.Context(), w.as(w.eve), "@me", decode[management.ScenePatch](t, `{"scene":"Group","dashboard":1}`))
	checkFault(t, "without a current project", err, "invalid invalid_input")
}

// Without a hook all positive numbers of 32 bits are dashboards.
func TestDefaultDashboards(t *testing.T) {
	w := newWorld(t)
	for dashboard, want := range map[int64]string{
		1: "", 1<<31 - 1: "", 0: "invalid does_not_exist dashboard", -1: "invalid does_not_exist dashboard", 1 << 31: "invalid does_not_exist dashboard",
	} {
		_, err := w.SetScene(t.Context(), w.as(w.ada), "@me", management.ScenePatch{Scene: optional.Of("x"), Dashboard: anyJSON(dashboard)})
		checkFault(t, fmt.Sprint("SetScene with ", dashboard), err, want)
	}
}

// management.md §4.7: when users can be deleted, and what goes with them.
func TestRuling53DeleteUser(t *testing.T) {
	cascade := func(*management.Config) {}
	deleteEmpty := func(c *management.Config) { c.DeleteEmptyOrganizations = true }
	strict := func(c *management.Config) { c.DeleteStrict = true }
	for _, tt := range []struct {
		name          string
		configure     func(*management.Config)
		user          string
		prepare       func(w *world)
		want          string
		organizations int // that are left
	}{
		{"strict, a member", strict, "cyd", nil, "conflict conflict", 2},
		{"strict, no member", strict, "eve", nil, "", 2},
		{"cascade, a member", cascade, "cyd", nil, "", 2},
		{"cascade, no member", cascade, "eve", nil, "", 2},
		{"cascade, the only owner", cascade, "ada", nil, "conflict conflict", 2},
		{"cascade, one of two owners", cascade, "ada", func(w *world) { w.level(w.ben, storage.LevelOwner) }, "", 2},
		{"cascade, the only owner and member", cascade, "dov", nil, "conflict conflict", 2},
		{"cascade of empty organizations, the only owner", deleteEmpty, "ada", nil, "conflict conflict", 2},
		{"cascade of empty organizations", deleteEmpty, "dov", nil, "", 1},
		{"cascade of empty organizations, a member", deleteEmpty, "cyd", nil, "", 2},
		{"cascade, the only owner of one of two", cascade, "dov", func(w *world) {
			w.join(w.dov, w.acme, storage.LevelMember, nil)
			w.join(w.cyd, w.umbra, storage.LevelMember, nil)
		}, "conflict conflict", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := 0
			w := newWorld(t, tt.configure, func(c *management.Config) { c.Catalog = toldCatalog(func(int64) { told++ }) })
			if tt.prepare != nil {
				tt.prepare(w)
			}
			u := must(w.store.Users().Get(t.Context(), storage.UserEmail.Is(tt.user+"@example.com")))(t)
			w.enrol(u)
			must(w.NewBackupCodes(t.Context(), w.as(u), "@me"))(t)
			_, err := w.patch(w.as(u), "@me", `{"email":"new@example.com"}`)
			checkFault(t, "UpdateUser", err, "")
			if u.CurrentProject != nil {
				must(w.SetScene(t.Context(), w.as(u), "@me", management.ScenePatch{Scene: optional.Of("x"), Dashboard: anyJSON(1)}))(t)
			}
			value := *must(w.IssueKey(t.Context(), u.Email, "first"))(t).Value
			p := must(w.Authenticate(t.Context(), value, "the Authorization header"))(t)
			before := w.state()

			checkFault(t, "DeleteUser", w.DeleteUser(t.Context(), p, "@me"), tt.want)
			if tt.want != "" {
				w.checkUnchanged("DeleteUser", before)
				return
			}
			after := w.state()
			if n := len(after.Organizations); n != tt.organizations {
				t.Errorf("%d organizations are left, want %d", n, tt.organizations)
			}
			if want := 2 - tt.organizations; told != want {
				t.Errorf("the Catalog is told %d times, want %d", told, want)
			}
			if after.Scenes != nil || after.Keys != nil || after.TOTPs != nil || after.Codes != nil || after.Tokens != nil {
				t.Errorf("something is left: %+v", after)
			}
			for _, m := range after.Memberships {
				if m.User == u.ID {
					t.Errorf("membership %+v is left", m)
				}
			}
			for _, a := range after.Activities {
				if a.User != nil && *a.User == u.ID {
					t.Errorf("activity %+v names the user", a)
				}
			}
			_, err = w.Authenticate(t.Context(), value, "the Authorization header")
			checkFault(t, "Authenticate", err, "unauthenticated authentication_failed")
			checkFault(t, "DeleteUser again", w.DeleteUser(t.Context(), p, "@me"), "not found not_found")
			// The address is free.
			_, err = w.CreateUser(t.Context(), management.NewUser{Email: u.Email})
			checkFault(t, "CreateUser", err, "")
		})
	}
}

// The answer names the organization, and a server keeps a user (management.md §4.7).
func TestRuling53LastUser(t *testing.T) {
	w := newWorld(t)
	err := w.DeleteUser(t.Context(), w.as(w.dov), "@me")
	if checkFault(t, "DeleteUser", err, "conflict conflict"); !strings.Contains(err.Error(), `"Umbra"`) {
		t.Errorf("%v, want it to name the organization", err)
	}
	before := w.state()
	err = w.DeleteUser(t.Context(), w.as(w.sam), "@me")
	if checkFault(t, "DeleteUser of the last staff user", err, "conflict conflict"); !strings.Contains(err.Error(), "make another user staff first") {
		t.Errorf("%v, want it to say what to do", err)
	}
	w.checkUnchanged("DeleteUser", before)
	for _, u := range []*storage.User{w.ada, w.ben, w.cyd, w.dov, w.sam} {
		u.Active = false
		w.put(u)
	}
	before = w.state()
	checkFault(t, "DeleteUser of the last one", w.DeleteUser(t.Context(), w.as(w.eve), "@me"), "conflict conflict")
	w.checkUnchanged("DeleteUser", before)
}

func TestDeleteAnother(t *testing.T) {
	w := newWorld(t)
	checkFault(t, "by a colleague", w.DeleteUser(t.Context(), w.as(w.ada), w.cyd.UUID.String()), "forbidden permission_denied")
	checkFault(t, "by the staff", w.DeleteUser(t.Context(), w.as(w.sam), w.cyd.UUID.String()), "")
	if got := w.describe(&w.activities()[0]); got != "User deleted by sam in Acme" {
		t.Errorf("activity %s", got)
	}
	w.ben.Staff = true
	w.put(w.ben)
	checkFault(t, "one of two of the staff", w.DeleteUser(t.Context(), w.as(w.ben), w.sam.UUID.String()), "")
}
