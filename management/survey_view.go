package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// A SurveyView is a survey as the API shows it (management.md §9.10).
type SurveyView struct {
	ID                    uuid.UUID       `json:"id"`
	Name                  string          `json:"name"`
	Description           string          `json:"description"`
	Type                  string          `json:"type"`
	Schedule              *string         `json:"schedule"`
	LinkedFlag            *MinimalFlag    `json:"linked_flag"`
	LinkedFlagID          *int64          `json:"linked_flag_id"`
	LinkedInsightID       *int64          `json:"linked_insight_id"`
	TargetingFlag         *MinimalFlag    `json:"targeting_flag"`
	InternalTargetingFlag *MinimalFlag    `json:"internal_targeting_flag"`
	Questions             json.RawMessage `json:"questions"`
	Conditions            json.RawMessage `json:"conditions"`
	Appearance            json.RawMessage `json:"appearance"`
	CreatedAt             time.Time       `json:"created_at"`
	CreatedBy             *UserBasic      `json:"created_by"`
	StartDate             *time.Time      `json:"start_date"`
	EndDate               *time.Time      `json:"end_date"`
	Archived              bool            `json:"archived"`
	ResponsesLimit        *int            `json:"responses_limit"`
	FlagKeys              []SurveyFlagKey `json:"feature_flag_keys"`
	IterationCount        *int            `json:"iteration_count"`
	IterationDays         *int            `json:"iteration_frequency_days"`
	IterationStarts       []time.Time     `json:"iteration_start_dates"`
	CurrentIteration      *int            `json:"current_iteration"`
	IterationStart        *time.Time      `json:"current_iteration_start_date"`
	SamplingStart         *time.Time      `json:"response_sampling_start_date"`
	SamplingType          *string         `json:"response_sampling_interval_type"`
	SamplingInterval      *int            `json:"response_sampling_interval"`
	SamplingLimit         *int            `json:"response_sampling_limit"`
	SamplingDaily         *string         `json:"response_sampling_daily_limits"` // JSON as text (§15.1 A17)
	PartialResponses      *bool           `json:"enable_partial_responses"`
	IframeEmbedding       *bool           `json:"enable_iframe_embedding"`
	BaseLanguage          string          `json:"base_language"`
	Translations          json.RawMessage `json:"translations"`
	FormContent           json.RawMessage `json:"form_content"`
	UserAccessLevel       string          `json:"user_access_level"`
}

// A SurveyFlagKey is the key of a flag that a survey uses, null if it uses none.
type SurveyFlagKey struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// surveyViews returns views of surveys of one project.
func (w *work) surveyViews(ctx context.Context, list []Survey) ([]*SurveyView, error) {
	views := make([]*SurveyView, len(list))
	if len(list) == 0 {
		return views, nil
	}
	flags, err := w.flagsOfSurveys(ctx, list)
	if err != nil {
		return nil, err
	}
	authors := make([]*int64, len(list))
	for i := range list {
		authors[i] = list[i].CreatedBy
	}
	users, err := w.authors(ctx, authors...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		views[i] = surveyView(&list[i], users, flags)
	}
	return views, nil
}

// flagsOfSurveys returns the flags of surveys of one project by their IDs. Those
// that are deleted for good meanwhile are left out.
func (w *work) flagsOfSurveys(ctx context.Context, list []Survey) (map[int64]*FeatureFlag, error) {
	flags := make(map[int64]*FeatureFlag)
	const few = 5 // surveys, for which it does not pay to read all flags
	if len(list) > few {
		all, err := w.store.Flags(ctx, w.at.Project.ID)
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
			f, err := w.store.Flag(ctx, w.at.Project.ID, *id)
			if errors.Is(err, ErrNotFound) {
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

func surveyView(v *Survey, users map[int64]*User, flags map[int64]*FeatureFlag) *SurveyView {
	minimal := func(id *int64) *MinimalFlag {
		if id == nil || flags[*id] == nil {
			return nil
		}
		return minimalFlag(flags[*id])
	}
	key := func(name string, id *int64) SurveyFlagKey {
		if id == nil || flags[*id] == nil {
			return SurveyFlagKey{name, nil}
		}
		return SurveyFlagKey{name, &flags[*id].Key}
	}
	return &SurveyView{
		ID: v.ID, Name: v.Name, Description: v.Description, Type: v.Type, Schedule: v.Schedule,
		LinkedFlag: minimal(v.LinkedFlag), LinkedFlagID: v.LinkedFlag, LinkedInsightID: v.LinkedInsight,
		TargetingFlag: minimal(v.TargetingFlag), InternalTargetingFlag: minimal(v.InternalFlag),
		Questions: rawjson.OrNull(v.Questions), Conditions: rawjson.OrNull(v.Conditions), Appearance: rawjson.OrNull(v.Appearance),
		CreatedAt: v.Created, CreatedBy: basicUser(users, v.CreatedBy), StartDate: v.Start, EndDate: v.End, Archived: v.Archived,
		ResponsesLimit: v.ResponsesLimit,
		FlagKeys: []SurveyFlagKey{
			key("linked_flag_key", v.LinkedFlag), key("targeting_flag_key", v.TargetingFlag),
			key("internal_targeting_flag_key", v.InternalFlag), key("internal_response_sampling_flag_key", v.SamplingFlag),
		},
		IterationCount: v.IterationCount, IterationDays: v.IterationDays, IterationStarts: v.IterationStarts,
		CurrentIteration: v.CurrentIteration, IterationStart: v.IterationStart,
		SamplingStart: v.SamplingStart, SamplingType: v.SamplingType, SamplingInterval: v.SamplingInterval, SamplingLimit: v.SamplingLimit,
		SamplingDaily:    v.samplingDailyText(),
		PartialResponses: v.PartialResponses, IframeEmbedding: v.IframeEmbedding,
		BaseLanguage: v.BaseLanguage, Translations: rawjson.OrNull(v.Translations), FormContent: rawjson.OrNull(v.FormContent), UserAccessLevel: "editor",
	}
}

// PublicSurvey returns a survey as clients get it (management.md §12); keys are
// those of the project's flags by ID. Internal notes, owners, limits and summaries
// are not in it.
//
// A survey that needs a flag which does not exist is shown to nobody: the key is
// one that no flag can have.
func PublicSurvey(v *Survey, keys map[int64]string) (json.RawMessage, error) {
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
		FlagKeys         []SurveyFlagKey `json:"feature_flag_keys,omitempty"`
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
		Conditions: rawjson.OrNull(survey.PublicConditions(v.Conditions)), Appearance: rawjson.OrNull(v.Appearance), StartDate: v.Start, EndDate: v.End,
		CurrentIteration: v.CurrentIteration, IterationStart: v.IterationStart, Schedule: v.Schedule,
		PartialResponses: v.PartialResponses != nil && *v.PartialResponses, BaseLanguage: v.BaseLanguage,
		Translations: survey.PublicTranslations(v.Translations),
	})
}

// samplingKey is how clients learn of the flag that samples responses: as one of
// the flags that must all be on.
func samplingKey(key string) []SurveyFlagKey {
	if key == "" {
		return nil
	}
	return []SurveyFlagKey{{"internal_response_sampling_flag_key", &key}}
}
