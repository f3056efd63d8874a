package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// Members that management.md §9.5 lists.
var (
	appearanceColors = []string{
		"backgroundColor", "textColor", "submitButtonColor", "submitButtonTextColor", "ratingButtonColor", "ratingButtonActiveColor",
		"ratingButtonHoverColor", "borderColor", "inputBackground", "inputTextColor", "widgetColor",
	}
	appearanceTexts = []string{
		"submitButtonText", "placeholder", "thankYouMessageHeader", "thankYouMessageDescription", "thankYouMessageCloseButtonText",
		"introScreenHeader", "introScreenDescription", "introScreenButtonText", "backButtonText", "widgetLabel",
	}
	appearanceSwitches = []string{
		"whiteLabel", "autoDisappear", "displayThankYouMessage", "displayIntroScreen", "shuffleQuestions", "allowGoBack", "hideCancelButton",
	}
	appearanceChoices = map[string][]string{
		"thankYouMessageDescriptionContentType": {"html", "text"},
		"introScreenDescriptionContentType":     {"html", "text"},
		"position":                              {"top_left", "top_center", "top_right", "middle_left", "middle_center", "middle_right", "left", "center", "right", "next_to_trigger"},
		"tabPosition":                           {"top", "left", "right", "bottom"},
		"widgetType":                            {"button", "tab", "selector"},
	}
	appearanceStyles = []string{"fontFamily", "maxWidth", "zIndex", "boxPadding", "disabledButtonOpacity"}
)

// TestAppearance follows management.md §9.5.
func TestAppearance(t *testing.T) {
	good := func(name, value string) {
		t.Helper()
		kept(t, rules.Appearance, fmt.Sprintf(`{%q:%s}`, name, value), "")
		kept(t, rules.Appearance, fmt.Sprintf(`{%q:null}`, name), "")
	}
	bad := func(name, value, detail string) {
		t.Helper()
		refused(t, rules.Appearance, fmt.Sprintf(`{%q:%s}`, name, value), "appearance", "invalid_input", name+": "+detail)
	}
	for _, name := range appearanceColors {
		for _, value := range []string{`""`, `"#eeeded"`, `"rgba(0, 0, 0, 0.5)"`, `"var(--brand)"`, `"white"`} {
			good(name, value)
		}
		bad(name, `1`, "must be a string.")
		bad(name, `{}`, "must be a string.")
		bad(name, `"red;position:fixed"`, "must be one value of CSS, without any of ; { } < > /*.")
		bad(name, `"</style><script>"`, "must be one value")
		bad(name, `"red/*"`, "must be one value")
		bad(name, `"`+strings.Repeat("a", 501)+`"`, "must have no more than 500 characters.")
	}
	for _, name := range appearanceTexts {
		good(name, `"Tom & Jerry <3"`)
		good(name, `""`)
		bad(name, `1`, "must be a string.")
		bad(name, `"`+strings.Repeat("a", 10_001)+`"`, "must have no more than 10000 characters.")
		kept(t, rules.Appearance, fmt.Sprintf(`{%q:"<b onclick=x>a</b><script>b</script>"}`, name), fmt.Sprintf(`{%q:"<b>a</b>"}`, name))
	}
	for _, name := range appearanceSwitches {
		good(name, `true`)
		good(name, `false`)
		bad(name, `1`, "must be true or false.")
		bad(name, `"true"`, "must be true or false.")
	}
	for name, values := range appearanceChoices {
		for _, value := range values {
			good(name, `"`+value+`"`)
		}
		bad(name, `"elsewhere"`, "must be one of")
		bad(name, `""`, "must be one of")
		bad(name, `0`, "must be one of")
	}
	for _, name := range appearanceStyles {
		for _, value := range []string{`"300px"`, `0.5`, `2147483647`, `"Inter, \"Segoe UI\""`} {
			good(name, value)
		}
		bad(name, `true`, "must be a string.")
		bad(name, `"1px;"`, "must be one value")
	}
	for _, value := range []string{`0`, `0.5`, `1e3`} {
		good("surveyPopupDelaySeconds", value)
	}
	for _, value := range []string{`-1`, `-0.1`, `"5"`, `true`, `1e999`} {
		bad("surveyPopupDelaySeconds", value, "must be a number from 0 on.")
	}
	good("widgetSelector", `".a > #b"`)
	bad("widgetSelector", `1`, "must be a string.")
	good("textSubtleColor", `["unknown members stay",{"<script>":1}]`)
	kept(t, rules.Appearance, `{}`, "")
}

func FuzzAppearance(f *testing.F) {
	f.Add(`{"backgroundColor":"#eeeded","whiteLabel":true,"position":"right","surveyPopupDelaySeconds":5,"zIndex":1}`)
	f.Add(`{"thankYouMessageHeader":"<b onclick=x>a","thankYouMessageDescription":"a<b","thankYouMessageDescriptionContentType":"html"}`)
	f.Add(`{"placeholder":"\ud800<i","fontFamily":"a;","x":[{}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		stored := fuzzed(t, rules.Appearance, raw)
		for _, name := range appearanceTexts {
			checkClean(t, stringAt(stored, name))
		}
	})
}
