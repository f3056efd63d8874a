package rules

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

// Limits of questions.
const (
	maxQuestions = 100
	maxChoices   = 100
	maxID        = 200
	maxLink      = 2048
	maxRules     = 20
)

// Types of questions (management.md §9.3).
const (
	Open           = summary.Open
	Link           = summary.Link
	Rating         = summary.Rating
	SingleChoice   = summary.SingleChoice
	MultipleChoice = summary.MultipleChoice
)

var (
	types  = []string{Open, Link, Rating, SingleChoice, MultipleChoice}
	scales = []int{2, 3, 5, 7, 10}
)

// questionChecks are the checks of members that do not depend on other members.
// A member may belong to another type of question: editors leave it there when
// the type changes.
var questionChecks = map[string]check{
	"id":                     questionID,
	"question":               shown,
	"description":            shown,
	"descriptionContentType": contentType,
	"buttonText":             shown,
	"optional":               boolean,
	"validation":             validation,
	"link":                   checkTarget,
	"display":                oneOf("number", "emoji"),
	"lowerBoundLabel":        shown,
	"upperBoundLabel":        shown,
	"isNpsQuestion":          boolean,
	"skipSubmitButton":       boolean,
	"choices":                listOf(maxChoices, shown),
	"hasOpenChoice":          boolean,
	"shuffleOptions":         boolean,
}

// Questions checks the questions of a survey (management.md §9.3) and returns
// them in their stored form: with ids, and with cleaned texts. base is the language of
// the survey, as [Language] returns it.
func Questions(raw json.RawMessage, base string) (json.RawMessage, error) {
	top := place{attr: "questions"}
	doc, err := normal(top.attr, raw)
	if err != nil {
		return nil, err
	}
	list, ok := decodeList(doc)
	if !ok || len(list) > maxQuestions {
		return nil, top.invalid("must be a list of at most %d questions.", maxQuestions)
	}
	ids := make(map[string]int)
	for i, v := range list {
		p := top.at(i)
		q, err := checkQuestion(p, v, len(list), base)
		if err != nil {
			return nil, err
		}
		id := stringOf(q.get("id"))
		if other, taken := ids[id]; taken {
			return nil, p.in("id").invalid("must be unique, and %d/id is the same.", other)
		}
		ids[id] = i
		list[i] = q.append(nil)
	}
	return sized(top.attr, appendList(nil, list))
}

// checkQuestion checks one of n questions.
func checkQuestion(p place, v json.RawMessage, n int, base string) (object, error) {
	q, err := p.members(v, questionChecks)
	if err != nil {
		return nil, err
	}
	kind := stringOf(q.get("type"))
	if !slices.Contains(types, kind) {
		return nil, p.in("type").fault("invalid_choice", "must be one of %s.", strings.Join(types, ", "))
	}
	if isBlank(q.get("question")) {
		return nil, p.in("question").invalid("must be a string that is not blank.")
	}
	switch kind {
	case Rating:
		if q.get("scale") == nil {
			q = q.set("scale", scaleOf(stringOf(q.get("display"))))
		}
		if scale, ok := decodeInteger(q.get("scale")); !ok || !slices.Contains(scales, scale) {
			return nil, p.in("scale").invalid("must be one of 2, 3, 5, 7, 10.")
		}
	case SingleChoice, MultipleChoice:
		if err := checkChoices(p.in("choices"), q.get("choices")); err != nil {
			return nil, err
		}
	}
	parsed := parseQuestion(q)
	if branching := q.get("branching"); branching != nil {
		if err := checkBranching(p.in("branching"), branching, parsed, n); err != nil {
			return nil, err
		}
	}
	if translations := q.get("translations"); translations != nil {
		checked, err := languages(base, textsOf(parsed))(p.in("translations"), translations)
		if err != nil {
			return nil, err
		}
		q = q.set("translations", checked)
	}
	if stringOf(q.get("id")) == "" {
		q = q.set("id", text.AppendQuoted(nil, uuid.Must(uuid.NewV7()).String()))
	}
	return q, nil
}

