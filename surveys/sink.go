package surveys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

const (
	maxNotified = 1 << 14 // responses that are remembered, so that OnResponse is not called twice
	maxWaiting  = 1 << 10 // responses that wait for OnResponse

	// notifyTimeout is how long Run still calls OnResponse when it ends.
	notifyTimeout = 10 * time.Second
)

// Sink returns a capture.Sink that passes events on to the store, which must have been opened
// with [Extension]. When responses to surveys are stored, it lets Run call OnResponse, and end
// surveys that have all the responses they want.
func (s *Service) Sink(store capture.Sink) capture.Sink { return &sink{s, store} }

type sink struct {
	s     *Service
	store capture.Sink
}

// A storedResponse is an event "survey sent". A client may have made up the survey.
type storedResponse struct {
	index   int // among the events that were stored together
	project int64
	Response
}

type responseKey struct {
	project int64
	event   uuid.UUID
}

// Write implements [capture.Sink].
func (k *sink) Write(ctx context.Context, events []capture.Event) error {
	// The responses are made before the events are stored: afterwards the memory
	// of the events may have another use.
	responses := sentResponses(events)
	err := k.store.Write(ctx, events)
	if len(responses) == 0 {
		return err
	}
	faults, only := capture.Faults(err, len(events))
	if !only {
		return err
	}
	refused := make(map[int]bool)
	for _, f := range faults {
		refused[f.Index] = true
	}
	for _, r := range responses {
		if !refused[r.index] {
			k.s.noteResponse(ctx, r)
		}
	}
	return err
}

// sentResponses returns the responses among events. A survey that was dismissed or abandoned
// partially completed is not a response: its answers were sent before.
func sentResponses(events []capture.Event) []storedResponse {
	var list []storedResponse
	for i := range events {
		e := &events[i]
		if kindOf(e.Name) != Sent {
			continue
		}
		if about, ok := EventOf(e); ok {
			list = append(list, storedResponse{i, e.Project, Response{
				ID: e.UUID, Survey: about.Survey, DistinctID: e.DistinctID, Time: e.Time, Answers: about.Answers, Extra: about.Extra,
			}})
		}
	}
	return list
}

// noteResponse acts on a response that is stored.
func (s *Service) noteResponse(ctx context.Context, r storedResponse) {
	s.reschedule()
	if s.c.OnResponse == nil {
		return
	}
	if known, _ := s.notified.ContainsOrAdd(responseKey{r.project, r.ID}, struct{}{}); known {
		return
	}
	select {
	case s.responses <- r:
	default:
		s.c.Log.WarnContext(ctx, "OnResponse is too slow and is not told of a response", "survey", r.Survey, "response", r.ID)
	}
}

// notifyResponses calls OnResponse until ctx ends, and then for what still
// waits.
func (s *Service) notifyResponses(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case r := <-s.responses:
			s.notifyResponse(ctx, r)
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	for last.Err() == nil {
		select {
		case r := <-s.responses:
			s.notifyResponse(last, r)
		default:
			return
		}
	}
	if n := len(s.responses); n > 0 {
		s.c.Log.ErrorContext(last, "OnResponse is not told of responses before the end", "responses", n)
	}
}

func (s *Service) notifyResponse(ctx context.Context, r storedResponse) {
	if err := s.callOnResponse(ctx, r); err != nil {
		s.c.Log.ErrorContext(ctx, "OnResponse failed", "survey", r.Survey, "response", r.ID, "error", err)
	}
}

// callOnResponse calls OnResponse for a response to a survey of its project.
func (s *Service) callOnResponse(ctx context.Context, r storedResponse) (err error) {
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout) // a response that was taken is told of when Run ends
	defer cancel()
	switch _, err := s.data.Survey(read, r.project, r.Survey); {
	case errors.Is(err, management.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("survey: it panicked: %T", v)
		}
	}()
	return s.c.OnResponse(ctx, r.Response)
}
