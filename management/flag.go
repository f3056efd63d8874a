package management

import (
	"context"
	"encoding/json"
	"time"
)

// A FlagKind says what a feature flag is for. All but FlagOrdinary belong to
// surveys: people do not see them in lists, nor do clients that evaluate by
// themselves (management.md §9.6).
type FlagKind uint8

const (
	FlagOrdinary FlagKind = iota
	FlagSurveyTargeting
	FlagSurveyInternal
	FlagSurveySampling
)

// A FeatureFlag is a flag as it is managed (management.md §13.3). What decides its
// value is in Filters; package flags evaluates it.
type FeatureFlag struct {
	ID      int64 // given by the store
	Project int64
	Kind    FlagKind
	Key     string // unique among those of the project that are not deleted
	Name    string

	// Filters is a JSON object of evaluation.md §1.3, checked and in its
	// normal form. Other flags are in it by their IDs.
	Filters json.RawMessage

	Active   bool
	Deleted  bool
	Archived bool
	Version  int

	Continuity        *bool  // ensure_experience_continuity
	Runtime           string // all, client or server
	Bucketing         string // distinct_id or device_id
	BucketingHash     string // "", sha1 or xxhash64 (evaluation.md §2.1)
	RemoteConfig      bool
	EncryptedPayloads bool // payloads in Filters are encrypted, and no JSON
	HasExperiment     bool // it was made for one

	Contexts []string // evaluation contexts
	Tags     []string

	// LastCalled is when a client last reported the flag's value, give or take
	// ten minutes. Stores set it from the events they write, and ignore it in
	// updates.
	LastCalled *time.Time

	CreatedBy  *int64
	ModifiedBy *int64
	Created    time.Time
	Updated    time.Time
}

// inForce reports whether the flag decides anything.
func (f *FeatureFlag) inForce() bool { return f.Active && !f.Deleted }

// continues reports whether the flag keeps its value for a person who is identified.
func (f *FeatureFlag) continues() bool { return f.Continuity != nil && *f.Continuity }

// A FlagFilter selects ordinary flags that are not deleted. Empty fields select
// nothing away.
type FlagFilter struct {
	Active   *bool
	Archived *bool
	Key      string // whatever its case
}

// A FlagStore keeps feature flags.
type FlagStore interface {
	// Flag returns a flag of a project by ID, deleted or not.
	Flag(ctx context.Context, project, id int64) (*FeatureFlag, error)

	// FlagByKey returns the flag with a key that is not deleted.
	FlagByKey(ctx context.Context, project int64, key string) (*FeatureFlag, error)

	// Flags returns all flags of a project that are not deleted, of every
	// kind, by ascending ID.
	Flags(ctx context.Context, project int64) ([]FeatureFlag, error)

	// FindFlags returns a page of the flags that a filter selects, newest
	// first, and how many it selects.
	FindFlags(ctx context.Context, project int64, f FlagFilter, limit, offset int) ([]FeatureFlag, int, error)

	// CreateFlag sets the ID. Both return ErrConflict if the key is that of
	// another flag that is not deleted.
	CreateFlag(ctx context.Context, f *FeatureFlag) error
	UpdateFlag(ctx context.Context, f *FeatureFlag) error // but LastCalled

	// DeleteFlag deletes a flag for good, which only those of surveys are.
	DeleteFlag(ctx context.Context, project, id int64) error

	// GroupTypes returns the names of the group types of a project by index,
	// which filters refer to. Events make them.
	GroupTypes(ctx context.Context, project int64) (map[int]string, error)
}
