package storetest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// soon is how long the tests wait for what must happen.
const soon = time.Minute

// testVersions checks which versions grow with which changes.
func testVersions(t *testing.T, s *suite) {
	ctx := t.Context()
	want(t, "Versions before there is anything", map[int64]int64(nil))(s.Versions(ctx))
	var (
		o, other *storage.Organization
		p        *storage.Project
		u        *storage.User
		flag     *storage.Flag
		cohort   = &storage.Cohort{Created: s.now}
		feature  = &storage.EarlyAccessFeature{ID: uuid.New(), Created: s.now}
	)
	const themselves, of, none = 0, 1, -1 // projects themselves, those of p, and nothing
	grows := func(version int64, name string, f func() error) {
		t.Helper()
		before, err := s.Versions(ctx)
		must(t, err)
		must(t, f())
		after, err := s.another(t).Versions(ctx)
		must(t, err)
		if version == of {
			version = p.ID
		}
		grown := make(map[int64]bool)
		for project, n := range after {
			if n > before[project] {
				grown[project] = true
			} else if n < before[project] {
				t.Errorf("%s: the version of %d is %d after %d", name, project, n, before[project])
			}
		}
		wanted := map[int64]bool{version: true}
		if version == none {
			wanted = nil
		}
		if !maps.Equal(grown, wanted) {
			t.Errorf("%s: the versions of %v have grown, want %v", name, grown, wanted)
		}
	}
	grows(none, "Organizations.Create", func() error {
		o, other = s.organization(t, "acme"), s.organization(t, "other")
		return nil
	})
	grows(none, "Users.Create", func() error { u = s.user(t, "ann"); return nil })
	grows(themselves, "Projects.Create", func() error { p = s.project(t, o); return nil })
	s.project(t, other)
	grows(themselves, "Projects.Update", func() error { return s.Projects().Update(ctx, p) })
	grows(of, "Flags.Create", func() error { flag = s.flag(t, p, "beta"); return nil })
	grows(of, "Flags.Update", func() error { return s.Flags().Update(ctx, flag) })
	cohort.Project, feature.Project = p.ID, p.ID
	feature.Flag = flag.ID
	grows(of, "Cohorts.Create", func() error { return s.Cohorts().Create(ctx, cohort) })
	grows(of, "Cohorts.Update", func() error { return s.Cohorts().Update(ctx, cohort) })
	grows(of, "EarlyAccess.Create", func() error { return s.EarlyAccess().Create(ctx, feature) })
	grows(of, "EarlyAccess.Update", func() error { return s.EarlyAccess().Update(ctx, feature) })
	e := s.event("page", "u", `{}`)
	e.Project = p.ID
	grows(none, "an event", func() error { s.write(t, e); return nil })
	e.Name, e.Properties = "$feature_flag_called", []byte(`{"$feature_flag":"beta"}`)
	grows(none, "the call of a flag", func() error { s.write(t, e); return nil })
	e.Name, e.Properties = "$groupidentify", []byte(`{"$group_type":"company","$group_key":"acme","$group_set":{"n":1}}`)
	grows(of, "a new group type", func() error { s.write(t, e); return nil })
	e.Name, e.Properties = "$groupidentify", []byte(`{"$group_type":"company","$group_key":"other","$group_set":{"n":1}}`)
	grows(none, "a new group", func() error { s.write(t, e); return nil })
	grows(none, "Users.Delete", func() error { return s.Users().Delete(ctx, storage.UserID.Is(u.ID)) })
	grows(none, "what fails", func() error {
		wantError(t, "Flags.Create", storage.ErrConflict, s.Flags().Create(ctx, &storage.Flag{Project: p.ID, Key: "beta", Created: s.now, Updated: s.now}))
		wantError(t, "Flags.Delete", storage.ErrNotFound, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(99)))
		wantError(t, "Projects.Delete", storage.ErrNotFound, s.Projects().Delete(ctx, storage.ProjectID.Is(99)))
		wantError(t, "Atomic", errStop, s.Atomic(ctx, func(store storage.Store) error {
			must(t, store.Flags().Update(ctx, flag))
			must(t, store.Projects().Update(ctx, p))
			return errStop
		}))
		return nil
	})
	grows(of, "a transaction", func() error {
		return s.Atomic(ctx, func(store storage.Store) error {
			wantError(t, "Projects.Update", storage.ErrNotFound, store.Projects().Update(ctx, &storage.Project{ID: 99, UUID: uuid.New(), Organization: o.ID, APIKey: "x", Created: s.now, Updated: s.now}))
			return errors.Join(store.Flags().Update(ctx, flag), store.Flags().Update(ctx, flag))
		})
	})
	grows(of, "EarlyAccess.Delete", func() error {
		return s.EarlyAccess().Delete(ctx, storage.FeatureProject.Is(p.ID), storage.FeatureID.Is(feature.ID))
	})
	grows(of, "Flags.Delete", func() error { return s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(flag.ID)) })
	grows(themselves, "Projects.Delete", func() error { return s.Projects().Delete(ctx, storage.ProjectID.Is(p.ID)) })
	grows(themselves, "Organizations.Delete", func() error { return s.Organizations().Delete(ctx, storage.OrganizationID.Is(other.ID)) })
	grows(none, "Organizations.Delete without projects", func() error { return s.Organizations().Delete(ctx, storage.OrganizationID.Is(o.ID)) })
}

