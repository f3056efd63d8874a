package management

import (
	"context"
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

	// Flags of the project that decide who is asked. LinkedFlag is one that people
	// have made, TargetingFlag can be; the others were made for the survey.
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

	ResponsesLimit *int // the survey ends when it has as many

	IterationCount   *int
	IterationDays    *int // iteration_frequency_days
	IterationStarts  []time.Time
	CurrentIteration *int
	IterationStart   *time.Time // of the current one

	SamplingStart    *time.Time
	SamplingType     *string // day, week or month
	SamplingInterval *int
	SamplingLimit    *int
	SamplingDaily    json.RawMessage // a list of management.md §9.9

	PartialResponses *bool
	IframeEmbedding  *bool

	// What summaries have said (management.md §11.5, §11.6): the headline, of
	// how many answers it was made and how many there were then; and a JSON
	// object of summaries by question ID.
	Headline          string
	HeadlineSample    int
	HeadlineResponses int
	Summaries         json.RawMessage

	CreatedBy *int64
	Created   time.Time
	Updated   time.Time
}

// A SurveyFilter selects surveys. Empty fields select nothing away.
type SurveyFilter struct {
	Archived *bool
	Type     string
	IDs      []uuid.UUID // nil: all
	Search   string      // part of name or description, whatever its case
}

// A SurveyStore keeps surveys, and which of their responses are archived.
type SurveyStore interface {
	Survey(ctx context.Context, project int64, id uuid.UUID) (*Survey, error)

	// Surveys returns all surveys of a project in order of creation, and
	// FindSurveys a page of those that a filter selects, newest first, with how
	// many it selects.
	Surveys(ctx context.Context, project int64) ([]Survey, error)
	FindSurveys(ctx context.Context, project int64, f SurveyFilter, limit, offset int) ([]Survey, int, error)

	// ScheduledSurveys returns the surveys of all projects that have a start and
	// no end, are not archived, and have a limit of responses, iterations, or
	// limits by day.
	ScheduledSurveys(ctx context.Context) ([]Survey, error)

	// CreateSurvey and UpdateSurvey return ErrConflict if the name is taken.
	CreateSurvey(ctx context.Context, s *Survey) error
	UpdateSurvey(ctx context.Context, s *Survey) error

	// DeleteSurvey deletes a survey, and forgets which of its responses are
	// archived.
	DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error

	// ArchiveResponse and UnarchiveResponse report whether that changed
	// anything. ArchivedResponses returns the responses that are archived, in
	// the order in which they were.
	ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error)
	UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error)
	ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error)
}
