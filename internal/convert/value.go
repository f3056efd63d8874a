package convert

import (
	"bytes"
	"encoding/json"
	"math"
)

// TypeOf returns the type of a flag that can be a value, "" for what no flag can be (rules.md
// §2.2): null, an array, an empty text, a number that is too large.
func TypeOf(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	switch v := v.(type) {
	case bool:
		return "boolean"
	case string:
		if v != "" {
			return "string"
		}
	case float64:
		if fits(v) {
			return "number"
		}
	case map[string]any:
		if fits(v) {
			return "object"
		}
	}
	return ""
}

const (
	maxNumber = 1<<53 - 1
	maxLevels = 20 // of an object
)

// fits reports whether all numbers within a value, and its depth, are within the limits.
func fits(v any) bool { return fitsWithin(v, maxLevels) }

func fitsWithin(v any, levels int) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) <= maxNumber
	case map[string]any:
		for _, e := range v {
			if levels == 0 || !fitsWithin(e, levels-1) {
				return false
			}
		}
		return levels > 0
	case []any:
		for _, e := range v {
			if levels == 0 || !fitsWithin(e, levels-1) {
				return false
			}
		}
		return levels > 0
	}
	return true
}

// Describe says what a value is that no flag can be.
func Describe(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "nothing"
	}
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "an empty text"
	case []any:
		return "an array"
	case float64:
		return "a number beyond 2^53"
	}
	return "an object with more levels or larger numbers than there can be"
}

// Compact returns JSON without white space.
func Compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}
