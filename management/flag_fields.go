package management

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagPatch makes or changes a flag (management.md §13.3). What is not set
// stays, of filters each member by itself.
type FlagPatch struct {
	Key               optional.Value[string]          `json:"key"`
	Name              optional.Value[string]          `json:"name"`
	Filters           optional.Value[flags.Filters]   `json:"filters"`
	Active            optional.Value[bool]            `json:"active"`
	Deleted           optional.Value[bool]            `json:"deleted"`
	Archived          optional.Value[bool]            `json:"archived"`
	Continuity        optional.Value[bool]            `json:"ensure_experience_continuity"`
	Runtime           optional.Value[string]          `json:"evaluation_runtime"`
	Bucketing         optional.Value[string]          `json:"bucketing_identifier"`
	BucketingHash     optional.Value[string]          `json:"bucketing_hash"`
	Contexts          optional.Value[json.RawMessage] `json:"evaluation_contexts"`
	OldContexts       optional.Value[json.RawMessage] `json:"evaluation_tags"` // older name
	ContextMatch      optional.Value[string]          `json:"evaluation_contexts_match_mode"`
	Tags              optional.Value[json.RawMessage] `json:"tags"`
	RemoteConfig      optional.Value[bool]            `json:"is_remote_configuration"`
	EncryptedPayloads optional.Value[bool]            `json:"has_encrypted_payloads"`
	CreationContext   optional.Value[string]          `json:"creation_context"`

	// Comment is what the author says about the change. The history keeps it with the version
	// that the change makes; a change without effect makes no version, and its comment is lost.
	Comment optional.Value[string] `json:"comment"`

	// Version is the version of the flag for which the change was made, and Original
	// is what the flag was then: see [Service.UpdateFlag].
	Version  optional.Value[int]             `json:"version"`
	Original optional.Value[json.RawMessage] `json:"original_flag"`

	// IfVersion refuses the change unless the flag has this version. Nil: any.
	IfVersion *int `json:"-"`

	// AnyVersion changes a flag with a rule set without a Version or an IfVersion.
	AnyVersion bool `json:"-"`
}

// Limits of values.
const (
	maxFlagName = 10_000 // characters
	maxContexts = 50     // evaluation contexts of one flag
	maxTags     = 100    // tags of one flag
	maxComment  = 1_000  // characters
)

var (
	flagKeyForm      = served.FlagKey
	foreignKeyForm   = regexp.MustCompile(`^[!-~]+$`) // of flags from other products, whose programs ask for them by it
	flagRuntimes     = []string{"server", "client", "all"}
	flagBucketings   = []string{"distinct_id", "device_id"}
	contextMatches   = []string{"any", "all"}
	flagHashes       = []string{"sha1", "xxhash64"}
	creationContexts = []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments", "product_tours"}
)

// flagFields is the table of the fields of a flag, with the filters to log: those
// of the flag, or what of them may be shown. The patch is nil for a table that is
// only logged.
//
// Filters are judged with other flags and cohorts: see [Service.applyFilters].
func flagFields(f *storage.Flag, filters flags.Filters, patch *FlagPatch) field.Table {
	patch = cmp.Or(patch, new(FlagPatch))
	contexts := func(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
		return check.ReadNames(attr, o, maxContexts, strings.ToLower)
	}
	tags := func(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
		return check.ReadNames(attr, o, maxTags, strings.Clone)
	}
	return field.Table{
		field.Plain("key", &patch.Key, &f.Key, checkFlagKey),
		field.Plain("name", &patch.Name, &f.Name, check.UpTo(check.String, maxFlagName)),
		field.Checked("filters", &patch.Filters, check.NotNull[flags.Filters]).LoggedAs(shownFilters{filters}),
		field.Plain("active", &patch.Active, &f.Active, check.Bool),
		field.Plain("deleted", &patch.Deleted, &f.Deleted, check.Bool),
		field.Plain("archived", &patch.Archived, &f.Archived, check.Bool),
		field.Nullable("ensure_experience_continuity", &patch.Continuity, &f.Continuity, check.BoolOrNull).LoggedAs(f.Continues()),
		field.Default("evaluation_runtime", &patch.Runtime, &f.Runtime, "all", check.OneOfOrNull(flagRuntimes)),
		field.Default("bucketing_identifier", &patch.Bucketing, &f.Bucketing, "distinct_id", check.OneOfOrNull(flagBucketings)),
		field.Default("bucketing_hash", &patch.BucketingHash, &f.BucketingHash, "", check.OneOfOrNull(flagHashes)),
		field.List("evaluation_contexts", &patch.Contexts, &f.Contexts, contexts),
		field.Default("evaluation_contexts_match_mode", &patch.ContextMatch, &f.ContextMatch, "any", check.OneOfOrNull(contextMatches)),
		field.List("tags", &patch.Tags, &f.Tags, tags),
		field.Plain("is_remote_configuration", &patch.RemoteConfig, &f.RemoteConfig, check.BoolOrNull),
		field.Plain("has_encrypted_payloads", &patch.EncryptedPayloads, &f.EncryptedPayloads, check.BoolOrNull),
		field.Checked("creation_context", &patch.CreationContext, check.OneOfOrNull(creationContexts)),
		field.Checked("comment", &patch.Comment, check.UpTo(check.String, maxComment)),
		field.Checked("version", &patch.Version, check.Integer),
		field.Logged("has_experiment", f.Experiments()), // which only a document changes (management.md §13.23)
	}
}

