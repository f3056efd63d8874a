package surveys

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A View is a survey as the API shows it (management.md §9.10).
type View struct {
	ID                    uuid.UUID               `json:"id"`
	Name                  string                  `json:"name"`
	Description           string                  `json:"description"`
	Type                  string                  `json:"type"`
	Schedule              *string                 `json:"schedule"`
	LinkedFlag            *management.MinimalFlag `json:"linked_flag"`
	LinkedFlagID          *int64                  `json:"linked_flag_id"`
	LinkedInsightID       *int64                  `json:"linked_insight_id"`
	TargetingFlag         *management.MinimalFlag `json:"targeting_flag"`
	InternalTargetingFlag *management.MinimalFlag `json:"internal_targeting_flag"`
	Questions             json.RawMessage         `json:"questions"`
	Conditions            json.RawMessage         `json:"conditions"`
	Appearance            json.RawMessage         `json:"appearance"`
	CreatedAt             time.Time               `json:"created_at"`
	CreatedBy             *management.Author      `json:"created_by"`
	StartDate             *time.Time              `json:"start_date"`
	EndDate               *time.Time              `json:"end_date"`
	Archived              bool                    `json:"archived"`
	ResponsesLimit        *int                    `json:"responses_limit"`
	FlagKeys              []FlagKey               `json:"feature_flag_keys"`
	IterationCount        *int                    `json:"iteration_count"`
	IterationDays         *int                    `json:"iteration_frequency_days"`
	IterationStarts       []time.Time             `json:"iteration_start_dates"`
	CurrentIteration      *int                    `json:"current_iteration"`
	IterationStart        *time.Time              `json:"current_iteration_start_date"`
	SamplingStart         *time.Time              `json:"response_sampling_start_date"`
	SamplingType          *string                 `json:"response_sampling_interval_type"`
	SamplingInterval      *int                    `json:"response_sampling_interval"`
	SamplingLimit         *int                    `json:"response_sampling_limit"`
	SamplingDaily         *string                 `json:"response_sampling_daily_limits"` // JSON as text (management.md §15.1 A17)
	PartialResponses      *bool                   `json:"enable_partial_responses"`
	IframeEmbedding       *bool                   `json:"enable_iframe_embedding"`
	BaseLanguage          string                  `json:"base_language"`
	Translations          json.RawMessage         `json:"translations"`
	FormContent           json.RawMessage         `json:"form_content"`
	UserAccessLevel       string                  `json:"user_access_level"`

	UpdatedAt time.Time `json:"-"` // of the last change, see [Patch.IfUpdated]
}

// A FlagKey is the key of a flag that a survey uses, null if it uses none.
type FlagKey struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// views returns views of surveys of one project.
func (w *work) views(ctx context.Context, list []Survey) ([]*View, error) {
	views := make([]*View, len(list))
	if len(list) == 0 {
		return views, nil
	}
	flags, err := w.flagsOf(ctx, list)
	if err != nil {
		return nil, err
	}
	ids := make([]*int64, len(list))
	for i := range list {
		ids[i] = list[i].CreatedBy
	}
	authors, err := w.Authors(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		views[i] = newView(&list[i], authors, flags)
	}
	return views, nil
}

// flagsOf returns the flags of surveys of one project by their IDs. It leaves out flags that
// were deleted for good meanwhile.
func (w *work) flagsOf(ctx context.Context, list []Survey) (map[int64]*storage.Flag, error) {
	flags := make(map[int64]*storage.Flag)
	const few = 5 // surveys, whose flags are cheaper to read one by one
	if len(list) > few {
		all, err := w.Store().CalledFlags(ctx, w.at.Project.ID)
		if err != nil {
			return nil, err
		}
		for i := range all {
			flags[all[i].ID] = &all[i]
		}
	}
	for i := range list {
		v := &list[i]
		for _, id := range []*int64{v.LinkedFlag, v.TargetingFlag, v.InternalFlag, v.SamplingFlag} {
			if id == nil || flags[*id] != nil {
				continue
			}
			f, err := w.Store().Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(*id))
			if errors.Is(err, management.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			flags[*id] = f
		}
	}
	return flags, nil
}

