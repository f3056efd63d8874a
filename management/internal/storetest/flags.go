package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// flag creates an ordinary flag.
func (s *suite) flag(t *testing.T, p *storage.Project, key string) *storage.Flag {
	t.Helper()
	f := &storage.Flag{Project: p.ID, Key: key, Created: s.now, Updated: s.now}
	must(t, s.Flags().Create(t.Context(), f))
	return f
}

// filtersOf reads the filters of a flag, of which what cannot be understood is kept.
func filtersOf(raw string) flags.Filters {
	f, _ := flags.DecodeFilters([]byte(raw), "")
	return f
}

func testFlags(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	full := storage.Flag{
		Project: p.ID, Kind: storage.FlagSurveySampling, Key: strings.Repeat("k", 400), Name: "it's \"quoted\" \\ ; -- 💥",
		Filters: filtersOf(`{"groups":[{"rollout_percentage":12.50,"label":"\u0000 é","properties":[{"key":"\u0000","value":12345678901234567890,"label":null}]}],"payloads":{"true":{"a":1}}}`),
		Active:  true, Deleted: true, Archived: true, Version: 7, RevertedTo: new(3), Comment: "é, why", Continuity: new(true), Runtime: "server", Bucketing: "device_id", BucketingHash: "xxhash64",
		RemoteConfig: true, EncryptedPayloads: true, HasExperiment: true, Contexts: []string{"main app", "é"}, ContextMatch: "all", Tags: []string{"b", "a", ""},
		CreatedBy: &ann.ID, ModifiedBy: &bob.ID, Created: s.now.Add(time.Hour), Updated: s.now.Add(time.Microsecond),
	}
	wantAllSet(t, full, "ID", "LastCalled")
	bare := storage.Flag{Project: p.ID, Key: "bare", Created: s.now, Updated: s.now}
	other := storage.Flag{Project: q.ID, Key: "bare", Created: s.now, Updated: s.now} // a key is one of its project
	unreadable := storage.Flag{Project: p.ID, Key: "unreadable", Filters: filtersOf(`{"groups": [7]}`), Created: s.now, Updated: s.now}
	ruled := storage.Flag{Project: p.ID, Key: "ruled", Created: s.now, Updated: s.now, Filters: filtersOf(
		`{"version":2,"return_type":"object","default_value":{"b":1.0,"a":null},"rules":[{"id":"11111111-1111-4111-8111-11111111111a","rule_type":"percentage_rollout","targeting":{"properties":[]},` +
			`"description":"é","metadata":{"x":[]},"value":{},"rollout_percentage":12.5,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s é"}]}`)}
	all := []*storage.Flag{&full, &bare, &other, &unreadable, &ruled}
	for _, f := range all {
		given := *f
		given.LastCalled = &s.now // which is not for the caller to say
		must(t, s.Flags().Create(ctx, &given))
		f.ID = given.ID
		given.Name = "the caller's copy"
	}
	if full.ID < 1 || bare.ID <= full.ID || other.ID <= bare.ID {
		t.Errorf("flag IDs %d, %d, %d; want ascending ones from 1 on", full.ID, bare.ID, other.ID)
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			lists := make(map[int64][]storage.Flag)
			for _, f := range all {
				want(t, "Flag", f)(store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.ID)))
				if !f.Deleted {
					want(t, "Flags.Get", f)(store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagKey.Is(f.Key), storage.FlagDeleted.Is(false)))
					lists[f.Project] = append(lists[f.Project], *f)
				}
			}
			for _, project := range []int64{p.ID, q.ID, 99} {
				want(t, "Flags", lists[project])(store.CalledFlags(ctx, project))
				want(t, "FlagDefinitions", lists[project])(store.FlagDefinitions(ctx, project))
			}
		}
	}
	check()
	got, err := s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(full.ID))
	must(t, err)
	got.Name = "the caller's copy"
	check()
	wantErr(t, "Flag of another project", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(q.ID), storage.FlagID.Is(full.ID)))
	wantErr(t, "Flag that is unknown", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(99)))
	wantErr(t, "Flags.Get of a deleted flag", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagKey.Is(full.Key), storage.FlagDeleted.Is(false)))
	wantErr(t, "Flags.Get in other letters", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagKey.Is("Bare"), storage.FlagDeleted.Is(false)))
	wantErr(t, "Flags.Get of no project", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(99), storage.FlagKey.Is("bare"), storage.FlagDeleted.Is(false)))

	taken := s.flag(t, p, "taken")
	all = append(all, taken)
	for _, tt := range []struct {
		name string
		set  func(*storage.Flag)
		want error
	}{
		{"key", func(f *storage.Flag) { f.Key = taken.Key }, storage.ErrConflict},
		{"key of another kind", func(f *storage.Flag) { f.Key, f.Kind = taken.Key, storage.FlagSurveyInternal }, storage.ErrConflict},
		{"project", func(f *storage.Flag) { f.Project = 99 }, storage.ErrNotFound},
		{"creator", func(f *storage.Flag) { f.CreatedBy = new(int64(99)) }, storage.ErrNotFound},
		{"last author", func(f *storage.Flag) { f.ModifiedBy = new(int64(99)) }, storage.ErrNotFound},
	} {
		fresh, changed := storage.Flag{Project: p.ID, Key: "fresh", Created: s.now, Updated: s.now}, bare
		tt.set(&fresh)
		wantError(t, "Flags.Create with a wrong "+tt.name, tt.want, s.Flags().Create(ctx, &fresh))
		changed.Name = "never"
		tt.set(&changed)
		wantError(t, "Flags.Update with a wrong "+tt.name, tt.want, s.Flags().Update(ctx, &changed))
	}
	moved := other
	moved.Project, moved.Key = p.ID, "moved"
	for call, err := range map[string]error{
		"Flags.Update of another project": s.Flags().Update(ctx, &moved),
		"Flags.Update of none":            s.Flags().Update(ctx, &storage.Flag{ID: 99, Project: p.ID, Key: "x", Created: s.now, Updated: s.now}),
		"Flags.Delete of another project": s.Flags().Delete(ctx, storage.FlagProject.Is(q.ID), storage.FlagID.Is(bare.ID)),
		"Flags.Delete of none":            s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(99)),
	} {
		wantError(t, call, storage.ErrNotFound, err)
	}
	check()

	// A key is free while its flag is deleted, for which it may be too late then.
	bare.Deleted, bare.Key = true, taken.Key
	must(t, s.Flags().Update(ctx, &bare))
	check()
	restored := bare
	restored.Deleted = false
	wantError(t, "Flags.Update that restores a flag whose key is taken", storage.ErrConflict, s.Flags().Update(ctx, &restored))
	taken.Key = "other"
	must(t, s.Flags().Update(ctx, taken))
	bare = restored
	must(t, s.Flags().Update(ctx, &bare))
	check()

	// Everything can be taken away, and be set later.
	before := full
	full = storage.Flag{ID: full.ID, Project: p.ID, Key: "full", Created: s.now, Updated: s.now}
	must(t, s.Flags().Update(ctx, &full))
	before.ID = bare.ID
	bare = before
	must(t, s.Flags().Update(ctx, &bare))
	check()
	for bit := range 4 {
		alternate(&full, bit)
		must(t, s.Flags().Update(ctx, &full))
		want(t, "Flag", &full)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(full.ID)))
	}

	// Several at once, or none of them.
	one, two := s.flag(t, p, "one"), s.flag(t, p, "two")
	all = append(all, one, two)
	wrong := *two
	one.Name, one.Active, two.Name, wrong.Key = "1", true, "2", one.Key
	wantError(t, "Flags.Update of several, one with a key that is taken", storage.ErrConflict, s.Flags().Update(ctx, one, &wrong))
	wantError(t, "Flags.Update of several, one of which is unknown", storage.ErrNotFound, s.Flags().Update(ctx, one, &storage.Flag{ID: 99, Project: p.ID, Key: "x", Created: s.now, Updated: s.now}))
	if f, err := s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(one.ID)); err != nil || f.Name != "" {
		t.Errorf("after a change that failed the flag is %+v, %v", f, err)
	}
	must(t, s.Flags().Update(ctx, one, two))
	must(t, s.Flags().Update(ctx))
	check()

	last := s.flag(t, p, "last")
	must(t, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(last.ID)))
	wantErr(t, "Flag that is deleted for good", storage.ErrNotFound)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(last.ID)))
	wantError(t, "Flags.Delete again", storage.ErrNotFound, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(last.ID)))
	if next := s.flag(t, p, "last"); next.ID <= last.ID {
		t.Errorf("flag %d comes after flag %d, which is deleted", next.ID, last.ID)
	}
}

