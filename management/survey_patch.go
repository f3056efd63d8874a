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

	// Times, as validate has read them.
	start, end, samplingStart *time.Time

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

// validate checks the values that can be judged without other things of the project,
// in the order of the fields. The survey is as it was before the change.
func (patch *SurveyPatch) validate(v *Survey, create bool, now time.Time) error {
	return firstError(
		func() error { return checkGiven("name", &patch.Name, create) },
		func() error { return checkTitle("name", &patch.Name, mostSurveyName) },
		func() error { return checkString("description", &patch.Description, mostText) },
		func() error { return checkGiven("type", &patch.Type, create) },
		func() error { return checkChoice("type", &patch.Type, surveyTypes, false) },
		func() error { return checkSchedule(&patch.Schedule) },
		func() error { return checkInteger("linked_flag_id", &patch.LinkedFlagID) },
		func() error { return checkInteger("linked_insight_id", &patch.LinkedInsightID) },
		func() error { return checkInteger("targeting_flag_id", &patch.TargetingFlagID) },
		func() error { return checkBool("remove_targeting_flag", &patch.RemoveTargetingFlag, true) },
		func() error { return checkContent(&patch.Questions, survey.Questions) },
		func() error { return checkContent(&patch.Conditions, survey.Conditions) },
		func() error { return checkContent(&patch.Appearance, survey.Appearance) },
		func() (err error) { patch.start, err = checkTime("start_date", &patch.StartDate); return err },
		func() (err error) { patch.end, err = checkTime("end_date", &patch.EndDate); return err },
		func() error { return checkBool("archived", &patch.Archived, false) },
		func() error { return checkRange("responses_limit", &patch.ResponsesLimit, 0, math.MaxInt32) },
		func() error { return checkRange("iteration_count", &patch.IterationCount, 0, mostIterations) },
		func() error {
			return checkRange("iteration_frequency_days", &patch.IterationDays, 0, mostIterationDays)
		},
		func() error { return patch.checkSamplingStart(v.SamplingStart, now) },
		func() error {
			return checkChoice("response_sampling_interval_type", &patch.SamplingType, samplingIntervals, true)
		},
		func() error {
			return checkRange("response_sampling_interval", &patch.SamplingInterval, 1, mostSampling)
		},
		func() error { return checkRange("response_sampling_limit", &patch.SamplingLimit, 0, math.MaxInt32) },
		func() error { return checkBool("enable_partial_responses", &patch.PartialResponses, true) },
		func() error { return checkBool("enable_iframe_embedding", &patch.IframeEmbedding, true) },
		func() error { return checkLanguage(&patch.BaseLanguage) },
		func() error { return patch.checkTranslations(v) },
		func() error { return checkContent(&patch.FormContent, survey.FormContent) },
	)
}

// checkGiven checks that a field is there that a new survey needs.
func checkGiven(attr string, o *Optional[string], create bool) error {
	if create && !o.Set {
		return invalid(attr, "required", "This field is required.")
	}
	return nil
}

// checkSchedule is checkChoice with the code that the public system has here.
func checkSchedule(o *Optional[string]) error {
	if o.Null {
		return nil
	}
	err := checkChoice("schedule", o, surveySchedules, false)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Code = "invalid_input"
	}
	return err
}

func checkLanguage(o *Optional[string]) error {
	if err := checkString("base_language", o, mostLanguage); err != nil || o.Value == "" {
		return err
	}
	return judgeError(survey.CheckLanguage(o.Value))
}

// checkTranslations judges translations with the questions that they belong to.
// Those that a survey has must fit to new questions, too.
func (patch *SurveyPatch) checkTranslations(v *Survey) error {
	translations, questions := &patch.Translations, v.Questions
	if patch.Questions.Set {
		questions = patch.Questions.Value
	}
	if !translations.Set && patch.Questions.Set && v.Translations != nil {
		translations = new(Of(v.Translations))
	}
	return checkContent(translations, func(raw json.RawMessage) (json.RawMessage, error) {
		return survey.Translations(raw, questions)
	})
}

// checkContent lets a package that judges JSON do so.
func checkContent(o *Optional[json.RawMessage], judge func(json.RawMessage) (json.RawMessage, error)) error {
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

// checkSamplingStart reads when sampling begins. The past is allowed only as what
// the survey has already, so that a survey can be sent back as it was read.
func (patch *SurveyPatch) checkSamplingStart(before *time.Time, now time.Time) error {
	start, err := checkTime("response_sampling_start_date", &patch.SamplingStart)
	if err != nil {
		return err
	}
	if start != nil && start.Before(now.Truncate(day)) && (before == nil || !start.Equal(*before)) {
		return invalid("response_sampling_start_date", "invalid_input", "Response sampling must begin today or later.")
	}
	patch.samplingStart = start
	return nil
}

// apply changes a survey, but not its flags.
func (patch *SurveyPatch) apply(v *Survey) {
	setValue(&v.Name, &patch.Name)
	setValue(&v.Description, &patch.Description)
	setValue(&v.Type, &patch.Type)
	setNullable(&v.Schedule, &patch.Schedule)
	setNullable(&v.LinkedFlag, &patch.LinkedFlagID)
	setNullable(&v.LinkedInsight, &patch.LinkedInsightID)
	setDocument(&v.Questions, &patch.Questions)
	setDocument(&v.Conditions, &patch.Conditions)
	setDocument(&v.Appearance, &patch.Appearance)
	if patch.StartDate.Set {
		v.Start = patch.start
	}
	if patch.EndDate.Set {
		v.End = patch.end
	}
	setValue(&v.Archived, &patch.Archived)
	setNullable(&v.ResponsesLimit, &patch.ResponsesLimit)
	setNullable(&v.IterationCount, &patch.IterationCount)
	setNullable(&v.IterationDays, &patch.IterationDays)
	if patch.SamplingStart.Set {
		v.SamplingStart = patch.samplingStart
	}
	if setNullable(&v.SamplingType, &patch.SamplingType); v.SamplingType != nil && *v.SamplingType == "" {
		v.SamplingType = nil
	}
	setNullable(&v.SamplingInterval, &patch.SamplingInterval)
	setNullable(&v.SamplingLimit, &patch.SamplingLimit)
	setNullable(&v.PartialResponses, &patch.PartialResponses)
	setNullable(&v.IframeEmbedding, &patch.IframeEmbedding)
	if setValue(&v.BaseLanguage, &patch.BaseLanguage); v.BaseLanguage == "" {
		v.BaseLanguage = "en"
	}
	setDocument(&v.Translations, &patch.Translations)
	setDocument(&v.FormContent, &patch.FormContent)
}

func orZero(n *int) int { return *cmp.Or(n, new(int)) }
