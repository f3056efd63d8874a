package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// The fields of a survey, in the order of the page. Members have the names that the API
// gives them (management.md §9).

// A fieldGroup is a part of the page.
type fieldGroup struct {
	ID, Title, Hint string
	Closed          bool // it is opened on demand
	fields          []formField
}

var surveyGroups = []fieldGroup{
	{ID: "about", Title: "Details", fields: []formField{
		member("text", "name", "Name").hint("Colleagues see it, and so do programs that ask for surveys."),
		member("area", "description", "Description"),
		member("choice", "type", "Presentation").choices(surveyTypes, "popover").refreshing(),
	}},
	{ID: "shown", Title: "Display conditions", fields: []formField{
		member("text", "conditions.url", "URL").inBrowsers().hint("Without one the survey is shown on all pages."),
		member("choice", "conditions.urlMatchType", "URL match").inBrowsers().choices(matchOptions, "icontains"),
		member("text", "conditions.selector", "CSS selector").inBrowsers().
			hint("Such as #buy. The survey is shown when the page has the element."),
		member("number", "conditions.seenSurveyWaitPeriodInDays", "Wait period after another survey").inBrowsers().unit("days"),
		member("names", "conditions.deviceTypes", "Device types").inBrowsers().hint("Desktop, Mobile, Tablet. None: all devices."),
		member("choice", "conditions.deviceTypesMatchType", "Device type match").inBrowsers().choices(matchOptions, "icontains"),
		eventNames("conditions.events", "Trigger events").inBrowsers().
			hint("The survey is shown after one of them. A name on each line. Filters of their properties are edited as JSON, and kept."),
		member("truth", "conditions.events.repeatedActivation", "Show it each time an event happens, not only the first time").inBrowsers(),
		eventNames("conditions.cancelEvents", "Cancel events").inBrowsers().
			hint("The survey is not shown any more after one of them. A name on each line."),
		flagField("linked_flag_id", "Linked flag").inBrowsers(),
		member("text", "conditions.linkedFlagVariant", "Variant of the linked flag").inBrowsers().
			hint("A key, or any. Without one the flag has to be on."),
	}},
	{ID: "schedule", Title: "Schedule", Closed: true, fields: []formField{
		member("choice", "schedule", "A person is asked").choices(forms.Options(
			"once", "once", "recurring", "once in each iteration", "always", "always, also after an answer",
		), "once"),
		member("number", "responses_limit", "Ends after").unit("responses"),
		member("number", "iteration_count", "Iterations"),
		member("number", "iteration_frequency_days", "An iteration has").unit("days"),
		member("date", "start_date", "Starts").hint("In UTC. To start at once, launch it."),
		member("date", "end_date", "Ends").hint("In UTC."),
		member("number", "response_sampling_limit", "At most").unit("responses, spread over the days"),
		member("number", "response_sampling_interval", "Spread over"),
		member("choice", "response_sampling_interval_type", "Spread unit").choices(forms.Options("", "none", "day", "days", "week", "weeks",
			"month", "months"), ""),
		member("date", "response_sampling_start_date", "Spread from").hint("In UTC, from today on."),
		member("truth", "enable_partial_responses", "Answers count as soon as they are given, also if the survey is not completed"),
	}},
	{ID: "look", Title: "Appearance", Closed: true, fields: []formField{
		member("choice", "appearance.position", "Position").inBrowsers().choices(forms.Options(
			"", "the default", "top_left", "top left", "top_center", "top centre", "top_right", "top right",
			"middle_left", "middle left", "middle_center", "middle", "middle_right", "middle right",
			"left", "bottom left", "center", "bottom centre", "right", "bottom right",
			"next_to_trigger", "beside what opens it",
		), ""),
		member("number", "appearance.surveyPopupDelaySeconds", "Appears after").inBrowsers().unit("seconds"),
		member("choice", "appearance.widgetType", "Opened by").onType("widget").choices(forms.Options(
			"", "the default", "button", "a button", "tab", "a tab", "selector", "an element of the page",
		), ""),
		member("text", "appearance.widgetLabel", "Button text").onType("widget"),
		member("text", "appearance.widgetSelector", "CSS selector").onType("widget").hint("Such as #feedback."),
		member("color", "appearance.widgetColor", "Button colour").onType("widget"),
		member("choice", "appearance.tabPosition", "Edge of the tab").onType("widget").choices(forms.Options("", "the default", "top",
			"top",
			"left", "left", "right", "right", "bottom", "bottom"), ""),
		member("color", "appearance.backgroundColor", "Background"),
		member("color", "appearance.textColor", "Text"),
		member("color", "appearance.borderColor", "Border"),
		member("color", "appearance.submitButtonColor", "Button colour"),
		member("color", "appearance.submitButtonTextColor", "Button text colour"),
		member("color", "appearance.ratingButtonColor", "Ratings"),
		member("color", "appearance.ratingButtonActiveColor", "Chosen rating"),
		member("text", "appearance.submitButtonText", "Button text"),
		member("text", "appearance.placeholder", "Placeholder"),
		member("truth", "appearance.displayIntroScreen", "Show an intro screen").refreshing(),
		member("text", "appearance.introScreenHeader", "Intro title").when("appearance", "displayIntroScreen"),
		member("area", "appearance.introScreenDescription", "Intro text").when("appearance", "displayIntroScreen"),
		member("text", "appearance.introScreenButtonText", "Intro button").when("appearance", "displayIntroScreen"),
		member("truth", "appearance.displayThankYouMessage", "Show a thank-you message").refreshing(),
		member("text", "appearance.thankYouMessageHeader", "Thank-you title").when("appearance", "displayThankYouMessage"),
		member("area", "appearance.thankYouMessageDescription", "Thank-you text").when("appearance", "displayThankYouMessage"),
		member("text", "appearance.thankYouMessageCloseButtonText", "Thank-you button").when("appearance", "displayThankYouMessage"),
		member("truth", "appearance.autoDisappear", "Hide the message automatically").when("appearance", "displayThankYouMessage"),
		member("truth", "appearance.shuffleQuestions", "Shuffle questions"),
		member("truth", "appearance.allowGoBack", "Respondents can go back"),
		member("truth", "appearance.hideCancelButton", "Respondents cannot close it").inBrowsers(),
		member("truth", "appearance.whiteLabel", "Hide branding"),
	}},
}

