package gen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Schema is the part of JSON Schema by which a manifest describes objects.
type Schema struct {
	Type       string             `json:"type"`
	Properties map[string]*Schema `json:"properties"`
	Items      *Schema            `json:"items"`
}

// kinds are the kinds of flags by their names in a manifest.
var kinds = map[string]Kind{"boolean": Boolean, "string": Text, "integer": Integer, "float": Float, "object": Payload}

// readManifest reads a manifest of OpenFeature.
func readManifest(document []byte) (list []Flag, err error) {
	var manifest struct {
		Flags map[string]struct {
			Type        string          `json:"flagType"`
			Default     json.RawMessage `json:"defaultValue"`
			Description string          `json:"description"`
			Schema      *Schema         `json:"schema"`
		} `json:"flags"`
	}
	if err := json.Unmarshal(document, &manifest); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(manifest.Flags)) {
		m := manifest.Flags[key]
		kind, ok := kinds[m.Type]
		switch {
		case key == "":
			return nil, fmt.Errorf("manifest: a flag has an empty key")
		case !ok:
			return nil, fmt.Errorf("manifest: flag %q: flagType is %q, want boolean, string, integer, float or object", key, m.Type)
		case len(m.Default) == 0:
			return nil, fmt.Errorf("manifest: flag %q has no defaultValue", key)
		case !fits(kind, m.Default):
			return nil, fmt.Errorf("manifest: flag %q: defaultValue is %s, want a value of flagType %s", key, text.Shorten(m.Default, 80), m.Type)
		}
		f := Flag{Key: key, Kind: kind, Active: true, Description: m.Description, Fallback: m.Default, Schema: m.Schema}
		if kind == Payload {
			f.Payloads = []json.RawMessage{m.Default}
		}
		list = append(list, f)
	}
	return list, nil
}

// fits reports whether a default is of a kind.
func fits(kind Kind, value json.RawMessage) bool {
	switch kind {
	case Boolean:
		return string(value) == "true" || string(value) == "false"
	case Text:
		return value[0] == '"'
	case Integer:
		_, err := strconv.ParseInt(string(value), 10, 64)
		return err == nil
	case Float:
		_, err := strconv.ParseFloat(string(value), 64)
		return err == nil
	}
	return true
}

// shape returns the Go type that a schema describes.
func (s *Schema) shape(depth int) *shape {
	if depth > maxDepth {
		return &shape{kind: goRaw}
	}
	switch s.Type {
	case "boolean":
		return &shape{kind: goBool}
	case "string":
		return &shape{kind: goString}
	case "integer":
		return &shape{kind: goInt}
	case "number":
		return &shape{kind: goFloat}
	case "array":
		if s.Items == nil {
			return &shape{kind: goSlice, elem: &shape{kind: goRaw}}
		}
		return &shape{kind: goSlice, elem: s.Items.shape(depth + 1)}
	case "object":
		out := &shape{kind: goStruct, fields: make(map[string]*shape)}
		for name, property := range s.Properties {
			property = cmp.Or(property, new(Schema))
			out.fields[name] = property.shape(depth + 1)
		}
		return out.settled(depth)
	}
	return &shape{kind: goRaw}
}
