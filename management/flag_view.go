package management

import (
	"context"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

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

// NewMinimalFlag shows a flag within something else, without payloads that are secret.
func NewMinimalFlag(f *storage.Flag) *MinimalFlag {
	return &MinimalFlag{
		ID: f.ID, TeamID: f.Project, Name: f.Name, Key: f.Key, Filters: redactedFilters(f), Deleted: f.Deleted, Active: f.Active,
		Continuity: f.Continues(), Version: f.Version, Runtime: f.Runtime, Bucketing: f.Bucketing,
		Contexts: append([]string{}, f.Contexts...),
	}
}

// flagWorld is what views of flags show beside them.
type flagWorld struct {
	users    map[int64]*storage.User
	cohorts  map[int64]string
	surveys  map[int64][]FlagUser
	features map[int64][]FlagUser
	states   stateJudge
}

// flagViews returns views of flags of one project.
func (w *work) flagViews(ctx context.Context, list []storage.Flag) ([]*FlagView, error) {
	views := make([]*FlagView, len(list))
	if len(list) == 0 {
		return views, nil
	}
	world, err := w.flagWorld(ctx, list)
	if err != nil {
		return nil, err
	}
	for i := range list {
		views[i] = w.flagView(&list[i], list[i].EncryptedPayloads, world)
	}
	return views, nil
}

func (w *work) flagWorld(ctx context.Context, list []storage.Flag) (*flagWorld, error) {
	world := &flagWorld{cohorts: make(map[int64]string), features: make(map[int64][]FlagUser)}
	var ids []*int64
	for i := range list {
		ids = append(ids, list[i].CreatedBy, list[i].ModifiedBy)
	}
	var err error
	if world.users, err = w.authors(ctx, ids...); err != nil {
		return nil, err
	}
	cohorts, err := w.store.Cohorts(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	for i := range cohorts {
		world.cohorts[cohorts[i].ID] = cohorts[i].Name
	}
	if world.surveys, err = w.c.FlagUsers.Linked(ctx, &UnitOfWork{w}, w.at.Project.ID); err != nil {
		return nil, err
	}
	if world.states, err = w.stateJudge(ctx, list); err != nil {
		return nil, err
	}
	features, err := w.store.EarlyAccessFeatures(ctx, w.at.Project.ID)
	for i := range features {
		world.features[features[i].Flag] = append(world.features[features[i].Flag], FlagUser{features[i].ID, features[i].Name})
	}
	return world, err
}

// flagView returns the view of a flag. If its payloads are secret, only keys read them
// (management.md §13.3).
func (w *work) flagView(f *storage.Flag, secret bool, world *flagWorld) *FlagView {
	filters := w.openPayloads(f)
	if secret && w.by.Key == nil {
		filters = withoutPayloads(f.Filters)
	}
	state := world.states.state(f)
	view := &FlagView{
		ID: f.ID, Name: f.Name, Key: f.Key,
		Filters: withCohortNames(filters, world.cohorts),
		Deleted: f.Deleted, Active: f.Active, Archived: f.Archived,
		CreatedBy: basicUser(world.users, f.CreatedBy), CreatedAt: f.Created, UpdatedAt: f.Updated, Version: f.Version,
		LastModifiedBy: basicUser(world.users, f.ModifiedBy), Continuity: f.Continues(),
		ExperimentSet: []int64{}, HasExperiment: f.HasExperiment, Surveys: append([]FlagUser{}, world.surveys[f.ID]...), Features: append([]FlagUser{}, world.features[f.ID]...),
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
