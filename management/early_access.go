package management

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// An EarlyAccessFeature is something unfinished that persons can enrol in
// (management.md §13.9).
type EarlyAccessFeature struct {
	ID               uuid.UUID
	Project          int64
	Flag             int64 // unique
	Name             string
	Description      string
	Stage            string
	DocumentationURL string
	Payload          json.RawMessage // an object, or nil
	Created          time.Time
}

// An EarlyAccessStore keeps early access features.
type EarlyAccessStore interface {
	EarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) (*EarlyAccessFeature, error)

	// EarlyAccessFeatures returns all of a project, newest first.
	EarlyAccessFeatures(ctx context.Context, project int64) ([]EarlyAccessFeature, error)

	// CreateEarlyAccessFeature returns ErrConflict if the flag has a feature.
	CreateEarlyAccessFeature(ctx context.Context, f *EarlyAccessFeature) error
	UpdateEarlyAccessFeature(ctx context.Context, f *EarlyAccessFeature) error
	DeleteEarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) error
}
