package serve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestRuling72Readiness: the newest write counts for five seconds, and then another
// one is tried (wire.md §2.11).
func TestRuling72Readiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("disk full, says hunter2")
		var storeErr, writeErr error
		tries := 0
		r := newReadiness(func(ctx context.Context) error {
			tries++
			return writeErr
		}, part{"the store does not answer", func(context.Context) error { return storeErr }})
		check := func(want string, wantTries int) {
			t.Helper()
			got := "ready"
			if err := r.check(t.Context()); err != nil {
				e, ok := errors.AsType[*server.NotReady](err)
				if !ok {
					t.Fatalf("check = %T, want a NotReady", err)
				}
				got = e.What
			}
			if got != want || tries != wantTries {
				t.Errorf("%q after %d tries, want %q after %d", got, tries, want, wantTries)
			}
		}
		check("ready", 1)
		check("ready", 1)
		writeErr = failure
		time.Sleep(tryEvery)
		check("events cannot be written", 2)
		writeErr = nil
		check("events cannot be written", 2)
		r.wrote(1, nil)
		check("ready", 2)
		r.wrote(2, failure)
		check("events cannot be written", 2)
		time.Sleep(tryEvery)
		check("ready", 3)
		r.wrote(2, &capture.EventError{Index: 1, Err: failure}) // the event is at fault
		check("ready", 3)
		storeErr = failure
		time.Sleep(tryEvery)
		check("the store does not answer", 3)
		storeErr = nil
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.check(gone); err != nil {
			t.Errorf("check = %v for a client that has left, want nil", err)
		}
		r.draining.Store(true)
		check("shutting down", 4)
	})
}
