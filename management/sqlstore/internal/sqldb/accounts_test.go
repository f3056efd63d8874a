package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestEventsPassTransactions checks that PostgreSQL stores events while
// transactions that change accounts run and wait, in two processes.
func TestEventsPassTransactions(t *testing.T) {
	d := newPostgres(t)
	stores := []*sqldb.DB{d.open(t), d.open(t)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	created, err := management.Bootstrap(ctx, stores[0], management.First{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, stores[0], event("page", "first", `{}`))
	var waiting sync.WaitGroup
	const each = 12 // more than there are connections
	err = stores[0].Atomic(ctx, func(s storage.Store) error {
		p := created.Project
		p.Name = "Another"
		if err := s.Projects().Update(ctx, &p); err != nil {
			return err
		}
		for i, db := range stores {
			for n := range each {
				waiting.Go(func() {
					if err := db.Organizations().Create(ctx, storage.NewOrganization(fmt.Sprint("Waiting ", i, n))); err != nil {
						t.Errorf("Organizations.Create: %v", err)
					}
				})
			}
		}
		for d.count(t, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 0 {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("nobody waits for the lock: %w", err)
			}
		}
		for _, db := range stores {
			for range 3 {
				if err := db.Write(ctx, []capture.Event{event("page", "u", `{"$set":{"a":1}}`)}); err != nil {
					return fmt.Errorf("Write during a transaction: %w", err)
				}
			}
		}
		organizations, err := stores[1].Organizations().List(ctx)
		if len(organizations) != 1 {
			t.Errorf("%d organizations during a transaction, want 1", len(organizations))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if n := d.count(t, "SELECT count(*) FROM organization"); n != 1+2*each {
		t.Errorf("%d organizations, want %d", n, 1+2*each)
	}
	if n := d.count(t, "SELECT count(*) FROM event"); n != 7 {
		t.Errorf("%d events, want 7", n)
	}
}

// TestAfterTransaction checks that the Store of a transaction cannot be used
// after the end of the transaction.
func TestAfterTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		for _, end := range []error{nil, errors.New("not this time")} {
			var kept storage.Store
			err := db.Atomic(ctx, func(s storage.Store) error {
				kept = s
				return end
			})
			if !errors.Is(err, end) {
				t.Errorf("Atomic = %v, want %v", err, end)
			}
			_, reading := kept.Organizations().List(ctx)
			for call, err := range map[string]error{
				"Organizations":        reading,
				"Organizations.Create": kept.Organizations().Create(ctx, storage.NewOrganization("Acme")),
				"Atomic":               kept.Atomic(ctx, func(storage.Store) error { t.Error("it ran"); return nil }),
			} {
				if err == nil || errors.Is(err, capture.ErrUnavailable) {
					t.Errorf("%s after the transaction: %v, want an error that blames the caller", call, err)
				}
			}
		}
		if n := d.count(t, "SELECT count(*) FROM organization"); n != 0 {
			t.Errorf("%d organizations, want none", n)
		}
	})
}

// TestPartOfTransaction checks that a transaction within another one can fail
// alone.
func TestPartOfTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		errStop := errors.New("stop")
		create := func(s storage.Store, name string) error {
			return s.Organizations().Create(ctx, storage.NewOrganization(name))
		}
		err := db.Atomic(ctx, func(s storage.Store) error {
			if err := create(s, "before"); err != nil {
				return err
			}
			err := s.Atomic(ctx, func(s storage.Store) error {
				return errors.Join(create(s, "within"), errStop)
			})
			if !errors.Is(err, errStop) {
				return fmt.Errorf("inner Atomic = %w, want %w", err, errStop)
			}
			late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
			defer cancel()
			if err := s.Atomic(late, func(storage.Store) error { return nil }); !errors.Is(err, capture.ErrUnavailable) {
				return fmt.Errorf("inner Atomic without a savepoint = %w, want ErrUnavailable", err)
			}
			return create(s, "after")
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := d.count(t, "SELECT count(*) FROM organization WHERE name IN ('before', 'after')"); n != 2 {
			t.Errorf("%d of two organizations", n)
		}
		if n := d.count(t, "SELECT count(*) FROM organization"); n != 2 {
			t.Errorf("%d organizations, want 2", n)
		}
	})
}

// TestLostCommit checks the error of a transaction whose commit has an unknown
// outcome.
func TestLostCommit(t *testing.T) {
	db, late := openFaulty(t, sqlstore.Options{})
	runs := 0
	late.Store(true)
	err := db.Atomic(t.Context(), func(s storage.Store) error {
		runs++
		return s.Organizations().Create(t.Context(), storage.NewOrganization("Acme"))
	})
	late.Store(false)
	if !errors.Is(err, capture.ErrUnavailable) || runs != 1 {
		t.Errorf("Atomic = %v after %d runs, want ErrUnavailable after 1", err, runs)
	}
	if organizations, err := db.Organizations().List(t.Context()); len(organizations) != 1 || err != nil {
		t.Errorf("Organizations = %v, %v; want the one that is there in fact", organizations, err)
	}
}
