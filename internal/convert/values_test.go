package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// TestUsable is rules.md §2.2: which values flags can have, and that a flag has one type.
func TestUsable(t *testing.T) {
	tests := []struct {
		name     string
		variants map[string]string
		kind     string
		usable   []string
		unwanted []string
	}{
		{"none", nil, "boolean", nil, nil},
		{"booleans", map[string]string{"off": "false", "on": " true"}, "boolean", []string{"off", "on"}, nil},
		{"most are numbers", map[string]string{"a": "1", "b": "2.5", "c": `"3"`}, "number", []string{"a", "b"}, []string{"c"}},
		{"beyond 2^53", map[string]string{"a": "1", "b": "9007199254740993"}, "number", []string{"a"}, []string{"b"}},
		{"what no flag can be", map[string]string{"a": "[1]", "b": "null", "c": `""`, "d": "", "e": `"x"`}, "string", []string{"e"}, []string{"a", "b", "c", "d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			variants := make(map[string]json.RawMessage)
			for name, v := range tt.variants {
				variants[name] = json.RawMessage(v)
			}
			kind, usable, refused := Usable(variants)
			if got := slices.Sorted(maps.Keys(usable)); kind != tt.kind || !slices.Equal(got, tt.usable) || !slices.Equal(refused, tt.unwanted) {
				t.Errorf("a %s with %q, and %q refused; want a %s with %q, and %q", kind, got, refused, tt.kind, tt.usable, tt.unwanted)
			}
		})
	}
	if got := string(Values{"b": json.RawMessage("2"), "a": json.RawMessage("1")}.Any()); got != "1" {
		t.Errorf("one of the values is %s", got)
	}
}