func checkFlagKey(attr string, o *optional.Value[string]) error {
	if err := check.Title(attr, o, storage.MaxFlagKey); err != nil || !o.Set {
		return err
	}
	if !flagKeyForm.MatchString(o.Value) {
		return invalid(attr, "invalid_key", "Only letters, numbers, hyphens (-) and underscores (_) are allowed, not %q.", check.Excerpt(o.Value))
	}
	return nil
}

// patchOf returns the patch that gives a new flag what a file says of it, but for its filters.
// hash is the bucketing hash.
func patchOf(f *importedFlag, hash string) FlagPatch {
	return FlagPatch{
		Key: optional.Of(f.Key), Name: optional.Of(f.Name), Active: optional.Of(f.Active), Archived: optional.Of(f.Archived),
		Continuity: optional.Of(f.EnsureExperienceContinuity), Runtime: optional.Of(strings.ToLower(f.EvaluationRuntime)), Bucketing: optional.Of(f.BucketingIdentifier),
		BucketingHash: optional.Of(hash), Contexts: optional.Of(rawjson.Must(append([]string{}, f.EvaluationContexts...))),
		ContextMatch: optional.Of(f.EvaluationContextsMatchMode),
		Tags:         optional.Of(rawjson.Must(append([]string{}, f.Tags...))), RemoteConfig: optional.Of(f.IsRemoteConfiguration),
	}
}

// A FlagView is a flag as the API shows it (management.md §13.4).
type FlagView struct {
	ID                  int64         `json:"id"`
	Name                string        `json:"name"`
	Key                 string        `json:"key"`
	Filters             flags.Filters `json:"filters"`
	Deleted             bool          `json:"deleted"`
	Active              bool          `json:"active"`
	Archived            bool          `json:"archived"`
	CreatedBy           *Author       `json:"created_by"`
	CreatedAt           time.Time     `json:"created_at"`
	UpdatedAt           time.Time     `json:"updated_at"`
	Version             int           `json:"version"`
	LastModifiedBy      *Author       `json:"last_modified_by"`
	Continuity          bool          `json:"ensure_experience_continuity"`
	ExperimentSet       []int64       `json:"experiment_set"`
	HasExperiment       bool          `json:"has_experiment"` // as in definitions (evaluation.md §1.2)
	Surveys             []FlagUser    `json:"surveys"`
	Features            []FlagUser    `json:"features"`
	CanEdit             bool          `json:"can_edit"`
	Tags                []string      `json:"tags"`
	Contexts            []string      `json:"evaluation_contexts"`
	ContextMatch        string        `json:"evaluation_contexts_match_mode"`
	UsageDashboard      *int64        `json:"usage_dashboard"`
	AnalyticsDashboards []int64       `json:"analytics_dashboards"`
	EnrichedAnalytics   bool          `json:"has_enriched_analytics"`
	UserAccessLevel     string        `json:"user_access_level"`
	RemoteConfig        bool          `json:"is_remote_configuration"`
	EncryptedPayloads   bool          `json:"has_encrypted_payloads"`
	Status              string        `json:"status"`
	StaleReason         *string       `json:"stale_reason"` // our own, for people; null unless the flag is stale
	StaleSince          *time.Time    `json:"stale_since"`
	Runtime             string        `json:"evaluation_runtime"`
	Bucketing           string        `json:"bucketing_identifier"`
	BucketingHash       string        `json:"bucketing_hash"` // our own (evaluation.md §2.1)
	LastCalledAt        *time.Time    `json:"last_called_at"`
	UsedInReplay        bool          `json:"is_used_in_replay_settings"`

	// Warnings are about a rule set that was just written (rules.md §7.8).
	Warnings []check.Warning `json:"warnings,omitempty"`
}

