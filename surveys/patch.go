package surveys

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A Patch makes or changes a survey (management.md §9.1). A field that is not set stays as
// it is.
type Patch struct {
	Name                 optional.Value[string]          `json:"name"`
	Description          optional.Value[string]          `json:"description"`
	Type                 optional.Value[string]          `json:"type"`
	Schedule             optional.Value[string]          `json:"schedule"`
	LinkedFlagID         optional.Value[int64]           `json:"linked_flag_id"`
	LinkedInsightID      optional.Value[int64]           `json:"linked_insight_id"`
	TargetingFlagID      optional.Value[int64]           `json:"targeting_flag_id"`
	TargetingFlagFilters optional.Value[flags.Filters]   `json:"targeting_flag_filters"`
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

	// IfUpdated refuses the change with [management.ErrConflict] unless the survey was
	// changed last at this time. Nil: any.
	IfUpdated *time.Time `json:"-"`

	insightExists bool // whether there is the insight to link to

	whole bool // a new survey's required fields are required
}

// filters reports whether the survey is to get a targeting flag with filters. Removing the
// targeting takes precedence.
func (patch *Patch) filters() bool {
	return patch.TargetingFlagFilters.Set && !patch.TargetingFlagFilters.Null && !patch.RemoveTargetingFlag.Value
}

// scopes returns the scopes that a change needs. Targeting is made of flags.
func (patch *Patch) scopes() []management.Scope {
	if patch.TargetingFlagID.Set && !patch.TargetingFlagID.Null || patch.filters() || patch.RemoveTargetingFlag.Value {
		return []management.Scope{"survey:write", "feature_flag:write"}
	}
	return []management.Scope{"survey:write"}
}

// samples reports whether sampling is to change.
func (patch *Patch) samples() bool {
	return patch.SamplingStart.Set || patch.SamplingType.Set || patch.SamplingInterval.Set || patch.SamplingLimit.Set
}

// Limits of values.
const (
	maxName              = 400 // characters
	maxIterationDays     = 365
	maxSamplingIntervals = 365
)

var (
	types             = []string{"popover", "widget", "external_survey", "api"}
	schedules         = []string{"once", "recurring", "always"}
	samplingIntervals = []string{"day", "week", "month"}
)

// fields is the table of the fields of a survey. The patch is nil if the table is only for
// the log. A survey that has no name or no type yet needs one.
//
// Fields that follow from other fields are only logged. The flags of a survey are logged
// as [targeting] says.
func (s *Service) fields(v *Survey, patch *Patch) field.Table {
	patch = cmp.Or(patch, new(Patch))
	return field.Table{
		field.Plain("name", &patch.Name, &v.Name, check.RequiredIf(patch.whole || v.Name == "", check.UpTo(check.Title, maxName))),
		field.Plain("description", &patch.Description, &v.Description, check.UpTo(check.String, check.MaxText)),
		field.Plain("type", &patch.Type, &v.Type, check.RequiredIf(patch.whole || v.Type == "", check.OneOf(types))),
		field.Nullable("schedule", &patch.Schedule, &v.Schedule, checkSchedule),
		field.Nullable("linked_flag_id", &patch.LinkedFlagID, &v.LinkedFlag, check.Integer),
		field.Nullable("linked_insight_id", &patch.LinkedInsightID, &v.LinkedInsight, check.Integer),
		field.Checked("targeting_flag_id", &patch.TargetingFlagID, check.Integer),
		field.Checked("remove_targeting_flag", &patch.RemoveTargetingFlag, check.BoolOrNull),
		field.Plain("questions", &patch.Questions, &v.Questions, patch.checkQuestions(v)),
		field.Plain("conditions", &patch.Conditions, &v.Conditions, checkContent(rules.Conditions)),
		field.Plain("appearance", &patch.Appearance, &v.Appearance, checkContent(rules.Appearance)),
		field.Time("start_date", &patch.StartDate, &v.Start, nil),
		field.Time("end_date", &patch.EndDate, &v.End, nil),
		field.Plain("archived", &patch.Archived, &v.Archived, check.Bool),
		field.Nullable("responses_limit", &patch.ResponsesLimit, &v.ResponsesLimit, check.Between(0, math.MaxInt32)),
		field.Nullable("iteration_count", &patch.IterationCount, &v.IterationCount, check.Between(0, rules.MaxIterations)),
		field.Nullable("iteration_frequency_days", &patch.IterationDays, &v.IterationDays, check.Between(0, maxIterationDays)),
		field.Logged("iteration_start_dates", v.IterationStarts),
		field.Logged("current_iteration", v.CurrentIteration),
		field.Logged("current_iteration_start_date", v.IterationStart),
		field.Time("response_sampling_start_date", &patch.SamplingStart, &v.SamplingStart, v.checkSamplingStart(s.now())),
		field.Nullable("response_sampling_interval_type", &patch.SamplingType, &v.SamplingType, check.EmptyIsNull(check.OneOfOrNull(samplingIntervals))),
		field.Nullable("response_sampling_interval", &patch.SamplingInterval, &v.SamplingInterval, check.Between(1, maxSamplingIntervals)),
		field.Nullable("response_sampling_limit", &patch.SamplingLimit, &v.SamplingLimit, check.Between(0, math.MaxInt32)),
		field.Logged("response_sampling_daily_limits", v.samplingDailyText()),
		field.Nullable("enable_partial_responses", &patch.PartialResponses, &v.PartialResponses, check.BoolOrNull),
		field.Nullable("enable_iframe_embedding", &patch.IframeEmbedding, &v.IframeEmbedding, check.BoolOrNull),
		field.Default("base_language", &patch.BaseLanguage, &v.BaseLanguage, "en", checkLanguage),
		field.Plain("translations", &patch.Translations, &v.Translations, patch.checkTranslations(v)),
		field.Plain("form_content", &patch.FormContent, &v.FormContent, checkContent(rules.FormContent)),
	}
}

