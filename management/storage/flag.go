package storage

import (
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
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

// A Flag is a flag as it is managed (management.md §13.3). Package flags
// evaluates it.
type Flag struct {
	ID      int64 // given by the store
	Project int64
	Kind    FlagKind
	Key     string // unique among the flags of the project that are not deleted
	Name    string

	// Filters decides the flag's value. It was judged, and names other flags by
	// their IDs. Copies of a Flag share it, so it is replaced and not
	// changed. What a store holds and nobody can understand is kept, and has an
	// error: see [flags.Filters.Err].
	Filters flags.Filters

	Active   bool
	Deleted  bool
	Archived bool
	Version  int

	// RevertedTo is the older version whose content this version has again. Nil: it
	// has a content of its own.
	RevertedTo *int

	Continuity        *bool  // ensure_experience_continuity
	Runtime           string // all, client or server
	Bucketing         string // distinct_id or device_id
	BucketingHash     string // "", sha1 or xxhash64 (evaluation.md §2.1)
	RemoteConfig      bool
	EncryptedPayloads bool // payloads in Filters are encrypted, and no JSON
	HasExperiment     bool // it was made for one

	Contexts     []string // evaluation contexts
	ContextMatch string   // any or all of them (evaluation.md §9.2)
	Tags         []string

	// LastCalled is when a client last reported the flag's value, give or take
	// ten minutes. Stores set it from the events they write, and ignore it in
	// updates.
	LastCalled *time.Time

	CreatedBy  *int64
	ModifiedBy *int64
	Created    time.Time
	Updated    time.Time
}

// InForce reports whether the flag decides anything.
func (f *Flag) InForce() bool { return f.Active && !f.Deleted }

// Continues reports whether the flag keeps its value for a person who is identified.
func (f *Flag) Continues() bool { return f.Continuity != nil && *f.Continuity }

const MaxFlagKey = 400 // characters

// NewFlag returns a flag of a project with defaults, made at a time by nobody.
func NewFlag(project int64, created time.Time) *Flag {
	return &Flag{
		Project: project, Active: true, Version: 1, Continuity: new(false), Runtime: "all", Bucketing: "distinct_id", ContextMatch: "any",
		Created: created, Updated: created,
	}
}
