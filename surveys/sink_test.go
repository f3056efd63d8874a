package surveys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A listener is an OnResponse that remembers.
type listener struct {
	mu    sync.Mutex
	heard []surveys.Response

	do func(context.Context, surveys.Response) error // nil: nothing
}

func (l *listener) hear(ctx context.Context, r surveys.Response) error {
	l.mu.Lock()
	l.heard = append(l.heard, r)
	l.mu.Unlock()
	if l.do != nil {
		return l.do(ctx, r)
	}
	return nil
}

// take returns the persons who have answered, and forgets them.
func (l *listener) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var who []string
	for _, r := range l.heard {
		who = append(who, r.DistinctID)
	}
	l.heard = nil
	return who
}

func withListener(l *listener) func(*config) {
	return func(c *config) {
		c.OnResponse = l.hear
	}
}

// storeFunc is a capture.Sink.
type storeFunc func(context.Context, []capture.Event) error

func (f storeFunc) Write(ctx context.Context, events []capture.Event) error { return f(ctx, events) }

// management.md §10.3: the host is told of responses that are stored, each event
// once, in order.
func TestSinkTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(listener)
		w := newWorld(t, withListener(l))
		id, deleted := w.survey(`{}`).ID, w.survey(`{}`).ID
		w.ok(w.Delete(t.Context(), w.as(w.ada), refOf(w.web), deleted.String()))
		foreign := must(w.Create(t.Context(), w.as(w.dov), refOf(w.shop), decode[surveys.Patch](t, `{"name":"x","type":"api"}`)))(t).ID
		sink := w.Sink(w.store)
		first := captured(w.web, "survey sent", id, "first", at(time.Hour), `{"$survey_response_q1":9,"$browser":"Safari"}`)
		events := []capture.Event{
			first,
			captured(w.web, "survey shown", id, "shown", begin, `{}`),
			captured(w.web, "survey dismissed", id, "dismissed", begin, `{"$survey_partially_completed":true,"$survey_response_q1":1}`),
			captured(w.web, "survey sent", uuid.New(), "of no survey", begin, `{}`),
			captured(w.web, "survey sent", deleted, "of a deleted survey", begin, `{}`),
			captured(w.web, "survey sent", foreign, "of a survey of others", begin, `{}`),
			captured(w.web, "survey sent", id, "second", begin, `{"$survey_submission_id":"s"}`),
			{Project: w.web.ID, UUID: uuid.New(), Name: "survey sent", DistinctID: "without a survey", Time: begin, Properties: json.RawMessage(`{}`)},
			first,
		}
		stop := w.run()
		w.ok(sink.Write(t.Context(), events))
		w.ok(sink.Write(t.Context(), events)) // delivered twice
		for i := range events {
			clear(events[i].Properties) // which are not the sink's to keep
		}
		w.ok(sink.Write(t.Context(), []capture.Event{
			captured(w.web, "survey sent", id, "second", begin, `{"$survey_submission_id":"s"}`), // goes on
			captured(w.shop, "survey sent", foreign, "third", begin, `{}`),
			captured(w.shop, "survey sent", id, "of a survey of others", begin, `{}`),
		}))
		synctest.Wait()
		l.mu.Lock()
		want := surveys.Response{
			ID: first.UUID, Survey: id, DistinctID: "first", Time: at(time.Hour),
			Answers: map[string]json.RawMessage{"q1": json.RawMessage("9")}, Extra: map[string]string{"$browser": "Safari"},
		}
		if diff := cmp.Diff(want, l.heard[0], same); diff != "" {
			t.Errorf("the first response (-want +got)\n%s", diff)
		}
		l.mu.Unlock()
		if diff := cmp.Diff([]string{"first", "second", "second", "third"}, l.take(), same); diff != "" {
			t.Errorf("heard of (-want +got)\n%s", diff)
		}
		stop()
		if log := w.log.String(); log != "" {
			t.Errorf("log %s", log)
		}
	})
}

// The same UUID in two projects is two events: a client that has seen one cannot
// keep the other one back.
func TestSinkTellsByProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(listener)
		w := newWorld(t, withListener(l))
		id := w.survey(`{}`).ID
		forged := captured(w.shop, "survey sent", id, "forged", begin, `{}`)
		e := captured(w.web, "survey sent", id, "d", begin, `{}`)
		e.UUID = forged.UUID
		stop := w.run()
		for _, one := range []capture.Event{forged, e} {
			w.ok(w.Sink(w.store).Write(t.Context(), []capture.Event{one}))
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"d"}, l.take(), same); diff != "" {
			t.Errorf("heard of (-want +got)\n%s", diff)
		}
		stop()
	})
}

