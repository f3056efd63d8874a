package memstore

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

func (*Store) CountSurveyEvents(ctx context.Context, q management.SurveyQuery) (*management.SurveyCounts, error) {
	panic("unfinished")
}

func (*Store) CountResponses(ctx context.Context, q management.SurveyQuery) (map[uuid.UUID]int, error) {
	panic("unfinished")
}

func (*Store) SurveyResponses(ctx context.Context, q management.SurveyQuery) iter.Seq2[management.SurveyResponse, error] {
	panic("unfinished")
}
