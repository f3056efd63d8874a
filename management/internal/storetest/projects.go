package storetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testProjectRecords(t *testing.T, s *suite) {
	ctx := t.Context()
	acme, other, empty := s.organization(t, "acme"), s.organization(t, "other"), s.organization(t, "empty")
	full := storage.Project{
		UUID: uuid.New(), Organization: acme.ID, Name: strings.Repeat("é", 200), APIKey: "phc_full", SecretHash: storage.HashKey("phs_full"),
		SecretPrevHash: storage.HashKey("phs_before"), Timezone: "Europe/Zurich", AnonymizeIPs: true, SnippetOnboarding: true,
		Onboarding: json.RawMessage(`{"flags":true,"n":1.50}`), Demo: true, AccessControl: true,
		SurveyConfig: json.RawMessage(`{"appearance":{"zIndex":1.50}}`), BucketingHash: "xxhash64", Created: s.now.Add(time.Hour), Updated: s.now,
		SurveysOptIn: new(true), HeatmapsOptIn: new(false), SessionRecordingOptIn: new(true), AutocaptureExceptionsOptIn: new(false),
		AutocaptureWebVitalsOptIn: new(true), CapturePerformanceOptIn: new(true), CookielessHashMode: new(2),
		NetworkCapture: json.RawMessage(`{"recordBody":true,"n":1.50}`), AppURLs: []string{"https://é.example", ""}, RecordingDomains: []string{},
		EventRetentionDays: new(90), PostHogRulesOnly: true,
		FlagsFile: &storage.FlagsFile{Name: "é.json", GroupTypes: map[int]string{3: "team"}, PropertyMatchingVersion: 2, MinimalFlagCalledEvents: true},
	}
	wantAllSet(t, full, "ID", "IngestedEvent")
	bare := storage.Project{UUID: uuid.New(), Organization: other.ID, APIKey: "phc_bare", Created: s.now, Updated: s.now}
	third := storage.Project{UUID: uuid.New(), Organization: acme.ID, APIKey: "phc_third", Created: s.now, Updated: s.now}
	for _, p := range []*storage.Project{&full, &bare, &third} { // secret keys that do not exist are not a conflict
		given := *p
		must(t, s.Projects().Create(ctx, &given))
		p.ID = given.ID
		given.Name = "the caller's copy"
	}
	if full.ID < 1 || bare.ID <= full.ID || third.ID <= bare.ID {
		t.Errorf("project IDs %d, %d, %d; want ascending ones from 1 on", full.ID, bare.ID, third.ID)
	}
	type list = []storage.Project
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, p := range []*storage.Project{&full, &bare, &third} {
				want(t, "Project", p)(store.Projects().Get(ctx, storage.ProjectID.Is(p.ID)))
				want(t, "Projects.Get", p)(store.Projects().Get(ctx, storage.ProjectKey.Is(p.APIKey)))
				for _, hash := range []string{p.SecretHash, p.SecretPrevHash} {
					if hash != "" {
						want(t, "ProjectBySecret", p)(storage.ProjectBySecret(ctx, store, hash))
					}
				}
			}
			wantErr(t, "ProjectBySecret without one", storage.ErrNotFound)(storage.ProjectBySecret(ctx, store, ""))
			want(t, "Projects", list{full, bare, third})(store.Projects().List(ctx))
		}
	}
	check()
	got, err := s.Projects().Get(ctx, storage.ProjectID.Is(full.ID))
	must(t, err)
	got.Name = "the caller's copy"
	check()
	want(t, "Projects.List", list{full, bare, third})(s.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{other.ID, acme.ID, uuid.New(), empty.ID, other.ID})))
	want(t, "Projects.List one", list{full, third})(s.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{acme.ID})))
	want(t, "Projects.List an empty organization", list(nil))(s.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{empty.ID})))
	want(t, "Projects.List none", list(nil))(s.Projects().List(ctx, storage.ProjectOrganization.In(nil)))
	wantErr(t, "Project that is unknown", storage.ErrNotFound)(s.Projects().Get(ctx, storage.ProjectID.Is(99)))
	wantErr(t, "Projects.Get that is unknown", storage.ErrNotFound)(s.Projects().Get(ctx, storage.ProjectKey.Is("phc_nobody")))
	wantErr(t, "ProjectBySecret that is unknown", storage.ErrNotFound)(storage.ProjectBySecret(ctx, s, storage.HashKey("phs_nobody")))

	for _, tt := range []struct {
		name string
		set  func(*storage.Project)
		want error
	}{
		{"UUID", func(p *storage.Project) { p.UUID = full.UUID }, storage.ErrConflict},
		{"API key", func(p *storage.Project) { p.APIKey = full.APIKey }, storage.ErrConflict},
		{"secret key", func(p *storage.Project) { p.SecretHash = full.SecretHash }, storage.ErrConflict},
		{"organization", func(p *storage.Project) { p.Organization = uuid.New() }, storage.ErrNotFound},
	} {
		fresh, changed := *storage.NewProject(acme, "never"), bare
		tt.set(&fresh)
		wantError(t, "Projects.Create with a wrong "+tt.name, tt.want, s.Projects().Create(ctx, &fresh))
		changed.Name = "never"
		tt.set(&changed)
		wantError(t, "Projects.Update with a wrong "+tt.name, tt.want, s.Projects().Update(ctx, &changed))
	}
	unknown := *storage.NewProject(acme, "never")
	unknown.ID = 99
	wantError(t, "Projects.Update of none", storage.ErrNotFound, s.Projects().Update(ctx, &unknown))
	wantError(t, "Projects.Delete of none", storage.ErrNotFound, s.Projects().Delete(ctx, storage.ProjectID.Is(99)))
	check()

	before := full
	full = storage.Project{ID: full.ID, UUID: full.UUID, Organization: empty.ID, APIKey: "phc_rolled", Created: s.now, Updated: s.now}
	must(t, s.Projects().Update(ctx, &full))
	wantErr(t, "Projects.Get of a key that was replaced", storage.ErrNotFound)(s.Projects().Get(ctx, storage.ProjectKey.Is(before.APIKey)))
	before.ID, before.UUID = bare.ID, bare.UUID // and the keys that are free now
	bare = before
	must(t, s.Projects().Update(ctx, &bare))
	check()
	want(t, "Projects.List", list{full})(s.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{empty.ID, other.ID})))
	for bit := range 4 {
		alternate(&third, bit)
		must(t, s.Projects().Update(ctx, &third))
		third.IngestedEvent = false // whatever was asked for
		want(t, "Project", &third)(s.Projects().Get(ctx, storage.ProjectID.Is(third.ID)))
	}

	last := s.project(t, acme)
	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(last.ID)))
	if next := s.project(t, acme); next.ID <= last.ID {
		t.Errorf("project %d comes after project %d, which is deleted", next.ID, last.ID)
	}
}