// targetFlag is the field of an ordinary flag that decides who is asked.
var targetFlag = flagField("targeting_flag_id", "Flag")

// surveyFields are the fields of all groups.
var surveyFields = func() []formField {
	out := []formField{targetFlag}
	for _, g := range surveyGroups {
		out = append(out, g.fields...)
	}
	return out
}()

var surveyTypes = forms.Options(
	"popover", "Popover: in a corner of the page", "widget", "Widget: opened by a button or tab",
	"external_survey", "Hosted: on a page of its own", "api", "API: your program shows it",
)

// surveyTypeNames are the types in one word.
var surveyTypeNames = map[string]string{"popover": "popover", "widget": "widget", "external_survey": "hosted", "api": "API"}

var matchOptions = forms.Options(
	"icontains", "contains this", "not_icontains", "does not contain this", "exact", "is this",
	"is_not", "is not this", "regex", "matches this pattern",
	"not_regex", "does not match this pattern",
)

var questionTypes = forms.Options(
	"open", "Free text", "single_choice", "One choice", "multiple_choice", "Several choices",
	"rating", "Rating", "link", "Link",
)

var questionTypeNames = map[string]string{
	"open": "free text", "single_choice": "one choice", "multiple_choice": "several choices", "rating": "rating", "link": "link",
}

var questionFields = []formField{
	member("choice", "type", "Type").choices(questionTypes, "open").refreshing(),
	member("area", "question", "Question").rows(2),
	member("area", "description", "Description").rows(2).more(),
	member("choice", "descriptionContentType", "Description format").choices(forms.Options("text", "plain text", "html", "HTML"),
		"text").more(),
	member("text", "link", "Leads to").onType("link").hint("https://… or mailto:…"),
	member("choice", "display", "Shown as").onType("rating").choices(forms.Options("number", "numbers", "emoji", "faces"), "number"),
	scaleField(),
	member("text", "lowerBoundLabel", "Lower bound label").onType("rating"),
	member("text", "upperBoundLabel", "Upper bound label").onType("rating"),
	npsField(),
	member("lines", "choices", "Choices").onType("single_choice", "multiple_choice").rows(5).hint("One on each line, 2 to 100."),
	member("truth", "hasOpenChoice", "The last choice is free text").onType("single_choice", "multiple_choice"),
	member("truth", "shuffleOptions", "Shuffle options").onType("single_choice", "multiple_choice"),
	ruleField("min_length", "At least").unit("characters").more(),
	ruleField("max_length", "At most").unit("characters").more(),
	ruleField("email", "Has to be an e-mail address").more(),
	member("text", "buttonText", "Button text").more(),
	member("truth", "optional", "Optional"),
	member("truth", "skipSubmitButton", "An answer leads on at once, without the button").onType("rating", "single_choice").more(),
}

