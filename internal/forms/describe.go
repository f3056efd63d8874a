package forms

import (
	"bytes"
	"encoding/json"
)

// Described decodes what evaluation does not use of the flags of a document, by key. Of
// several with one key the first counts, and what cannot be decoded is left out.
func Described[T any](document []byte) map[string]*T {
	var d struct {
		Flags []json.RawMessage `json:"flags"`
	}
	_ = json.Unmarshal(document, &d) // to decode the definitions says what is wrong
	described := make(map[string]*T, len(d.Flags))
	for _, raw := range d.Flags {
		var f struct {
			Key string `json:"key"`
		}
		more := new(T)
		if json.Unmarshal(raw, &f) == nil && json.Unmarshal(raw, more) == nil && described[f.Key] == nil {
			described[f.Key] = more
		}
	}
	return described
}

// IsManifest tells a manifest of OpenFeature, in which "flags" is an object, from
// definitions.
func IsManifest(document []byte) bool {
	var d struct {
		Flags json.RawMessage `json:"flags"`
	}
	return json.Unmarshal(document, &d) == nil && bytes.HasPrefix(bytes.TrimSpace(d.Flags), []byte("{"))
}
