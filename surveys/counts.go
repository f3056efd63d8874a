package surveys

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A Query selects what was captured about surveys of a project
// (management.md §10).
type Query struct {
	Project int64
	Surveys []uuid.UUID // none: nothing is selected

	// From and To bound the times of events, both included. Nil: no bound.
	From, To *time.Time

	// ExcludeArchived leaves out events whose UUIDs are archived as responses
	// of their survey.
	ExcludeArchived bool
}

// A Count counts events of one kind.
type Count struct {
	Total       int
	Persons     int // distinct ones, as they are now; a distinct ID without a person counts as one
	First, Last *time.Time
}

// Counts are what statistics are made of (management.md §11.1).
type Counts struct {
	Shown     Count
	Dismissed Count // except partially completed ones
	Sent      Count // responses: representative events
	Both      int   // persons with events of both kinds, dismissed and sent
}

// A Response is what a person answered (management.md §10.2).
type Response struct {
	ID         uuid.UUID // of the representative event
	Survey     uuid.UUID
	DistinctID string
	Time       time.Time

	// Answers are by question ID, or by index as decimal text if they were sent
	// so: strings, numbers or lists, never null or empty. If several events belong
	// to one submission, the latest answer to each question counts. There are at
	// most [MaxAnswers].
	Answers map[string]json.RawMessage

	// Extra are other properties of the representative event, as text, if it has
	// them: $session_id, $browser, $os, $device_type, $current_url,
	// $geoip_country_code, $geoip_country_name, $geoip_city_name,
	// $survey_iteration and $survey_completed.
	Extra map[string]string
}

// Answers are what a [Response] has answered.
type Answers struct {
	Time time.Time // of the response

	// Object is a JSON object of the answers that a Response has, nil if it has none.
	Object json.RawMessage
}
