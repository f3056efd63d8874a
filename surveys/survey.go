package surveys

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A Survey asks questions (management.md §9.1). Nil JSON is null.
type Survey struct {
	ID          uuid.UUID
	Project     int64
	Name        string // unique in the project
	Description string
	Type        string  // popover, widget, external_survey or api
	Schedule    *string // once, recurring or always

	// Flags of the project that decide which persons are asked. LinkedFlag is an
	// ordinary flag, TargetingFlag may be one, and the others were made for the survey.
	LinkedFlag    *int64
	TargetingFlag *int64
	InternalFlag  *int64
	SamplingFlag  *int64

	LinkedInsight *int64

	Questions    json.RawMessage
	Conditions   json.RawMessage
	Appearance   json.RawMessage
	Translations json.RawMessage
	FormContent  json.RawMessage
	BaseLanguage string

	Start    *time.Time
	End      *time.Time
	Archived bool

	ResponsesLimit *int // the survey ends when it has this many

	IterationCount   *int
	IterationDays    *int // iteration_frequency_days
	IterationStarts  []time.Time
	CurrentIteration *int
	IterationStart   *time.Time // of the current iteration

	SamplingStart    *time.Time
	SamplingType     *string // day, week or month
	SamplingInterval *int
	SamplingLimit    *int
	SamplingDaily    json.RawMessage // a list of management.md §9.9

	PartialResponses *bool
	IframeEmbedding  *bool

	// The last summaries (management.md §11.5, §11.6): the headline, the number of
	// responses from which it was made, and the number of responses that there were
	// then; and a JSON object of summaries by question ID.
	Headline          string
	HeadlineSample    int
	HeadlineResponses int
	Summaries         json.RawMessage

	CreatedBy *int64
	Created   time.Time
	Updated   time.Time
}
