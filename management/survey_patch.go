package management

import (
	"cmp"
	"context"
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

// validate checks the values that can be judged without the survey, in the order
// of the fields.
func (patch *SurveyPatch) validate(create bool, now time.Time) error {
	if create && !patch.Name.Set {
		return invalid("name", "required", "This field is required.")
	}
	if create && !patch.Type.Set {
		return invalid("type", "required", "This field is required.")
	}
	return firstError(
		func() error { return checkTitle("name", &patch.Name, mostSurveyName) },
		func() error { return checkString("description", &patch.Description, mostDescription) },
		func() error { return checkChoice("type", &patch.Type, surveyTypes, false) },
		func() error { return checkSchedule(&patch.Schedule) },
		func() error { return checkID("linked_flag_id", &patch.LinkedFlagID) },
		func() error { return checkID("linked_insight_id", &patch.LinkedInsightID) },
		func() error { return checkID("targeting_flag_id", &patch.TargetingFlagID) },
		func() error {
			if patch.TargetingFlagFilters.Set && survey.TargetsEveryone(patch.TargetingFlagFilters.Value) {
				return invalid("", "invalid_input", "The targeting flag would target everyone: give every condition set a filter or a rollout percentage, or no targeting at all.")
			}
			return nil
		},
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
		func() error { return patch.checkSampling(now) },
		func() error { return checkBool("enable_partial_responses", &patch.PartialResponses, true) },
		func() error { return checkBool("enable_iframe_embedding", &patch.IframeEmbedding, true) },
		func() error {
			if err := checkString("base_language", &patch.BaseLanguage, mostLanguage); err != nil || patch.BaseLanguage.Value == "" {
				return err
			}
			return judged(survey.CheckLanguage(patch.BaseLanguage.Value))
		},
		func() error { return checkContent(&patch.FormContent, survey.FormContent) },
	)
}

// checkSchedule is checkChoice with the code that the public system has here.
func checkSchedule(o *Optional[string]) error {
	err := checkChoice("schedule", o, surveySchedules, true)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Code = "invalid_input"
	}
	if o.Set && o.Value == "" {
		o.Null = true
	}
	return err
}

// checkContent lets a package that judges JSON do so.
func checkContent(o *Optional[json.RawMessage], judge func(json.RawMessage) (json.RawMessage, error)) error {
	if !o.Set || o.Null {
		return nil
	}
	clean, err := judge(o.Value)
	if err != nil {
		return judged(err)
	}
	o.Value = clean
	return nil
}

func checkID(attr string, o *Optional[int64]) error {
	if o.raw != nil {
		return invalid(attr, "invalid_input", "A valid integer is required.")
	}
	return nil
}

func checkRange(attr string, o *Optional[int], least, most int) error {
	switch {
	case o.raw != nil:
		return invalid(attr, "invalid_input", "A valid integer is required.")
	case !o.Set, o.Null:
		return nil
	case o.Value < least:
		return invalid(attr, "min_value", "Ensure this value is greater than or equal to %d.", least)
	case o.Value > most:
		return invalid(attr, "max_value", "Ensure this value is less than or equal to %d.", most)
	}
	return nil
}

// timeForms are what times may look like. Those without a zone are UTC.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"}

// checkTime reads a time, which may be null.
func checkTime(attr string, o *Optional[string]) (*time.Time, error) {
	if o.raw == nil && (!o.Set || o.Null) {
		return nil, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, o.Value); o.raw == nil && err == nil && t.Year() >= 1 && t.Year() <= 9999 {
			return new(t.UTC().Truncate(time.Microsecond)), nil
		}
	}
	return nil, invalid(attr, "invalid_input", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
}

func (patch *SurveyPatch) checkSampling(now time.Time) error {
	var err error
	if patch.samplingStart, err = checkTime("response_sampling_start_date", &patch.SamplingStart); err != nil {
		return err
	}
	if patch.samplingStart != nil && patch.samplingStart.Before(now.Truncate(24*time.Hour)) {
		return invalid("response_sampling_start_date", "invalid_input", "Response sampling must begin today or later.")
	}
	return firstError(
		func() error {
			return checkChoice("response_sampling_interval_type", &patch.SamplingType, samplingIntervals, true)
		},
		func() error {
			return checkRange("response_sampling_interval", &patch.SamplingInterval, 1, mostSampling)
		},
		func() error { return checkRange("response_sampling_limit", &patch.SamplingLimit, 0, math.MaxInt32) },
	)
}

// apply changes a survey, but not its flags.
func (patch *SurveyPatch) apply(v *Survey) {
	set(&v.Name, &patch.Name)
	set(&v.Description, &patch.Description)
	set(&v.Type, &patch.Type)
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
	set(&v.Archived, &patch.Archived)
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
	if set(&v.BaseLanguage, &patch.BaseLanguage); v.BaseLanguage == "" {
		v.BaseLanguage = "en"
	}
	setDocument(&v.Translations, &patch.Translations)
	setDocument(&v.FormContent, &patch.FormContent)
}

// check checks a survey as a whole, after a change from before.
func (s *Service) checkSurvey(ctx context.Context, store Store, before, v *Survey, patch *SurveyPatch) error {
	if patch.Translations.Set && v.Translations != nil {
		clean, err := survey.Translations(v.Translations, v.Questions)
		if err != nil {
			return judged(err)
		}
		v.Translations = clean
	}
	if v.Type == "external_survey" {
		switch {
		case v.LinkedFlag != nil:
			return invalid("linked_flag_id", "invalid_input", "External surveys cannot have a linked flag.")
		case patch.TargetingFlagFilters.Set && !patch.TargetingFlagFilters.Null:
			return invalid("targeting_flag_filters", "invalid_input", "External surveys cannot have targeting filters.")
		}
		if err := survey.CheckExternal(v.Conditions, v.Appearance); err != nil {
			return judged(err)
		}
	}
	if err := survey.CheckShuffle(v.Questions, v.Appearance); err != nil {
		return judged(err)
	}
	if err := s.checkSurveyFlags(ctx, store, v, patch); err != nil {
		return err
	}
	switch {
	case before.CurrentIteration != nil && v.IterationCount != nil && patch.IterationCount.Set && *v.IterationCount < *before.CurrentIteration:
		return invalid("", "invalid_input", "The survey is in iteration %d already: iteration_count cannot be less.", *before.CurrentIteration)
	case orZero(v.SamplingLimit) > 0 && (v.SamplingStart == nil || v.SamplingInterval == nil):
		return invalid("response_sampling_start_date", "invalid_input", "A limit of response sampling needs response_sampling_start_date and response_sampling_interval.")
	}
	return nil
}

func orZero(n *int) int { return *cmp.Or(n, new(int)) }