// member returns the field for a member of a survey or of a question.
func member(kind, path, label string) formField {
	return formField{Kind: kind, Name: path, Path: strings.Split(path, "."), Label: label, Rows: 3}
}

func (f formField) hint(s string) formField { f.Hint = s; return f }

func (f formField) unit(s string) formField { f.Unit = s; return f }

func (f formField) rows(n int) formField { f.Rows = n; return f }

func (f formField) refreshing() formField { f.Refresh = true; return f }

// more puts a field among those that few questions need.
func (f formField) more() formField { f.More = true; return f }

func (f formField) choices(options []forms.Option, otherwise string) formField {
	f.Options, f.Default = options, otherwise
	return f
}

// onType shows a field only for some types of surveys or questions.
func (f formField) onType(types ...string) formField {
	f.On = func(o forms.Object) bool { return slices.Contains(types, forms.Text(o["type"])) }
	return f
}

// inBrowsers shows a field only for surveys that are shown on pages of others.
func (f formField) inBrowsers() formField {
	f.On = func(o forms.Object) bool { return forms.Text(o["type"]) != "external_survey" }
	return f
}

// when shows a field only if another one is ticked.
func (f formField) when(path ...string) formField {
	f.On = func(o forms.Object) bool { return string(memberAt(o, path)) == "true" }
	return f
}

// flagField is the field for the ID of a flag. People type its key: while nobody knows the
// ID, the key is in its place.
func flagField(name, label string) formField {
	f := member("text", name, label).hint("The key of a flag.")
	f.List = "flag-keys"
	return f
}

// scaleField is the scale of a rating.
func scaleField() formField {
	f := member("choice", "scale", "Scale").onType("rating").refreshing().choices(forms.Options("2", "thumbs up or down", "3", "1 to 3",
		"5",
		"1 to 5", "7", "1 to 7", "10", "0 to 10"), "")
	f.set = func(_ json.RawMessage, typed string) json.RawMessage { return forms.NumberJSON(typed) }
	return f
}

// npsField says whether a rating is a net promoter score. One from 0 to 10 is, unless it
// says that it is none (management.md §9.3).
func npsField() formField {
	f := member("truth", "isNpsQuestion", "Count the net promoter score")
	f.On = func(o forms.Object) bool { return forms.Text(o["type"]) == "rating" && forms.Text(o["scale"]) == "10" }
	f.get = func(raw json.RawMessage) string {
		if string(raw) == "false" {
			return ""
		}
		return "yes"
	}
	f.set = func(_ json.RawMessage, typed string) json.RawMessage {
		return json.RawMessage(strconv.FormatBool(typed != ""))
	}
	return f
}

// ruleField is a rule for free text, which stands in a list.
func ruleField(rule, label string) formField {
	f := member("number", "validation", label).onType("open")
	f.Name = rule
	if rule == "email" {
		f.Kind = "truth"
	}
	f.get = func(raw json.RawMessage) string {
		for _, r := range forms.ReadList(raw) {
			if o := forms.ReadObject(string(r)); forms.Text(o["type"]) == rule {
				if rule == "email" {
					return "yes"
				}
				return forms.Text(o["value"])
			}
		}
		return ""
	}
	f.set = func(was json.RawMessage, typed string) json.RawMessage {
		var list []forms.Object
		found := false
		for _, r := range forms.ReadList(was) {
			o := forms.ReadObject(string(r))
			if forms.Text(o["type"]) == rule {
				if typed == "" {
					continue
				}
				found = true
				if rule != "email" {
					o["value"] = forms.NumberJSON(typed)
				}
			}
			list = append(list, o)
		}
		if !found && typed != "" {
			o := forms.Object{"type": forms.Quoted(rule)}
			if rule != "email" {
				o["value"] = forms.NumberJSON(typed)
			}
			list = append(list, o)
		}
		if list == nil {
			return nil
		}
		return jsonList(list)
	}
	return f
}

// eventNames is the field for events by their names, with what else is said about each.
func eventNames(path, label string) formField {
	f := member("lines", path+".values", label)
	f.Name = path
	f.get = func(raw json.RawMessage) string {
		var out []string
		for _, r := range forms.ReadList(raw) {
			out = append(out, forms.Text(forms.ReadObject(string(r))["name"]))
		}
		return strings.Join(out, "\n")
	}
	f.set = func(was json.RawMessage, typed string) json.RawMessage {
		before := make(map[string]forms.Object)
		for _, r := range forms.ReadList(was) {
			o := forms.ReadObject(string(r))
			before[forms.Text(o["name"])] = o
		}
		var list []forms.Object
		for _, name := range forms.LineNames(typed) {
			o := before[name]
			if o == nil {
				o = forms.Object{"name": forms.Quoted(name)}
			}
			list = append(list, o)
		}
		return jsonList(list)
	}
	return f
}

