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

func (*Store) AddCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	panic("unfinished")
}

func (*Store) RemoveCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	panic("unfinished")
}

func (*Store) CountCohort(ctx context.Context, project, cohort int64) (int, error) {
	panic("unfinished")
}

func (*Store) Person(ctx context.Context, project int64, id uuid.UUID) (*management.Person, error) {
	panic("unfinished")
}

func (*Store) PersonByDistinctID(ctx context.Context, project int64, distinctID string) (*management.Person, error) {
	panic("unfinished")
}

func (*Store) Persons(ctx context.Context, project int64, f management.PersonFilter, limit, offset int) ([]management.Person, int, error) {
	panic("unfinished")
}

func (*Store) UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage, unset []string) (*management.Person, error) {
	panic("unfinished")
}

func (*Store) DeletePerson(ctx context.Context, project int64, id uuid.UUID, events bool) error {
	panic("unfinished")
}

func (*Store) PurgeEvents(ctx context.Context) (more bool, err error) { panic("unfinished") }

func (*Store) RecentDistinctIDs(ctx context.Context, project int64, limit int) ([]string, error) {
	panic("unfinished")
}

func (*Store) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	panic("unfinished")
}

func (*Store) Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) ([]management.Group, int, error) {
	panic("unfinished")
}

func (*Store) Group(ctx context.Context, project int64, typeIndex int, key string) (*management.Group, error) {
	panic("unfinished")
}

func (*Store) UpdateGroup(ctx context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*management.Group, error) {
	panic("unfinished")
}

func (*Store) DeleteGroup(ctx context.Context, project int64, typeIndex int, key string) error {
	panic("unfinished")
}
