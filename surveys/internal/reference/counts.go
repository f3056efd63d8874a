package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A surveyEvent is a captured event about a survey.
type surveyEvent struct {
	surveys.Event
	id         uuid.UUID
	at         time.Time
	distinctID string
	respondent respondent
	stored     int // its place among all events
}

// A respondent is a person, or a distinct ID that has no person.
type respondent struct {
	person     uuid.UUID
	distinctID string
}

// A submission is what the events of one response have in common.
type submission struct{ survey, key uuid.UUID }

func (e *surveyEvent) submission() submission { return submission{e.Survey, e.Submission} }

// about returns all events of the surveys of a query, and in the order of their
// times the events that stand for a response.
func (s *Surveys) about(q *surveys.Query) (all, responses []*surveyEvent) {
	for i := range s.events {
		e := &s.events[i]
		if e.Project != q.Project {
			continue
		}
		about, ok := surveys.EventOf(e)
		if ok && slices.Contains(q.Surveys, about.Survey) {
			all = append(all, &surveyEvent{about, e.UUID, e.Time, e.DistinctID, s.respondent(e), i})
		}
	}
	representative := make(map[submission]*surveyEvent)
	for _, e := range all {
		if !e.OfResponse() {
			continue
		}
		if other := representative[e.submission()]; other == nil || e.represents(other) {
			representative[e.submission()] = e
		}
	}
	return all, slices.SortedFunc(maps.Values(representative), byTime)
}

func (s *Surveys) respondent(e *capture.Event) respondent {
	if p := s.persons[persons.DistinctID{Project: e.Project, ID: e.DistinctID}]; p != nil {
		return respondent{person: p.ID}
	}
	return respondent{distinctID: e.DistinctID}
}

// represents reports whether an event stands for a response rather than another
// one.
func (e *surveyEvent) represents(other *surveyEvent) bool {
	if sent := e.Kind == surveys.Sent; sent != (other.Kind == surveys.Sent) {
		return sent
	}
	return byTime(e, other) > 0
}

func byTime(a, b *surveyEvent) int {
	return cmp.Or(a.at.Compare(b.at), bytes.Compare(a.id[:], b.id[:]), cmp.Compare(a.stored, b.stored))
}

// selects reports whether a query selects an event of its surveys.
func (s *Surveys) selects(q *surveys.Query, e *surveyEvent) bool {
	return (q.From == nil || !e.at.Before(*q.From)) && (q.To == nil || !e.at.After(*q.To)) &&
		!(q.ExcludeArchived && slices.Contains(s.archived, archived{q.Project, e.Survey, e.id}))
}

// Count counts the events of all selected surveys together, as
// CountSurveyEvents of a [surveys.EventStore] does.
func (s *Surveys) Count(q surveys.Query) *surveys.Counts {
	var c surveys.Counts
	shown, dismissed, sent := make(respondents), make(respondents), make(respondents)
	all, responses := s.about(&q)
	for _, e := range all {
		switch {
		case !s.selects(&q, e):
		case e.Kind == surveys.Shown:
			shown.count(&c.Shown, e)
		case e.Kind == surveys.Dismissed && !e.Partial:
			dismissed.count(&c.Dismissed, e)
		}
	}
	for _, e := range responses {
		if s.selects(&q, e) {
			sent.count(&c.Sent, e)
		}
	}
	for r := range dismissed {
		if sent[r] {
			c.Both++
		}
	}
	return &c
}

// respondents are the respondents of the events that were counted.
type respondents map[respondent]bool

func (r respondents) count(c *surveys.Count, e *surveyEvent) {
	r[e.respondent] = true
	c.Total, c.Persons = c.Total+1, len(r)
	if c.First == nil || e.at.Before(*c.First) {
		c.First = new(e.at)
	}
	if c.Last == nil || e.at.After(*c.Last) {
		c.Last = new(e.at)
	}
}

// CountResponses counts the responses of each survey that has any.
func (s *Surveys) CountResponses(q surveys.Query) map[uuid.UUID]int {
	counts := make(map[uuid.UUID]int)
	_, responses := s.about(&q)
	for _, e := range responses {
		if s.selects(&q, e) {
			counts[e.Survey]++
		}
	}
	return counts
}

// Responses returns the selected responses, of one survey after the other as the
// query lists them, newest first.
func (s *Surveys) Responses(q surveys.Query) []surveys.Response {
	all, responses := s.about(&q)
	slices.SortStableFunc(responses, func(a, b *surveyEvent) int { // in the end they are read backwards
		return slices.Index(q.Surveys, b.Survey) - slices.Index(q.Surveys, a.Survey)
	})
	events := make(map[submission][]*surveyEvent)
	for _, e := range all {
		if e.OfResponse() {
			events[e.submission()] = append(events[e.submission()], e)
		}
	}
	var list []surveys.Response
	for _, e := range slices.Backward(responses) {
		if s.selects(&q, e) {
			list = append(list, surveys.Response{
				ID: e.id, Survey: e.Survey, DistinctID: e.distinctID, Time: e.at,
				Answers: answers(events[e.submission()]), Extra: e.Extra,
			})
		}
	}
	return list
}

// answers returns the latest answer to each question that the events of one
// submission have.
func answers(events []*surveyEvent) map[string]json.RawMessage {
	merged := make(map[string]json.RawMessage)
	slices.SortFunc(events, byTime)
	for _, e := range slices.Backward(events) {
		for _, question := range slices.Sorted(maps.Keys(e.Answers)) {
			if _, ok := merged[question]; !ok && len(merged) < surveys.MaxAnswers {
				merged[question] = e.Answers[question]
			}
		}
	}
	return merged
}
