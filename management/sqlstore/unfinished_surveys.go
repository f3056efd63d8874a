package sqlstore

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

var (
	_ json.RawMessage
	_ iter.Seq[int]
	_ time.Time
	_ uuid.UUID
	_ management.Store
	_ context.Context
)

func (*DB) CountSurveyEvents(ctx context.Context, q management.SurveyQuery) (*management.SurveyCounts, error) {
	panic("unfinished")
}

func (*DB) CountResponses(ctx context.Context, q management.SurveyQuery) (map[uuid.UUID]int, error) {
	panic("unfinished")
}

func (*DB) SurveyResponses(ctx context.Context, q management.SurveyQuery) iter.Seq2[management.SurveyResponse, error] {
	panic("unfinished")
}

func (*accounts) ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error) {
	panic("unfinished")
}

func (*accounts) UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error) {
	panic("unfinished")
}

func (*accounts) ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error) {
	panic("unfinished")
}
