package management

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// settleConflict returns an error if a change was made for another version of a
// flag than the one there is, and somebody else has changed the same fields since, to
// other values. From other changes it takes what they leave as it was (management.md
// §13.6). Without the flag as the client has seen it, all that it wants otherwise than it
// is counts as changed since. A user that cannot read encrypted payloads cannot know
// whether somebody has changed them: the last change counts.
func (s *Service) settleConflict(f *storage.Flag, patch *FlagPatch) error {
	if err := checkPrecondition(f, patch.IfVersion); err != nil {
		return err
	}
	if !patch.Version.Set || patch.Version.Null || patch.Version.Value == f.Version {
		return nil
	}
	original, seen := rawjson.Object(patch.Original.Value)
	masked, readable := flagFields(f, redactedFilters(f), patch), flagFields(f, s.openPayloads(f), patch)
	var clashes []string
	for i, row := range masked {
		if !row.Logged || row.Sent == nil || !row.Sent.IsSet() {
			continue
		}
		before, known := original[row.Attr]
		if (known || !seen) && clashing(&row, before, row.ValueJSON(), readable[i].ValueJSON()) {
			clashes = append(clashes, row.Attr)
		}
	}
	switch {
	case len(clashes) == 0:
		return nil
	case !seen:
		return conflict("%s Send original_flag as well, so that changes of other fields can be told apart.", versionDetail(f))
	}
	return conflict("%s Both changes are about: %s.", versionDetail(f), strings.Join(clashes, ", "))
}

// settleOriginal returns an error if somebody else has changed, since a client has seen a
// thing, the same fields as a patch of the client. From other patches it takes what they
// leave as it was. The original is the thing as the client has seen it; without one
// nothing is compared.
func settleOriginal(thing string, original *optional.Value[json.RawMessage], table field.Table) error {
	if !original.Set || original.Null {
		return nil
	}
	seen, ok := rawjson.Object(original.Value)
	if !ok {
		return invalid("original_"+thing[strings.LastIndexByte(thing, ' ')+1:], "not_a_dict", "Expected a dictionary of items but got type %q.", rawjson.Kind(original.Value))
	}
	var clashes []string
	for _, row := range table {
		if !row.Logged || row.Sent == nil || !row.Sent.IsSet() {
			continue
		}
		if before, known := seen[row.Attr]; known && clashing(&row, before, row.ValueJSON()) {
			clashes = append(clashes, row.Attr)
		}
	}
	if len(clashes) > 0 {
		return conflict("The %s was changed by somebody else in the meantime. Both changes are about: %s.", thing, strings.Join(clashes, ", "))
	}
	return nil
}

// clashing reports whether a patch and somebody else have given a field different values
// since the client has seen it with the value before, nil if that is not known. The field
// may be shown in several ways now. What the patch leaves as it was is taken out of it.
func clashing(row *field.Row, before json.RawMessage, now ...json.RawMessage) bool {
	sent := row.Sent.JSON()
	wanted := func(value json.RawMessage) bool { return sameJSON(value, over(row.Attr, value, sent)) }
	switch {
	case slices.ContainsFunc(now, wanted): // both sides have made the same change, or the patch makes none
		return false
	case before == nil:
		return true
	case wanted(before):
		row.Sent.LeaveOut()
		return false
	}
	return !slices.ContainsFunc(now, func(value json.RawMessage) bool { return sameJSON(before, value) })
}

// over returns the value that a field has after a patch. Of filters a patch may have
// some members only (management.md §13.3).
func over(attr string, value, sent json.RawMessage) json.RawMessage {
	stored, ok := rawjson.Object(value)
	members, object := rawjson.Object(sent)
	if attr != "filters" || !ok || !object {
		return sent
	}
	maps.Copy(stored, members)
	return rawjson.Must(stored)
}

// checkPrecondition returns an error if a change is for another version than the flag
// has; nil is any.
func checkPrecondition(f *storage.Flag, version *int) error {
	if version != nil && *version != f.Version {
		return &Error{Kind: ErrPrecondition, Code: "precondition_failed", Detail: versionDetail(f)}
	}
	return nil
}

// checkCurrent is checkPrecondition for a version in a body, which null and nothing
// leave open.
func checkCurrent(f *storage.Flag, version *optional.Value[int]) error {
	if version.Set && !version.Null && version.Value != f.Version {
		return conflict("%s", versionDetail(f))
	}
	return nil
}

func versionDetail(f *storage.Flag) string {
	return "The feature flag was changed by somebody else in the meantime; its version is " + string(rawjson.Must(f.Version)) + "."
}

// sameJSON reports whether two values of a field say the same: what is empty or false
// is not there, and names of cohorts are only shown.
func sameJSON(a, b json.RawMessage) bool {
	return absentJSON(a) && absentJSON(b) || reflect.DeepEqual(writtenValue(a), writtenValue(b))
}

func absentJSON(raw json.RawMessage) bool { return rawjson.Empty(raw) || string(raw) == "false" }

// writtenValue returns what somebody has written, with numbers as they are.
func writtenValue(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // what is not JSON is nothing
	return withoutNames(v)
}

// withoutNames takes the names of cohorts out of filters, and members that are null or
// empty where that says as much as nothing.
func withoutNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cohort_name")
		inherit(v)
		for name, value := range v {
			switch {
			case value == nil && name != aggregation:
				delete(v, name)
			case name == "value", name == aggregation: // an empty one says something
			case name == "payloads":
				if payloads, ok := value.(map[string]any); ok {
					maps.DeleteFunc(payloads, func(_ string, payload any) bool { return payload == nil })
				}
				if emptyValue(value) {
					delete(v, name)
				}
			default:
				if v[name] = withoutNames(value); emptyValue(v[name]) {
					delete(v, name)
				}
			}
		}
	case []any:
		for i, value := range v {
			v[i] = withoutNames(value)
		}
	}
	return v
}

const aggregation = "aggregation_group_type_index"

// inherit takes aggregations that are null out of filters, and out of their condition sets
// if the filters have none, which a condition set could inherit: they say persons then,
// as their absence does (evaluation.md §1.4).
func inherit(filters map[string]any) {
	groups, ok := filters["groups"].([]any)
	if !ok || filters[aggregation] != nil {
		return
	}
	delete(filters, aggregation)
	for _, g := range groups {
		if g, ok := g.(map[string]any); ok && g[aggregation] == nil {
			delete(g, aggregation)
		}
	}
}

func emptyValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
