package vet

import (
	"encoding/json"
	"go/types"
	"math"
	"strconv"
	"strings"
)

// What payloads of remote configuration and keys of variants are for OpenFeature
// (wire.md §7.2).

func isJSONBool(payload string) bool {
	payload = strings.TrimSpace(payload)
	return payload == "true" || payload == "false"
}

// isText reports whether a payload is a JSON string, or a text that is no JSON.
func isText(payload string) bool {
	var v any
	if json.Unmarshal([]byte(payload), &v) != nil {
		return true
	}
	_, ok := v.(string)
	return ok
}

func isNumber(text string) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

func isInteger(text string) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil && f == math.Trunc(f) && !math.IsInf(f, 0)
}

func isStructure(payload string) bool {
	payload = strings.TrimSpace(payload)
	return json.Valid([]byte(payload)) && (strings.HasPrefix(payload, "{") || strings.HasPrefix(payload, "["))
}

// payloadFits returns a function that reports whether a payload can be decoded into a type,
// and what it is then. It is nil for types that say themselves how they are decoded, and
// for those that any payload fits.
func payloadFits(t types.Type) (fits func(payload string) bool, what string) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	methods := types.NewMethodSet(types.NewPointer(t))
	for _, name := range []string{"UnmarshalJSON", "UnmarshalText"} {
		if methods.Lookup(nil, name) != nil {
			return nil, ""
		}
	}
	first, what := "", ""
	switch u := t.Underlying().(type) {
	case *types.Struct, *types.Map:
		first, what = "{", "an object"
	case *types.Array:
		first, what = "[", "a list"
	case *types.Slice:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
			first, what = `"`, "a text of JSON" // in base64
		} else {
			first, what = "[", "a list"
		}
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			first, what = `"`, "a text of JSON"
		case u.Info()&types.IsBoolean != 0:
			first, what = "tf", "a boolean"
		case u.Info()&types.IsInteger != 0:
			return func(payload string) bool { return isNull(payload) || isJSONInteger(payload) }, "an integer"
		case u.Info()&types.IsFloat != 0:
			first, what = "-0123456789", "a number"
		}
	}
	if first == "" {
		return nil, ""
	}
	return func(payload string) bool {
		payload = strings.TrimSpace(payload)
		return isNull(payload) || json.Valid([]byte(payload)) && strings.ContainsAny(payload[:1], first)
	}, what
}

// isNull reports whether a payload is null, which fits every type.
func isNull(payload string) bool { return strings.TrimSpace(payload) == "null" }

// isJSONInteger reports whether a payload is an integer for encoding/json, which takes
// neither fractions nor exponents.
func isJSONInteger(payload string) bool {
	payload = strings.TrimSpace(payload)
	return json.Valid([]byte(payload)) && strings.ContainsAny(payload[:1], "-0123456789") && !strings.ContainsAny(payload, ".eE")
}
