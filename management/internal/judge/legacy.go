package judge

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// readLegacy takes over super_groups and holdout_groups where they say what
// feature_enrollment and holdout say now, as the loader does (evaluation.md §3.3
// and §13.3). Otherwise they have no effect, and are dropped.
func (f *filters) readLegacy(o object, key string) error {
	old := object{values: make(map[string]jsonscan.Value)}
	for _, name := range []string{"super_groups", "holdout_groups"} {
		if present(o.values[name]) {
			old.set(name, o.values[name])
		}
	}
	if len(old.names) == 0 {
		return nil
	}
	m := modelOf(old.append(nil), key)
	if f.FeatureEnrollment == nil {
		f.FeatureEnrollment = m.FeatureEnrollment
	}
	if f.Holdout == nil && m.Holdout != nil {
		f.Holdout = m.Holdout
		f.Holdout.ExclusionPercentage = min(max(f.Holdout.ExclusionPercentage, 0), 100)
	}
	return nil
}

// CohortOfGroups returns the filters that the field groups of old cohorts means, for
// [CohortFilters] to judge: groups are alternatives, and of each all properties must
// match. Groups on events and actions match nobody (evaluation.md §5.6). The result
// is nil if there are no groups. An *[Error] is about the field groups.
func CohortOfGroups(groups json.RawMessage) (json.RawMessage, error) {
	out, err := convertGroups(groups)
	return out, about("groups", err)
}

func convertGroups(raw json.RawMessage) (json.RawMessage, error) {
	v, err := jsonscan.Parse(raw, maxDepth)
	if err != nil || v.Kind() != jsonscan.Array {
		return nil, unfit(jsonscan.Value(raw), "a list of objects")
	}
	var groups []json.RawMessage
	for a := v.Array(); a.Next(); {
		g, err := convertGroup(a.Value())
		if err != nil {
			return nil, within(len(groups), err)
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return nil, nil
	}
	return encode(map[string]oldNode{"properties": {"OR", groups}})
}

// An oldNode is a node of the tree that groups become.
type oldNode struct {
	Type   string            `json:"type"`
	Values []json.RawMessage `json:"values"`
}

func convertGroup(v jsonscan.Value) (json.RawMessage, error) {
	if v.Kind() != jsonscan.Object {
		return nil, unfit(v, "an object")
	}
	o := membersOf(v)
	if present(o.values["event_id"]) || present(o.values["action_id"]) {
		return encode(oldNode{"OR", []json.RawMessage{}})
	}
	list := []json.RawMessage{}
	switch v := o.values["properties"]; v.Kind() {
	case jsonscan.Array:
		for a := v.Array(); a.Next(); {
			if a.Value().Kind() != jsonscan.Object {
				return nil, within("properties", within(len(list), unfit(a.Value(), "an object")))
			}
			leaf := membersOf(a.Value())
			if name, _ := str(leaf.values["type"]); name == "event" || !present(leaf.values["type"]) {
				leaf.set("type", jsonscan.Value(`"person"`))
			}
			list = append(list, leaf.append(nil))
		}
	case jsonscan.Object:
		for properties, i := membersOf(v), 0; i < len(properties.names); i++ {
			leaf := object{values: make(map[string]jsonscan.Value)}
			leaf.set("key", text.AppendQuoted(nil, properties.names[i]))
			leaf.set("value", properties.values[properties.names[i]])
			leaf.set("type", jsonscan.Value(`"person"`))
			list = append(list, leaf.append(nil))
		}
	case jsonscan.Null, jsonscan.Invalid:
	default:
		return nil, within("properties", unfit(v, "a list or an object"))
	}
	return encode(oldNode{"AND", list})
}
