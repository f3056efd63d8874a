package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags"
)

// flagChanges returns which flags two documents do not have in common, and in what they
// differ, by key.
func flagChanges(before, after *flags.Definitions) []flagReport {
	old, new := flagsByKey(before), flagsByKey(after)
	changes := []flagReport{}
	all := maps.Clone(old)
	maps.Copy(all, new)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, is := old[key], new[key]
		r := flagReport{Key: key, Differences: []string{}}
		switch {
		case was == nil:
			r.Change = "added"
			r.Differences = append(r.Differences, summary(is))
		case is == nil:
			r.Change = "removed"
			r.Differences = append(r.Differences, summary(was))
		default:
			r.Change = "changed"
			differ(&r.Differences, nil, memberTree(was), memberTree(is))
			if len(r.Differences) == 0 {
				continue
			}
		}
		changes = append(changes, r)
	}
	return changes
}

// flagsByKey returns the flags that count: of several with one key the first.
func flagsByKey(d *flags.Definitions) map[string]*flags.Flag {
	m := make(map[string]*flags.Flag, len(d.Flags))
	for i := range d.Flags {
		if f := &d.Flags[i]; m[f.Key] == nil && !f.Deleted && f.Key != "" {
			m[f.Key] = f
		}
	}
	return m
}

// summary says in a few words what a flag is.
func summary(f *flags.Flag) string {
	text := "inactive"
	if f.Active {
		text = "active"
	}
	text += ", " + Count(len(f.Filters.Groups), "condition set")
	if m := f.Filters.Multivariate; m != nil && len(m.Variants) > 0 {
		var variants []string
		for _, v := range m.Variants {
			variants = append(variants, fmt.Sprintf("%s %v%%", v.Key, v.RolloutPercentage))
		}
		text += ", variants " + strings.Join(variants, ", ")
	}
	return text
}

// memberTree returns what decides a flag, as a tree of JSON, with filters in their
// normal form: two documents may write one thing in different ways.
func memberTree(f *flags.Flag) map[string]any {
	tree := map[string]any{
		"active":            f.Active,
		"bucketing":         f.BucketingIdentifier,
		"bucketing hash":    f.BucketingHash,
		"continuity":        f.EnsureExperienceContinuity,
		"runtime":           f.EvaluationRuntime,
		"contexts":          anyList(f.EvaluationContexts),
		"match of contexts": f.EvaluationContextsMatchMode,
		"encrypted":         f.HasEncryptedPayloads,
	}
	raw, err := flags.AppendFilters(nil, &f.Filters)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var filters map[string]any
		if err = d.Decode(&filters); err == nil {
			maps.Copy(tree, filters)
		}
	}
	if err != nil { // filters that nobody can read
		tree["filters"] = string(raw)
	}
	return tree
}

func anyList(list []string) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// differ appends a line for each place in which two trees of JSON differ.
func differ(lines *[]string, place []string, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			names := maps.Clone(was)
			maps.Copy(names, is)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				differ(lines, slices.Concat(place, []string{name}), was[name], is[name])
			}
			return
		}
	case []any:
		if is, ok := after.([]any); ok && !plain(was) && !plain(is) {
			for i := range max(len(was), len(is)) {
				differ(lines, slices.Concat(place, []string{strconv.Itoa(i)}), at(was, i), at(is, i))
			}
			return
		}
	}
	was, is := inWords(before), inWords(after)
	switch {
	case was == is:
	case before == nil:
		*lines = append(*lines, placeName(place)+": added: "+is)
	case after == nil:
		*lines = append(*lines, placeName(place)+": removed: "+was)
	default:
		*lines = append(*lines, placeName(place)+": "+was+" → "+is)
	}
}

// plain reports whether a list has neither objects nor lists, and something at all.
func plain(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return len(list) > 0
}

// at returns an element of a list, or nil.
func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// inWords returns JSON as one line, shortened.
func inWords(v any) string {
	if text, ok := v.(string); ok && text != "" && !strings.ContainsAny(text, " \"") {
		return text
	}
	const shown = 200 // bytes
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	text := strings.TrimSpace(b.String())
	if len(text) <= shown {
		return text
	}
	cut := shown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// placeNames are words for members that have elements, and for others whose names say
// little.
var placeNames = map[string]string{
	"groups": "condition set", "properties": "filter", "variants": "variant", "payloads": "payload of",
	"rollout_percentage": "rollout", "aggregation_group_type_index": "group type", "early_exit": "early exit", "feature_enrollment": "early access",
}

// placeName puts the names of nested members into words, such as "condition set 0,
// filter 1, value".
func placeName(place []string) string {
	var words []string
	for i := 0; i < len(place); i++ {
		name := place[i]
		word, ok := placeNames[name]
		switch {
		case !ok && name == "multivariate" && i+1 < len(place):
			continue
		case !ok:
			word = strings.ReplaceAll(name, "_", " ")
		case i+1 < len(place):
			i++
			word += " " + place[i]
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
