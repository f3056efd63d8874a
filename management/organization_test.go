package management_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Who may do what in an organization and its projects: a member, an
// administrator, an owner, and somebody of another organization, with "." for
// what they may do, "f" for what they may not, and "n" for what does not exist
// for them.
func TestLevels(t *testing.T) {
	const who = "member administrator owner stranger staff"
	for _, tt := range []struct {
		name  string
		want  string
		first func(w *world)
		call  func(w *world, ctx context.Context, p *management.Principal, acme, web string) error
	}{
		{"GetOrganization", "...nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.GetOrganization(ctx, p, acme))
		}},
		{"UpdateOrganization", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.UpdateOrganization(ctx, p, acme, management.OrganizationPatch{Enforce2FA: optional.Of(true)}))
		}},
		{"DeleteOrganization", "ff.nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.DeleteOrganization(ctx, p, acme)
		}},
		{"ListMembers", "...nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.ListMembers(ctx, p, acme, 10, 0))
		}},
		{"AddMember", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return third(w.AddMember(ctx, p, acme, management.MemberPatch{Email: optional.Of("eve@example.com")}))
		}},
		{"AddMember as an administrator", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return third(w.AddMember(ctx, p, acme, management.MemberPatch{Email: optional.Of("eve@example.com"), Level: optional.Of(8)}))
		}},
		{"AddMember as an owner", "ff.nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return third(w.AddMember(ctx, p, acme, management.MemberPatch{Email: optional.Of("eve@example.com"), Level: optional.Of(15)}))
		}},
		{"Invite", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.Invite(ctx, p, acme, management.InvitationPatch{Email: optional.Of("eve@example.com")}))
		}},
		{"ListInvitations", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.ListInvitations(ctx, p, acme, 10, 0))
		}},
		{"WithdrawInvitation", "f..nn", func(w *world) { w.invite("fay@example.com", 1) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.WithdrawInvitation(ctx, p, acme, must(w.store.Invitations().List(ctx, storage.InvitationOrganization.Is(w.acme.ID)))(w.t)[0].ID.String())
		}},
		{"UpdateMember to administrator", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.UpdateMember(ctx, p, acme, w.cyd.UUID.String(), management.MemberPatch{Level: optional.Of(8)}))
		}},
		{"UpdateMember to owner", "ff.nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.UpdateMember(ctx, p, acme, w.cyd.UUID.String(), management.MemberPatch{Level: optional.Of(15)}))
		}},
		{"UpdateMember of an owner", "ff.nn", func(w *world) { w.join(w.eve, w.acme, 15, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.UpdateMember(ctx, p, acme, w.eve.UUID.String(), management.MemberPatch{Level: optional.Of(1)}))
		}},
		{"UpdateMember of oneself", "f..nn", func(w *world) { w.join(w.eve, w.acme, 15, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.UpdateMember(ctx, p, acme, "@me", management.MemberPatch{Level: optional.Of(1)}))
		}},
		{"RemoveMember", "f..nn", func(w *world) { w.join(w.eve, w.acme, 1, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.RemoveMember(ctx, p, acme, w.eve.UUID.String())
		}},
		{"RemoveMember, an administrator", "f..nn", func(w *world) { w.join(w.eve, w.acme, 8, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.RemoveMember(ctx, p, acme, w.eve.UUID.String())
		}},
		{"RemoveMember, an owner", "ff.nn", func(w *world) { w.join(w.eve, w.acme, 15, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.RemoveMember(ctx, p, acme, w.eve.UUID.String())
		}},
		{"RemoveMember, oneself", "...nn", func(w *world) { w.join(w.eve, w.acme, 15, nil) }, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return w.RemoveMember(ctx, p, acme, "@me")
		}},
		{"ListProjects", "...nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.ListProjects(ctx, p, acme, 10, 0))
		}},
		{"CreateProject", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, acme, _ string) error {
			return second(w.CreateProject(ctx, p, acme, management.ProjectPatch{Name: optional.Of("New")}))
		}},
		{"GetProject", "...nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return second(w.GetProject(ctx, p, web))
		}},
		{"UpdateProject", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return second(w.UpdateProject(ctx, p, web, management.ProjectPatch{Name: optional.Of("New")}))
		}},
		{"ResetToken", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return second(w.ResetToken(ctx, p, web))
		}},
		{"RotateSecretToken", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return second(w.RotateSecretToken(ctx, p, web))
		}},
		{"DeleteSecretTokenBackup", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return second(w.DeleteSecretTokenBackup(ctx, p, web))
		}},
		{"DeleteProject", "f..nn", nil, func(w *world, ctx context.Context, p *management.Principal, _, web string) error {
			return w.DeleteProject(ctx, p, web)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, name := range strings.Fields(who) {
				w := newWorld(t)
				if tt.first != nil {
					tt.first(w)
				}
				p := w.as([]*storage.User{w.cyd, w.ben, w.ada, w.dov, w.sam}[i])
				before := w.state()
				want := map[byte]string{'.': "", 'f': "forbidden permission_denied", 'n': "not found not_found"}[tt.want[i]]
				checkFault(t, tt.name+" by "+name, tt.call(w, t.Context(), p, w.acme.ID.String(), "1"), want)
				if want != "" {
					w.checkUnchanged(tt.name, before)
				}
			}
		})
	}
}