func testDeleteProject(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, gone := s.project(t, o), s.project(t, o)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	ann.CurrentOrganization, ann.CurrentProject = &o.ID, &gone.ID
	bob.CurrentOrganization, bob.CurrentProject = &o.ID, &p.ID
	must(t, s.Users().Update(ctx, ann))
	must(t, s.Users().Update(ctx, bob))
	s.furnish(t, ann, o, gone)
	s.furnish(t, bob, o, p)
	before, err := overview(ctx, s, ann.ID, bob.ID)
	must(t, err)

	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(gone.ID)))
	before.Users[0].CurrentProject = nil
	before.Projects = before.Projects[:1]
	before.forget(gone.ID)
	before.Scenes = keep(before.Scenes, func(sc storage.Scene) bool { return sc.Project == p.ID })
	for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
		after, err := overview(ctx, store, ann.ID, bob.ID)
		want(t, "what is left", before)(after, err)
		wantErr(t, "Project that is deleted", storage.ErrNotFound)(store.Projects().Get(ctx, storage.ProjectID.Is(gone.ID)))
		wantErr(t, "Projects.Get of one that is deleted", storage.ErrNotFound)(store.Projects().Get(ctx, storage.ProjectKey.Is(gone.APIKey)))
		want(t, "Projects.List", []storage.Project{*p})(store.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{o.ID})))
		left := world{FlagTotals: make(map[int64]int)}
		must(t, left.look(ctx, store, gone.ID))
		want(t, "what a project that is deleted has", world{FlagTotals: map[int64]int{gone.ID: 0}})(left, nil)
	}
	wantError(t, "Projects.Delete again", storage.ErrNotFound, s.Projects().Delete(ctx, storage.ProjectID.Is(gone.ID)))
	wantError(t, "Projects.Update that is deleted", storage.ErrNotFound, s.Projects().Update(ctx, gone))
}

func testIngestedEvent(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, quiet := s.project(t, o), s.project(t, o)
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, project := range []*storage.Project{p, quiet} {
				want(t, "Project", project)(store.Projects().Get(ctx, storage.ProjectID.Is(project.ID)))
				want(t, "Projects.Get", project)(store.Projects().Get(ctx, storage.ProjectKey.Is(project.APIKey)))
			}
			want(t, "Projects", []storage.Project{*p, *quiet})(store.Projects().List(ctx))
		}
	}
	check()
	e := s.event("page", "u", `{}`)
	e.Project = p.ID
	s.write(t, e)
	p.IngestedEvent = true
	check()

	stale := *p // read before the event came
	stale.Name, stale.IngestedEvent = "another name", false
	must(t, s.Projects().Update(ctx, &stale))
	p.Name = stale.Name
	check()
	daring := *quiet
	daring.IngestedEvent = true
	must(t, s.Projects().Update(ctx, &daring))
	check()
}
