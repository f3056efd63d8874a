package memstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// What is said of surveys is computed from the captured events each time, as
// management.md §10.2 words it.

// A surveyEvent is a captured event about a survey.
type surveyEvent struct {
	management.SurveyEvent
	id         uuid.UUID
	at         time.Time
	distinctID string
	respondent respondent
	stored     int // its place among those that were stored
}

// A respondent is a person, or the distinct ID of who is none.
type respondent struct {
	person     uuid.UUID
	distinctID string
}

// A submission is what events of one response have in common.
type submission struct{ survey, key uuid.UUID }

// surveyEvents returns all events of the surveys, and those that stand for a
// response.
func (s *Store) surveyEvents(project int64, surveys []uuid.UUID) (list, responses []*surveyEvent) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.events[project] {
		e := &s.events[project][i]
		if i < s.deleted[persons.DistinctID{Project: project, ID: e.DistinctID}] {
			continue // it is deleted with its person
		}
		about, ok := management.SurveyEventOf(e)
		if ok && slices.Contains(surveys, about.Survey) {
			list = append(list, &surveyEvent{about, e.UUID, e.Time, e.DistinctID, s.respondent(e), i})
		}
	}
	representative := make(map[submission]*surveyEvent)
	for _, e := range list {
		if !e.OfResponse() {
			continue
		}
		key := submission{e.Survey, e.Submission}
		if other := representative[key]; other == nil || e.represents(other) {
			representative[key] = e
		}
	}
	return list, slices.SortedFunc(maps.Values(representative), byTime)
}

func (s *Store) respondent(e *capture.Event) respondent {
	if p := s.ids[persons.DistinctID{Project: e.Project, ID: e.DistinctID}]; p != nil {
		return respondent{person: p.ID}
	}
	return respondent{distinctID: e.DistinctID}
}

// represents reports whether an event stands for a response rather than another
// one.
func (e *surveyEvent) represents(other *surveyEvent) bool {
	if sent := e.Kind == management.SurveySent; sent != (other.Kind == management.SurveySent) {
		return sent
	}
	return byTime(e, other) > 0
}

func byTime(a, b *surveyEvent) int {
	return cmp.Or(a.at.Compare(b.at), bytes.Compare(a.id[:], b.id[:]), cmp.Compare(a.stored, b.stored))
}

// selected returns what decides whether an event is selected.
func (s *Store) selected(ctx context.Context, q *management.SurveyQuery) (func(*surveyEvent) bool, error) {
	rows, err := all(ctx, s.tables().archived, func(a *archived) bool { return q.ExcludeArchived && a.project == q.Project })
	return func(e *surveyEvent) bool {
		return (q.From == nil || !e.at.Before(*q.From)) && (q.To == nil || !e.at.After(*q.To)) &&
			!slices.Contains(rows, archived{q.Project, e.Survey, e.id})
	}, err
}

// CountSurveyEvents implements [management.SurveyEventStore].
func (s *Store) CountSurveyEvents(ctx context.Context, q management.SurveyQuery) (*management.SurveyCounts, error) {
	selected, err := s.selected(ctx, &q)
	if err != nil {
		return nil, err
	}
	var c management.SurveyCounts
	var shown, dismissed, sent respondents
	list, responses := s.surveyEvents(q.Project, q.Surveys)
	for _, e := range list {
		switch {
		case !selected(e):
		case e.Kind == management.SurveyShown:
			shown.add(&c.Shown, e)
		case e.Kind == management.SurveyDismissed && !e.Partial:
			dismissed.add(&c.Dismissed, e)
		}
	}
	for _, e := range responses {
		if selected(e) {
			sent.add(&c.Sent, e)
		}
	}
	for r := range dismissed {
		if sent[r] {
			c.Both++
		}
	}
	return &c, nil
}

type respondents map[respondent]bool

func (r *respondents) add(c *management.SurveyCount, e *surveyEvent) {
	if *r == nil {
		*r = make(respondents)
	}
	(*r)[e.respondent] = true
	c.Total, c.Persons = c.Total+1, len(*r)
	if c.First == nil || e.at.Before(*c.First) {
		c.First = new(e.at)
	}
	if c.Last == nil || e.at.After(*c.Last) {
		c.Last = new(e.at)
	}
}

// CountResponses implements [management.SurveyEventStore].
func (s *Store) CountResponses(ctx context.Context, q management.SurveyQuery) (map[uuid.UUID]int, error) {
	selected, err := s.selected(ctx, &q)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]int)
	_, responses := s.surveyEvents(q.Project, q.Surveys)
	for _, e := range responses {
		if selected(e) {
			counts[e.Survey]++
		}
	}
	return counts, nil
}

// SurveyResponses implements [management.SurveyEventStore].
func (s *Store) SurveyResponses(ctx context.Context, q management.SurveyQuery) iter.Seq2[management.SurveyResponse, error] {
	return func(yield func(management.SurveyResponse, error) bool) {
		selected, err := s.selected(ctx, &q)
		if err != nil {
			yield(management.SurveyResponse{}, err)
			return
		}
		list, responses := s.surveyEvents(q.Project, q.Surveys)
		slices.SortStableFunc(responses, func(a, b *surveyEvent) int { // in the end they are read backwards
			return slices.Index(q.Surveys, b.Survey) - slices.Index(q.Surveys, a.Survey)
		})
		events := make(map[submission][]*surveyEvent)
		for _, e := range list {
			if e.OfResponse() {
				key := submission{e.Survey, e.Submission}
				events[key] = append(events[key], e)
			}
		}
		for _, e := range slices.Backward(responses) {
			if err := ctx.Err(); err != nil {
				yield(management.SurveyResponse{}, err)
				return
			}
			if !selected(e) {
				continue
			}
			r := management.SurveyResponse{
				ID: e.id, Survey: e.Survey, DistinctID: e.distinctID, Time: e.at,
				Answers: answers(events[submission{e.Survey, e.Submission}]), Extra: e.Extra,
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// answers returns, of the events of a submission, the latest answer to each
// question.
func answers(events []*surveyEvent) map[string]json.RawMessage {
	merged := make(map[string]json.RawMessage)
	slices.SortFunc(events, byTime)
	for _, e := range slices.Backward(events) {
		for _, question := range slices.Sorted(maps.Keys(e.Answers)) {
			if _, ok := merged[question]; !ok && len(merged) < management.MaxSurveyAnswers {
				merged[question] = e.Answers[question]
			}
		}
	}
	return merged
}
