package flags

import (
	"math/bits"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Needs says what stored data can change the answer to a request.
type Needs struct {
	// Person and Groups: stored properties of the person, and of the groups of
	// these types.
	Person bool
	Groups []string

	// PersonCreated: when the person was created, see
	// [Input.SetPersonCreated].
	PersonCreated bool

	// Geo: the $geoip_* properties of the client's address.
	Geo bool

	// Cohorts: memberships in stored cohorts.
	Cohorts bool

	// Overrides: stored hash keys of experience continuity.
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

func (in *Input) addNeeds(n *Needs, slots []int32) {
	for _, i := range slots {
		def, p := &in.snap.slots[i], in.ownProperty(i)
		if p != nil && p.origin < fromGeo && i != in.snap.idSlot {
			p = nil // stored, by an earlier call
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
		if def.name != groupKeyName && in.hasGroup(def.owner, name) && !slices.Contains(n.Groups, name) {
			n.Groups = append(n.Groups, name)
		}
	}
}

func (in *Input) hasGroup(ord int, name string) bool {
	if in.lazy {
		return in.requestGroups[name] != ""
	}
	g := &in.groups[ord]
	return g.gen == in.gen && g.usable
}

// A neededSet is what a set of flags looks at beyond the flags themselves.
type neededSet struct {
	slots     []int32
	cohorts   bool
	overrides bool
}

// addFlag adds what a flag looks at. Seen has the slots that were added before.
func (n *neededSet) addFlag(f *compiledFlag, seen map[int32]bool) {
	n.cohorts = n.cohorts || f.readsCohorts
	n.overrides = n.overrides || f.readsHash
	for _, slot := range f.needs {
		if !seen[slot] {
			seen[slot] = true
			n.slots = append(n.slots, slot)
		}
	}
}
