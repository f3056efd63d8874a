package forms

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The types that a property can be typed as.
const (
	TypeText    = "text"
	typeNumber  = "number"
	typeTruth   = "truth"
	typeNothing = "nothing"
	typeJSON    = "json"
)

// PropertyTypes are the types to choose from.
var PropertyTypes = []Option{
	{Value: TypeText, Label: "text"},
	{Value: typeNumber, Label: "number"},
	{Value: typeTruth, Label: "true or false"},
	{Value: typeNothing, Label: "nothing (null)"},
	{Value: typeJSON, Label: "JSON"},
}

// Typed returns the JSON of a value that was typed, or what is wrong with it.
func Typed(kind, value string) (raw json.RawMessage, wrong string) {
	value = Lines(value)
	trimmed := strings.TrimSpace(value)
	switch kind {
	case typeNumber:
		if _, err := strconv.ParseFloat(trimmed, 64); err != nil || !json.Valid([]byte(trimmed)) {
			return nil, "Must be a number, such as 5 or -0.5."
		}
		return json.RawMessage(trimmed), ""
	case typeTruth:
		if trimmed != "true" && trimmed != "false" {
			return nil, "Must be true or false."
		}
		return json.RawMessage(trimmed), ""
	case typeNothing:
		if trimmed != "" {
			return nil, "Nothing has no value: leave this empty, or choose another type."
		}
		return json.RawMessage("null"), ""
	case typeJSON:
		if err := CheckJSON(value); err != nil {
			return nil, err.Error()
		}
		return json.RawMessage(value), ""
	}
	return Quoted(value), ""
}

// TypeOf returns as what a value would be typed.
func TypeOf(raw json.RawMessage) (kind, value string) {
	switch {
	case len(raw) == 0:
		return TypeText, ""
	case raw[0] == '"':
		return TypeText, Text(raw)
	case string(raw) == "null":
		return typeNothing, ""
	case raw[0] == 't', raw[0] == 'f':
		return typeTruth, string(raw)
	case raw[0] == '{', raw[0] == '[':
		return typeJSON, Text(raw)
	}
	return typeNumber, string(raw)
}

// TypeWord names a type, "" for text, which needs no name.
func TypeWord(kind string) string {
	if kind == TypeText {
		return ""
	}
	return LabelOf(PropertyTypes, kind, "")
}
