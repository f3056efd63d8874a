package flags

import (
	"math/bits"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Needs says what stored data can change the answer to a request.
type Needs struct {
	// Person says that stored properties of the person can, and Groups names the
	// types of the groups whose stored properties can.
	Person bool
	Groups []string

	// PersonCreated says that the time of the person's creation can, see
	// [Input.SetPersonCreated].
	PersonCreated bool

	// Geo says that the $geoip_* properties of the client's address can.
	Geo bool

	// Cohorts says that memberships in stored cohorts can.
	Cohorts bool

	// Overrides says that stored hash keys of experience continuity can.
	Overrides bool
}

// Needs tells what the flags that the request may see refer to and the request
// does not carry. Stored data that it does not name cannot change the answer.
// Call it when everything of the request has been added to the Input. Groups is
// valid until the Input's next use.
func (in *Input) Needs() Needs {
	s := in.snap
	n := Needs{Groups: in.neededGroups[:0]}
	if len(in.filter.Tags) == 0 && !in.SurveysOnly && !in.someKeys {
		set := &s.needed[in.filter.Kind]
		n.Cohorts, n.Overrides = set.cohorts, set.overrides
		in.addNeeds(&n, set.slots)
	} else {
		for w, word := range in.admittedFlags() {
			for ; word != 0; word &= word - 1 {
				f := &s.flags[w<<6+bits.TrailingZeros64(word)]
				n.Cohorts = n.Cohorts || f.readsCohorts
				n.Overrides = n.Overrides || f.readsHash
				in.addNeeds(&n, f.needs)
			}
		}
	}
	in.neededGroups = n.Groups
	return n
}

// addNeeds adds what slots need that the request does not carry.
func (in *Input) addNeeds(n *Needs, slots []int32) {
	for _, i := range slots {
		def, p := &in.snap.slots[i], in.ownProperty(i)
		if p != nil && p.origin < fromGeo && i != in.snap.idSlot {
			p = nil // it was added from the store, and may come from there again
		}
		if def.geo && (p == nil || p.kind == jsonscan.Null) {
			n.Geo = true
		}
		if p != nil || i == in.snap.idSlot {
			continue
		}
		if i == in.snap.createdSlot {
			n.PersonCreated = true
			continue
		}
		if def.owner < 0 {
			n.Person = true
			continue
		}
		// Without a group key there is nothing to look up.
		name := in.snap.groupNames[def.owner]
		if def.name != groupKeyName && in.hasGroup(def.owner) && !slices.Contains(n.Groups, name) {
			n.Groups = append(n.Groups, name)
		}
	}
}

// hasGroup reports whether the request has a usable group of a type.
func (in *Input) hasGroup(ord int) bool {
	g := &in.groups[ord]
	return g.gen == in.gen && g.usable
}

// addFlag adds what a flag looks at. Seen has the slots that were added before, each
// with a bit of the set.
func (n *neededSet) addFlag(f *compiledFlag, seen []uint8, bit uint8) {
	n.cohorts = n.cohorts || f.readsCohorts
	n.overrides = n.overrides || f.readsHash
	for _, slot := range f.needs {
		if seen[slot]&bit == 0 {
			seen[slot] |= bit
			n.slots = append(n.slots, slot)
		}
	}
}
