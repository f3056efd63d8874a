package rawjson

import (
	"bytes"
	"encoding/json"
)

// Must encodes a value that always can be encoded.
func Must(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// OrNull returns JSON, and null in place of nothing.
func OrNull(raw json.RawMessage) json.RawMessage { return Or(raw, "null") }

// Or returns JSON, and a default in place of nothing.
func Or(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return raw
}

// Kind names the type of a JSON value as the public system's messages do.
func Kind(raw []byte) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return "NoneType"
	case raw[0] == '{':
		return "dict"
	case raw[0] == '[':
		return "list"
	case raw[0] == '"':
		return "str"
	case raw[0] == 't', raw[0] == 'f':
		return "bool"
	case bytes.ContainsAny(raw, ".eE"):
		return "float"
	case raw[0] == 'n':
		return "NoneType"
	}
	return "int"
}

// Object decodes a JSON object by one level.
func Object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err == nil && m != nil
}

// Text returns the text of a JSON string or number.
func Text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Empty reports whether JSON is nothing, null, or an empty text, list or object.
func Empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// IsBool reports whether JSON is true or false.
func IsBool(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text == "true" || text == "false"
}
