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

func (*accounts) ProjectBySecret(ctx context.Context, hash string) (*management.Project, error) {
	panic("unfinished")
}

func (*accounts) Flag(ctx context.Context, project, id int64) (*management.FeatureFlag, error) {
	panic("unfinished")
}

func (*accounts) FlagByKey(ctx context.Context, project int64, key string) (*management.FeatureFlag, error) {
	panic("unfinished")
}

func (*accounts) Flags(ctx context.Context, project int64) ([]management.FeatureFlag, error) {
	panic("unfinished")
}

func (*accounts) FindFlags(ctx context.Context, project int64, f management.FlagFilter, limit, offset int) ([]management.FeatureFlag, int, error) {
	panic("unfinished")
}

func (*accounts) CreateFlag(ctx context.Context, f *management.FeatureFlag) error {
	panic("unfinished")
}

func (*accounts) UpdateFlag(ctx context.Context, f *management.FeatureFlag) error {
	panic("unfinished")
}

func (*accounts) DeleteFlag(ctx context.Context, project, id int64) error { panic("unfinished") }

func (*accounts) Cohort(ctx context.Context, project, id int64) (*management.Cohort, error) {
	panic("unfinished")
}

func (*accounts) Cohorts(ctx context.Context, project int64) ([]management.Cohort, error) {
	panic("unfinished")
}

func (*accounts) CreateCohort(ctx context.Context, c *management.Cohort) error { panic("unfinished") }

func (*accounts) UpdateCohort(ctx context.Context, c *management.Cohort) error { panic("unfinished") }

func (*accounts) EarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) (*management.EarlyAccessFeature, error) {
	panic("unfinished")
}

func (*accounts) EarlyAccessFeatures(ctx context.Context, project int64) ([]management.EarlyAccessFeature, error) {
	panic("unfinished")
}

func (*accounts) CreateEarlyAccessFeature(ctx context.Context, f *management.EarlyAccessFeature) error {
	panic("unfinished")
}

func (*accounts) UpdateEarlyAccessFeature(ctx context.Context, f *management.EarlyAccessFeature) error {
	panic("unfinished")
}

func (*accounts) DeleteEarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) error {
	panic("unfinished")
}

func (*accounts) Survey(ctx context.Context, project int64, id uuid.UUID) (*management.Survey, error) {
	panic("unfinished")
}

func (*accounts) Surveys(ctx context.Context, project int64) ([]management.Survey, error) {
	panic("unfinished")
}

func (*accounts) FindSurveys(ctx context.Context, project int64, f management.SurveyFilter, limit, offset int) ([]management.Survey, int, error) {
	panic("unfinished")
}

func (*accounts) ScheduledSurveys(ctx context.Context) ([]management.Survey, error) {
	panic("unfinished")
}

func (*accounts) CreateSurvey(ctx context.Context, s *management.Survey) error { panic("unfinished") }

func (*accounts) UpdateSurvey(ctx context.Context, s *management.Survey) error { panic("unfinished") }

func (*accounts) DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error {
	panic("unfinished")
}

func (*DB) Versions(ctx context.Context) (map[int64]int64, error) { panic("unfinished") }

func (*DB) Watch(ctx context.Context, changed func()) error { panic("unfinished") }

func (*DB) Lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error) {
	panic("unfinished")
}
