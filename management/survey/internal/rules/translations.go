package rules

import (
	"encoding/json"
	"maps"
	"regexp"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// Limits of languages and names (management.md §9.1).
const (
	MaxLanguage = 20 // characters of a language tag
	maxName     = 400
)

// languageTag matches the form of BCP 47, without its registry.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$`)

func isLanguage(s string) bool { return len(s) <= MaxLanguage && languageTag.MatchString(s) }

// CheckLanguage checks the language in which a survey is written.
func CheckLanguage(language string) error {
	if !isLanguage(language) {
		return judge.Invalid("base_language", "Must be a language tag of at most %d characters, such as en or pt-BR.", MaxLanguage)
	}
	return nil
}

// languages returns a check of an object with one value per language, which may
// be null.
func languages(judge check) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		o, ok := decodeObject(v)
		if !ok || len(o) > maxEntries {
			return nil, p.invalid("must be an object with at most %d languages.", maxEntries)
		}
		for i, m := range o {
			if !isLanguage(m.name) {
				return nil, p.invalid("must have language tags of at most %d characters as names, such as en or pt-BR, not %q.", MaxLanguage, excerpt(m.name))
			}
			if isNull(m.value) {
				continue
			}
			checked, err := judge(p.in(m.name), m.value)
			if err != nil {
				return nil, err
			}
			o[i].value = checked
		}
		return o.append(nil), nil
	}
}

// questionTextChecks are the checks of a question's texts in another language.
// A text may be empty until it is translated.
var questionTextChecks = map[string]check{
	"question":               shown,
	"description":            shown,
	"descriptionContentType": contentType,
	"buttonText":             shown,
	"lowerBoundLabel":        shown,
	"upperBoundLabel":        shown,
	"link":                   checkTarget,
	"choices":                listOf(maxChoices, shown),
	"validation":             listOf(maxRules, rule),
}

// textsOf returns a check of the translation of a question.
func textsOf(q *Question) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		t, err := p.members(v, questionTextChecks)
		if err != nil {
			return nil, err
		}
		if own := t.get("choices"); own != nil && q.Choices != nil {
			if list, _ := decodeList(own); len(list) != len(q.Choices) {
				return nil, p.in("choices").invalid("must have as many elements as the question has choices, %d.", len(q.Choices))
			}
		}
		return t.append(nil), nil
	}
}

// Translations checks the texts of a survey in other languages (management.md
// §9.1, §9.3) and returns them in their stored form, cleaned. The questions are
// in their stored form, or nil. The translation of a question is a member of
// the question, or an element of a list in raw, in the order of the questions.
func Translations(raw, questions json.RawMessage) (json.RawMessage, error) {
	p := place{attr: "translations"}
	doc, err := normal(p.attr, raw)
	if err != nil {
		return nil, err
	}
	checks := maps.Clone(shownInAppearance)
	checks["name"] = plain(maxName)
	checks["questions"] = func(p place, v json.RawMessage) (json.RawMessage, error) {
		return checkAllQuestionTexts(p, v, Parse(questions))
	}
	if doc, err = languages(objectOf(checks))(p, doc); err != nil {
		return nil, err
	}
	return sized(p.attr, doc)
}

func checkAllQuestionTexts(p place, v json.RawMessage, questions []Question) (json.RawMessage, error) {
	list, ok := decodeList(v)
	if !ok || len(list) > len(questions) {
		return nil, p.invalid("must be a list with no more elements than the survey has questions, %d.", len(questions))
	}
	for i, e := range list {
		if isNull(e) {
			continue
		}
		checked, err := textsOf(&questions[i])(p.at(i), e)
		if err != nil {
			return nil, err
		}
		list[i] = checked
	}
	return appendList(nil, list), nil
}