// dateForm is how browsers send dates with a time.
const dateForm = "2006-01-02T15:04"

// dateText returns a time as a field shows it, and what is none as it is.
func dateText(raw json.RawMessage) string {
	s := forms.Text(raw)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC().Format(dateForm)
	}
	return s
}

func dateJSON(typed string) json.RawMessage {
	for _, form := range []string{dateForm, dateForm + ":05"} {
		if t, err := time.Parse(form, typed); err == nil {
			return forms.Quoted(t.Format(time.RFC3339))
		}
	}
	return forms.Quoted(typed)
}

// neverNull are the members that are empty texts when they are empty.
var neverNull = []string{"name", "description", "base_language"}

func jsonList(list []forms.Object) json.RawMessage {
	if list == nil {
		list = []forms.Object{}
	}
	return forms.Must(json.Marshal(list))
}

// A formField stands for one member of a survey or of a question.
type formField struct {
	Name, Label, Hint string
	Kind              string // text, area, number, truth, choice, color, date, names or lines
	Unit              string
	List              string // of suggestions
	Rows              int
	Options           []forms.Option
	Default           string // of a choice, while the member is not there
	Refresh           bool   // other fields depend on it
	More              bool   // it is opened on demand
	Path              []string
	On                func(forms.Object) bool // whether the field is shown; nil: always

	get func(json.RawMessage) string
	set func(was json.RawMessage, typed string) json.RawMessage
}

// value returns what a field shows.
func (f *formField) value(o forms.Object) string {
	raw := memberAt(o, f.Path)
	switch {
	case f.get != nil:
		return f.get(raw)
	case f.Kind == "truth":
		if string(raw) == "true" {
			return "yes"
		}
		return ""
	case f.Kind == "date":
		return dateText(raw)
	case f.Kind == "lines":
		return strings.Join(forms.Texts(raw), "\n")
	case f.Kind == "names":
		return strings.Join(forms.Texts(raw), ", ")
	case f.Kind == "choice" && forms.Text(raw) == "":
		return f.Default
	}
	return forms.Text(raw)
}

// put stores what was typed, unless that is what the field has shown.
func (f *formField) put(o forms.Object, typed string) {
	if typed == f.value(o) {
		return
	}
	was := memberAt(o, f.Path)
	var raw json.RawMessage
	switch {
	case f.set != nil:
		raw = f.set(was, typed)
	case f.Kind == "truth":
		raw = json.RawMessage(strconv.FormatBool(typed != ""))
	case typed == "" && !slices.Contains(neverNull, f.Name):
	case f.Kind == "number":
		raw = forms.NumberJSON(typed)
	case f.Kind == "date":
		raw = dateJSON(typed)
	case f.Kind == "lines":
		raw = forms.Must(json.Marshal(forms.LineNames(typed)))
	case f.Kind == "names":
		raw = forms.Must(json.Marshal(forms.Names(typed)))
	default:
		raw = forms.Quoted(typed)
	}
	setMember(o, f.Path, raw)
}

func memberAt(o forms.Object, path []string) json.RawMessage {
	for _, name := range path[:len(path)-1] {
		o = forms.ReadObject(string(o[name]))
	}
	return o[path[len(path)-1]]
}

// setMember sets a member of an object, or of an object in it. Nil takes the member away;
// of the survey itself it makes null, which is how the API empties a field.
func setMember(o forms.Object, path []string, raw json.RawMessage) {
	name := path[0]
	if len(path) > 1 {
		inner := forms.ReadObject(string(o[name]))
		setMember(inner, path[1:], raw)
		o[name] = forms.Must(json.Marshal(inner))
		return
	}
	if raw == nil {
		delete(o, name)
		return
	}
	o[name] = raw
}

// foldFields puts what was typed into an object. Only fields that the page has shown count:
// a box that is not there is not the same as one that is not ticked.
func foldFields(fields []formField, prefix string, o forms.Object, v url.Values) {
	for i := range fields {
		f, name := &fields[i], prefix+fields[i].Name
		if f.Kind == "truth" && slices.Contains(v["shown"], name) || v.Has(name) {
			typed := forms.Lines(v.Get(name))
			if f.Kind != "area" {
				typed = strings.TrimSpace(typed)
			}
			f.put(o, typed)
		}
	}
}
