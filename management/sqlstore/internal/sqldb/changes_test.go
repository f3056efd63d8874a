package sqldb_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestWatchCoalesces sends many notifications while one is being handled.
func TestWatchCoalesces(t *testing.T) {
	calling, release, sent := make(chan bool), make(chan bool), make(chan bool)
	errLost := errors.New("the connection is lost")
	db := sqldb.NewListener(func(ctx context.Context, channel string, heard func()) error {
		heard()
		<-calling
		for range 100 {
			heard()
		}
		sent <- true
		<-calling
		<-sent
		return errLost
	})
	calls := 0
	ended := make(chan error)
	go func() {
		ended <- db.Watch(t.Context(), func() {
			calls++
			calling <- true
			<-release
		})
	}()
	<-sent
	release <- true
	release <- true
	sent <- true
	err := <-ended
	if calls != 2 || !errors.Is(err, errLost) || !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("%d calls, want 2: one for all that came during the first; Watch = %v", calls, err)
	}
}

// TestWatchPanics checks that a panic of the function ends the listening.
func TestWatchPanics(t *testing.T) {
	ended := make(chan bool, 1)
	db := sqldb.NewListener(func(ctx context.Context, _ string, heard func()) error {
		heard()
		<-ctx.Done()
		ended <- true
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("there is no panic")
		}
		<-ended
	}()
	_ = db.Watch(t.Context(), func() { panic("stop") })
}

// TestWatchOnlyVersions checks that stored events, which SQLite reports as
// well, do not wake watchers, and that there can be many watchers.
func TestWatchOnlyVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, other := open(t, path, sqlstore.Options{}), open(t, path, sqlstore.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	created, err := management.Bootstrap(ctx, db, management.First{})
	if err != nil {
		t.Fatal(err)
	}
	watching, stop := context.WithCancel(ctx)
	const watchers = 20
	changed := make(chan int, 10*watchers)
	var wg sync.WaitGroup
	for i := range watchers {
		wg.Go(func() {
			if err := db.Watch(watching, func() { changed <- i }); err != nil {
				t.Errorf("Watch: %v", err)
			}
		})
	}
	told := make([]int, watchers)
	hear := func() {
		t.Helper()
		for range watchers {
			select {
			case i := <-changed:
				told[i]++
			case <-ctx.Done():
				t.Fatal("somebody is not told")
			}
		}
	}
	hear()
	for range 10 {
		write(t, other, event("page", "u", `{"$set":{"a":1}}`))
		write(t, db, event("page", "u", `{"$set":{"a":2}}`))
		if _, err := db.Projects().List(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Flags().Create(ctx, &storage.Flag{Project: created.Project.ID, Key: "beta", Created: now, Updated: now}); err != nil {
		t.Fatal(err)
	}
	hear()
	stop()
	wg.Wait()
	for i, n := range told {
		if n != 2 || len(changed) > 0 {
			t.Errorf("watcher %d was told %d times, want 2; %d calls are left", i, n, len(changed))
		}
	}
}

// TestWatchClosed checks that Watch ends when the database is closed.
func TestWatchClosed(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan bool, 10)
	ended := make(chan error)
	go func() { ended <- db.Watch(t.Context(), func() { begun <- true }) }()
	<-begun
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("Watch of a database that is closed = nil, want an error")
	}
}

// TestCallsPassTransactions checks that storing the calls of a flag does not
// wait while a transaction of PostgreSQL changes the flag.
func TestCallsPassTransactions(t *testing.T) {
	d := newPostgres(t)
	db := d.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	created, err := management.Bootstrap(ctx, db, management.First{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, event("page", "first", `{}`))
	f := storage.Flag{Project: created.Project.ID, Key: "beta", Created: now, Updated: now}
	if err := db.Flags().Create(ctx, &f); err != nil {
		t.Fatal(err)
	}
	err = db.Atomic(ctx, func(s storage.Store) error {
		if err := s.Flags().Update(ctx, &f); err != nil {
			return err
		}
		return db.Write(ctx, []capture.Event{event("$feature_flag_called", "u", `{"$feature_flag":"beta"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	later := event("$feature_flag_called", "u", `{"$feature_flag":"beta"}`)
	later.Time = now.Add(storage.LastCalledStep + time.Microsecond)
	later.Received = later.Time
	write(t, db, later)
	got, err := db.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.ID))
	if err != nil || got.LastCalled == nil || !got.LastCalled.Equal(later.Time) {
		t.Errorf("Flag = %+v, %v; want its last call at %v", got, err, later.Time)
	}
}

// TestCallsCostNoStatement checks that a process does not store a call again if
// it knows that it is stored.
func TestCallsCostNoStatement(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		created, err := management.Bootstrap(t.Context(), db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		f := storage.Flag{Project: created.Project.ID, Key: "beta", Created: now, Updated: now}
		if err := db.Flags().Create(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		call := func(after time.Duration, stored bool) {
			t.Helper()
			e := event("$feature_flag_called", "u", `{"$feature_flag":"beta"}`)
			e.Time = now.Add(after)
			e.Received = e.Time
			write(t, db, e)
			if n := d.count(t, "SELECT count(last_called_at) FROM feature_flag"); (n == 1) != stored {
				t.Errorf("the call after %v is stored: %v, want %v", after, n == 1, stored)
			}
			d.exec(t, "UPDATE feature_flag SET last_called_at = NULL")
		}
		call(0, true)
		call(time.Minute, false)
		call(storage.LastCalledStep, false)
		call(storage.LastCalledStep+time.Microsecond, true)
		call(2*storage.LastCalledStep, false)
	})
}