// Nobody is told of what is not stored, as far as the error says.
func TestSinkTellsOfStored(t *testing.T) {
	refused := func(i int) error { return &capture.EventError{Index: i, Err: errBroken} }
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"all are stored", nil, []string{"0", "1", "2"}},
		{"one is not", refused(1), []string{"0", "2"}},
		{"two are not", errors.Join(refused(0), refused(2)), []string{"1"}},
		{"two are not, one of them joined twice", errors.Join(refused(0), errors.Join(refused(1), refused(0))), []string{"2"}},
		{"none is", errors.Join(refused(0), refused(1), refused(2)), nil},
		{"nothing is known", errBroken, nil},
		{"nothing is known beside that one is not", errors.Join(refused(0), errBroken), nil},
		{"nothing is known, deeper", errors.Join(refused(0), errors.Join(refused(1), errBroken)), nil},
		{"nothing is known, since it is wrapped", fmt.Errorf("write: %w", refused(0)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := new(listener)
				w := newWorld(t, withListener(l))
				id := w.survey(`{}`).ID
				var events, passed []capture.Event
				for i := range 3 {
					events = append(events, captured(w.web, "survey sent", id, fmt.Sprint(i), begin, `{}`))
				}
				stop := w.run()
				err := w.Sink(storeFunc(func(_ context.Context, events []capture.Event) error {
					passed = slices.Clone(events)
					return tt.err
				})).Write(t.Context(), events)
				if err != tt.err || !cmp.Equal(events, passed) {
					t.Errorf("Write = %v, want %v; passed on %v", err, tt.err, passed)
				}
				synctest.Wait()
				if diff := cmp.Diff(tt.want, l.take(), same); diff != "" {
					t.Errorf("heard of (-want +got)\n%s", diff)
				}
				stop()
			})
		})
	}
}

// A host that fails, panics or is slow loses what it does not take, and nothing
// else: who writes events does not wait.
func TestListenerMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(listener)
		l.do = func(_ context.Context, r surveys.Response) error {
			switch r.DistinctID {
			case "fails":
				return errors.New("the webhook is away")
			case "panics":
				panic("secret")
			case "slow":
				time.Sleep(time.Hour)
			}
			return nil
		}
		w := newWorld(t, withListener(l))
		id := w.survey(`{}`).ID
		sink := w.Sink(w.store)
		write := func(person string) {
			t.Helper()
			before := time.Now()
			w.ok(sink.Write(t.Context(), []capture.Event{captured(w.web, "survey sent", id, person, begin, `{}`)}))
			if d := time.Since(before); d > 0 {
				t.Errorf("Write waits for %s", d)
			}
		}
		stop := w.run()
		for _, person := range []string{"fails", "panics", "well"} {
			write(person)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"fails", "panics", "well"}, l.take(), same); diff != "" {
			t.Errorf("heard of (-want +got)\n%s", diff)
		}
		log := w.log.String()
		if !strings.Contains(log, `error="the webhook is away"`) || !strings.Contains(log, "panicked: string") || strings.Contains(log, "secret") || strings.Count(log, "level=ERROR") != 2 {
			t.Errorf("log %s", log)
		}

		write("slow")
		synctest.Wait()
		for i := range 1024 {
			write(fmt.Sprint(i))
		}
		synctest.Wait()
		if log := w.log.String(); strings.Contains(log, "too slow") {
			t.Errorf("log %s", log)
		}
		write("lost")
		if log := w.log.String(); strings.Count(log, "level=WARN msg=\"OnResponse is too slow") != 1 {
			t.Errorf("log %s", log)
		}
		time.Sleep(2 * time.Hour)
		if heard := l.take(); len(heard) != 1025 || slices.Contains(heard, "lost") {
			t.Errorf("heard of %d", len(heard))
		}
		stop()
	})
}

// At its end Run tells of what waits, for at most ten seconds.
func TestSinkTellsAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		each time.Duration
		want int // responses that are told of, of 30
		took time.Duration
	}{
		{"all", 0, 30, 0},
		{"as many as there is time for", 900 * time.Millisecond, 13, 10 * time.Second}, // the first and the last are cut short
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := new(listener)
				l.do = func(ctx context.Context, _ surveys.Response) error {
					select {
					case <-time.After(tt.each):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				w := newWorld(t, withListener(l))
				id := w.survey(`{}`).ID
				for i := range 30 {
					e := captured(w.web, "survey sent", id, fmt.Sprint(i), begin, `{}`)
					w.ok(w.Sink(w.store).Write(t.Context(), []capture.Event{e}))
				}
				stop := w.run()
				if tt.each > 0 {
					synctest.Wait()
				}
				before := time.Now()
				stop()
				if took := time.Since(before); took != tt.took {
					t.Errorf("Run takes %s to end, want %s", took, tt.took)
				}
				if n := len(l.take()); n != tt.want {
					t.Errorf("heard of %d, want %d", n, tt.want)
				}
				lost := strings.Contains(w.log.String(), fmt.Sprintf("is not told of responses before the end\" responses=%d", 30-tt.want))
				if lost != (tt.want < 30) {
					t.Errorf("log %s", w.log)
				}
			})
		})
	}
}

// Without OnResponse responses end surveys all the same.
func TestSinkWithoutListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := w.survey(`{"start_date":` + date(0) + `,"responses_limit":1}`).ID
		stop := w.run()
		synctest.Wait()
		w.ok(w.Sink(w.store).Write(t.Context(), []capture.Event{captured(w.web, "survey sent", id, "d", begin, `{}`)}))
		time.Sleep(11 * time.Second)
		if v := w.storedSurvey(id); v.End == nil {
			t.Errorf("survey: %+v", v)
		}
		stop()
	})
}
