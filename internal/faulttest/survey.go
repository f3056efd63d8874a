package faulttest

import (
	"slices"
	"strings"
)

// Survey is a survey that has all fields, without a fault.
const Survey = `{"name":"Whole","description":"for colleagues","type":"popover","schedule":"once","linked_flag_id":null,"linked_insight_id":null,
	"targeting_flag_filters":` + filters + `,
	"questions":[
		{"id":"a","type":"open","question":"Why?","description":"Say it.","descriptionContentType":"text","optional":true,"buttonText":"Go",
			"validation":[{"type":"min_length","value":3,"errorMessage":"Too short."}],
			"branching":{"type":"specific_question","index":2},"translations":{"de":{"question":"Warum?"}}},
		{"id":"b","type":"link","question":"Look","link":"https://example.com"},
		{"id":"c","type":"rating","question":"How much?","display":"number","scale":10,"lowerBoundLabel":"little","upperBoundLabel":"much","isNpsQuestion":true,"skipSubmitButton":false,
			"branching":{"type":"response_based","responseValues":{"promoters":"end"}}},
		{"id":"d","type":"single_choice","question":"Which?","choices":["x","y"],"hasOpenChoice":false,"shuffleOptions":false}],
	"conditions":{"url":"/pricing","urlMatchType":"icontains","selector":"#buy","seenSurveyWaitPeriodInDays":14,"deviceTypes":["Desktop"],"deviceTypesMatchType":"exact",
		"events":{"values":[{"name":"left","propertyFilters":{"plan":{"values":["pro"],"operator":"exact"}}}],"repeatedActivation":false},
		"cancelEvents":{"values":[{"name":"paid"}]},"actions":{"values":[{"id":5}]}},
	"appearance":{"displayIntroScreen":true,"displayThankYouMessage":true},
	"archived":false,"responses_limit":100,"enable_partial_responses":true,"enable_iframe_embedding":false,"base_language":"en",
	"translations":{"de":{"name":"Alles","questions":[{}]}},"form_content":{}}`

