package reference

import (
	"encoding/json"
	"slices"
	"strconv"
)

// canHaveEdges reports whether the flag is ever evaluated by its conditions. Inactive, encrypted and malformed flags have
// no outgoing edges (§7.2).
func (f *flag) canHaveEdges() bool { return f.active && !f.encrypted && !f.malformed }

// target resolves the key of a flag filter (§7.1). usable is false for a key that makes no edge; a nil flag
// with a usable key is a missing dependency.
func (d *Document) target(dependency filter) (target *flag, usable bool) {
	var key string
	switch v := dependency.key.(type) {
	case string:
		key = v
	case json.Number:
		key = v.String()
		if _, err := strconv.ParseInt(key, 10, 64); err != nil {
			return nil, false
		}
	}
	if key == "" {
		return nil, false
	}
	if id, isInteger := integerValue(dependency.key); isInteger && !dependency.hasChain {
		for _, f := range d.flags {
			if f.id == id {
				return f, true
			}
		}
	}
	return d.flagByKey(key), true
}

func (d *Document) flagByKey(key string) *flag {
	for _, f := range d.flags {
		if f.key == key {
			return f
		}
	}
	return nil
}

// dependencies are the targets of all flag filters of f, in any condition and whatever the operator (§7.2).
// A missing target is nil.
func (d *Document) dependencies(f *flag) []*flag {
	if !f.canHaveEdges() {
		return nil
	}
	var targets []*flag
	for _, c := range f.conditions {
		for _, candidate := range c.filters {
			if candidate.kind != typeFlag {
				continue
			}
			if target, usable := d.target(candidate); usable {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// reachable are all flags that f depends on, directly or not; f itself only if it is on a cycle. A nil stands for a
// missing dependency.
func (d *Document) reachable(f *flag) []*flag {
	var reached []*flag
	next := d.dependencies(f)
	for len(next) > 0 {
		target := next[0]
		next = next[1:]
		if slices.Contains(reached, target) {
			continue
		}
		reached = append(reached, target)
		if target != nil {
			next = append(next, d.dependencies(target)...)
		}
	}
	return reached
}

// hasMissingDependency reports whether a dependency, direct or not, is missing (§7.2).
func (d *Document) hasMissingDependency(f *flag) bool { return slices.Contains(d.reachable(f), nil) }

// leftOut reports whether f is on a cycle, or depends on a flag that is (§7.2).
func (d *Document) leftOut(f *flag) bool {
	onCycle := func(g *flag) bool { return g != nil && slices.Contains(d.reachable(g), g) }
	return onCycle(f) || slices.ContainsFunc(d.reachable(f), onCycle)
}

// evaluatesTo is the table of §7.3.
func evaluatesTo(want any, enabled bool, variant *string) bool {
	switch v := want.(type) {
	case bool:
		return v == enabled
	case string:
		return enabled && variant != nil && *variant == v
	default:
		return false
	}
}