// A MinimalFlag is a flag within something else (management.md §13.4).
type MinimalFlag struct {
	ID         int64         `json:"id"`
	TeamID     int64         `json:"team_id"`
	Name       string        `json:"name"`
	Key        string        `json:"key"`
	Filters    flags.Filters `json:"filters"`
	Deleted    bool          `json:"deleted"`
	Active     bool          `json:"active"`
	Continuity bool          `json:"ensure_experience_continuity"`
	Version    int           `json:"version"`
	Runtime    string        `json:"evaluation_runtime"`
	Bucketing  string        `json:"bucketing_identifier"`
	Contexts   []string      `json:"evaluation_contexts"`
}

// NewMinimalFlag shows a flag within something else, without payloads and seeds that are secret.
func NewMinimalFlag(f *storage.Flag) *MinimalFlag {
	return &MinimalFlag{
		ID: f.ID, TeamID: f.Project, Name: f.Name, Key: f.Key, Filters: withoutSeeds(redactedFilters(f)), Deleted: f.Deleted, Active: f.Active,
		Continuity: f.Continues(), Version: f.Version, Runtime: f.Runtime, Bucketing: f.Bucketing,
		Contexts: append([]string{}, f.Contexts...),
	}
}

// flagRelations has what views of flags show besides the flags themselves.
type flagRelations struct {
	users    map[int64]*storage.User
	cohorts  map[int64]string
	surveys  map[int64][]FlagUser
	features map[int64][]FlagUser
	states   stateJudge
}

// flagViews returns views of flags of one project.
func (w *work) flagViews(ctx context.Context, list []storage.Flag) ([]*FlagView, error) {
	if len(list) == 0 {
		return []*FlagView{}, nil
	}
	related, err := w.flagRelations(ctx, list)
	if err != nil {
		return nil, err
	}
	return each(list, func(f *storage.Flag) *FlagView { return w.flagView(f, f.EncryptedPayloads, related) }), nil
}

func (w *work) flagRelations(ctx context.Context, list []storage.Flag) (*flagRelations, error) {
	related := &flagRelations{cohorts: make(map[int64]string), features: make(map[int64][]FlagUser)}
	var ids []*int64
	for i := range list {
		ids = append(ids, list[i].CreatedBy, list[i].ModifiedBy)
	}
	var err error
	if related.users, err = w.authors(ctx, ids...); err != nil {
		return nil, err
	}
	cohorts, err := w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortDeleted.Is(false))
	if err != nil {
		return nil, err
	}
	for i := range cohorts {
		related.cohorts[cohorts[i].ID] = cohorts[i].Name
	}
	if related.surveys, err = w.c.FlagUsers.Linked(ctx, &UnitOfWork{w}, w.at.Project.ID); err != nil {
		return nil, err
	}
	if related.states, err = w.stateJudge(ctx, list); err != nil {
		return nil, err
	}
	features, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(w.at.Project.ID))
	for i := range features {
		related.features[features[i].Flag] = append(related.features[features[i].Flag], FlagUser{features[i].ID, features[i].Name})
	}
	return related, err
}

// flagView returns the view of a flag. If its payloads are secret, only keys read them
// (management.md §13.3).
func (w *work) flagView(f *storage.Flag, secret bool, related *flagRelations) *FlagView {
	filters := w.openPayloads(f)
	if secret && w.by.Key == nil {
		filters = withoutPayloads(f.Filters)
	}
	state := related.states.state(f)
	view := &FlagView{
		ID: f.ID, Name: f.Name, Key: f.Key,
		Filters: withCohortNames(filters, related.cohorts),
		Deleted: f.Deleted, Active: f.Active, Archived: f.Archived,
		CreatedBy: basicUser(related.users, f.CreatedBy), CreatedAt: f.Created, UpdatedAt: f.Updated, Version: f.Version,
		LastModifiedBy: basicUser(related.users, f.ModifiedBy), Continuity: f.Continues(),
		ExperimentSet: []int64{}, HasExperiment: f.Experiments(), Surveys: append([]FlagUser{}, related.surveys[f.ID]...), Features: append([]FlagUser{}, related.features[f.ID]...),
		CanEdit: true, Tags: append([]string{}, f.Tags...), Contexts: append([]string{}, f.Contexts...), ContextMatch: f.ContextMatch,
		AnalyticsDashboards: []int64{}, UserAccessLevel: "manager",
		RemoteConfig: f.RemoteConfig, EncryptedPayloads: f.EncryptedPayloads, Status: state.status, StaleSince: state.since,
		Runtime: f.Runtime, Bucketing: f.Bucketing, BucketingHash: f.BucketingHash, LastCalledAt: f.LastCalled,
	}
	if state.status == flagStale {
		view.StaleReason = &state.reason
	}
	return view
}
