package flags

import (
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A patch is a Snapshot that is made of an earlier one. Flags that have not changed keep
// what they were compiled to; what the others are compiled to is appended. That works
// while there are the same flags in the same order, which need each other as before. All
// else, and what few projects have, is compiled as a whole, as is what has been patched
// so often that a good part of it is of no use any more. A patch has the answers, the
// problems and the ETag of a Snapshot that was compiled as a whole.

// patchShare is the part of its flags that a Snapshot can replace before it is compiled
// as a whole again.
const patchShare = 4

// patch returns a Snapshot of definitions that share most flags with an earlier one, or
// nil if all flags must be compiled. The compiler has begun, and has the digests of flags.
func (c *compiler) patch(p *Snapshot) *Snapshot {
	if p.isUnset() || p.found.room == nil || p.common != c.s.common || p.cyclic || p.found.outside || p.found.regexps.exceeded ||
		len(p.problems) == served.MaxProblems || !sameZone(p.zone, c.s.zone) {
		return nil
	}
	t := newCompiler(c.d, c.o)
	t.digests, t.groupOf = c.digests, c.groupOf
	if !t.match(p) {
		return nil
	}
	t.s = p.extended()
	t.s.etag, t.s.zone = c.s.etag, c.s.zone
	t.o.TimeZone = c.s.zone
	changed := newFlagSet(len(p.flags))
	count := 0
	for i := range t.s.flags {
		f, model := &p.flags[i], &t.digests[t.place[i]]
		if f.digest == model.digest && !model.faulty {
			continue
		}
		if count++; p.found.patched+count > len(p.flags)/patchShare || !t.replace(int32(i), f) {
			return nil
		}
		changed.add(int32(i))
	}
	if !t.compileChanged(p, changed) {
		return nil
	}
	for _, list := range [][]Problem{c.problems, t.s.found.order} {
		t.problems = append(t.problems, list...)
	}
	for _, i := range slices.Sorted(maps.Keys(t.s.found.flags)) {
		t.problems = append(t.problems, t.s.found.flags[i]...)
	}
	t.lintGroupTypes()
	if len(t.problems) >= served.MaxProblems {
		return nil
	}
	if len(t.s.slots) != len(p.slots) {
		t.buildNameTables()
	}
	t.s.arena = t.arena
	if !t.seenAsIn(p) {
		t.buildFlagSets()
		t.findRemote()
	}
	t.finish()
	return t.s
}

// sameZone reports whether two zones have the same times. Two zones of one name need
// not.
func sameZone(a, b *time.Location) bool {
	return a == b || a.String() == b.String() && reflect.DeepEqual(a, b)
}

// match finds the flags that exist by the program order of a Snapshot, and reports
// whether they are the same.
func (c *compiler) match(p *Snapshot) bool {
	c.model, c.place = make([]*Flag, len(p.flags)), make([]int, len(p.flags))
	n := 0
	for i := range c.d.Flags {
		f := &c.d.Flags[i]
		if f.Deleted {
			continue
		}
		if n == len(p.order) {
			return false
		}
		at := p.order[n]
		if old := &p.flags[at]; f.Key == "" || f.Key != old.key() || f.ID != old.id {
			return false
		}
		c.model[at], c.place[at] = f, i
		n++
	}
	return n == len(p.order)
}

// extended returns a copy of a Snapshot to which compiled flags can be appended.
func (p *Snapshot) extended() *Snapshot {
	s := *p
	s.self = &s
	first := p.found.room.CompareAndSwap(false, true)
	s.flags = slices.Clone(p.flags)
	s.slots = slices.Clone(p.slots)
	s.values, s.payloads, s.edges, s.checks = extended(p.values, first), extended(p.payloads, first), extended(p.edges, first), extended(p.checks, first)
	s.cohorts, s.arena = extended(p.cohorts, first), extended(p.arena, first)
	s.storedCohorts = maps.Clone(p.storedCohorts)
	s.continuityFlags = slices.Clip(p.continuityFlags)
	s.found.flags, s.found.cohorts = maps.Clone(p.found.flags), maps.Clone(p.found.cohorts)
	s.found.room = new(atomic.Bool)
	return &s
}

// extended returns a slice to which elements can be appended while others read those
// that there are. Only the first one who extends a slice may write behind it.
func extended[E any](list []E, first bool) []E {
	if first && len(list) < cap(list) {
		return list
	}
	const part, least = 16, 64
	return append(make([]E, 0, len(list)+len(list)/part+least), list...)
}

// replace begins to compile flag i anew, which was old before. It reports whether what
// flags need of each other is as before.
func (c *compiler) replace(i int32, old *compiledFlag) bool {
	m, f := c.model[i], &c.s.flags[i]
	*f = compiledFlag{prefix: old.prefix, id: old.id, place: old.place}
	f.setDirect(old.direct())
	f.setState(m)
	if old.state == missing {
		return false
	}
	var direct []int32
	if m.evaluable() {
		for r := range m.Filters.Targets() {
			switch t := c.target(r); {
			case t < 0 || c.s.flags[t].state == missing:
				return false
			case !slices.Contains(direct, t):
				direct = append(direct, t)
			}
		}
	}
	return slices.Equal(direct, old.direct())
}

// compileChanged compiles the flags that have changed, and those that depend on one of
// them. It reports whether the Snapshot is then as if all had been compiled.
func (c *compiler) compileChanged(p *Snapshot, changed flagSet) bool {
	s := c.s
	c.arena, c.cohortOf = s.arena, s.found.cohorts
	c.regexps.regexpBudget = p.found.regexps
	for i, def := range s.slots {
		c.slotOf[slotKey{def.owner, def.name}] = int32(i)
	}
	numbers := len(s.continuityFlags)
	for n := range s.flags {
		i, f, old := int32(n), &s.flags[n], &p.flags[n]
		if !changed.has(i) {
			if !slices.ContainsFunc(f.direct(), changed.has) {
				continue
			}
			*f = compiledFlag{prefix: old.prefix, id: old.id, state: old.state, unreadable: old.unreadable}
			f.setDirect(old.direct())
		}
		c.number = old.continuity
		c.problems = c.problems[:0]
		delete(s.found.flags, i)
		c.compileFound(i)
		c.compiled = append(c.compiled, i)
		if f.continuity != old.continuity || len(f.conditions) > p.found.conditions || s.found.outside || c.regexps.exceeded ||
			c.checkSize() != nil || len(s.continuityFlags) > numbers {
			return false
		}
	}
	s.found.patched += len(c.compiled)
	c.problems, c.flag = nil, nil
	s.found.regexps = c.regexps.regexpBudget
	return true
}

// seenAsIn reports whether requests see each flag that was compiled as they see the flag of
// the same key in an earlier Snapshot. Then the sets of flags, and what the flags of each
// set look at, are as before.
func (c *compiler) seenAsIn(p *Snapshot) bool {
	if len(c.s.slots) != len(p.slots) {
		return false
	}
	for _, i := range c.compiled {
		f, old := &c.s.flags[i], &p.flags[i]
		f.remote = c.s.needsServer(f)
		if f.remote != old.remote || f.state != old.state || f.byDevice != old.byDevice || f.survey != old.survey ||
			f.requirement != old.requirement || f.tagMatch != old.tagMatch || !slices.Equal(f.tags(), old.tags()) ||
			f.readsCohorts != old.readsCohorts || f.readsHash != old.readsHash || !slices.Equal(f.needs, old.needs) {
			return false
		}
	}
	c.s.deviceSlot, c.s.anonymousSlot = p.deviceSlot, p.anonymousSlot
	return true
}
