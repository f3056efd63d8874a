package gen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
)

// Read reads a definitions document, or a manifest of OpenFeature, in which "flags" is an
// object. Flags come in the order of their keys. Of flags with the same key the first one
// counts, as in evaluation; deleted flags and flags with faults are left out, the latter
// with a note.
func Read(document []byte) (list []Flag, notes []string, err error) {
	if forms.IsManifest(document) {
		list, err = readManifest(document)
		return list, nil, err
	}
	definitions, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return nil, nil, err
	}
	described := forms.Described[description](document)
	known := make(map[string]bool)
	for i := range definitions.Flags {
		f := &definitions.Flags[i]
		if f.Deleted || f.Key == "" || known[f.Key] {
			continue
		}
		known[f.Key] = true
		if err := f.Err(); err != nil {
			notes = append(notes, fmt.Sprintf("flag %q is left out: %v", f.Key, err))
			continue
		}
		list = append(list, flagOf(f, cmp.Or(described[f.Key], new(description))))
	}
	slices.SortFunc(list, func(a, b Flag) int { return cmp.Compare(a.Key, b.Key) })
	return list, notes, nil
}

// flagOf returns a flag of definitions.
func flagOf(f *flags.Flag, d *description) Flag {
	out := Flag{
		Key: f.Key, Description: cmp.Or(f.Name, stringIn(d.Description)), Owner: d.owner(), Tags: append(stringsIn(d.Tags), f.EvaluationContexts...),
		Active: f.Active, Archived: string(d.Archived) == "true", Filters: &f.Filters, ID: f.ID,
	}
	slices.Sort(out.Tags)
	out.Tags = slices.Compact(out.Tags)
	if set := f.Filters.RuleSet; set != nil {
		out.typed(set)
		return out
	}
	if m := f.Filters.Multivariate; m != nil && len(m.Variants) > 0 {
		out.Kind = Variants
		for _, v := range m.Variants {
			name := ""
			if v.Name != nil {
				name = *v.Name
			}
			out.Variants = append(out.Variants, Variant{v.Key, name})
		}
	}
	if f.HasEncryptedPayloads {
		return out
	}
	for _, variant := range slices.Sorted(maps.Keys(f.Filters.Payloads)) {
		payload, ok := f.Filters.Payload(variant)
		switch {
		case !ok || payload == "":
		case !json.Valid([]byte(payload)):
			out.Opaque = true
		default:
			out.Payloads = append(out.Payloads, json.RawMessage(payload))
		}
	}
	return out
}

// typed gives a flag the type of its rule set. A number is an integer if all that the set has
// are.
func (f *Flag) typed(set *flags.RuleSet) {
	f.Fallback = set.Default
	values := set.Values()
	switch set.ReturnType {
	case "string":
		f.Kind = Text
	case "object":
		f.Kind, f.Payloads = Payload, values
	case "number":
		f.Kind = Integer
		if len(values) == 0 || slices.ContainsFunc(values, func(v json.RawMessage) bool {
			n, err := strconv.ParseFloat(string(v), 64)
			return err != nil || n != math.Trunc(n)
		}) {
			f.Kind = Float
		}
	}
}

// A description is what evaluation does not use of a flag. Its members may be anything,
// as for evaluation.
type description struct {
	Description json.RawMessage `json:"description"`
	Tags        json.RawMessage `json:"tags"`
	Archived    json.RawMessage `json:"archived"`
	Owner       json.RawMessage `json:"owner"`
	CreatedBy   json.RawMessage `json:"created_by"`
}

// owner returns the owner of a flag, or the user who has made it.
func (d *description) owner() string {
	var user struct {
		Email     string `json:"email"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
	}
	_ = json.Unmarshal(d.CreatedBy, &user) // without one there is no owner
	name := user.FirstName
	if user.LastName != "" {
		name += " " + user.LastName
	}
	return cmp.Or(stringIn(d.Owner), name, user.Email)
}

// stringIn returns a JSON string, and "" for anything else.
func stringIn(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// stringsIn returns the strings of a JSON array.
func stringsIn(raw json.RawMessage) (list []string) {
	var all []json.RawMessage
	_ = json.Unmarshal(raw, &all) // anything else has no texts
	for _, one := range all {
		if s := stringIn(one); s != "" {
			list = append(list, s)
		}
	}
	return list
}
