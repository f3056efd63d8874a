package management

import (
	"bytes"
	"encoding/json"
)

// mustJSON encodes what always can be.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func orNull(raw json.RawMessage) json.RawMessage { return orJSON(raw, "null") }

func orJSON(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return raw
}

// kindOf names the type of a JSON value as the public system's messages do.
func kindOf(raw []byte) string {
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

// jsonObject decodes a JSON object by one level.
func jsonObject(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err == nil && m != nil
}

// scalarText returns the text of a JSON string or number.
func scalarText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func emptyJSON(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

func isBool(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text == "true" || text == "false"
}