// questionID checks the id of a question. It accepts UUIDs and any other name
// that can end the name of a property, which imported surveys have. A number
// cannot: $survey_response_1 is the answer to the second question
// (management.md §10.1).
func questionID(p place, v json.RawMessage) (json.RawMessage, error) {
	s, ok := decodeString(v)
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	digits := s != "" && strings.Trim(s, "0123456789") == ""
	if !ok || digits || utf8.RuneCountInString(s) > maxID || strings.ContainsFunc(s, odd) {
		return nil, p.invalid("must be a string of at most %d characters without blanks, such as a UUID, and not a number.", maxID)
	}
	return v, nil
}

// scaleOf returns the scale of a rating that has none, by how it is displayed.
func scaleOf(display string) json.RawMessage {
	if display == "emoji" {
		return json.RawMessage("5")
	}
	return json.RawMessage("10")
}

func isBlank(v json.RawMessage) bool { return strings.TrimSpace(stringOf(v)) == "" }

func checkChoices(p place, v json.RawMessage) error {
	choices, ok := decodeList(v)
	if !ok || len(choices) < 2 {
		return p.invalid("must be a list of at least 2 strings.")
	}
	for i, c := range choices {
		if isBlank(c) {
			return p.at(i).invalid("must not be blank.")
		}
	}
	return nil
}

// checkTarget checks the target of a link. It may be empty as long as it is unknown.
func checkTarget(p place, v json.RawMessage) (json.RawMessage, error) {
	s, ok := decodeString(v)
	if !ok || s != "" && !isLink(s) {
		return nil, p.invalid("must be https://… or mailto:user@example.com, with at most %d characters.", maxLink)
	}
	return v, nil
}

func isLink(s string) bool {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>\"`\\", r)
	}
	u, err := url.Parse(s)
	if err != nil || utf8.RuneCountInString(s) > maxLink || strings.ContainsFunc(s, odd) {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "mailto":
		address, err := mail.ParseAddress(u.Opaque)
		return err == nil && address.Address == u.Opaque && strings.Contains(afterAt(u.Opaque), ".")
	}
	return false
}

func afterAt(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

// rule checks a single rule for answers.
var rule = objectOf(ruleChecks)

var ruleChecks = map[string]check{
	"type":         oneOf("min_length", "max_length", "email"),
	"errorMessage": shown,
}

// validation checks all rules for the answers to an open question.
func validation(p place, v json.RawMessage) (json.RawMessage, error) {
	checked, err := listOf(maxRules, rule)(p, v)
	if err != nil {
		return nil, err
	}
	list, _ := decodeList(checked)
	bounds := make(map[string]int)
	for i, e := range list {
		r, _ := decodeObject(e)
		switch kind := stringOf(r.get("type")); kind {
		case "":
			return nil, p.at(i).in("type").invalid("must be one of min_length, max_length, email.")
		case "min_length", "max_length":
			value, ok := decodeInteger(r.get("value"))
			if !ok || value <= 0 {
				return nil, p.at(i).in("value").invalid("must be an integer from 1 on.")
			}
			if _, twice := bounds[kind]; twice {
				return nil, p.at(i).in("type").invalid("must not be %s twice.", kind)
			}
			bounds[kind] = value
		}
	}
	if high, ok := bounds["max_length"]; ok && bounds["min_length"] > high {
		return nil, p.invalid("must not have a min_length above max_length.")
	}
	return checked, nil
}

// CheckShuffle refuses a random order for questions whose answers decide which
// question comes next (management.md §9.3). Both documents are in their stored
// form, or nil.
func CheckShuffle(questions, appearance json.RawMessage) error {
	look, _ := decodeObject(appearance)
	if !isTrue(look.get("shuffleQuestions")) {
		return nil
	}
	list, _ := decodeList(questions)
	for i, v := range list {
		if q, _ := decodeObject(v); q.get("branching") != nil {
			return place{path: []string{"appearance", "shuffleQuestions"}}.invalid("must not be true while question %d has branching.", i+1)
		}
	}
	return nil
}
