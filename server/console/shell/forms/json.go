package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// SameText reports whether two JSON texts say the same, but for blanks and the order of
// members.
func SameText(a, b json.RawMessage) bool { return json.Valid(a) && Canonical(a) == Canonical(b) }

// Pretty returns JSON with a line for each member.
func Pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// An Object is the members of a JSON object.
type Object = map[string]json.RawMessage

// ReadObject reads an object. What is not one has no members.
func ReadObject(raw string) Object {
	var o Object
	_ = json.Unmarshal([]byte(raw), &o) // what is none has no members
	if o == nil {
		o = make(Object)
	}
	return o
}

// ReadList reads an array. What is not one is empty.
func ReadList(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	_ = json.Unmarshal(raw, &l) // what is none is empty
	return l
}

// Quoted returns a text as JSON.
func Quoted(s string) json.RawMessage { return Must(json.Marshal(s)) }

// maxDepth is how deep JSON that people type may be nested.
const maxDepth = 200

// CheckJSON returns an error that names the line and the character of a fault.
func CheckJSON(s string) error {
	_, err := jsonscan.Parse([]byte(s), maxDepth)
	e, ok := errors.AsType[*jsonscan.SyntaxError](err)
	if !ok {
		return err
	}
	line := 1 + strings.Count(s[:e.Offset], "\n")
	if e.Offset == len(s) {
		return fmt.Errorf("this is not JSON: it ends too early, in line %d", line)
	}
	column := 1 + utf8.RuneCountInString(s[strings.LastIndexByte(s[:e.Offset], '\n')+1:e.Offset])
	return fmt.Errorf("this is not JSON: line %d, character %d: %s", line, column, e.Msg)
}

// ReadJSON reads the JSON of an object that a person has typed. The error says where it is
// broken or, with the given words, that it is not an object.
func ReadJSON(s, otherwise string) (o Object, err error) {
	if err := CheckJSON(s); err != nil {
		return nil, err
	}
	if json.Unmarshal([]byte(s), &o) != nil || o == nil {
		return nil, errors.New(otherwise)
	}
	return o, nil
}

// JSONNull is null.
var JSONNull = json.RawMessage("null")

// NumberJSON returns a number, or as a text what is none: the Service says what is wrong
// with it.
func NumberJSON(typed string) json.RawMessage {
	if _, err := strconv.ParseFloat(typed, 64); err == nil && json.Valid([]byte(typed)) {
		return json.RawMessage(typed)
	}
	return Quoted(typed)
}

// Canonical returns JSON without blanks and with its members in order.
func Canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return string(Must(json.Marshal(v)))
}

// Must is for values that always can be encoded.
func Must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return b
}