func TestCreateOrganization(t *testing.T) {
	w := newWorld(t)
	create := func(body string) (*management.OrganizationView, error) {
		return w.CreateOrganization(t.Context(), w.as(w.dov), decode[management.OrganizationPatch](t, body))
	}
	view, err := create(`{"name":" Big & Bold Ltd. ","enforce_2fa":true,"members_can_invite":null,"default_experiment_stats_method":"frequentist","slug":"mine"}`)
	if err != nil {
		t.Fatal(err)
	}
	if view.Name != "Big & Bold Ltd." || view.Slug != "big-bold-ltd" || *view.MembershipLevel != storage.LevelOwner || !*view.Enforce2FA ||
		view.MembersCanInvite != nil || *view.ExperimentStatsMethod != "frequentist" || string(view.MemberCount) != `"1"` || len(view.Projects) != 0 {
		t.Errorf("CreateOrganization = %s", encode(t, view))
	}
	if got, err := w.GetOrganization(t.Context(), w.as(w.dov), view.ID.String()); err != nil || !cmp.Equal(view, got) {
		t.Errorf("GetOrganization = %v (-want +got)\n%s", err, cmp.Diff(view, got))
	}
	if got := current(w.view(w.dov)); got != "Umbra Shop" {
		t.Errorf("current %s, want it to stay Umbra Shop", got)
	}
	for body, want := range map[string]string{
		`{}`:                                   "invalid required name",
		`{"name":null}`:                        "invalid null name",
		`{"name":""}`:                          "invalid blank name",
		`{"name":"  "}`:                        "invalid blank name",
		`{"name":"` + chars(65) + `"}`:         "invalid max_length name",
		`{"name":["x"]}`:                       "invalid invalid_input name",
		`{"name":"a\nBcc: b@c.example"}`:       "invalid invalid_control_char name", // it is in subjects of mails
		`{"name":"x","enforce_2fa":"perhaps"}`: "invalid invalid_input enforce_2fa",
		`{"name":"x","is_member_join_email_enabled":null}`:         "invalid null is_member_join_email_enabled",
		`{"name":"x","members_can_use_personal_api_keys":null}`:    "invalid null members_can_use_personal_api_keys",
		`{"name":"x","allow_publicly_shared_resources":null}`:      "invalid null allow_publicly_shared_resources",
		`{"name":"x","default_anonymize_ips":null}`:                "invalid null default_anonymize_ips",
		`{"name":"x","is_ai_data_processing_approved":7}`:          "invalid invalid_input is_ai_data_processing_approved",
		`{"name":"x","default_experiment_stats_method":"magical"}`: "invalid invalid_choice default_experiment_stats_method",
	} {
		before := w.state()
		_, err := create(body)
		checkFault(t, "CreateOrganization "+body, err, want)
		w.checkUnchanged("CreateOrganization", before)
	}
	for _, body := range []string{
		`{"name":"` + chars(64) + `"}`, `{"name":"x","default_experiment_stats_method":null}`, `{"name":"x","default_experiment_stats_method":""}`,
	} {
		_, err := create(body)
		checkFault(t, "CreateOrganization "+body, err, "")
	}
}