// testWatch changes something here and there, in the view of another process.
func testWatch(t *testing.T, s *suite) {
	o := s.organization(t, "acme")
	p := s.project(t, o)
	other := s.another(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	type watcher struct {
		store   sqlstore.Storage
		changed chan struct{}
		ended   chan error
		seen    map[int64]int64
	}
	var watchers []*watcher
	for _, store := range []sqlstore.Storage{s.Storage, other} {
		w := &watcher{store: store, changed: make(chan struct{}, 1000), ended: make(chan error, 1)}
		go func() { w.ended <- store.Watch(watching, func() { w.changed <- struct{}{} }) }()
		watchers = append(watchers, w)
	}
	// see waits until the watchers were told of something new.
	see := func(what string) {
		t.Helper()
		for i, w := range watchers {
			for {
				select {
				case <-w.changed:
				case err := <-w.ended:
					t.Fatalf("%s: Watch ends with %v", what, err)
				case <-ctx.Done():
					t.Fatalf("%s: watcher %d is not told", what, i)
				}
				versions, err := w.store.Versions(ctx)
				must(t, err)
				if w.seen == nil || !maps.Equal(versions, w.seen) {
					w.seen = versions
					break
				}
			}
		}
	}
	see("to begin with")
	for _, store := range []sqlstore.Storage{s.Storage, other} {
		f := &storage.Flag{Project: p.ID, Key: uuid.NewString(), Created: s.now, Updated: s.now}
		must(t, store.Flags().Create(ctx, f))
		see("a flag")
		must(t, store.Projects().Update(ctx, p))
		see("a project")
		must(t, store.Atomic(ctx, func(store storage.Store) error {
			return store.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(f.ID))
		}))
		see("a transaction")
		e := s.event("$groupidentify", "u", `{"$group_type":"`+f.Key+`","$group_key":"acme"}`)
		e.Project = p.ID
		must(t, store.Write(ctx, []capture.Event{e}))
		see("a group type")
	}
	stop()
	for i, w := range watchers {
		select {
		case err := <-w.ended:
			if err != nil {
				t.Errorf("watcher %d ends with %v, want nil", i, err)
			}
		case <-ctx.Done():
			t.Errorf("watcher %d does not end", i)
		}
	}
}

func testLead(t *testing.T, s *suite) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	lead := func(store storage.Leader, name string, wanted bool) {
		t.Helper()
		ran := false
		led, err := store.Lead(ctx, name, func(context.Context) error { ran = true; return nil })
		if led != wanted || ran != wanted || err != nil {
			t.Errorf("Lead(%q) = %v, %v, its function has run: %v; want %v", name, led, err, ran, wanted)
		}
	}
	for round := range 3 {
		for _, leading := range stores {
			led, err := leading.Lead(ctx, "é /..\x00?", func(inner context.Context) error {
				for range 2 {
					for _, store := range stores {
						lead(store, "é /..\x00?", false)
						lead(store, "another", true)
						lead(store, "", true)
					}
				}
				if err := inner.Err(); err != nil {
					t.Errorf("round %d: the leader's context has ended: %v", round, err)
				}
				return errStop
			})
			if !led || !errors.Is(err, errStop) {
				t.Errorf("round %d: Lead = %v, %v; want true and the function's error", round, led, err)
			}
		}
	}

	// After a panic others may.
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Lead(ctx, "panic", func(context.Context) error { panic(errStop) })
	}()
	lead(s.Storage, "panic", true)
	lead(stores[1], "panic", true)

	ended, end := context.WithCancel(ctx)
	led, err := s.Lead(ended, "end", func(inner context.Context) error {
		end()
		<-inner.Done()
		return inner.Err()
	})
	if !led || !errors.Is(err, context.Canceled) {
		t.Errorf("Lead whose context ends = %v, %v; want true, context.Canceled", led, err)
	}
	if led, err := s.Lead(ended, "end", func(context.Context) error { return nil }); led || !errors.Is(err, context.Canceled) {
		t.Errorf("Lead with a context that has ended = %v, %v; want false, context.Canceled", led, err)
	}
	lead(stores[1], "end", true)

	// Of many there is one at a time, and each gets its turn.
	var leaders, most, turns atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				led, err := stores[i%2].Lead(ctx, "crowd", func(context.Context) error {
					if n := leaders.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer leaders.Add(-1)
					turns.Add(1)
					return nil
				})
				if err != nil {
					t.Errorf("Lead: %v", err)
					return
				}
				if led {
					return
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || turns.Load() != 8 {
		t.Errorf("%d turns of up to %d leaders at once, want 8 of 1", turns.Load(), most.Load())
	}
}
