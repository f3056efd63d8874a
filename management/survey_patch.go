package management

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/field"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/survey"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A SurveyPatch makes or changes a survey (management.md §9.1). What is not set
// stays.
type SurveyPatch struct {
	Name                 optional.Value[string]          `json:"name"`
	Description          optional.Value[string]          `json:"description"`
	Type                 optional.Value[string]          `json:"type"`
	Schedule             optional.Value[string]          `json:"schedule"`
	LinkedFlagID         optional.Value[int64]           `json:"linked_flag_id"`
	LinkedInsightID      optional.Value[int64]           `json:"linked_insight_id"`
	TargetingFlagID      optional.Value[int64]           `json:"targeting_flag_id"`
	TargetingFlagFilters optional.Value[json.RawMessage] `json:"targeting_flag_filters"`
	RemoveTargetingFlag  optional.Value[bool]            `json:"remove_targeting_flag"`
	Questions            optional.Value[json.RawMessage] `json:"questions"`
	Conditions           optional.Value[json.RawMessage] `json:"conditions"`
	Appearance           optional.Value[json.RawMessage] `json:"appearance"`
	StartDate            optional.Value[string]          `json:"start_date"`
	EndDate              optional.Value[string]          `json:"end_date"`
	Archived             optional.Value[bool]            `json:"archived"`
	ResponsesLimit       optional.Value[int]             `json:"responses_limit"`
	IterationCount       optional.Value[int]             `json:"iteration_count"`
	IterationDays        optional.Value[int]             `json:"iteration_frequency_days"`
	SamplingStart        optional.Value[string]          `json:"response_sampling_start_date"`
	SamplingType         optional.Value[string]          `json:"response_sampling_interval_type"`
	SamplingInterval     optional.Value[int]             `json:"response_sampling_interval"`
	SamplingLimit        optional.Value[int]             `json:"response_sampling_limit"`
	PartialResponses     optional.Value[bool]            `json:"enable_partial_responses"`
	IframeEmbedding      optional.Value[bool]            `json:"enable_iframe_embedding"`
	BaseLanguage         optional.Value[string]          `json:"base_language"`
	Translations         optional.Value[json.RawMessage] `json:"translations"`
	FormContent          optional.Value[json.RawMessage] `json:"form_content"`

	insightExists bool // the one that the survey is to be linked to
}

// filters reports whether the survey is to get a targeting flag with filters. To
// remove targeting comes first.
func (patch *SurveyPatch) filters() bool {
	return patch.TargetingFlagFilters.Set && !patch.TargetingFlagFilters.Null && !patch.RemoveTargetingFlag.Value
}

// scopes returns what a change needs: targeting is made of flags.
func (patch *SurveyPatch) scopes() []Scope {
	if patch.TargetingFlagID.Set && !patch.TargetingFlagID.Null || patch.filters() || patch.RemoveTargetingFlag.Value {
		return []Scope{"survey:write", "feature_flag:write"}
	}
	return []Scope{"survey:write"}
}

// samples reports whether sampling is to change.
func (patch *SurveyPatch) samples() bool {
	return patch.SamplingStart.Set || patch.SamplingType.Set || patch.SamplingInterval.Set || patch.SamplingLimit.Set
}

const (
	mostSurveyName    = 400
	mostIterations    = 500
	mostIterationDays = 365
	mostSampling      = 365 // intervals
	mostLanguage      = 20
)

var (
	surveyTypes       = []string{"popover", "widget", "external_survey", "api"}
	surveySchedules   = []string{"once", "recurring", "always"}
	samplingIntervals = []string{"day", "week", "month"}
)