// checkFields checks what a patch has for a survey, each field by itself.
func (s *Service) checkFields(v *Survey, patch *Patch) error {
	return refusal(s.fields(v, patch).Check())
}

// checkSchedule is [check.OneOf] with the code that the public system has here.
func checkSchedule(attr string, o *optional.Value[string]) error {
	if o.Null {
		return nil
	}
	err := check.OneOf(schedules)(attr, o)
	if e, ok := errors.AsType[*judge.Error](err); ok {
		e.Code = "invalid_input"
	}
	return err
}

func checkLanguage(attr string, o *optional.Value[string]) error {
	if err := check.String(attr, o, rules.MaxLanguage); err != nil || o.Value == "" {
		return err
	}
	code, err := rules.CheckLanguage(o.Value)
	if err != nil {
		return refusal(err)
	}
	o.Value = code
	return nil
}

// language returns the language in which the survey is written after the patch.
func (patch *Patch) language(v *Survey) string {
	language := v.BaseLanguage
	if patch.BaseLanguage.Set {
		language = patch.BaseLanguage.Value
	}
	code, _ := rules.Language(cmp.Or(language, "en")) // the field itself is checked elsewhere
	return code
}

// checkContent returns the check of JSON, or null, that package rules judges.
func checkContent(judge func(json.RawMessage) (json.RawMessage, error)) check.Func[json.RawMessage] {
	return func(_ string, o *optional.Value[json.RawMessage]) error {
		if !o.Set || o.Null {
			return nil
		}
		clean, err := judge(o.Value)
		if err != nil {
			return refusal(err)
		}
		o.Value = clean
		return nil
	}
}

// checkQuestions returns the check of questions. If only the language of the survey
// changes, it looks at the questions that the survey has: they may be translated into
// what is its language now.
func (patch *Patch) checkQuestions(v *Survey) check.Func[json.RawMessage] {
	return func(attr string, o *optional.Value[json.RawMessage]) error {
		if !o.Set && patch.BaseLanguage.Set && v.Questions != nil {
			o = new(optional.Of(v.Questions))
		}
		return checkContent(func(raw json.RawMessage) (json.RawMessage, error) {
			return rules.Questions(raw, patch.language(v))
		})(attr, o)
	}
}

// checkTranslations returns the check of translations. They belong to the questions of the
// patch, which have been checked before, or else to the questions of the survey. The
// translations that a survey has must fit new questions and a new language, too.
func (patch *Patch) checkTranslations(v *Survey) check.Func[json.RawMessage] {
	return func(attr string, o *optional.Value[json.RawMessage]) error {
		questions := v.Questions
		if patch.Questions.Set {
			questions = patch.Questions.Value
		}
		if !o.Set && (patch.Questions.Set || patch.BaseLanguage.Set) && v.Translations != nil {
			o = new(optional.Of(v.Translations))
		}
		return checkContent(func(raw json.RawMessage) (json.RawMessage, error) {
			return rules.Translations(raw, questions, patch.language(v))
		})(attr, o)
	}
}

// checkSamplingStart returns the check of the time at which sampling begins. A time in the
// past is allowed only if the survey has it already, so that a client can send a survey
// back as it was read.
func (v *Survey) checkSamplingStart(now time.Time) func(time.Time) error {
	return func(start time.Time) error {
		if start.Before(now.Truncate(day)) && (v.SamplingStart == nil || !start.Equal(*v.SamplingStart)) {
			return invalid("response_sampling_start_date", "Response sampling must begin today or later.")
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

// orZero returns the number that a pointer points to, and 0 for nil.
func orZero[T int | int64](n *T) T { return *cmp.Or(n, new(T)) }
