package rules

import (
	"encoding/json"
	"maps"
)

// shownInAppearance has the texts of management.md §9.5 and their content
// types.
var shownInAppearance = map[string]check{
	"submitButtonText":                      shown,
	"placeholder":                           shown,
	"thankYouMessageHeader":                 shown,
	"thankYouMessageDescription":            shown,
	"thankYouMessageDescriptionContentType": contentType,
	"thankYouMessageCloseButtonText":        shown,
	"introScreenHeader":                     shown,
	"introScreenDescription":                shown,
	"introScreenDescriptionContentType":     contentType,
	"introScreenButtonText":                 shown,
	"backButtonText":                        shown,
	"widgetLabel":                           shown,
}

var appearanceChecks = func() map[string]check {
	checks := maps.Clone(shownInAppearance)
	maps.Copy(checks, map[string]check{
		"position": oneOf("top_left", "top_center", "top_right", "middle_left", "middle_center", "middle_right",
			"left", "center", "right", "next_to_trigger"),
		"tabPosition":             oneOf("top", "left", "right", "bottom"),
		"widgetType":              oneOf("button", "tab", "selector"),
		"widgetSelector":          plain(maxPlain),
		"surveyPopupDelaySeconds": notNegative,
	})
	for _, name := range []string{
		"backgroundColor", "textColor", "submitButtonColor", "submitButtonTextColor", "ratingButtonColor",
		"ratingButtonActiveColor", "ratingButtonHoverColor", "borderColor", "inputBackground", "inputTextColor",
		"widgetColor",
	} {
		checks[name] = color
	}
	for _, name := range []string{"fontFamily", "maxWidth", "zIndex", "boxPadding", "disabledButtonOpacity"} {
		checks[name] = css
	}
	for _, name := range []string{
		"whiteLabel", "autoDisappear", "displayThankYouMessage", "displayIntroScreen", "shuffleQuestions",
		"allowGoBack", "hideCancelButton",
	} {
		checks[name] = boolean
	}
	return checks
}()

// Appearance checks the appearance of a survey (management.md §9.5) and returns
// it in its stored form, with cleaned texts. It also checks the default of a
// project.
func Appearance(raw json.RawMessage) (json.RawMessage, error) {
	p := place{attr: "appearance"}
	doc, err := normal(p.attr, raw)
	if err != nil {
		return nil, err
	}
	a, err := p.members(doc, appearanceChecks)
	if err != nil {
		return nil, err
	}
	return sized(p.attr, a.append(nil))
}

// FormContent checks the layout that editors keep with a survey, whose content
// is up to them, and returns it in its stored form.
func FormContent(raw json.RawMessage) (json.RawMessage, error) {
	return normal("form_content", raw)
}
