package reference

import (
	"encoding/json"
	"slices"
	"strconv"
)

// canHaveEdges reports whether the flag's conditions are ever evaluated.
// Inactive, encrypted and malformed flags depend on no other flag (§7.2).
func (f *flag) canHaveEdges() bool { return f.active && !f.encrypted && !f.malformed }

// target resolves the key of a flag filter (§7.1). A key that makes no
// dependency is not usable. If the key is usable and the target is nil, the
// dependency is missing.
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

// dependencies returns the targets of all flag filters of f, in all conditions
// and with any operator (§7.2). A missing target is nil.
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

// reachable returns all flags that f depends on, directly or indirectly. It
// contains f only if f is on a cycle, and nil if a dependency is missing.
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

// hasMissingDependency reports whether f depends, directly or indirectly, on a
// missing flag (§7.2).
func (d *Document) hasMissingDependency(f *flag) bool { return slices.Contains(d.reachable(f), nil) }

// leftOut reports whether f is on a cycle, or depends on a flag on a cycle
// (§7.2).
func (d *Document) leftOut(f *flag) bool {
	onCycle := func(g *flag) bool { return g != nil && slices.Contains(d.reachable(g), g) }
	return onCycle(f) || slices.ContainsFunc(d.reachable(f), onCycle)
}

// evaluatesTo implements the table of §7.3.
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