// Surveys are the faults of surveys.
var Surveys = slices.Concat([]Fault{
	{Path: "name", Value: `" "`, Text: "This field may not be blank."},
	{Path: "description", Value: `["x"]`, Text: "Not a valid string."},
	{Path: "type", Value: `"banner"`, Text: `"banner" is not a valid choice.`},
	{Path: "schedule", Value: `"weekly"`, Text: `"weekly" is not a valid choice.`},
	{Path: "linked_flag_id", Value: `999`, Text: "There is no feature flag with the ID 999 in this project.", Whole: true},
	{Path: "linked_insight_id", Value: `"five"`, Text: "A valid integer is required."},
	{Path: "targeting_flag_id", Value: `999`, Text: "There is no feature flag with the ID 999 in this project.", Whole: true},
	{Path: "targeting_flag_filters", Value: `[5]`, Text: "must be an object, not an array: [5]", Field: "target"},
	{Path: "remove_targeting_flag", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "questions", Value: `{"a":1}`, Text: "must be a list of at most 100 questions."},
	{Path: "conditions", Value: `[5]`, Text: "must be an object."},
	{Path: "appearance", Value: `[5]`, Text: "must be an object."},
	{Path: "start_date", Value: `"tomorrow"`, Text: "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."},
	{Path: "end_date", Value: `"tomorrow"`, Text: "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."},
	{Path: "archived", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "responses_limit", Value: `-1`, Text: "Ensure this value is greater than or equal to 0."},
	{Path: "iteration_count", Value: `501`, Text: "Ensure this value is less than or equal to 500."},
	{Path: "iteration_frequency_days", Value: `"week"`, Text: "A valid integer is required."},
	{Path: "response_sampling_start_date", Value: `"2020-01-01T00:00:00Z"`, Text: "Response sampling must begin today or later."},
	{Path: "response_sampling_interval_type", Value: `"year"`, Text: `"year" is not a valid choice.`},
	{Path: "response_sampling_interval", Value: `0`, Text: "Ensure this value is greater than or equal to 1."},
	{Path: "response_sampling_limit", Value: `5`, Text: "A limit of response sampling needs response_sampling_start_date and response_sampling_interval.", At: "response_sampling_start_date", Beside: "response_sampling_start_date"},
	{Path: "enable_partial_responses", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "enable_iframe_embedding", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "base_language", Value: `"English"`, Text: `Must be a language tag of at most 20 characters, such as en or pt-br, not "English".`},
	{Path: "translations", Value: `[5]`, Text: "must be an object with at most 200 languages."},

	{Path: "questions/0", Value: `"Why?"`, Text: "must be an object.", Field: "q0"},
	{Path: "questions/0/id", Value: `"d"`, Text: "must be unique, and 0/id is the same.", At: "questions/3/id"},
	{Path: "questions/0/type", Value: `"text"`, Text: "must be one of open, link, rating, single_choice, multiple_choice."},
	{Path: "questions/0/question", Value: `" "`, Text: "must be a string that is not blank."},
	{Path: "questions/0/validation", Value: `{}`, Text: "must be a list of at most 20 elements.", Field: "q0.min_length"},
	{Path: "questions/0/validation/0/type", Value: `"regex"`, Text: "must be one of min_length, max_length, email.", Field: "q0.min_length"},
	{Path: "questions/0/validation/0/value", Value: `0`, Text: "must be an integer from 1 on.", Field: "q0.min_length"},
	{Path: "questions/0/validation/0/errorMessage", Value: `5`, Text: "must be a string.", Field: "q0.min_length"},
	{Path: "questions/0/branching", Value: `"end"`, Text: "must be an object.", Field: "q0.then"},
	{Path: "questions/0/branching/type", Value: `"anywhere"`, Text: "must be one of next_question, end, specific_question, response_based.", Field: "q0.then"},
	{Path: "questions/0/branching/index", Value: `9`, Text: "must be an integer from 0 to 3.", Field: "q0.then"},
	{Path: "questions/2/branching/responseValues", Value: `{"fans":0}`, Text: "must have no other members than detractors, passives, promoters."},
	{Path: "questions/2/branching/responseValues/promoters", Value: `9`, Text: `must be "end" or an integer from 0 to 3.`, Field: "q2.then.promoters", Beside: "q2.then"},
	{Path: "questions/1/link", Value: `"http://example.com"`, Text: "must be https://… or mailto:user@example.com, with at most 2048 characters."},
	{Path: "questions/2/display", Value: `"stars"`, Text: "must be one of number, emoji."},
	{Path: "questions/2/scale", Value: `4`, Text: "must be one of 2, 3, 5, 7, 10."},
	{Path: "questions/3/choices", Value: `["x"]`, Text: "must be a list of at least 2 strings."},
	{Path: "questions/3/choices/0", Value: `""`, Text: "must not be blank.", Field: "q3.choices"},
	{Path: "questions/0/translations", Value: `[]`, Text: "must be an object with at most 200 languages."},
	{Path: "questions/0/translations/de", Value: `"Warum?"`, Text: "must be an object."},

	{Path: "conditions/seenSurveyWaitPeriodInDays", Value: `-1`, Text: "must be an integer from 0 to 9999."},
	{Path: "conditions/events", Value: `["left"]`, Text: "must be an object."},
	{Path: "conditions/events/repeatedActivation", Value: `"no"`, Text: "must be true or false."},
	{Path: "conditions/events/values", Value: `{}`, Text: "must be a list of at most 200 elements.", Field: "conditions.events"},
	{Path: "conditions/events/values/0/name", Value: `" "`, Text: "must be a string that is not blank.", Field: "conditions.events"},
	{Path: "conditions/events/values/0/propertyFilters", Value: `[]`, Text: "must be an object with at most 200 members.", Field: "conditions.events"},
	{Path: "conditions/events/values/0/propertyFilters/plan/values", Value: `"pro"`, Text: "must be a list of at most 200 elements.", Field: "conditions.events"},
	{Path: "conditions/events/values/0/propertyFilters/plan/operator", Value: `"almost"`, Text: "must be one of exact, is_not, icontains, not_icontains, regex, not_regex, gt, lt.", Field: "conditions.events"},
	{Path: "conditions/cancelEvents", Value: `["paid"]`, Text: "must be an object."},
	{Path: "conditions/actions", Value: `[5]`, Text: "must be an object."},
	{Path: "conditions/deviceTypes", Value: `"Desktop"`, Text: "must be a list of at most 200 elements."},
	{Path: "conditions/linkedFlagVariant", Value: `"blue"`, Text: "needs a linked flag.", Whole: true},

	{Path: "appearance/position", Value: `"below"`, Text: "must be one of top_left, top_center, top_right, middle_left, middle_center, middle_right, left,"},
	{Path: "appearance/tabPosition", Value: `"below"`, Text: "must be one of top, left, right, bottom."},
	{Path: "appearance/widgetType", Value: `"link"`, Text: "must be one of button, tab, selector."},
	{Path: "appearance/widgetSelector", Value: `5`, Text: "must be a string."},
	{Path: "appearance/surveyPopupDelaySeconds", Value: `-1`, Text: "must be a number from 0 on."},
	{Path: "appearance/backgroundColor", Value: `"red;"`, Text: "must be one value of CSS, without any of ; { } < > /*."},

	{Path: "translations/de", Value: `"Alles"`, Text: "must be an object."},
	{Path: "translations/de/name", Value: `5`, Text: "must be a string."},
	{Path: "translations/de/questions", Value: `{}`, Text: "must be a list with no more elements than the survey has questions, 4."},
},
	each("questions/0/", `5`, "must be a string.", "description", "buttonText"),
	each("questions/0/", `"markdown"`, "must be one of text, html.", "descriptionContentType"),
	each("questions/2/", `5`, "must be a string.", "lowerBoundLabel", "upperBoundLabel"),
	each("questions/0/", `"no"`, "must be true or false.", "optional"),
	each("questions/2/", `"no"`, "must be true or false.", "isNpsQuestion", "skipSubmitButton"),
	each("questions/3/", `"no"`, "must be true or false.", "hasOpenChoice", "shuffleOptions"),
	each("questions/0/translations/de/", `5`, "must be a string.", "question", "description", "buttonText", "lowerBoundLabel", "upperBoundLabel"),
	each("questions/0/translations/de/", `"markdown"`, "must be one of text, html.", "descriptionContentType"),
	each("questions/0/translations/de/", `"http://example.com"`, "must be https://… or mailto:user@example.com", "link"),
	each("questions/0/translations/de/", `5`, "must be a list of at most", "choices", "validation"),
	each("conditions/", `5`, "must be a string.", "url", "selector"),
	each("conditions/", `"almost"`, "must be one of exact, is_not, icontains, not_icontains, regex, not_regex.", "urlMatchType", "deviceTypesMatchType"),
	each("appearance/", `5`, "must be a string.", "textColor", "submitButtonColor", "submitButtonTextColor", "ratingButtonColor",
		"ratingButtonActiveColor", "ratingButtonHoverColor", "borderColor", "inputBackground", "inputTextColor", "widgetColor"),
	each("appearance/", `{}`, "must be a string.", "fontFamily", "maxWidth", "zIndex", "boxPadding", "disabledButtonOpacity"),
	each("appearance/", `"no"`, "must be true or false.", "whiteLabel", "autoDisappear", "displayThankYouMessage", "displayIntroScreen",
		"shuffleQuestions", "allowGoBack", "hideCancelButton"),
	each("appearance/", `5`, "must be a string.", texts...),
	each("appearance/", `"markdown"`, "must be one of text, html.", contentTypes...),
	each("translations/de/", `5`, "must be a string.", texts...),
	each("translations/de/", `"markdown"`, "must be one of text, html.", contentTypes...),
	targeting(),
)

// texts and contentTypes are members of the appearance that are translated.
var (
	texts = []string{
		"submitButtonText", "placeholder", "thankYouMessageHeader", "thankYouMessageDescription", "thankYouMessageCloseButtonText",
		"introScreenHeader", "introScreenDescription", "introScreenButtonText", "backButtonText", "widgetLabel",
	}
	contentTypes = []string{"thankYouMessageDescriptionContentType", "introScreenDescriptionContentType"}
)

// each returns the same fault of several members.
func each(at, value, text string, members ...string) (faults []Fault) {
	for _, name := range members {
		faults = append(faults, Fault{Path: at + name, Value: value, Text: text})
	}
	return faults
}

// targeting returns the faults of the filters of flags as those of the targeting of a survey.
// Its form has the condition sets only.
func targeting() (faults []Fault) {
	for _, f := range Flags {
		if !strings.HasPrefix(f.Path, "filters/") {
			continue
		}
		f.Path = "targeting_flag_" + f.Path
		if f.At != "" {
			f.At = "targeting_flag_" + f.At
		}
		if !strings.HasPrefix(f.Field, "c") {
			f.Field, f.Typed = "", ""
		}
		faults = append(faults, f)
	}
	return faults
}