// Slugs are made of names, and unique (management.md §8.3).
func TestSlugs(t *testing.T) {
	w := newWorld(t)
	seen := map[string]bool{"acme": true, "umbra": true}
	for _, tt := range []struct{ name, want string }{
		{"ACME", "acme-????"},
		{"acme!", "acme-????"},
		{"Old_School 99", "old_school-99"},
		{"  --x--  ", "x"},
		{"日本", "organization"},
		{"!!!", "organization-????"},
		{strings.Repeat("a", 64), strings.Repeat("a", 48)},
		{strings.Repeat("a", 63), strings.Repeat("a", 43) + "-????"},
		{strings.Repeat("a", 47) + " " + "bcd", strings.Repeat("a", 47)},
	} {
		view, err := w.CreateOrganization(t.Context(), w.as(w.ada), management.OrganizationPatch{Name: optional.Of(tt.name)})
		if err != nil {
			t.Errorf("CreateOrganization(%q) = %v", tt.name, err)
			continue
		}
		got, random := view.Slug, ""
		if strings.HasSuffix(tt.want, "????") {
			got, random = got[:len(got)-4]+"????", got[len(got)-4:]
		}
		if got != tt.want || seen[view.Slug] || strings.Trim(random, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			t.Errorf("slug of %q is %q, want %q", tt.name, view.Slug, tt.want)
		}
		seen[view.Slug] = true
	}
	// A slug stays when the name changes, so that links do.
	view, err := w.UpdateOrganization(t.Context(), w.as(w.ada), w.acme.ID.String(), management.OrganizationPatch{Name: optional.Of("Other")})
	if err != nil || view.Slug != "acme" {
		t.Errorf("UpdateOrganization = %v, %v; want its slug to stay", view, err)
	}
}

func TestUpdateOrganization(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(time.Hour)
	body := `{"name":"Acme Ltd","is_member_join_email_enabled":false,"enforce_2fa":false,"members_can_invite":false,` +
		`"members_can_use_personal_api_keys":false,"allow_publicly_shared_resources":false,"is_ai_data_processing_approved":true,` +
		`"default_experiment_stats_method":"","default_anonymize_ips":true,"plugins_access_level":9,"customer_id":"x","is_active":false}`
	view, err := w.UpdateOrganization(t.Context(), w.as(w.ben), "@current", decode[management.OrganizationPatch](t, body))
	if err != nil {
		t.Fatal(err)
	}
	want := *w.acme
	want.Name, want.MemberJoinEmail, want.Enforce2FA, want.MembersCanInvite, want.MembersCanUseKeys = "Acme Ltd", false, new(false), new(false), false
	want.PublicSharing, want.AIProcessingApproved, want.ExperimentStatsMethod, want.AnonymizeIPs = false, new(true), new(""), true
	want.Updated = begin.Add(time.Hour)
	if diff := cmp.Diff(&want, must(w.store.Organizations().Get(t.Context(), storage.OrganizationID.Is(w.acme.ID)))(t)); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if got := must(w.GetOrganization(t.Context(), w.as(w.ben), w.acme.ID.String()))(t); !cmp.Equal(view, got) || *view.MembershipLevel != storage.LevelAdmin {
		t.Errorf("GetOrganization (-) and UpdateOrganization (+)\n%s", cmp.Diff(got, view))
	}
	activities := len(w.activities())
	_, err = w.UpdateOrganization(t.Context(), w.as(w.ben), "@current", decode[management.OrganizationPatch](t, body))
	checkFault(t, "UpdateOrganization again", err, "")
	if n := len(w.activities()); n != activities {
		t.Errorf("%d activities, want %d", n, activities)
	}
	_, err = w.UpdateOrganization(t.Context(), w.as(w.ben), "@current", management.OrganizationPatch{Name: optional.Of(" ")})
	checkFault(t, "UpdateOrganization", err, "invalid blank name")
}

