package judge

import (
	"encoding/json"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// CohortOfGroups returns the filters that the field groups of an old cohort stands
// for, which [ReadCohort] reads: groups are alternatives, and all properties of one
// group must match. A group that defines nothing is nobody (evaluation.md §5.6).
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
	properties := o.get("properties")
	node := membersOf(properties)
	_, typed := str(node.get("type"))
	switch {
	case o.get("values").Kind() == jsonscan.Array && !o.has("properties"):
		node.set("type", o.get("type"))
		node.set("values", o.get("values"))
		properties = node.append(nil)
	case properties.Kind() == jsonscan.Object && typed && node.get("values").Kind() == jsonscan.Array:
	case emptyNode(node):
		return appendNode(nil, "OR", nil), nil
	default:
		return convertProperties(properties)
	}
	if !hasLeaves(properties) {
		return appendNode(nil, "OR", nil), nil
	}
	return json.RawMessage(properties), nil
}

// convertProperties converts the properties of a group that are no tree: a list of them,
// or an object of the values that they must have.
func convertProperties(v jsonscan.Value) (json.RawMessage, error) {
	var list []json.RawMessage
	switch v.Kind() {
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
	if len(list) == 0 {
		return appendNode(nil, "OR", nil), nil
	}
	return appendNode(nil, "AND", list), nil
}

// emptyNode reports whether an object says that it is a group of criteria, and has none.
func emptyNode(o object) bool {
	kind, _ := str(o.get("type"))
	_, known := (&flags.CohortNode{Type: kind}).AnyOf()
	return known && !present(o.get("values")) && !slices.ContainsFunc(o.members, func(m member) bool { return !members.Node.Knows([]byte(m.name)) })
}

// hasLeaves reports whether there is a criterion in a tree, and not only groups.
func hasLeaves(v jsonscan.Value) bool {
	o := membersOf(v)
	list := listOf(o)
	if list == "" {
		return len(o.members) > 0
	}
	for a := o.get(list).Array(); a.Next(); {
		if hasLeaves(a.Value()) {
			return true
		}
	}
	return false
}
