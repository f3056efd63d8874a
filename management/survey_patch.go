package management

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// A SurveyPatch makes or changes a survey (management.md §9.1). What is not set
// stays.
type SurveyPatch struct {
	Name                 Optional[string]          `json:"name"`
	Description          Optional[string]          `json:"description"`
	Type                 Optional[string]          `json:"type"`
	Schedule             Optional[string]          `json:"schedule"`
	LinkedFlagID         Optional[int64]           `json:"linked_flag_id"`
	LinkedInsightID      Optional[int64]           `json:"linked_insight_id"`
	TargetingFlagID      Optional[int64]           `json:"targeting_flag_id"`
	TargetingFlagFilters Optional[json.RawMessage] `json:"targeting_flag_filters"`
	RemoveTargetingFlag  Optional[bool]            `json:"remove_targeting_flag"`
	Questions            Optional[json.RawMessage] `json:"questions"`
	Conditions           Optional[json.RawMessage] `json:"conditions"`
	Appearance           Optional[json.RawMessage] `json:"appearance"`
	StartDate            Optional[string]          `json:"start_date"`
	EndDate              Optional[string]          `json:"end_date"`
	Archived             Optional[bool]            `json:"archived"`
	ResponsesLimit       Optional[int]             `json:"responses_limit"`
	IterationCount       Optional[int]             `json:"iteration_count"`
	IterationDays        Optional[int]             `json:"iteration_frequency_days"`
	SamplingStart        Optional[string]          `json:"response_sampling_start_date"`
	SamplingType         Optional[string]          `json:"response_sampling_interval_type"`
	SamplingInterval     Optional[int]             `json:"response_sampling_interval"`
	SamplingLimit        Optional[int]             `json:"response_sampling_limit"`
	PartialResponses     Optional[bool]            `json:"enable_partial_responses"`
	IframeEmbedding      Optional[bool]            `json:"enable_iframe_embedding"`
	BaseLanguage         Optional[string]          `json:"base_language"`
	Translations         Optional[json.RawMessage] `json:"translations"`
	FormContent          Optional[json.RawMessage] `json:"form_content"`

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
func (s *Service) surveyFields(v *Survey, patch *SurveyPatch) fields {
	patch = cmp.Or(patch, new(SurveyPatch))
	return fields{
		plainField("name", &patch.Name, &v.Name, requiredIf(v.Name == "", upTo(checkTitle, mostSurveyName))),
		plainField("description", &patch.Description, &v.Description, upTo(checkString, mostText)),
		plainField("type", &patch.Type, &v.Type, requiredIf(v.Type == "", oneOf(surveyTypes))),
		nullableField("schedule", &patch.Schedule, &v.Schedule, checkSchedule),
		nullableField("linked_flag_id", &patch.LinkedFlagID, &v.LinkedFlag, checkInteger),
		nullableField("linked_insight_id", &patch.LinkedInsightID, &v.LinkedInsight, checkInteger),
		checkedField("targeting_flag_id", &patch.TargetingFlagID, checkInteger),
		checkedField("remove_targeting_flag", &patch.RemoveTargetingFlag, checkBoolOrNull),
		plainField("questions", &patch.Questions, &v.Questions, checkContent(survey.Questions)),
		plainField("conditions", &patch.Conditions, &v.Conditions, checkContent(survey.Conditions)),
		plainField("appearance", &patch.Appearance, &v.Appearance, checkContent(survey.Appearance)),
		timeField("start_date", &patch.StartDate, &v.Start, nil),
		timeField("end_date", &patch.EndDate, &v.End, nil),
		plainField("archived", &patch.Archived, &v.Archived, checkBool),
		nullableField("responses_limit", &patch.ResponsesLimit, &v.ResponsesLimit, between(0, math.MaxInt32)),
		nullableField("iteration_count", &patch.IterationCount, &v.IterationCount, between(0, mostIterations)),
		nullableField("iteration_frequency_days", &patch.IterationDays, &v.IterationDays, between(0, mostIterationDays)),
		loggedField("iteration_start_dates", v.IterationStarts),
		loggedField("current_iteration", v.CurrentIteration),
		loggedField("current_iteration_start_date", v.IterationStart),
		timeField("response_sampling_start_date", &patch.SamplingStart, &v.SamplingStart, v.checkSamplingStart(s.now())),
		nullableField("response_sampling_interval_type", &patch.SamplingType, &v.SamplingType, emptyIsNull(oneOfOrNull(samplingIntervals))),
		nullableField("response_sampling_interval", &patch.SamplingInterval, &v.SamplingInterval, between(1, mostSampling)),
		nullableField("response_sampling_limit", &patch.SamplingLimit, &v.SamplingLimit, between(0, math.MaxInt32)),
		loggedField("response_sampling_daily_limits", v.samplingDailyText()),
		nullableField("enable_partial_responses", &patch.PartialResponses, &v.PartialResponses, checkBoolOrNull),
		nullableField("enable_iframe_embedding", &patch.IframeEmbedding, &v.IframeEmbedding, checkBoolOrNull),
		defaultField("base_language", &patch.BaseLanguage, &v.BaseLanguage, "en", checkLanguage),
		plainField("translations", &patch.Translations, &v.Translations, patch.checkTranslations(v)),
		plainField("form_content", &patch.FormContent, &v.FormContent, checkContent(survey.FormContent)),
	}
}

// checkSchedule is checkChoice with the code that the public system has here.
func checkSchedule(attr string, o *Optional[string]) error {
	if o.Null {
		return nil
	}
	err := oneOf(surveySchedules)(attr, o)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Code = "invalid_input"
	}
	return err
}

func checkLanguage(attr string, o *Optional[string]) error {
	if err := checkString(attr, o, mostLanguage); err != nil || o.Value == "" {
		return err
	}
	return judgeError(survey.CheckLanguage(o.Value))
}

// checkContent is the checker of JSON, or null, that another package judges.
func checkContent(judge func(json.RawMessage) (json.RawMessage, error)) checker[json.RawMessage] {
	return func(_ string, o *Optional[json.RawMessage]) error {
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
func (patch *SurveyPatch) checkTranslations(v *Survey) checker[json.RawMessage] {
	return func(attr string, o *Optional[json.RawMessage]) error {
		questions := v.Questions
		if patch.Questions.Set {
			questions = patch.Questions.Value
		}
		if !o.Set && patch.Questions.Set && v.Translations != nil {
			o = new(Of(v.Translations))
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