// testFlagLists checks pages of flags, and their totals before and after changes
// of every kind.
func testFlagLists(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	flags := make(map[rune]*storage.Flag)
	add := func(name rune, at int, set func(*storage.Flag)) {
		t.Helper()
		created := s.now.Add(time.Duration(at) * time.Microsecond)
		f := &storage.Flag{Project: p.ID, Key: "key-" + string(name), Created: created, Updated: s.now, Active: true}
		set(f)
		must(t, s.Flags().Create(ctx, f))
		flags[name] = f
	}
	add('b', 2, func(*storage.Flag) {})
	add('a', 5, func(f *storage.Flag) { f.Key = "Key-B" })
	add('e', 0, func(f *storage.Flag) { f.Active, f.Archived = false, true })
	add('c', 1, func(f *storage.Flag) { f.Active = false })
	add('d', 1, func(f *storage.Flag) { f.Active = false }) // of the same time as c, but newer
	add('x', 3, func(f *storage.Flag) { f.Deleted = true })
	add('y', 3, func(f *storage.Flag) { f.Kind = storage.FlagSurveyTargeting })
	add('z', 3, func(f *storage.Flag) { f.Project = q.ID })
	type filter = storage.FlagFilter
	check := func(name string, f filter, limit, offset int, list string, total int) {
		t.Helper()
		var page []storage.Flag
		for _, name := range list {
			page = append(page, *flags[name])
		}
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			wantPage(t, "Flags.Page: "+name, page, total)(store.Flags().Page(ctx, limit, offset, f.Where(p.ID)...))
		}
	}
	yes, no := new(true), new(false)
	check("all", filter{}, 100, 0, "abdce", 5)
	check("the first page", filter{}, 2, 0, "ab", 5)
	check("the second page", filter{}, 2, 2, "dc", 5)
	check("the last page", filter{}, 2, 4, "e", 5)
	check("just behind the end", filter{}, 2, 5, "", 5)
	check("far behind the end", filter{}, 2, 1000, "", 5)
	check("active ones", filter{Active: yes}, 10, 0, "ab", 2)
	check("others", filter{Active: no}, 10, 0, "dce", 3)
	check("archived ones", filter{Archived: yes}, 10, 0, "e", 1)
	check("others of these, a page", filter{Archived: no}, 2, 1, "bd", 4)
	check("neither active nor archived", filter{Active: no, Archived: no}, 1, 1, "c", 2)
	check("active and archived", filter{Active: yes, Archived: yes}, 10, 0, "", 0)
	check("a key in any letters", filter{Key: "KEY-b"}, 10, 0, "ab", 2)
	check("a page of these", filter{Key: "key-B"}, 1, 1, "b", 2)
	check("behind their end", filter{Key: "key-B"}, 1, 2, "", 2)
	check("a key and more", filter{Key: "key-c", Active: no, Archived: no}, 10, 0, "c", 1)
	check("a key and something else", filter{Key: "key-c", Active: yes}, 10, 0, "", 0)
	check("part of a key", filter{Key: "key"}, 10, 0, "", 0)
	check("a pattern", filter{Key: "key-%"}, 10, 0, "", 0)
	check("a deleted one", filter{Key: "key-x"}, 10, 0, "", 0)
	check("one of a survey", filter{Key: "key-y"}, 10, 0, "", 0)
	check("one of another project", filter{Key: "key-z"}, 10, 0, "", 0)
	wantPage(t, "Flags.Page of no project", []storage.Flag(nil), 0)(s.Flags().Page(ctx, 10, 0, filter{}.Where(99)...))

	totals := func(when string, all, active, archived, both int) {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, tt := range []struct {
				filter filter
				want   int
			}{
				{filter{}, all},
				{filter{Active: yes}, active},
				{filter{Active: no}, all - active},
				{filter{Archived: yes}, archived},
				{filter{Archived: no}, all - archived},
				{filter{Active: yes, Archived: yes}, both},
			} {
				list, total, err := store.Flags().Page(ctx, 100, 0, tt.filter.Where(p.ID)...)
				if err != nil || total != tt.want || len(list) != tt.want {
					t.Errorf("%s Flags.Page(%+v) = %d flags of %d, %v; want %d", when, tt.filter, len(list), total, err, tt.want)
				}
			}
		}
	}
	change := func(name rune, set func(*storage.Flag)) {
		t.Helper()
		set(flags[name])
		must(t, s.Flags().Update(ctx, flags[name]))
	}
	totals("at first", 5, 2, 1, 0)
	change('e', func(f *storage.Flag) { f.Active = true })
	totals("after one is active again", 5, 3, 1, 1)
	change('b', func(f *storage.Flag) { f.Archived = true })
	totals("after another is archived", 5, 3, 2, 2)
	change('b', func(f *storage.Flag) { f.Active, f.Archived, f.Name = false, false, "changed" })
	totals("after it is neither", 5, 2, 1, 1)
	change('a', func(f *storage.Flag) { f.Deleted = true })
	totals("after one is deleted", 4, 1, 1, 1)
	change('a', func(f *storage.Flag) { f.Name = "still deleted" })
	totals("after that is changed", 4, 1, 1, 1)
	change('a', func(f *storage.Flag) { f.Deleted, f.Active = false, false })
	totals("after it is restored", 5, 1, 1, 1)
	change('y', func(f *storage.Flag) { f.Kind = storage.FlagOrdinary })
	totals("after one no longer belongs to a survey", 6, 2, 1, 1)
	change('y', func(f *storage.Flag) { f.Kind = storage.FlagSurveyInternal })
	totals("after it does again", 5, 1, 1, 1)
	for _, name := range "cxy" {
		must(t, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(flags[name].ID)))
	}
	totals("after some are deleted for good", 4, 1, 1, 1)
	taken := *flags['d']
	taken.Key, taken.Active = flags['e'].Key, true
	wantError(t, "Flags.Update with a key that is taken", storage.ErrConflict, s.Flags().Update(ctx, &taken))
	taken.ID = 0
	wantError(t, "Flags.Create with a key that is taken", storage.ErrConflict, s.Flags().Create(ctx, &taken))
	wantError(t, "Atomic", errStop, s.Atomic(ctx, func(store storage.Store) error {
		must(t, store.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(flags['e'].ID)))
		must(t, store.Flags().Create(ctx, &taken))
		return errStop
	}))
	totals("after what failed", 4, 1, 1, 1)
	must(t, s.Atomic(ctx, func(store storage.Store) error {
		wantError(t, "Flags.Create in a transaction", storage.ErrNotFound, store.Flags().Create(ctx, &storage.Flag{Project: 99, Key: "x", Created: s.now, Updated: s.now}))
		return store.Flags().Create(ctx, &storage.Flag{Project: p.ID, Key: "new", Created: s.now, Updated: s.now})
	}))
	totals("after a transaction", 5, 1, 1, 1)
	want(t, "Flags.Page of the other project", 1)(len(s.list(t, q)), nil)
}

