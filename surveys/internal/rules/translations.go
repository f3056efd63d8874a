package rules

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// Limits of languages and names (management.md §9.1).
const (
	MaxLanguage = 20 // characters of a language tag
	maxName     = 400
)

// languageTag matches the form of BCP 47, without its registry.
var languageTag = regexp.MustCompile(`^[a-z]{2,8}(?:-[a-z0-9]{1,8})*$`)

// Language returns a language tag in the form in which clients compare tags, in small
// letters and with hyphens: "pt-br" for "pt_BR". Not ok are other texts, and two that
// editors write in place of a tag.
func Language(tag string) (code string, ok bool) {
	code = strings.ReplaceAll(strings.ToLower(tag), "_", "-")
	return code, len(tag) <= MaxLanguage && languageTag.MatchString(code) && code != "default" && code != "english"
}

// CheckLanguage checks the language in which a survey is written, and returns it in the
// form of [Language].
func CheckLanguage(language string) (string, error) {
	code, ok := Language(language)
	if !ok {
		return "", judge.Invalid("base_language", "Must be a language tag of at most %d characters, such as en or pt-br, not %q.",
			MaxLanguage, excerpt(language))
	}
	return code, nil
}

// languages returns a check of an object with one value per language, which may
// be null. The names are stored as [Language] returns them. base is the language from
// which the texts are translated.
func languages(base string, judge check) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		o, ok := decodeObject(v)
		if !ok || len(o) > maxEntries {
			return nil, p.invalid("must be an object with at most %d languages.", maxEntries)
		}
		sent := make(map[string]string, len(o)) // by code
		for i, m := range o {
			code, ok := Language(m.name)
			other, again := sent[code]
			switch {
			case !ok:
				return nil, p.invalid("must have language tags of at most %d characters as names, such as en or pt-br, not %q.",
					MaxLanguage, excerpt(m.name))
			case again:
				return nil, p.invalid("must have each language once: %q and %q are the same.", other, m.name)
			case code == base:
				return nil, p.invalid("must not have %q, the language in which the survey is written (base_language).", m.name)
			}
			sent[code], o[i].name = m.name, code
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
		return slices.DeleteFunc(t, func(m member) bool { return m.name == "link" && string(m.value) == `""` }).append(nil), nil
	}
}

// Translations checks the texts of a survey in other languages (management.md
// §9.1, §9.3) and returns them in their stored form, cleaned. The questions are
// in their stored form, or nil. The translation of a question is a member of
// the question, or an element of a list in raw, in the order of the questions. base is
// the language of the survey, as [Language] returns it.
func Translations(raw, questions json.RawMessage, base string) (json.RawMessage, error) {
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
	if doc, err = languages(base, objectOf(checks))(p, doc); err != nil {
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
