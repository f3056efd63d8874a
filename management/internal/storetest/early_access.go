package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testEarlyAccess(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	one, two, three, free, strange := s.flag(t, p, "one"), s.flag(t, p, "two"), s.flag(t, p, "three"), s.flag(t, p, "free"), s.flag(t, q, "strange")
	full := storage.EarlyAccessFeature{
		ID: uuid.New(), Project: p.ID, Flag: one.ID, Name: "Zoë 💥", Description: "it's \"quoted\" \\ ; --", Stage: "beta",
		DocumentationURL: "https://docs.example/?a=b&c", Payload: json.RawMessage(`{"n":1.50,"\u0000":"\u0000"}`), Created: s.now,
	}
	wantAllSet(t, full)
	newest := storage.EarlyAccessFeature{ID: uuid.New(), Project: p.ID, Flag: two.ID, Created: s.now.Add(time.Microsecond)}
	oldest := storage.EarlyAccessFeature{ID: uuid.New(), Project: p.ID, Flag: three.ID, Created: s.now.Add(-time.Microsecond)}
	for _, f := range []*storage.EarlyAccessFeature{&full, &newest, &oldest} {
		must(t, s.EarlyAccess().Create(ctx, f))
	}
	type list = []storage.EarlyAccessFeature
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, f := range []*storage.EarlyAccessFeature{&full, &newest, &oldest} {
				want(t, "EarlyAccess.Get", f)(store.EarlyAccess().Get(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(f.ID)))
			}
			want(t, "EarlyAccess.List", list{newest, full, oldest})(store.EarlyAccess().List(ctx, storage.FeatureProject.Is(p.ID)))
			want(t, "EarlyAccess.List of another project", list(nil))(store.EarlyAccess().List(ctx, storage.FeatureProject.Is(q.ID)))
		}
	}
	check()
	wantErr(t, "EarlyAccess.Get of another project", storage.ErrNotFound)(s.EarlyAccess().Get(ctx, storage.FeatureProject.Is(q.ID), storage.FeatureID.Is(full.ID)))
	wantErr(t, "EarlyAccess.Get that is unknown", storage.ErrNotFound)(s.EarlyAccess().Get(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(uuid.New())))
	for _, tt := range []struct {
		name string
		set  func(*storage.EarlyAccessFeature)
		want error
	}{
		{"flag that has one", func(f *storage.EarlyAccessFeature) { f.Flag = two.ID }, storage.ErrConflict},
		{"flag that is unknown", func(f *storage.EarlyAccessFeature) { f.Flag = 99 }, storage.ErrNotFound},
		{"flag of another project", func(f *storage.EarlyAccessFeature) { f.Flag = strange.ID }, storage.ErrNotFound},
		{"project that is unknown", func(f *storage.EarlyAccessFeature) { f.Project = 99 }, storage.ErrNotFound},
		{"project that is another", func(f *storage.EarlyAccessFeature) { f.Project, f.Flag = q.ID, free.ID }, storage.ErrNotFound},
	} {
		fresh, changed := storage.EarlyAccessFeature{ID: uuid.New(), Project: p.ID, Flag: free.ID, Created: s.now}, full
		tt.set(&fresh)
		wantError(t, "EarlyAccess.Create of a "+tt.name, tt.want, s.EarlyAccess().Create(ctx, &fresh))
		changed.Name = "never"
		tt.set(&changed)
		wantError(t, "EarlyAccess.Update of a "+tt.name, tt.want, s.EarlyAccess().Update(ctx, &changed))
	}
	again := full
	again.Flag = free.ID
	moved := full
	moved.Project, moved.Flag = q.ID, strange.ID
	for call, tt := range map[string]struct{ err, want error }{
		"EarlyAccess.Create with an ID that is taken": {s.EarlyAccess().Create(ctx, &again), storage.ErrConflict},
		"EarlyAccess.Update of another project":       {s.EarlyAccess().Update(ctx, &moved), storage.ErrNotFound},
		"EarlyAccess.Delete of another project":       {s.EarlyAccess().Delete(ctx, storage.FeatureProject.Is(q.ID), storage.FeatureID.Is(full.ID)), storage.ErrNotFound},
		"EarlyAccess.Delete that is unknown":          {s.EarlyAccess().Delete(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(uuid.New())), storage.ErrNotFound},
	} {
		wantError(t, call, tt.want, tt.err)
	}
	check()
	before := full
	full = storage.EarlyAccessFeature{ID: full.ID, Project: p.ID, Flag: free.ID, Created: s.now}
	must(t, s.EarlyAccess().Update(ctx, &full))
	before.ID, before.Created = oldest.ID, oldest.Created // and the flag that is free now
	oldest = before
	must(t, s.EarlyAccess().Update(ctx, &oldest))
	check()

	must(t, s.EarlyAccess().Delete(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(newest.ID)))
	wantErr(t, "EarlyAccess.Get that is deleted", storage.ErrNotFound)(s.EarlyAccess().Get(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(newest.ID)))
	want(t, "the flag of what is deleted", two)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(two.ID)))
	must(t, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(full.Flag)))
	wantErr(t, "EarlyAccess.Get whose flag is deleted", storage.ErrNotFound)(s.EarlyAccess().Get(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(full.ID)))
	want(t, "EarlyAccess.List", list{oldest})(s.EarlyAccess().List(ctx, storage.FeatureProject.Is(p.ID)))
	newest.Flag = one.ID // which has one
	wantError(t, "EarlyAccess.Create", storage.ErrConflict, s.EarlyAccess().Create(ctx, &newest))
	newest.Flag = two.ID
	must(t, s.EarlyAccess().Create(ctx, &newest))
	want(t, "EarlyAccess.List", list{newest, oldest})(s.EarlyAccess().List(ctx, storage.FeatureProject.Is(p.ID)))
}