// list returns the flags of a project that Flags.Page finds.
func (s *suite) list(t *testing.T, p *storage.Project) []storage.Flag {
	t.Helper()
	list, total, err := s.Flags().Page(t.Context(), 1000, 0, storage.FlagFilter{}.Where(p.ID)...)
	if err != nil || total != len(list) {
		t.Errorf("Flags.Page = %d flags of %d, %v", len(list), total, err)
	}
	return list
}

// testFlagVersions checks that each version of a flag can be read as it was written.
func testFlagVersions(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	ann := s.user(t, "ann")
	f := storage.Flag{
		Project: p.ID, Version: 1, Key: "first", Filters: filtersOf(`{"groups":[{"rollout_percentage":10}]}`),
		CreatedBy: &ann.ID, Created: s.now, Updated: s.now,
	}
	must(t, s.Flags().Create(ctx, &f))
	foreign := storage.Flag{Project: q.ID, Version: 1, Key: "first", Created: s.now, Updated: s.now}
	must(t, s.Flags().Create(ctx, &foreign))
	var versions []storage.Flag // newest first
	keep := func() {
		v := f
		v.LastCalled, v.CreatedBy, v.Created = nil, nil, time.Time{}
		versions = append([]storage.Flag{v}, versions...)
	}
	keep()
	for i, change := range []func(){
		func() {
			f.Key, f.Filters, f.Active, f.ModifiedBy = "second", filtersOf(`{"groups": [7]}`), true, &ann.ID
			f.Continuity, f.Runtime, f.Bucketing, f.BucketingHash, f.Contexts, f.ContextMatch = new(false), "server", "device_id", "sha1", []string{"b", "a"}, "all"
		},
		func() {
			f.Deleted, f.Archived, f.RemoteConfig, f.EncryptedPayloads, f.HasExperiment, f.Tags = true, true, true, true, true, []string{""}
			f.Filters, f.RevertedTo, f.Kind, f.Name = filtersOf(`{"payloads":{"true":"{\"b\": 1}"},"x":"\u0000"}`), new(1), storage.FlagSurveyInternal, "é"
		},
		func() { f.Deleted = false },
	} {
		f.Version, f.Updated = f.Version+1, s.now.Add(time.Duration(i+1)*time.Hour)
		change()
		must(t, s.Flags().Update(ctx, &f))
		keep()
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for i := range versions {
				want(t, "FlagVersions.Get", &versions[i])(store.FlagVersions().Get(ctx, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID), storage.FlagVersion.Is(versions[i].Version)))
			}
			wantPage(t, "FlagVersions.Page", versions, len(versions))(store.FlagVersions().Page(ctx, 100, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)))
			wantPage(t, "FlagVersions.Page: a page", versions[1:3], len(versions))(store.FlagVersions().Page(ctx, 2, 1, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)))
			wantPage(t, "FlagVersions.Page: behind the end", []storage.Flag(nil), len(versions))(store.FlagVersions().Page(ctx, 2, len(versions), storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)))
			wantPage(t, "FlagVersions.Page of another project", []storage.Flag(nil), 0)(store.FlagVersions().Page(ctx, 2, 0, storage.FlagProject.Is(q.ID), storage.VersionOf.Is(f.ID)))
			wantErr(t, "FlagVersions.Get of another project", storage.ErrNotFound)(store.FlagVersions().Get(ctx, storage.FlagProject.Is(q.ID), storage.VersionOf.Is(f.ID), storage.FlagVersion.Is(1)))
			wantErr(t, "FlagVersions.Get that there never was", storage.ErrNotFound)(store.FlagVersions().Get(ctx, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID), storage.FlagVersion.Is(5)))
		}
	}
	check()

	f.Filters, f.Updated = filtersOf(`{"other":"words"}`), s.now.Add(5*time.Hour)
	must(t, s.Flags().Update(ctx, &f))
	versions = versions[1:]
	keep() // the newest version is what the flag is
	check()

	taken := f
	taken.Project, taken.Version = q.ID, 9
	wantError(t, "Flags.Update of another project", storage.ErrNotFound, s.Flags().Update(ctx, &taken))
	taken.ID, taken.Key = foreign.ID, "taken"
	must(t, s.Flags().Create(ctx, &storage.Flag{Project: q.ID, Key: "taken", Created: s.now, Updated: s.now}))
	wantError(t, "Flags.Update with a key that is taken", storage.ErrConflict, s.Flags().Update(ctx, &taken))
	wantError(t, "Atomic", errStop, s.Atomic(ctx, func(store storage.Store) error {
		undone := f
		undone.Version++
		must(t, store.Flags().Update(ctx, &undone))
		if _, total, err := store.FlagVersions().Page(ctx, 1, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)); total != len(versions)+1 || err != nil {
			t.Errorf("the transaction sees %d versions, %v; want %d", total, err, len(versions)+1)
		}
		return errStop
	}))
	check()
	wantErr(t, "FlagVersions.Get of a change that failed", storage.ErrNotFound)(s.FlagVersions().Get(ctx, storage.FlagProject.Is(q.ID), storage.VersionOf.Is(foreign.ID), storage.FlagVersion.Is(9)))

	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID))) // whose changes stay
	for i := range versions {
		versions[i].ModifiedBy = nil
	}
	check()
	must(t, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(f.ID)))
	wantPage(t, "FlagVersions.Page of a flag that is deleted for good", []storage.Flag(nil), 0)(s.FlagVersions().Page(ctx, 2, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)))
	if _, total, err := s.FlagVersions().Page(ctx, 2, 0, storage.FlagProject.Is(q.ID), storage.VersionOf.Is(foreign.ID)); total != 1 || err != nil {
		t.Errorf("FlagVersions.Page of the other flag: total %d, %v; want 1", total, err)
	}
}

