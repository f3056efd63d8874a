package rules

import (
	"encoding/json"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// maxWaitDays is the largest number that filters accept in a relative date
// (evaluation.md §4.9).
const maxWaitDays = 9999

// matchTypes are the ways to compare addresses, devices and properties
// (management.md §9.4).
var matchTypes = []string{"exact", "is_not", "icontains", "not_icontains", "regex", "not_regex"}

var conditionChecks = map[string]check{
	"url":                        plain(maxPlain),
	"urlMatchType":               oneOf(matchTypes...),
	"selector":                   plain(maxPlain),
	"seenSurveyWaitPeriodInDays": integer(0, maxWaitDays),
	"events":                     triggers,
	"cancelEvents":               triggers,
	"actions":                    objectOf(map[string]check{"values": listOf(maxEntries, objectOf(nil))}),
	"deviceTypes":                listOf(maxEntries, plain(maxPlain)),
	"deviceTypesMatchType":       oneOf(matchTypes...),
	"linkedFlagVariant":          plain(maxPlain),
}

// triggers checks the events that show or cancel a survey.
var triggers = objectOf(triggerChecks)

var (
	triggerChecks = map[string]check{
		"values":             listOf(maxEntries, event),
		"repeatedActivation": boolean,
	}
	eventChecks = map[string]check{
		"name":            plain(maxPlain),
		"propertyFilters": mapOf(propertyFilter),
	}
	propertyFilterChecks = map[string]check{
		"values":   listOf(maxEntries, scalar),
		"operator": oneOf(append(slices.Clone(matchTypes), "gt", "lt")...),
	}
)

// Conditions checks the conditions for showing a survey (management.md §9.4)
// and returns them in their stored form. Actions are kept as they are (§15.1,
// A22).
func Conditions(raw json.RawMessage) (json.RawMessage, error) {
	p := place{attr: "conditions"}
	doc, err := normal(p.attr, raw)
	if err != nil {
		return nil, err
	}
	c, err := p.members(doc, conditionChecks)
	if err != nil {
		return nil, err
	}
	if isPattern(c.get("urlMatchType")) && c.get("url") != nil {
		if err := checkPattern(p.in("url"), c.get("url")); err != nil {
			return nil, err
		}
	}
	if isPattern(c.get("deviceTypesMatchType")) {
		if err := checkPatterns(p.in("deviceTypes"), c.get("deviceTypes")); err != nil {
			return nil, err
		}
	}
	return c.append(nil), nil
}

func isPattern(matchType json.RawMessage) bool {
	s := stringOf(matchType)
	return s == "regex" || s == "not_regex"
}

func checkPatterns(p place, v json.RawMessage) error {
	list, _ := decodeList(v)
	for i, e := range list {
		if err := checkPattern(p.at(i), e); err != nil {
			return err
		}
	}
	return nil
}

// event checks an event that shows or cancels a survey.
func event(p place, v json.RawMessage) (json.RawMessage, error) {
	e, err := p.members(v, eventChecks)
	if err != nil {
		return nil, err
	}
	if isBlank(e.get("name")) {
		return nil, p.in("name").invalid("must be a string that is not blank.")
	}
	return e.append(nil), nil
}

// propertyFilter checks a condition on a property of an event.
func propertyFilter(p place, v json.RawMessage) (json.RawMessage, error) {
	f, err := p.members(v, propertyFilterChecks)
	if err != nil {
		return nil, err
	}
	if isPattern(f.get("operator")) {
		if err := checkPatterns(p.in("values"), f.get("values")); err != nil {
			return nil, err
		}
	}
	return f.append(nil), nil
}

// scalar checks a value that a property is compared with.
func scalar(p place, v json.RawMessage) (json.RawMessage, error) {
	switch jsonscan.Value(v).Kind() {
	case jsonscan.Number, jsonscan.True, jsonscan.False:
		return v, nil
	}
	return plain(maxPlain)(p, v)
}

// LinkedVariant returns the variant of the linked flag that stored conditions
// require, or "" if they require none.
func LinkedVariant(conditions json.RawMessage) string {
	c, _ := decodeObject(conditions)
	return stringOf(c.get("linkedFlagVariant"))
}

// WithoutLinkedVariant returns stored conditions without their requirement for
// a variant, for a survey without a linked flag. Nil stays nil.
func WithoutLinkedVariant(conditions json.RawMessage) json.RawMessage {
	c, ok := decodeObject(conditions)
	if !ok {
		return conditions
	}
	return object(slices.DeleteFunc(c, func(m member) bool { return m.name == "linkedFlagVariant" })).append(nil)
}

// WaitDays returns the number of days that stored conditions require between
// two surveys for the same person, or 0 if they require none.
func WaitDays(conditions json.RawMessage) int {
	c, _ := decodeObject(conditions)
	days, _ := decodeInteger(c.get("seenSurveyWaitPeriodInDays"))
	return max(days, 0)
}

// CheckExternal refuses conditions that a survey of type external_survey cannot
// have, because only a page that displays the survey itself could fulfil them
// (management.md §9.4). Both documents are in their stored form, or nil.
func CheckExternal(conditions, appearance json.RawMessage) error {
	c, _ := decodeObject(conditions)
	p := place{attr: "conditions"}
	for _, name := range []string{
		"url", "urlMatchType", "selector", "seenSurveyWaitPeriodInDays", "linkedFlagVariant",
		"deviceTypes", "deviceTypesMatchType",
	} {
		if isSet(c.get(name)) {
			return p.in(name).invalid("must not be set for an external survey.")
		}
	}
	for _, name := range []string{"actions", "events"} {
		if o, _ := decodeObject(c.get(name)); isSet(o.get("values")) {
			return p.in(name).invalid("must be empty for an external survey.")
		}
	}
	look, _ := decodeObject(appearance)
	if isSet(look.get("surveyPopupDelaySeconds")) {
		return place{attr: "appearance"}.in("surveyPopupDelaySeconds").invalid("must not be set for an external survey.")
	}
	return nil
}

// isSet reports whether a value is set. Editors send an empty value for a field
// that was never filled in.
func isSet(v json.RawMessage) bool {
	x, number := jsonscan.Value(v).Float()
	return v != nil && (!number || x != 0) && string(v) != `""` && string(v) != "[]" && string(v) != "{}" && string(v) != "false"
}