// surveyFields is the table of a survey. The patch is nil for a table that is only
// logged. A survey that has no name or no type yet needs one.
//
// What follows from other fields is only logged; the flags of a survey are logged as
// [targeting] says.
func (s *Service) surveyFields(v *Survey, patch *SurveyPatch) field.Table {
	patch = cmp.Or(patch, new(SurveyPatch))
	return field.Table{
		field.Plain("name", &patch.Name, &v.Name, check.RequiredIf(v.Name == "", check.UpTo(check.Title, mostSurveyName))),
		field.Plain("description", &patch.Description, &v.Description, check.UpTo(check.String, check.MaxText)),
		field.Plain("type", &patch.Type, &v.Type, check.RequiredIf(v.Type == "", check.OneOf(surveyTypes))),
		field.Nullable("schedule", &patch.Schedule, &v.Schedule, checkSchedule),
		field.Nullable("linked_flag_id", &patch.LinkedFlagID, &v.LinkedFlag, check.Integer),
		field.Nullable("linked_insight_id", &patch.LinkedInsightID, &v.LinkedInsight, check.Integer),
		field.Checked("targeting_flag_id", &patch.TargetingFlagID, check.Integer),
		field.Checked("remove_targeting_flag", &patch.RemoveTargetingFlag, check.BoolOrNull),
		field.Plain("questions", &patch.Questions, &v.Questions, checkContent(survey.Questions)),
		field.Plain("conditions", &patch.Conditions, &v.Conditions, checkContent(survey.Conditions)),
		field.Plain("appearance", &patch.Appearance, &v.Appearance, checkContent(survey.Appearance)),
		field.Time("start_date", &patch.StartDate, &v.Start, nil),
		field.Time("end_date", &patch.EndDate, &v.End, nil),
		field.Plain("archived", &patch.Archived, &v.Archived, check.Bool),
		field.Nullable("responses_limit", &patch.ResponsesLimit, &v.ResponsesLimit, check.Between(0, math.MaxInt32)),
		field.Nullable("iteration_count", &patch.IterationCount, &v.IterationCount, check.Between(0, mostIterations)),
		field.Nullable("iteration_frequency_days", &patch.IterationDays, &v.IterationDays, check.Between(0, mostIterationDays)),
		field.Logged("iteration_start_dates", v.IterationStarts),
		field.Logged("current_iteration", v.CurrentIteration),
		field.Logged("current_iteration_start_date", v.IterationStart),
		field.Time("response_sampling_start_date", &patch.SamplingStart, &v.SamplingStart, v.checkSamplingStart(s.now())),
		field.Nullable("response_sampling_interval_type", &patch.SamplingType, &v.SamplingType, check.EmptyIsNull(check.OneOfOrNull(samplingIntervals))),
		field.Nullable("response_sampling_interval", &patch.SamplingInterval, &v.SamplingInterval, check.Between(1, mostSampling)),
		field.Nullable("response_sampling_limit", &patch.SamplingLimit, &v.SamplingLimit, check.Between(0, math.MaxInt32)),
		field.Logged("response_sampling_daily_limits", v.samplingDailyText()),
		field.Nullable("enable_partial_responses", &patch.PartialResponses, &v.PartialResponses, check.BoolOrNull),
		field.Nullable("enable_iframe_embedding", &patch.IframeEmbedding, &v.IframeEmbedding, check.BoolOrNull),
		field.Default("base_language", &patch.BaseLanguage, &v.BaseLanguage, "en", checkLanguage),
		field.Plain("translations", &patch.Translations, &v.Translations, patch.checkTranslations(v)),
		field.Plain("form_content", &patch.FormContent, &v.FormContent, checkContent(survey.FormContent)),
	}
}

// checkSchedule is checkChoice with the code that the public system has here.
func checkSchedule(attr string, o *optional.Value[string]) error {
	if o.Null {
		return nil
	}
	err := check.OneOf(surveySchedules)(attr, o)
	if e, ok := errors.AsType[*judge.Error](err); ok {
		e.Code = "invalid_input"
	}
	return err
}

func checkLanguage(attr string, o *optional.Value[string]) error {
	if err := check.String(attr, o, mostLanguage); err != nil || o.Value == "" {
		return err
	}
	return judgeError(survey.CheckLanguage(o.Value))
}

// checkContent is the checker of JSON, or null, that another package judges.
func checkContent(judge func(json.RawMessage) (json.RawMessage, error)) check.Func[json.RawMessage] {
	return func(_ string, o *optional.Value[json.RawMessage]) error {
		if !o.Set || o.Null {
			return nil
		}
		clean, err := judge(o.Value)
		if err != nil {
			return judgeError(err)
		}
		o.Value = clean
		return nil
	}
}

// checkTranslations is the checker of translations, which belong to questions: those
// of the patch, which has been checked so far, or of the survey. The translations of
// the survey must fit to new questions, too.
func (patch *SurveyPatch) checkTranslations(v *Survey) check.Func[json.RawMessage] {
	return func(attr string, o *optional.Value[json.RawMessage]) error {
		questions := v.Questions
		if patch.Questions.Set {
			questions = patch.Questions.Value
		}
		if !o.Set && patch.Questions.Set && v.Translations != nil {
			o = new(optional.Of(v.Translations))
		}
		return checkContent(func(raw json.RawMessage) (json.RawMessage, error) {
			return survey.Translations(raw, questions)
		})(attr, o)
	}
}

// checkSamplingStart returns what checks when sampling begins. The past is allowed
// only as what the survey has already, so that a survey can be sent back as it was
// read.
func (v *Survey) checkSamplingStart(now time.Time) func(time.Time) error {
	return func(start time.Time) error {
		if start.Before(now.Truncate(day)) && (v.SamplingStart == nil || !start.Equal(*v.SamplingStart)) {
			return invalid("response_sampling_start_date", "invalid_input", "Response sampling must begin today or later.")
		}
		return nil
	}
}

// samplingDailyText returns the limits by day as text of JSON, nil for none.
func (v *Survey) samplingDailyText() *string {
	if v.SamplingDaily == nil {
		return nil
	}
	return new(string(v.SamplingDaily))
}

func orZero(n *int) int { return *cmp.Or(n, new(int)) }
