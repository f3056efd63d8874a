package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// testFlagDefinitions changes flags at random, by several stores and in transactions of
// which some are undone, and compares the lists of all stores with the flags read one by
// one.
func testFlagDefinitions(t *testing.T, s *suite) {
	const steps = 75 // each compares all flags
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	ctx := t.Context()
	o := s.organization(t, "acme")
	p := s.project(t, o)
	var ids []int64
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	undo := errors.New("undone")

	n := 0
	step := func(store storage.Store) error {
		n++
		var f *storage.Flag
		if len(ids) > 0 {
			var err error
			if f, err = store.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(ids[random.IntN(len(ids))])); errors.Is(err, storage.ErrNotFound) {
				f = nil
			} else if err != nil {
				return err
			}
		}
		kind := random.IntN(10)
		if f == nil || kind < 3 {
			f = &storage.Flag{Project: p.ID, Key: fmt.Sprint("flag-", n), Created: s.now, Updated: s.now}
			err := store.Flags().Create(ctx, f)
			ids = append(ids, f.ID)
			return err
		}
		switch kind {
		case 3:
			return store.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(f.ID))
		case 4, 5:
			f.Deleted = !f.Deleted
		case 6:
			f.Filters = filtersOf(fmt.Sprintf(`{"groups":[{"rollout_percentage":%d}]}`, random.IntN(100)))
		default:
			f.Name = fmt.Sprint("name ", n)
		}
		return store.Flags().Update(ctx, f)
	}
	for at := range steps {
		store := stores[random.IntN(len(stores))]
		many := func(tx storage.Store) error {
			for range 1 + random.IntN(3) {
				if err := step(tx); err != nil {
					return err
				}
				if random.IntN(3) == 0 { // what is read here may be undone
					if err := s.compareFlags(ctx, tx, p.ID, ids); err != nil {
						return err
					}
				}
			}
			if random.IntN(4) == 0 {
				return undo
			}
			return nil
		}
		var err error
		switch random.IntN(4) {
		case 0:
			err = step(store)
		case 1:
			err = store.AtOnce(ctx, many)
		case 2:
			err = store.Atomic(ctx, func(tx storage.Store) error {
				if err := tx.Atomic(ctx, many); err != nil && !errors.Is(err, undo) {
					return err
				}
				return many(tx)
			})
		default:
			err = store.Atomic(ctx, many)
		}
		if err != nil && !errors.Is(err, undo) {
			t.Fatalf("step %d: %v", at, err)
		}
		for i, store := range stores {
			if err := s.compareFlags(ctx, store, p.ID, ids); err != nil {
				t.Fatalf("step %d, store %d: %v", at, i, err)
			}
		}
	}

	// Calls and deleted users change rows without any change of a flag.
	ann := s.user(t, "ann")
	called := s.flag(t, p, "called")
	called.CreatedBy, called.ModifiedBy = nil, &ann.ID
	must(t, s.Flags().Update(ctx, called))
	ids = append(ids, called.ID)
	compare := func(name string) {
		t.Helper()
		for i, store := range stores {
			if err := s.compareFlags(ctx, store, p.ID, ids); err != nil {
				t.Errorf("store %d after %s: %v", i, name, err)
			}
		}
	}
	compare("a change")
	e := s.event("$feature_flag_called", "u", `{"$feature_flag":"called"}`)
	e.Project, e.Time = p.ID, s.now
	must(t, s.Write(ctx, []capture.Event{e}))
	if f, err := s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(called.ID)); err != nil || f.LastCalled == nil {
		t.Errorf("the flag was last called at %v, %v", f, err)
	}
	compare("a call")
	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))
	compare("the deletion of a user")
}

// compareFlags compares lists of the flags of a project with the flags read one by one.
func (s *suite) compareFlags(ctx context.Context, store storage.Store, project int64, ids []int64) error {
	var want []storage.Flag
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for _, id := range ids {
		switch f, err := store.Flags().Get(ctx, storage.FlagProject.Is(project), storage.FlagID.Is(id)); {
		case errors.Is(err, storage.ErrNotFound) || err == nil && f.Deleted:
		case err != nil:
			return err
		default:
			want = append(want, *f)
		}
	}
	list, err := store.CalledFlags(ctx, project)
	if diff := cmp.Diff(want, list, same); err != nil || diff != "" {
		return fmt.Errorf("the list of Flags: %v (-want +got)\n%s", err, diff)
	}
	for i := range want {
		want[i].LastCalled = nil
	}
	list, err = store.FlagDefinitions(ctx, project)
	if diff := cmp.Diff(want, list, same); err != nil || diff != "" {
		return fmt.Errorf("the list of FlagDefinitions: %v (-want +got)\n%s", err, diff)
	}
	return nil
}
