package rules

import (
	"encoding/json"
	"slices"
)

// Members of translations and actions that clients may see (management.md §12).
var (
	publicTexts = []string{
		"name", "thankYouMessageHeader", "thankYouMessageDescription", "thankYouMessageDescriptionContentType",
		"thankYouMessageCloseButtonText",
	}
	publicAction = []string{"id", "name", "steps"}
)

// PublicTranslations returns the part of stored translations that clients may
// see: the name and the thank-you texts. Nil stays nil.
func PublicTranslations(translations json.RawMessage) json.RawMessage {
	languages, ok := decodeObject(translations)
	if !ok {
		return translations
	}
	for i, m := range languages {
		languages[i].value = only(m.value, publicTexts)
	}
	return languages.append(nil)
}

// PublicConditions returns the part of stored conditions that clients may see:
// all of them, but only the id, name and steps of actions. Nil stays nil.
func PublicConditions(conditions json.RawMessage) json.RawMessage {
	c, _ := decodeObject(conditions)
	actions, ok := decodeObject(c.get("actions"))
	if !ok {
		return conditions
	}
	values, ok := decodeList(actions.get("values"))
	if !ok {
		return conditions
	}
	for i, v := range values {
		values[i] = only(v, publicAction)
	}
	return c.set("actions", actions.set("values", appendList(nil, values)).append(nil)).append(nil)
}

// only returns an object with no other members than those in names. A value
// that is not an object is returned unchanged.
func only(v json.RawMessage, names []string) json.RawMessage {
	o, ok := decodeObject(v)
	if !ok {
		return v
	}
	return slices.DeleteFunc(o, func(m member) bool { return !slices.Contains(names, m.name) }).append(nil)
}
