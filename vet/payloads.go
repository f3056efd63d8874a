package vet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/types"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// What payloads of remote configuration and keys of variants are for OpenFeature
// (wire.md §7.2).

func isJSONBool(payload string) bool {
	payload = strings.TrimSpace(payload)
	return payload == "true" || payload == "false"
}

// isText reports whether a payload is a JSON string, or a text that is not JSON.
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
	t = pointed(t)
	if decodesItself(t) {
		return nil, ""
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

// pointed returns what a type points to, or the type.
func pointed(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// decodesItself reports whether a type has methods that say how it is decoded.
func decodesItself(t types.Type) bool {
	methods := types.NewMethodSet(types.NewPointer(t))
	return methods.Lookup(nil, "UnmarshalJSON") != nil || methods.Lookup(nil, "UnmarshalText") != nil
}

// A difference is one between payloads and the type that they are decoded into.
type difference struct {
	rule Rule
	text string
}

const maxPayloadDepth = 12 // levels of payloads that are compared

// differences returns the differences between the members of values and those of a type. The
// path leads to the values, such as ".border".
func differences(t types.Type, values []json.RawMessage, path string, depth int) (list []difference) {
	t = pointed(t)
	if decodesItself(t) || depth > maxPayloadDepth {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		var elements []json.RawMessage
		for _, v := range values {
			var parts []json.RawMessage
			if json.Unmarshal(v, &parts) == nil {
				elements = append(elements, parts...)
			}
		}
		return differencesOf(u.(interface{ Elem() types.Type }).Elem(), elements, path+"[]", depth)
	case *types.Map:
		var elements []json.RawMessage
		for _, members := range objects(values) {
			for _, name := range sortedKeys(members) {
				elements = append(elements, members[name])
			}
		}
		return differencesOf(u.Elem(), elements, path+"[]", depth)
	case *types.Struct:
		fields, all := make(map[string]jsonField), objects(values)
		if len(all) == 0 || !fieldsOf(u, fields, 0) {
			return nil
		}
		found, spelled := make(map[string][]json.RawMessage), make(map[string]string) // by the names of fields
		for _, members := range all {
			for _, name := range sortedKeys(members) {
				field, ok := name, true
				if _, ok = fields[name]; !ok {
					// A name in other letters is the same for encoding/json.
					i := slices.IndexFunc(sortedKeys(fields), func(f string) bool { return strings.EqualFold(f, name) })
					if ok = i >= 0; ok {
						field = sortedKeys(fields)[i]
					}
				}
				d := difference{PayloadMember, fmt.Sprintf("have the member %s, which the struct does not have", path+"."+name)}
				if ok {
					found[field], spelled[field] = append(found[field], members[name]), name
				} else if !slices.Contains(list, d) {
					list = append(list, d)
				}
			}
		}
		for _, name := range sortedKeys(fields) {
			switch f := fields[name]; {
			case f.text:
			case found[name] != nil:
				list = append(list, differencesOf(f.typ, found[name], path+"."+spelled[name], depth)...)
			case !f.optional:
				list = append(list, difference{PayloadMember, fmt.Sprintf("do not have the member %s of the struct", path+"."+name)})
			}
		}
	}
	return list
}

// differencesOf returns the differences of parts of payloads, first whether they fit.
func differencesOf(t types.Type, values []json.RawMessage, path string, depth int) []difference {
	if fits, what := payloadFits(t); fits != nil {
		for _, v := range values {
			if !fits(string(v)) {
				return []difference{{WrongType, fmt.Sprintf("have %s at %s, which is not %s", shorten(string(v)), path, what)}}
			}
		}
	}
	return differences(t, values, path, depth+1)
}

// objects returns the values that are objects.
func objects(values []json.RawMessage) (list []map[string]json.RawMessage) {
	for _, v := range values {
		var members map[string]json.RawMessage
		if json.Unmarshal(v, &members) == nil && members != nil {
			list = append(list, members)
		}
	}
	return list
}

// A jsonField is a field of a struct that encoding/json fills.
type jsonField struct {
	typ      types.Type
	optional bool // with omitempty or omitzero
	text     bool // with string: a number in a text
}

// fieldsOf adds the fields of a struct by the names of their members. It is not ok for
// structs in which that is not plain, such as ones with too many levels.
func fieldsOf(s *types.Struct, fields map[string]jsonField, depth int) bool {
	if depth > maxPayloadDepth {
		return false
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		name, options, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		if inner, ok := pointed(f.Type()).Underlying().(*types.Struct); ok && f.Embedded() && name == "" && !decodesItself(pointed(f.Type())) {
			if !fieldsOf(inner, fields, depth+1) {
				return false
			}
			continue
		}
		if !f.Exported() {
			continue
		}
		words := strings.Split(options, ",")
		has := func(option string) bool { return slices.Contains(words, option) }
		fields[cmp.Or(name, f.Name())] = jsonField{f.Type(), has("omitempty") || has("omitzero"), has("string")}
	}
	return true
}
