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

func testOrganizations(t *testing.T, s *suite) {
	ctx := t.Context()
	want(t, "Organizations before there are any", []storage.Organization(nil))(s.Organizations().List(ctx))
	full := storage.Organization{
		ID: uuid.New(), Name: strings.Repeat("é", 64), Slug: "full", LogoMediaID: new(uuid.New()), PluginsAccessLevel: 9,
		MemberJoinEmail: true, Enforce2FA: new(true), MembersCanInvite: new(true), MembersCanUseKeys: true, PublicSharing: true,
		AIProcessingApproved: new(true), ExperimentStatsMethod: new("bayesian"), AnonymizeIPs: true, DefaultRoleID: new(uuid.New()),
		AvailableFeatures: json.RawMessage(`[{"key":"sso","n":1.50}]`), CustomerID: new("cus_1"), Active: new(true), NotActiveReason: new("unpaid 💥"),
		Created: s.now, Updated: s.now.Add(time.Hour),
	}
	wantAllSet(t, full)
	bare := storage.Organization{ID: uuid.New(), Slug: "bare", Created: s.now.Add(time.Microsecond), Updated: s.now}
	oldest := storage.Organization{ID: uuid.New(), Slug: "oldest", Created: s.now.Add(-time.Microsecond), Updated: s.now}
	for _, o := range []*storage.Organization{&full, &bare, &oldest} {
		given := *o
		must(t, s.Organizations().Create(ctx, &given))
		given.Name = "the caller's copy"
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, o := range []*storage.Organization{&full, &bare, &oldest} {
				want(t, "Organization", o)(store.Organizations().Get(ctx, storage.OrganizationID.Is(o.ID)))
			}
			want(t, "Organizations", []storage.Organization{oldest, full, bare})(store.Organizations().List(ctx))
		}
	}
	check()
	got, err := s.Organizations().Get(ctx, storage.OrganizationID.Is(full.ID))
	must(t, err)
	got.Name = "the caller's copy"
	check()
	want(t, "Organizations.List", []storage.Organization{oldest, bare})(
		s.Organizations().List(ctx, storage.OrganizationID.In([]uuid.UUID{bare.ID, uuid.New(), oldest.ID, bare.ID})))
	want(t, "Organizations.List of none", []storage.Organization(nil))(s.Organizations().List(ctx, storage.OrganizationID.In(nil)))
	want(t, "Organizations.List of one unknown", []storage.Organization(nil))(s.Organizations().List(ctx, storage.OrganizationID.In([]uuid.UUID{uuid.New()})))

	organization := func(id uuid.UUID, slug string) *storage.Organization {
		return &storage.Organization{ID: id, Name: "never", Slug: slug, Created: s.now, Updated: s.now}
	}
	for _, tt := range []struct {
		call string
		err  error
		want error
	}{
		{"Organizations.Create with an ID that is taken", s.Organizations().Create(ctx, organization(bare.ID, "free")), storage.ErrConflict},
		{"Organizations.Create with a slug that is taken", s.Organizations().Create(ctx, organization(uuid.New(), "full")), storage.ErrConflict},
		{"Organizations.Update with a slug that is taken", s.Organizations().Update(ctx, organization(bare.ID, "full")), storage.ErrConflict},
		{"Organizations.Update of none", s.Organizations().Update(ctx, organization(uuid.New(), "free")), storage.ErrNotFound},
		{"Organizations.Delete of none", s.Organizations().Delete(ctx, storage.OrganizationID.Is(uuid.New())), storage.ErrNotFound},
	} {
		wantError(t, tt.call, tt.want, tt.err)
	}
	wantErr(t, "Organization that is unknown", storage.ErrNotFound)(s.Organizations().Get(ctx, storage.OrganizationID.Is(uuid.New())))
	check()

	before := full
	full = storage.Organization{ID: full.ID, Slug: "other", Created: full.Created, Updated: s.now}
	must(t, s.Organizations().Update(ctx, &full))
	before.ID, before.Created = bare.ID, bare.Created // and the slug that is free now
	bare = before
	must(t, s.Organizations().Update(ctx, &bare))
	check()
	for bit := range 4 {
		alternate(&full, bit)
		must(t, s.Organizations().Update(ctx, &full))
		want(t, "Organization", &full)(s.Organizations().Get(ctx, storage.OrganizationID.Is(full.ID)))
	}
}

func testDeleteOrganization(t *testing.T, s *suite) {
	ctx := t.Context()
	kept := s.organization(t, "kept")
	gone := s.organization(t, "gone")
	p, q, r := s.project(t, kept), s.project(t, gone), s.project(t, gone)
	ann, bob, eve := s.user(t, "ann"), s.user(t, "bob"), s.user(t, "eve")
	ann.CurrentOrganization, ann.CurrentProject = &gone.ID, &r.ID
	bob.CurrentOrganization, bob.CurrentProject = &kept.ID, &p.ID
	eve.CurrentOrganization, eve.CurrentProject = &kept.ID, &q.ID // by another's mistake
	for _, u := range []*storage.User{ann, bob, eve} {
		must(t, s.Users().Update(ctx, u))
	}
	s.furnish(t, bob, kept, p)
	s.furnish(t, ann, gone, q)
	must(t, s.Scenes().Set(ctx, &storage.Scene{User: ann.ID, Project: p.ID, Scene: "kept", Dashboard: 1}))
	before, err := overview(ctx, s, ann.ID, bob.ID, eve.ID)
	must(t, err)

	must(t, s.Organizations().Delete(ctx, storage.OrganizationID.Is(gone.ID)))
	before.Users[0].CurrentOrganization, before.Users[0].CurrentProject = nil, nil
	before.Users[2].CurrentProject = nil
	before.Organizations, before.Projects = []storage.Organization{*kept}, []storage.Project{*p}
	before.Memberships, before.Scenes = keep(before.Memberships, func(m storage.Membership) bool { return m.User == bob.ID }),
		keep(before.Scenes, func(sc storage.Scene) bool { return sc.Project == p.ID })
	before.forget(q.ID)
	before.forget(r.ID)
	delete(before.Members, gone.ID)
	for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
		after, err := overview(ctx, store, ann.ID, bob.ID, eve.ID)
		want(t, "what is left", before)(after, err)
		for _, project := range []*storage.Project{q, r} {
			wantErr(t, "Project", storage.ErrNotFound)(store.Projects().Get(ctx, storage.ProjectID.Is(project.ID)))
			wantErr(t, "Projects.Get", storage.ErrNotFound)(store.Projects().Get(ctx, storage.ProjectKey.Is(project.APIKey)))
		}
		wantErr(t, "Organization", storage.ErrNotFound)(store.Organizations().Get(ctx, storage.OrganizationID.Is(gone.ID)))
		want(t, "Members", []storage.Membership(nil))(store.Memberships().List(ctx, storage.MembershipOrganization.Is(gone.ID)))
	}
	wantError(t, "Organizations.Delete again", storage.ErrNotFound, s.Organizations().Delete(ctx, storage.OrganizationID.Is(gone.ID)))
	s.organization(t, "gone")
}

// keep returns the elements of a list that are to stay.
func keep[T any](list []T, stays func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if stays(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
