package reference

import (
	"encoding/json"
	"maps"
	"slices"
)

const (
	maxTypes    = 5
	maxType     = 400 // bytes of the name of a group type
	maxGroupKey = 400 // characters of a group key
)

type groupID struct{ typ, key string }

// identifyGroup does what the $groupidentify with these properties does to its
// group.
func (w *World) identifyGroup(properties map[string]any) {
	name, isString := properties["$group_type"].(string)
	key, usable := textOf(properties["$group_key"])
	if !isString || !usable || key == "" {
		return
	}
	name, known := w.groupType(name)
	if !known {
		return
	}

	id := groupID{name, clean(key, maxGroupKey)}
	if w.groups == nil {
		w.groups = map[groupID]map[string]any{}
	}
	if w.groups[id] == nil {
		w.groups[id] = map[string]any{}
	}
	maps.Copy(w.groups[id], object(properties["$group_set"]))
}

// nameGroups makes the types known that a $groups names, in the order in which
// they are written. It creates no group.
func (w *World) nameGroups(raw json.RawMessage) {
	written, ok := members(string(raw))
	if !ok {
		return
	}
	for _, m := range written {
		if key, usable := textOf(decode(m.raw)); usable && key != "" {
			w.groupType(m.name)
		}
	}
}

// groupType gives the type an index if it has none and one is left. It returns
// the name as stored and whether the type has an index now.
func (w *World) groupType(name string) (string, bool) {
	name = clean(name, len(name))
	if name == "" || len(name) > maxType {
		return "", false
	}
	if !slices.Contains(w.types, name) {
		if len(w.types) == maxTypes {
			return "", false
		}
		w.types = append(w.types, name)
	}
	return name, true
}
