package survey

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// A Filter selects surveys. An empty field excludes nothing.
type Filter struct {
	Archived *bool
	Type     string
	IDs      []uuid.UUID // nil: all
	Search   string      // part of the name or the description, in any case
}

// A Store keeps surveys, and which of their responses are archived. What [storage.Store]
// says of its methods holds for these, too. A Store of surveys is a storage.Store as
// well, and so are the Stores that its Atomic passes on.
type Store interface {
	Survey(ctx context.Context, project int64, id uuid.UUID) (*Survey, error)

	// Surveys returns all surveys of a project in order of creation.
	// FindSurveys returns a page of the surveys that a filter selects, newest
	// first, and how many it selects.
	Surveys(ctx context.Context, project int64) ([]Survey, error)
	FindSurveys(ctx context.Context, project int64, f Filter, limit, offset int) ([]Survey, int, error)

	// ScheduledSurveys returns the surveys of all projects that have a start and
	// no end, are not archived, and have a limit of responses, iterations, or
	// limits by day.
	ScheduledSurveys(ctx context.Context) ([]Survey, error)

	// CreateSurvey and UpdateSurvey return [management.ErrConflict] if the name is taken.
	CreateSurvey(ctx context.Context, s *Survey) error
	UpdateSurvey(ctx context.Context, s *Survey) error

	// DeleteSurvey deletes a survey, and forgets which of its responses are
	// archived.
	DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error

	// ArchiveResponse and UnarchiveResponse report whether they have changed
	// anything. ArchivedResponses returns the responses that are archived, in
	// the order in which they became so.
	ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error)
	UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error)
	ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error)
}

// An EventStore has the events of surveys in a form that can be counted. It has an event as
// soon as the event is stored. It is safe for concurrent use.
//
// One event of a submission is representative, whatever a query selects: the latest
// event "survey sent", or if there is none, the latest one that says that the survey
// was dismissed or abandoned partially completed. The latest event is the one with
// the greatest time, then UUID, then the one that was stored last.
type EventStore interface {
	// CountSurveyEvents counts the events of all selected surveys together.
	CountSurveyEvents(ctx context.Context, q Query) (*Counts, error)

	// CountResponses counts the responses of each survey. A survey without
	// responses is not in the map.
	CountResponses(ctx context.Context, q Query) (map[uuid.UUID]int, error)

	// SurveyResponses iterates over the responses of one survey after the
	// other, as the query lists the surveys: newest first, and responses of one
	// time by descending ID. It may leave out answers that are stored meanwhile,
	// also answers of responses that were there before. An error is the last
	// thing that it yields.
	SurveyResponses(ctx context.Context, q Query) iter.Seq2[Response, error]

	// SurveyAnswers is SurveyResponses for statistics, in a fraction of the time: it
	// has only the times and the answers of the responses. An Object is valid until
	// the next one.
	SurveyAnswers(ctx context.Context, q Query) iter.Seq2[Answers, error]
}

// An EventWriter keeps captured events, and what they say about surveys.
type EventWriter interface {
	// WriteEvents does what Write of a [capture.Sink] does. The caller passes the
	// [Events] of the events, so that they are read once.
	WriteEvents(ctx context.Context, events []capture.Event, surveys []Event) error
}
