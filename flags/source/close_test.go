package source_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// TestClose: Close ends a Run that waits, and a load that hangs. The bubble of synctest
// ends only if no goroutine is left.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := definitions(t, "a")
		var hangs, ended atomic.Bool
		s := sourceFunc(func(ctx context.Context, _ string) (*flags.Definitions, string, error) {
			if !hangs.Load() {
				return d, "1", nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // to give up takes its time
			ended.Store(true)
			return nil, "", ctx.Err()
		})
		var e flags.Evaluator
		l := source.NewLoader(&e, s, source.LoaderConfig{Interval: time.Hour, Log: slog.New(slog.DiscardHandler)})
		running, refreshing := make(chan error, 1), make(chan error, 2)
		go func() { running <- l.Run(context.Background()) }()
		synctest.Wait()
		before := l.Status()
		hangs.Store(true)
		for range 2 { // the second one waits for the first
			go func() { refreshing <- l.Refresh(context.Background()) }()
		}
		synctest.Wait()

		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Close does not wait for the load under way")
		}
		if err := l.Close(); err != nil || !ended.Load() {
			t.Errorf("a second Close = %v before the load has ended", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-running; err != nil {
			t.Errorf("Run = %v", err)
		}
		for range 2 {
			if err := <-refreshing; !errors.Is(err, source.ErrClosed) {
				t.Errorf("Refresh = %v, want ErrClosed", err)
			}
		}

		hangs.Store(false)
		if err := l.Run(context.Background()); err != nil {
			t.Errorf("Run after Close = %v", err)
		}
		if err := l.Refresh(context.Background()); !errors.Is(err, source.ErrClosed) {
			t.Errorf("Refresh after Close = %v, want ErrClosed", err)
		}
		if after := l.Status(); after.Version != before.Version || after.Err != nil || !after.Loaded.Equal(before.Loaded) || !flagOn(&e, "a") {
			t.Errorf("Status after Close = %v, before it was %v", after, before)
		}
	})
}

// TestCloseEvaluate: Close breaks off evaluate requests, and nothing is asked later.
func TestCloseEvaluate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{after: 400 * time.Millisecond}
		e, l := asking(t, server, nil)
		start := time.Now()
		answered := make(chan *flags.RemoteResults, 1)
		go func() { answered <- l.RemoteResults(context.Background(), vip()) }()
		synctest.Wait()
		if len(server.asked()) != 1 {
			t.Fatal("the server was not asked")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if a := <-answered; a == nil || a.Err == nil || time.Since(start) > 0 {
			t.Errorf("RemoteResults = %+v after %v, want an error at once", a, time.Since(start))
		}
		r := vip()
		if r.RemoteResults = l.RemoteResults(context.Background(), r); r.RemoteResults == nil || !errors.Is(r.RemoteResults.Err, source.ErrClosed) {
			t.Errorf("RemoteResults after Close = %+v, want ErrClosed", r.RemoteResults)
		}
		if result, err := e.Snapshot().Flag("vip", r); err != nil || !result.Unconfirmed {
			t.Errorf("%+v, %v; want an unconfirmed value", result, err)
		}
		if bodies := server.asked(); len(bodies) > 0 {
			t.Errorf("the server was asked after Close: %q", bodies)
		}
	})
}

// TestCloseNothing: a nil or zero Loader has nothing to close.
func TestCloseNothing(t *testing.T) {
	for name, l := range map[string]*source.Loader{
		"nil": nil, "zero": new(source.Loader), "without a Source": source.NewLoader(nil, nil, source.LoaderConfig{}),
	} {
		for range 2 {
			if err := l.Close(); err != nil {
				t.Errorf("%s: Close = %v", name, err)
			}
		}
	}
}
