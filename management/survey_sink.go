package management

import (
	"context"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/capture"
)

const (
	mostTold   = 1 << 14 // responses that are remembered, so that nobody is told twice
	mostUntold = 1 << 10 // responses that wait for OnSurveyResponse
)

// Sink returns a capture.Sink that passes events on to next, and acts on responses
// to surveys once they are stored: it tells OnSurveyResponse, and looks whether a
// survey has all the responses it wants.
func (s *Service) Sink(next capture.Sink) capture.Sink { return &surveySink{s, next} }

type surveySink struct {
	s    *Service
	next capture.Sink
}

// Write implements [capture.Sink].
func (k *surveySink) Write(ctx context.Context, events []capture.Event) error {
	// The events are looked at before they are stored: afterwards their memory
	// may be somebody else's.
	responses := k.s.responsesIn(events)
	err := k.next.Write(ctx, events)
	if len(responses) == 0 {
		return err
	}
	refused, ok := refusedEvents(err)
	if !ok {
		return err
	}
	for _, r := range responses {
		if !refused[r.index] {
			k.s.noteResponse(ctx, r.SurveyResponse)
		}
	}
	return err
}

// refusedEvents returns the indexes of the events that could not be stored; ok is
// false if nothing is known of any.
func refusedEvents(err error) (refused map[int]bool, ok bool) {
	switch e := err.(type) {
	case nil:
		return nil, true
	case *capture.EventError:
		return map[int]bool{e.Index: true}, true
	case interface{ Unwrap() []error }:
		refused = make(map[int]bool)
		for _, one := range e.Unwrap() {
			event, ok := errors.AsType[*capture.EventError](one)
			if !ok {
				return nil, false
			}
			refused[event.Index] = true
		}
		return refused, true
	}
	return nil, false
}

type indexedResponse struct {
	index int
	SurveyResponse
}

// responsesIn returns the responses that are among events.
func (s *Service) responsesIn(events []capture.Event) []indexedResponse {
	var list []indexedResponse
	for i := range events {
		if events[i].Name != "survey sent" {
			continue
		}
		if e, ok := SurveyEventOf(&events[i]); ok {
			list = append(list, indexedResponse{i, SurveyResponse{
				ID: events[i].UUID, Survey: e.Survey, DistinctID: events[i].DistinctID, Time: events[i].Time, Answers: e.Answers, Extra: e.Extra,
			}})
		}
	}
	return list
}

// noteResponse acts on a response that is stored.
func (s *Service) noteResponse(ctx context.Context, r SurveyResponse) {
	select {
	case s.answered <- struct{}{}:
	default: // it is looked at already
	}
	if s.c.OnSurveyResponse == nil {
		return
	}
	if known, _ := s.told.ContainsOrAdd(r.ID, struct{}{}); known {
		return
	}
	select {
	case s.responses <- r:
	default:
		s.c.Log.WarnContext(ctx, "OnSurveyResponse is too slow and is not told of a response", "survey", r.Survey, "response", r.ID)
	}
}

// tellResponses calls OnSurveyResponse until ctx ends.
func (s *Service) tellResponses(ctx context.Context) {
	for {
		select {
		case r := <-s.responses:
			if err := s.tellResponse(ctx, r); err != nil && ctx.Err() == nil {
				s.c.Log.ErrorContext(ctx, "OnSurveyResponse failed", "survey", r.Survey, "response", r.ID, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) tellResponse(ctx context.Context, r SurveyResponse) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("management: it panicked: %T", v)
		}
	}()
	return s.c.OnSurveyResponse(ctx, r)
}