// testGivenIDs: flags and cohorts keep IDs that are free, and the store makes others behind them.
func testGivenIDs(t *testing.T, s *suite) {
	ctx, o := t.Context(), s.organization(t, "Acme")
	p, q := s.project(t, o), s.project(t, o)
	flag := func(project, id int64, key string) *storage.Flag {
		return &storage.Flag{ID: id, Project: project, Key: key, Created: s.now, Updated: s.now}
	}
	list := []*storage.Flag{flag(p.ID, 70, "a"), flag(p.ID, 0, "b"), flag(p.ID, 70, "twice"), flag(p.ID, 1<<60, "large"), flag(p.ID, -1, "negative"), flag(p.ID, 60, "c")}
	must(t, s.Flags().Create(ctx, list...))
	foreign, next := flag(q.ID, 70, "a"), flag(q.ID, 0, "b")
	must(t, s.Flags().Create(ctx, foreign))
	must(t, s.Flags().Create(ctx, next))
	seen := map[int64]bool{}
	for _, f := range append(list, foreign, next) {
		want(t, "Flag with the key "+f.Key, f)(s.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.ID)))
		seen[f.ID] = true
	}
	if list[0].ID != 70 || list[5].ID != 60 || len(seen) != 8 || foreign.ID < 71 || next.ID < 71 || list[3].ID > 1000 {
		t.Errorf("IDs %v; want 70 and 60 kept, and others for others", seen)
	}
	var ids []int64
	for _, id := range []int64{7, 7, 0} {
		c := storage.Cohort{ID: id, Project: p.ID, Created: s.now}
		must(t, s.Cohorts().Create(ctx, &c))
		ids = append(ids, c.ID)
	}
	if ids[0] != 7 || ids[1] < 8 || ids[2] <= ids[1] {
		t.Errorf("IDs of cohorts %v; want 7 kept, and others behind it", ids)
	}
}
