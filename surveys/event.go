package surveys

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// An EventKind is what happened to a survey.
type EventKind uint8

// The kinds of survey events (management.md §10.1).
const (
	Shown EventKind = iota + 1
	Dismissed
	Sent
	Abandoned
)

// An Event is what a captured event says about a survey. It shares no memory
// with the event.
type Event struct {
	Kind   EventKind
	Survey uuid.UUID
	Index  int // of the event among the events that were read together

	// Partial says that some questions were answered before the survey was
	// dismissed or abandoned.
	Partial bool

	// What follows is empty unless the event is part of a response.

	// Submission tells which events are about one response (management.md §10.2
	// rule 2): $survey_submission_id if it is a UUID in its usual form, a hash
	// of it if it is another text, and without it the UUID of the event.
	Submission uuid.UUID

	// Answers and Extra are as in a [Response], but of this event alone.
	Answers map[string]json.RawMessage
	Extra   map[string]string
}

// OfResponse reports whether an event is part of a response (management.md §10.2
// rule 6).
func (e *Event) OfResponse() bool {
	return e.Kind == Sent || e.Partial && e.Kind != Shown
}

// Bounds of what is kept of an event. The captured event keeps all of it.
const (
	// MaxAnswers is how many answers a response can have.
	MaxAnswers = 100

	maxAnswer     = 64 << 10 // bytes
	maxQuestionID = 200      // bytes
	maxExtra      = 1000     // bytes
)

// extraProperties are the properties that are kept besides answers.
var extraProperties = map[string]bool{
	"$session_id": true, "$browser": true, "$os": true, "$device_type": true, "$current_url": true,
	"$geoip_country_code": true, "$geoip_country_name": true, "$geoip_city_name": true,
	"$survey_iteration": true, "$survey_completed": true,
}

const responseProperty = "$survey_response"

// eventNames are the names of events about surveys, in the order of their kinds.
var eventNames = []string{"survey shown", "survey dismissed", "survey sent", "survey abandoned"}

func kindOf(name string) EventKind { return EventKind(slices.Index(eventNames, name) + 1) }

// Events returns what captured events say about surveys, in their order.
// Events that are about no survey are left out.
func Events(events []capture.Event) []Event {
	var list []Event
	for i := range events {
		if s, ok := EventOf(&events[i]); ok {
			s.Index = i
			list = append(list, s)
		}
	}
	return list
}

// EventOf returns what a captured event says about a survey. It reports false if the
// event is about no survey.
func EventOf(e *capture.Event) (Event, bool) {
	kind := kindOf(e.Name)
	if kind == 0 {
		return Event{}, false
	}
	s, known := Event{Kind: kind, Submission: e.UUID}, false
	for o := jsonscan.Value(e.Properties).Object(); o.Next(); {
		name, v := o.Name(), o.Value()
		switch question, ok := bytes.CutPrefix(name, []byte(responseProperty)); {
		case ok && len(question) == 0:
			s.answer("0", v) // the first question, before questions had numbers
		case ok && question[0] == '_':
			s.answer(string(question[1:]), v)
		case string(name) == "$survey_id":
			s.Survey, known = idOf(v)
		case string(name) == "$survey_partially_completed":
			s.Partial, _ = v.Bool()
		case string(name) == "$survey_submission_id":
			s.Submission = submissionKey(propertyText(v), e.UUID)
		case extraProperties[string(name)]:
			s.extra(string(name), propertyText(v))
		}
	}
	switch {
	case !known:
		return Event{}, false
	case !s.OfResponse():
		return Event{Kind: kind, Survey: s.Survey, Partial: s.Partial}, true
	}
	return s, true
}

// idOf reads a UUID in its usual form, also one with quotes too many
// (management.md §10.2 rule 1).
func idOf(v jsonscan.Value) (uuid.UUID, bool) {
	s := strings.Trim(propertyText(v), `"'`)
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

// submissionKey returns what stands for a submission ID (management.md §10.2 rule
// 2): the UUID of the event if the event has none.
func submissionKey(s string, event uuid.UUID) uuid.UUID {
	if s == "" {
		return event
	}
	if id, err := uuid.Parse(s); err == nil && id.String() == s {
		return id
	}
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(s), 8)
}

// answer notes an answer. If there are several to one question, the last one counts.
func (e *Event) answer(question string, v jsonscan.Value) {
	if question == "" || len(question) > maxQuestionID {
		return
	}
	raw := appendAnswer(nil, v)
	if raw == nil {
		return
	}
	if e.Answers == nil {
		e.Answers = make(map[string]json.RawMessage)
	}
	if _, ok := e.Answers[question]; ok || len(e.Answers) < MaxAnswers {
		e.Answers[question] = raw
	}
}

// cutMark ends an answer that was cut, and is the last element of a list that was.
const cutMark = "[…]"

// appendAnswer appends a string, a number, a boolean, or a list of these, unless it is
// empty. It cuts what is too long. Booleans become text.
func appendAnswer(dst []byte, v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.Number:
		if len(v) <= maxAnswer {
			return append(dst, v...)
		}
	case jsonscan.String:
		switch {
		case string(v) == `""`:
		case len(v) <= maxAnswer:
			return append(dst, v...)
		default:
			return text.AppendQuoted(dst, cutAnswer(propertyText(v)))
		}
	case jsonscan.True, jsonscan.False:
		return text.AppendQuoted(dst, string(v))
	case jsonscan.Array:
		list := []byte{'['}
		for a := v.Array(); a.Next(); {
			if k := a.Value().Kind(); k == jsonscan.Array {
				continue
			}
			before := len(list)
			if before > 1 {
				list = append(list, ',')
			}
			start := len(list)
			list = appendAnswer(list, a.Value())
			if len(list) == start {
				list = list[:before]
			}
			if len(list) > maxAnswer-len(`,""]`+cutMark) {
				list = list[:before]
				if before > 1 {
					list = append(list, ',')
				}
				list = text.AppendQuoted(list, cutMark)
				break
			}
		}
		if len(list) > 1 {
			return append(dst, append(list, ']')...)
		}
	}
	return dst
}

func (e *Event) extra(name, value string) {
	if value == "" {
		return
	}
	if e.Extra == nil {
		e.Extra = make(map[string]string)
	}
	e.Extra[name] = cutText(value, maxExtra)
}

// propertyText returns a string, a number or a boolean as text, and "" for anything
// else.
func propertyText(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.String:
		s, _ := v.AppendString(nil)
		return string(s)
	case jsonscan.Number:
		return string(numeral.Append(nil, v))
	case jsonscan.True, jsonscan.False:
		return string(v)
	}
	return ""
}

// cutAnswer returns an answer, with a mark if it is longer than answers may be.
func cutAnswer(s string) string {
	if len(s) <= maxAnswer {
		return s
	}
	return cutText(s, maxAnswer-len(cutMark)) + cutMark
}

// cutText returns the characters of s that fit into n bytes.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