// Organizations of others are as if they did not exist.
func TestOrganizationReferences(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name, ref string
		who       *storage.User
		want      string
	}{
		{"own", w.acme.ID.String(), w.ada, ""},
		{"own, in capitals", strings.ToUpper(w.acme.ID.String()), w.ada, ""},
		{"the current one", "@current", w.ada, ""},
		{"none is current", "@current", w.eve, "not found not_found"},
		{"of others", w.umbra.ID.String(), w.ada, "not found not_found"},
		{"of others, for the staff", w.umbra.ID.String(), w.sam, "not found not_found"},
		{"unknown", uuid.NewString(), w.ada, "not found not_found"},
		{"no UUID", "acme", w.ada, "not found not_found"},
		{"nothing", "", w.ada, "not found not_found"},
	} {
		_, err := w.GetOrganization(t.Context(), w.as(tt.who), tt.ref)
		checkFault(t, tt.name, err, tt.want)
		if err != nil && err.Error() != "management: Organization not found." {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestListOrganizations(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.clock.advance(time.Minute)
		must(w.CreateOrganization(t.Context(), w.as(w.ada), management.OrganizationPatch{Name: optional.Of(fmt.Sprint("New ", i))}))(t)
	}
	closed := w.organization("Closed")
	closed.Created, closed.MembersCanUseKeys = w.clock.Now().Add(time.Minute), false
	w.ok(w.store.Organizations().Update(t.Context(), closed))
	w.join(w.ada, closed, storage.LevelMember, nil)
	for _, tt := range []struct {
		name          string
		p             *management.Principal
		limit, offset int
		want          string
	}{
		{"all", w.as(w.ada), 10, 0, "Acme, New 0, New 1, New 2, Closed of 5"},
		{"a page", w.as(w.ada), 2, 1, "New 0, New 1 of 5"},
		{"behind the end", w.as(w.ada), 2, 5, " of 5"},
		{"far behind the end", w.as(w.ada), 2, 1 << 40, " of 5"},
		{"nonsense", w.as(w.ada), -1, -1, " of 5"},
		{"with a key", w.key(w.ada), 10, 0, "Acme, New 0, New 1, New 2 of 4"},
		{"with a key for one", w.key(w.ada, onlyOrganizations(w.acme, w.umbra)), 10, 0, "Acme of 1"},
		{"of nobody", w.as(w.eve), 10, 0, " of 0"},
		{"of the staff", w.as(w.sam), 10, 0, " of 0"},
	} {
		page, err := w.ListOrganizations(t.Context(), tt.p, tt.limit, tt.offset)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(names, ", "), page.Total); got != tt.want || page.Items == nil {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// An organization goes with its projects, and its members go somewhere else.
func TestDeleteOrganization(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(step(1))
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	must(w.SetScene(t.Context(), w.as(w.ada), "@me", management.ScenePatch{Scene: optional.Of("x"), Dashboard: anyJSON(1)}))(t)
	w.ok(w.DeleteOrganization(t.Context(), w.as(w.ada), w.acme.ID.String()))
	s := w.state()
	if len(s.Organizations) != 1 || len(s.Projects) != 1 || len(s.Memberships) != 2 || len(s.Scenes) != 0 {
		t.Errorf("left are %v, %v, %v, %v", s.Organizations, s.Projects, s.Memberships, s.Scenes)
	}
	if got := current(w.view(w.ada)); got != "Umbra Shop" {
		t.Errorf("current %s, want Umbra Shop", got)
	}
	if got := current(w.view(w.ben)); got != "none none" {
		t.Errorf("current %s, want nothing", got)
	}
}
