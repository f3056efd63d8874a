package gen

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Kind says which values a flag has.
type Kind int

// The kinds of flags. With condition sets, flags are of the first two.
const (
	Boolean  Kind = iota // on or off
	Variants             // one of its variants, or off
	Payload              // an object, and nothing besides
	Text
	Integer
	Float
)

// A Flag is what code is generated for.
type Flag struct {
	Key         string
	Kind        Kind
	Description string
	Owner       string
	Tags        []string // and evaluation contexts
	Active      bool
	Archived    bool
	Rollout     string // for whom the flag is on, in words
	Variants    []Variant

	// Payloads are all payloads of a flag as JSON. If one of them is not JSON, Opaque is
	// set, and there is no handle for them.
	Payloads []json.RawMessage
	Opaque   bool

	// Filters are what the document has for the flag. A manifest has none, which is nil.
	Filters *flags.Filters
	ID      int64

	// Fallback is the default of a manifest or a rule set, and Schema what a manifest says
	// about an object.
	Fallback json.RawMessage
	Schema   *Schema
}

// ruled reports whether a rule set decides the flag.
func (f *Flag) ruled() bool { return f.Filters != nil && f.Filters.RuleSet != nil }

// A Variant is a value of a flag.
type Variant struct{ Key, Name string }

// A Selection says for which flags code is generated. In patterns "*" stands for any
// text, also for none.
type Selection struct {
	Only    []string // patterns of keys; none: all flags
	Tags    []string // of which a flag has one; none: all flags
	Exclude []string // patterns of keys
}

// Apply returns the selected flags. The error names a pattern or tag that no flag has: it
// is misspelt, or about a flag that is gone.
func (s Selection) Apply(list []Flag) ([]Flag, error) {
	var selected []Flag
	used := make(map[string]bool)
	matches := func(patterns []string, key string) (ok bool) {
		for _, p := range patterns {
			if text.Matches(p, key) {
				used[p], ok = true, true
			}
		}
		return ok
	}
	for _, f := range list {
		tagged := false
		for _, tag := range s.Tags {
			if slices.Contains(f.Tags, tag) {
				used[tag], tagged = true, true
			}
		}
		only, excluded := matches(s.Only, f.Key), matches(s.Exclude, f.Key)
		if (len(s.Only) == 0 || only) && (len(s.Tags) == 0 || tagged) && !excluded {
			selected = append(selected, f)
		}
	}
	for _, words := range []struct {
		flag string
		list []string
	}{{"only", s.Only}, {"tags", s.Tags}, {"exclude", s.Exclude}} {
		for _, word := range words.list {
			if !used[word] {
				return nil, fmt.Errorf("-%s %q: no flag has it", words.flag, word)
			}
		}
	}
	return selected, nil
}
