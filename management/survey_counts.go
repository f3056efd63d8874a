package management

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/google/uuid"
)

// A SurveyQuery selects what was captured about surveys of a project
// (management.md §10).
type SurveyQuery struct {
	Project int64
	Surveys []uuid.UUID // none: nothing is selected

	// From and To bound the times of events, both included. Nil: no bound.
	From, To *time.Time

	// ExcludeArchived leaves out events whose UUIDs are archived as responses
	// of their survey.
	ExcludeArchived bool
}

// A SurveyCount counts events of one kind.
type SurveyCount struct {
	Total       int
	Persons     int // distinct ones
	First, Last *time.Time
}

// SurveyCounts are what statistics are made of (management.md §11.1).
type SurveyCounts struct {
	Shown     SurveyCount
	Dismissed SurveyCount // but partially completed ones
	Sent      SurveyCount // responses: representative events
	Both      int         // persons who dismissed and sent
}

// A SurveyResponse is what a person answered (management.md §10.2).
type SurveyResponse struct {
	ID         uuid.UUID // of the representative event
	Survey     uuid.UUID
	DistinctID string
	Time       time.Time

	// Answers are by question ID, or by index as decimal text if that is how
	// they were sent: strings, numbers or lists, never null. Of several events
	// of one submission the latest answer to each question counts.
	Answers map[string]json.RawMessage

	// Extra are other properties of the event, as $session_id, $browser and
	// $survey_iteration; only those of surveyExtra.
	Extra map[string]string
}

// A SurveyEventStore has the events of surveys in a form that can be counted. Its
// capture.Sink fills it in the transaction that stores an event.
type SurveyEventStore interface {
	// CountSurveyEvents counts the events of all selected surveys together.
	CountSurveyEvents(ctx context.Context, q SurveyQuery) (*SurveyCounts, error)

	// CountResponses counts the responses of each survey. Those that have none
	// are not in the map.
	CountResponses(ctx context.Context, q SurveyQuery) (map[uuid.UUID]int, error)

	// SurveyResponses iterates over responses, newest first, those of one time
	// by descending ID. After an error there are no more.
	SurveyResponses(ctx context.Context, q SurveyQuery) iter.Seq2[SurveyResponse, error]
}