func newView(v *Survey, authors map[int64]*management.Author, flags map[int64]*storage.Flag) *View {
	minimal := func(id *int64) *management.MinimalFlag {
		if f := flags[orZero(id)]; f != nil {
			return management.NewMinimalFlag(f)
		}
		return nil
	}
	key := func(name string, id *int64) FlagKey {
		if f := flags[orZero(id)]; f != nil {
			return FlagKey{name, &f.Key}
		}
		return FlagKey{name, nil}
	}
	return &View{
		ID: v.ID, Name: v.Name, Description: v.Description, Type: v.Type, Schedule: v.Schedule,
		LinkedFlag: minimal(v.LinkedFlag), LinkedFlagID: v.LinkedFlag, LinkedInsightID: v.LinkedInsight,
		TargetingFlag: minimal(v.TargetingFlag), InternalTargetingFlag: minimal(v.InternalFlag),
		Questions: rawjson.OrNull(v.Questions), Conditions: rawjson.OrNull(v.Conditions), Appearance: rawjson.OrNull(v.Appearance),
		CreatedAt: v.Created, CreatedBy: authors[orZero(v.CreatedBy)], StartDate: v.Start, EndDate: v.End, Archived: v.Archived,
		ResponsesLimit: v.ResponsesLimit,
		FlagKeys: []FlagKey{
			key("linked_flag_key", v.LinkedFlag), key("targeting_flag_key", v.TargetingFlag),
			key("internal_targeting_flag_key", v.InternalFlag), key("internal_response_sampling_flag_key", v.SamplingFlag),
		},
		IterationCount: v.IterationCount, IterationDays: v.IterationDays, IterationStarts: v.IterationStarts,
		CurrentIteration: v.CurrentIteration, IterationStart: v.IterationStart,
		SamplingStart: v.SamplingStart, SamplingType: v.SamplingType, SamplingInterval: v.SamplingInterval, SamplingLimit: v.SamplingLimit,
		SamplingDaily:    v.samplingDailyText(),
		PartialResponses: v.PartialResponses, IframeEmbedding: v.IframeEmbedding,
		BaseLanguage: v.BaseLanguage, Translations: rawjson.OrNull(v.Translations), FormContent: rawjson.OrNull(v.FormContent), UserAccessLevel: "manager",
		UpdatedAt: v.Updated,
	}
}

// Public returns a survey as clients get it (management.md §12), without internal notes,
// owner, limits and summaries. Keys has the keys of the project's flags by ID.
//
// A survey that needs a flag that does not exist is shown to no person, because it gets a
// key that no flag can have.
func Public(v *Survey, keys map[int64]string) (json.RawMessage, error) {
	key := func(id *int64) string {
		if id == nil {
			return ""
		}
		return cmp.Or(keys[*id], "deleted flag "+strconv.FormatInt(*id, 10))
	}
	return json.Marshal(struct {
		ID               uuid.UUID       `json:"id"`
		Name             string          `json:"name"`
		Type             string          `json:"type"`
		LinkedFlagKey    string          `json:"linked_flag_key,omitempty"`
		TargetingFlagKey string          `json:"targeting_flag_key,omitempty"`
		InternalFlagKey  string          `json:"internal_targeting_flag_key,omitempty"`
		FlagKeys         []FlagKey       `json:"feature_flag_keys,omitempty"`
		Questions        json.RawMessage `json:"questions"`
		Conditions       json.RawMessage `json:"conditions"`
		Appearance       json.RawMessage `json:"appearance"`
		StartDate        *time.Time      `json:"start_date"`
		EndDate          *time.Time      `json:"end_date"`
		CurrentIteration *int            `json:"current_iteration"`
		IterationStart   *time.Time      `json:"current_iteration_start_date"`
		Schedule         *string         `json:"schedule"`
		PartialResponses bool            `json:"enable_partial_responses"`
		BaseLanguage     string          `json:"base_language,omitempty"`
		Translations     json.RawMessage `json:"translations,omitempty"`
	}{
		ID: v.ID, Name: v.Name, Type: v.Type, LinkedFlagKey: key(v.LinkedFlag), TargetingFlagKey: key(v.TargetingFlag),
		InternalFlagKey: key(v.InternalFlag), FlagKeys: samplingKey(key(v.SamplingFlag)), Questions: rawjson.Or(v.Questions, "[]"),
		Conditions: rawjson.OrNull(rules.PublicConditions(v.Conditions)), Appearance: rawjson.OrNull(v.Appearance), StartDate: v.Start, EndDate: v.End,
		CurrentIteration: v.CurrentIteration, IterationStart: v.IterationStart, Schedule: v.Schedule,
		PartialResponses: v.PartialResponses != nil && *v.PartialResponses, BaseLanguage: v.BaseLanguage,
		Translations: rules.PublicTranslations(v.Translations),
	})
}

// Publish publishes the surveys of a project that are not archived, with their common
// appearance, unless the project delivers none. It is for the Publishers of a catalog of
// package server.
func (d *Data) Publish(ctx context.Context, project *storage.Project, keys map[int64]string, out *server.Publication) error {
	out.SurveyConfig = project.SurveyConfig
	if project.SurveysOptIn != nil && !*project.SurveysOptIn {
		return nil
	}
	list, err := d.Surveys(ctx, project.ID)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Archived {
			continue
		}
		survey, err := Public(&list[i], keys)
		if err != nil {
			return err
		}
		out.Surveys = append(out.Surveys, survey)
	}
	return nil
}

// samplingKey returns the member by which clients learn of the flag that samples responses:
// a list of flags that must all be on.
func samplingKey(key string) []FlagKey {
	if key == "" {
		return nil
	}
	return []FlagKey{{"internal_response_sampling_flag_key", &key}}
}
