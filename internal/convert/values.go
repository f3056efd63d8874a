package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TypeOf returns the type of a flag with some values: "boolean", "string", "number" or "object".
// The fault says, in words, which of them is not a value of that type, or of any; the type is
// then that of most of them.
func TypeOf(values []json.RawMessage) (kind, fault string) {
	counts := make(map[string]int)
	for _, v := range values {
		counts[kindOf(v)]++
	}
	kind = "boolean"
	for _, t := range []string{"string", "number", "object"} {
		if counts[t] > counts[kind] {
			kind = t
		}
	}
	for i, v := range values {
		if !HasType(v, kind) {
			what := "is of another type than the others"
			if kindOf(v) == "" {
				what = "is a list, null, an empty text or a number beyond 2^53, which no flag may have here"
			}
			return kind, fmt.Sprintf("Value %d %s. Those who would get it get the fallback of the program.", i+1, what)
		}
	}
	if len(values) == 0 {
		return kind, "It has no values. Everybody gets the fallback of the program."
	}
	return kind, ""
}

// HasType reports whether a value has a type.
func HasType(value json.RawMessage, kind string) bool { return kindOf(value) == kind }

// kindOf returns the type of a value, "" for what is not one of a flag (rules.md §2.2).
func kindOf(value json.RawMessage) string {
	start := strings.TrimLeft(string(value), " \t\r\n")
	if start == "" {
		return ""
	}
	kind := "number"
	switch start[0] {
	case 't', 'f':
		kind = "boolean"
	case '"':
		kind = "string"
	case '{':
		kind = "object"
	}
	document, err := json.Marshal(map[string]any{"version": 2, "return_type": kind, "default_value": value, "rules": []any{}})
	if err != nil {
		return ""
	}
	if s, err := flags.DecodeRuleSet(document, true); err != nil || s.Default == nil {
		return ""
	}
	return kind
}

// Values are the values that a flag can have, in compact form, by the names of its variants.
type Values map[string]json.RawMessage

// Usable returns the type of a flag with some variants, as [TypeOf] does, and the values of that
// type. The other variants are refused, in the order of their names.
func Usable(variants map[string]json.RawMessage) (kind string, usable Values, refused []string) {
	names := slices.Sorted(maps.Keys(variants))
	var list []json.RawMessage
	for _, name := range names {
		list = append(list, variants[name])
	}
	kind, _ = TypeOf(list)
	usable = make(Values)
	for i, name := range names {
		var compact bytes.Buffer
		if !HasType(list[i], kind) || json.Compact(&compact, list[i]) != nil {
			refused = append(refused, name)
			continue
		}
		usable[name] = compact.Bytes()
	}
	return kind, usable, refused
}

// Any returns one of the values, for a share that nobody is in.
func (v Values) Any() json.RawMessage {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		return v[name]
	}
	return json.RawMessage("false")
}

// Fallback makes a rule give what the caller falls back on, to all whom it targets: nobody is
// within its rollout.
func Fallback(r *flags.Rule, kind string) {
	values := map[string]string{"boolean": "false", "string": `"-"`, "number": "0", "object": "{}"}
	r.Type, r.Value, r.OnMiss = "percentage_rollout", json.RawMessage(values[kind]), "return_default"
	r.Algorithm, r.Seed = "sha1_60_v1", r.ID
}

// Dependents gives a flag that needs one with problems a problem, too.
func Dependents(p *Project) {
	inexact := make(map[string]bool)
	for i := range p.Flags {
		inexact[p.Flags[i].Key] = len(p.Flags[i].Problems) > 0
	}
	for again := true; again; {
		again = false
		for i := range p.Flags {
			f := &p.Flags[i]
			filters := flags.Filters{Version: 2, RuleSet: &f.Rules}
			for target := range filters.Targets() {
				problem := fmt.Sprintf("It needs the flag %s, which cannot be kept as it is.", target.Name)
				if inexact[target.Name] && !slices.Contains(f.Problems, problem) {
					f.Problems = append(f.Problems, problem)
					again, inexact[f.Key] = true, true
				}
			}
		}
	}
}
