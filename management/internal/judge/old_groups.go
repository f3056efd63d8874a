package judge

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// CohortOfGroups returns the filters that the field groups of an old cohort stands
// for, which [ReadCohort] reads: groups are alternatives, and all properties of one
// group must match. Groups on events and actions match nobody (evaluation.md §5.6).
// The result is nil if there are no groups. An *[Error] is about the field groups.
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
	return append(appendNode([]byte(`{"properties":`), "OR", groups), '}'), nil
}

// appendNode appends a node of the tree that groups become.
func appendNode(dst []byte, kind string, values []json.RawMessage) json.RawMessage {
	dst = append(append(append(dst, `{"type":"`...), kind...), `","values":[`...)
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, "]}"...)
}

func convertGroup(v jsonscan.Value) (json.RawMessage, error) {
	if v.Kind() != jsonscan.Object {
		return nil, unfit(v, "an object")
	}
	o := membersOf(v)
	if present(o.get("event_id")) || present(o.get("action_id")) {
		return appendNode(nil, "OR", nil), nil
	}
	var list []json.RawMessage
	switch v := o.get("properties"); v.Kind() {
	case jsonscan.Array:
		for a := v.Array(); a.Next(); {
			if a.Value().Kind() != jsonscan.Object {
				return nil, within("properties", within(len(list), unfit(a.Value(), "an object")))
			}
			leaf := membersOf(a.Value())
			if name, _ := str(leaf.get("type")); name == "event" || !present(leaf.get("type")) {
				leaf.set("type", jsonscan.Value(`"person"`))
			}
			list = append(list, leaf.append(nil))
		}
	case jsonscan.Object:
		for _, m := range membersOf(v).members {
			var leaf object
			leaf.set("key", text.AppendQuoted(nil, m.name))
			leaf.set("value", m.value)
			leaf.set("type", jsonscan.Value(`"person"`))
			list = append(list, leaf.append(nil))
		}
	case jsonscan.Null, jsonscan.Invalid:
	default:
		return nil, within("properties", unfit(v, "a list or an object"))
	}
	return appendNode(nil, "AND", list), nil
}
