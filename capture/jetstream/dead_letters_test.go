package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// deadLetters lists the dead letters.
func deadLetters(t testing.TB, s *jetstream.Stream) []jetstream.DeadLetter {
	t.Helper()
	var list []jetstream.DeadLetter
	for a, err := range s.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// TestPoison: what cannot be stored is a dead letter with its reason, the others are
// stored, and it can be replayed.
func TestPoison(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn)
	st := newStore()
	var tries atomic.Int64
	refuse := func(_ context.Context, list []capture.Event) error {
		var errs []error
		for i, e := range list {
			if e.DistinctID == "bad" {
				tries.Add(1)
				errs = append(errs, &capture.EventError{Index: i, Err: errors.New("no\nUnicode")})
			}
		}
		return errors.Join(errs...)
	}
	st.before = refuse
	list := events("good", 0, 50)
	bad := event("bad", 99)
	list[20] = bad
	write(t, s, list[:30]...)
	for _, data := range []string{"", "\x09rubbish"} {
		if _, err := js(t, conn).Publish(t.Context(), "flagstaff.events.0.7", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, list[30:]...)
	c, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st, Attempts: 4})
	st.await(t, 49)
	waiting(t, s, 0)
	if n := tries.Load(); n != 4 {
		t.Errorf("the bad event was tried %d times, want 4", n)
	}
	got := deadLetters(t, s)
	reasons := make(map[string]string)
	for _, a := range got {
		reasons[string(a.Data)] = fmt.Sprint(a.Subject, " ", a.Original, " ", a.Delivered, " ", a.Reason)
		if a.Published.IsZero() || a.Time.Before(a.Published) {
			t.Errorf("message %d was published %v, a dead letter %v", a.Sequence, a.Published, a.Time)
		}
	}
	want := map[string]string{
		string(jetstream.AppendEvent(nil, &bad)): "flagstaff.events.0.7 21 1 no Unicode",
		"":                                       "flagstaff.events.0.7 31 1 message is empty",
		"\x09rubbish":                            "flagstaff.events.0.7 32 1 encoding has version 9, want 1; a newer release may have written it",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("dead letters (-want +got)\n%s", diff)
	}
	if got := c.Stats(); got.DeadLetters != 3 || got.Stored != 49 || got.Redelivered != 0 {
		t.Errorf("Stats = %+v, want 3 dead letters, 49 stored", got)
	}

	// What the sink takes now is stored; the rest is a dead letter again, or
	// discarded.
	st.set(nil)
	for _, a := range got {
		if e, err := a.Event(); err == nil {
			if diff := cmp.Diff(bad, e); diff != "" {
				t.Errorf("Event (-want +got)\n%s", diff)
			}
		}
		if len(a.Data) == 0 {
			if err := s.Discard(t.Context(), a); err != nil {
				t.Error(err)
			}
			continue
		}
		for range 2 { // the first may have had no answer
			if err := s.Replay(t.Context(), a); err != nil {
				t.Error(err)
			}
		}
	}
	st.await(t, 50)
	waiting(t, s, 0)
	stop()
	list2 := st.stored()
	if diff := cmp.Diff(bad, list2[len(list2)-1]); diff != "" {
		t.Errorf("replayed (-want +got)\n%s", diff)
	}
	again := deadLetters(t, s)
	if len(again) != 1 || !strings.HasPrefix(string(again[0].Data), "\x09") {
		t.Errorf("%d dead letters, want the rubbish: %+v", len(again), again)
	}
	if err := s.Discard(t.Context(), got[0]); err != nil {
		t.Errorf("Discard of what is gone = %v, want nil", err)
	}
}

// TestOutliers: a sink that fails without saying which event is to blame.
func TestOutliers(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error":                 func() error { return errors.New("out of range") },
		"a panic":                  func() error { panic("out of range") },
		"an index that nobody has": func() error { return &capture.EventError{Index: -1, Err: errors.New("out of range")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, connect(t, natstest.Start(t).URL()))
			st := newStore()
			picky := sinkFunc(func(ctx context.Context, list []capture.Event) error {
				for _, e := range list {
					if e.DistinctID == "bad" {
						return fail()
					}
				}
				return st.Write(ctx, list)
			})
			list := events("good", 0, 10)
			list[5] = event("bad", 5)
			write(t, s, list...)
			consume(t, s, jetstream.ConsumerConfig{Sink: picky, Attempts: 2})
			st.await(t, 9)
			waiting(t, s, 0)
			inOrder(t, st.stored())
			if got := deadLetters(t, s); len(got) != 1 {
				t.Errorf("%d dead letters, want 1", len(got))
			}
		})
	}
}

// TestForeignDeadLetter: a message of another publisher there is listed and cannot be
// replayed.
func TestForeignDeadLetter(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn)
	if got := deadLetters(t, s); len(got) != 0 {
		t.Errorf("%d dead letters at first", len(got))
	}
	if _, err := js(t, conn).Publish(t.Context(), "flagstaff-aside.x", []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	got := deadLetters(t, s)
	if len(got) != 1 {
		t.Fatalf("%d dead letters, want 1", len(got))
	}
	if _, err := got[0].Event(); err == nil {
		t.Error("rubbish is an event")
	}
	if err := s.Replay(t.Context(), got[0]); err == nil || errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Replay = %v, want an error of its own", err)
	}
	waiting(t, s, 0)
}
