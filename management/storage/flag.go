package storage

import (
	"cmp"
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

	// Comment is what the author of this version has said about it.
	Comment string

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

// Experiments reports whether the flag belongs to an experiment: one of its rules or the flag
// says so.
func (f *Flag) Experiments() bool {
	d := flags.Flag{Filters: f.Filters, HasExperiment: &f.HasExperiment}
	return d.InExperiment()
}

const MaxFlagKey = 400 // characters

// NewFlag returns a new flag of a project with defaults and without an author.
func NewFlag(project int64, created time.Time) *Flag {
	return FlagOf(project, created, &flags.Flag{Active: true, Version: 1, HasExperiment: new(false)})
}

// definition returns the flag for evaluation.
func (f *Flag) definition() flags.Flag {
	d := flags.Flag{
		ID: f.ID, Key: f.Key, Name: f.Name, Active: f.Active && !f.Archived, Version: f.Version, Filters: f.Filters,
		EnsureExperienceContinuity: f.Continues(), BucketingIdentifier: f.Bucketing, BucketingHash: f.BucketingHash,
		EvaluationRuntime: f.Runtime, EvaluationContexts: f.Contexts, EvaluationContextsMatchMode: f.ContextMatch,
		IsRemoteConfiguration: f.RemoteConfig, HasEncryptedPayloads: f.EncryptedPayloads, HasExperiment: new(f.Experiments()),
	}
	for text, usual := range d.Defaults() {
		if *text == usual {
			*text = ""
		}
	}
	return d
}

// FlagOf returns a flag of a project that is what a definition says, without an author.
func FlagOf(project int64, created time.Time, d *flags.Flag) *Flag {
	full := *d
	for text, usual := range full.Defaults() {
		*text = cmp.Or(*text, usual)
	}
	return &Flag{
		ID: d.ID, Project: project, Key: d.Key, Name: d.Name, Active: d.Active, Version: d.Version, Filters: d.Filters,
		Continuity: &full.EnsureExperienceContinuity, Bucketing: full.BucketingIdentifier, BucketingHash: d.BucketingHash,
		Runtime: full.EvaluationRuntime, Contexts: d.EvaluationContexts, ContextMatch: full.EvaluationContextsMatchMode,
		RemoteConfig: d.IsRemoteConfiguration, EncryptedPayloads: d.HasEncryptedPayloads,
		HasExperiment: d.HasExperiment == nil || *d.HasExperiment, Created: created, Updated: created,
	}
}
