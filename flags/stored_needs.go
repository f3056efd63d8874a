package flags

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// What only a server knows. Evaluation in a process has the definitions and the
// request; a server has stored data besides. Where a flag looks at stored data that
// the request does not carry, the two may come to different values.

// StoredNeeds says what a flag looks at that only a server knows, and that no
// request has to carry. The zero value is nothing: then every evaluator with the
// same definitions comes to the same value.
type StoredNeeds struct {
	// Person and Groups are the names of stored properties: of the person, and by
	// group type of the group.
	Person []string            `json:"person,omitempty"`
	Groups map[string][]string `json:"groups,omitempty"`

	// PersonCreated says that the time of the person's creation counts.
	PersonCreated bool `json:"person_created,omitempty"`

	// Cohorts are the stored cohorts whose members count.
	Cohorts []int64 `json:"cohorts,omitempty"`

	// Overrides says that a stored hash key of experience continuity counts.
	Overrides bool `json:"overrides,omitempty"`

	// Missing says that the flag refers to a flag or a cohort that is not among
	// the definitions. The server may have left it out.
	Missing bool `json:"missing,omitempty"`

	// Unreadable says that the definition cannot be understood here, such as one in a newer
	// language. The server may understand it.
	Unreadable bool `json:"unreadable,omitempty"`
}

// IsZero reports whether nothing is needed.
func (n StoredNeeds) IsZero() bool {
	return len(n.Person) == 0 && len(n.Groups) == 0 && !n.PersonCreated && len(n.Cohorts) == 0 && !n.Overrides && !n.Missing && !n.Unreadable
}

// String returns the needs in words, such as "stored properties of the person
// (plan), membership in the cohorts 3, 9". It is "nothing" for the zero value.
func (n StoredNeeds) String() string {
	var parts []string
	if len(n.Person) > 0 {
		parts = append(parts, "stored properties of the person ("+strings.Join(n.Person, ", ")+")")
	}
	for _, name := range slices.Sorted(maps.Keys(n.Groups)) {
		parts = append(parts, fmt.Sprintf("stored properties of the group %s (%s)", name, strings.Join(n.Groups[name], ", ")))
	}
	if n.PersonCreated {
		parts = append(parts, "when the person was created")
	}
	if len(n.Cohorts) > 0 {
		ids := make([]string, len(n.Cohorts))
		for i, id := range n.Cohorts {
			ids[i] = strconv.FormatInt(id, 10)
		}
		parts = append(parts, "membership in the cohorts "+strings.Join(ids, ", "))
	}
	if n.Overrides {
		parts = append(parts, "the stored hash key of experience continuity")
	}
	if n.Missing {
		parts = append(parts, "a flag or a cohort that is not among the definitions")
	}
	if n.Unreadable {
		parts = append(parts, "a definition that cannot be understood here")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// NeedsOf returns what a flag looks at that only a server knows, itself or through
// cohorts and through the flags that it depends on. What no request can reach does
// not count: a flag whose value is the same for everybody needs nothing. The result
// is zero for a flag that does not exist, and for a nil Snapshot.
//
// It is the most that a request can lack. [Snapshot.MissingContext] is about one request.
func (s *Snapshot) NeedsOf(key string) StoredNeeds {
	if s == nil {
		return StoredNeeds{}
	}
	i, ok := s.find(key)
	if !ok {
		return StoredNeeds{}
	}
	return s.storedNeeds(i, nil)
}

// MissingContext returns the keys of the flags whose value may depend on what only a
// server knows and the request does not carry, in the order of the definitions. It
// looks at the flags that the request may see and, if it has Keys, names. A request
// with Cohorts or Overrides that are not nil, empty or not, carries them.
//
// These are the flags to ask a server for; see [Request.RemoteResults].
func (s *Snapshot) MissingContext(r *Request) []string {
	if s == nil || !s.someRemote || r != nil && r.Keys != nil && !slices.ContainsFunc(r.Keys, s.isRemote) {
		return nil
	}
	in := inputs.Get().(*Input)
	defer releaseInput(in)
	in.fromRequest(s, r)
	lacking := in.lackingFlags()
	var keys []string
	if in.someKeys {
		for _, key := range in.keys {
			if i, ok := s.find(key); ok && lacking.has(i) && s.whyHidden(i, r) == nil && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	lacking.retain(in.admittedFlags())
	for _, i := range s.order {
		if lacking.has(i) {
			keys = append(keys, s.flags[i].key())
		}
	}
	return keys
}

// isRemote reports whether a flag looks at what only a server knows.
func (s *Snapshot) isRemote(key string) bool {
	i, ok := s.find(key)
	return ok && s.flags[i].remote
}

// lackingFlags returns the set of flags that look, themselves or through flags that
// they depend on, at what the request lacks.
func (in *Input) lackingFlags() flagSet {
	s := in.snap
	set := newFlagSet(len(s.flags))
	for i := range s.flags {
		f := &s.flags[i]
		if !f.remote {
			continue
		}
		if in.lacks(s, f) || slices.ContainsFunc(f.direct(), set.has) {
			set.add(int32(i))
		}
	}
	return set
}

// lacks reports whether a flag itself looks at what the request lacks. A nil Input
// stands for a request that carries nothing.
func (in *Input) lacks(s *Snapshot, f *compiledFlag) bool {
	if f.state == missing || f.state == faulty || s.missesCohort(f) {
		return true
	}
	if f.state != normal || f.fixed.value != valueHidden {
		return false
	}
	if f.readsCohorts && (in == nil || !in.hasCohorts) || f.readsHash && (in == nil || !in.hasOverrides) {
		return true
	}
	return slices.ContainsFunc(f.needs, func(slot int32) bool { return in.lacksSlot(s, slot) })
}

// missesCohort reports whether a filter of the flag names a cohort that is not among
// the definitions, directly or not.
func (s *Snapshot) missesCohort(f *compiledFlag) bool {
	for i := range f.conditions {
		for k := range s.within(f.conditions[i].checks) {
			if k.op == operators.OpFail && k.fail == failCohortNotFound {
				return true
			}
		}
	}
	return false
}

// lacksSlot reports whether a store may have the property of a slot, and the request
// does not have it.
func (in *Input) lacksSlot(s *Snapshot, i int32) bool {
	def := &s.slots[i]
	switch {
	case i == s.idSlot, def.owner == ownerNobody, def.owner == ownerMetadata && i != s.createdSlot, def.owner >= 0 && def.name == groupKeyName:
		return false // nothing is stored
	case in == nil:
		return true
	case in.ownProperty(i) != nil:
		return false
	}
	return def.owner < 0 || in.hasGroup(def.owner)
}

// storedNeeds returns what flag i, and the flags that it depends on, look at that
// the request lacks. Without an Input it is about a request that carries nothing.
func (s *Snapshot) storedNeeds(i int32, in *Input) StoredNeeds {
	var n StoredNeeds
	if !s.flags[i].remote {
		return n
	}
	set := newFlagSet(len(s.flags))
	set.add(i)
	s.addDependencies(set, i)
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			f := &s.flags[w<<6+bits.TrailingZeros64(word)]
			if f.remote {
				s.addStoredNeeds(&n, f, in)
			}
		}
	}
	for _, names := range n.Groups {
		slices.Sort(names)
	}
	slices.Sort(n.Person)
	slices.Sort(n.Cohorts)
	n.Cohorts = slices.Compact(n.Cohorts)
	return n
}

// addStoredNeeds adds what a flag itself looks at.
func (s *Snapshot) addStoredNeeds(n *StoredNeeds, f *compiledFlag, in *Input) {
	if f.state == missing || s.missesCohort(f) {
		n.Missing = true
	}
	n.Unreadable = n.Unreadable || f.state == faulty
	if f.state != normal || f.fixed.value != valueHidden {
		return
	}
	n.Overrides = n.Overrides || f.readsHash && (in == nil || !in.hasOverrides)
	if f.readsCohorts && (in == nil || !in.hasCohorts) {
		for i := range f.conditions {
			for k := range s.within(f.conditions[i].checks) {
				if k.op == operators.OpCohort || k.op == operators.OpCohortNever {
					s.addStoredCohorts(n, k.slot, make(map[int32]bool))
				}
			}
		}
	}
	for _, i := range f.needs {
		if !in.lacksSlot(s, i) {
			continue
		}
		switch def := &s.slots[i]; {
		case i == s.createdSlot:
			n.PersonCreated = true
		case def.owner < 0:
			if !slices.Contains(n.Person, def.name) {
				n.Person = append(n.Person, def.name)
			}
		default:
			name := s.groupNames[def.owner]
			if n.Groups == nil {
				n.Groups = make(map[string][]string)
			}
			if !slices.Contains(n.Groups[name], def.name) {
				n.Groups[name] = append(n.Groups[name], def.name)
			}
		}
	}
}

// addStoredCohorts adds the stored cohorts that cohort i is, or refers to.
func (s *Snapshot) addStoredCohorts(n *StoredNeeds, i int32, seen map[int32]bool) {
	if seen[i] {
		return
	}
	seen[i] = true
	c := &s.cohorts[i]
	if c.stored >= 0 {
		for id, ord := range s.storedCohorts {
			if ord == c.stored {
				n.Cohorts = append(n.Cohorts, id)
			}
		}
		return
	}
	var walk func(node *compiledNode)
	walk = func(node *compiledNode) {
		if node.kind == nodeCohort {
			s.addStoredCohorts(n, int32(node.id), seen)
		}
		for j := range node.nodes {
			walk(&node.nodes[j])
		}
	}
	walk(&c.root)
}

// findRemote finds the flags that look at anything that only a server knows.
func (c *compiler) findRemote() {
	s := c.s
	s.someRemote = false
	for i := range s.flags {
		f := &s.flags[i]
		f.remote = s.needsServer(f)
		s.someRemote = s.someRemote || f.remote
	}
}

// needsServer reports whether a flag, or a flag that it depends on, looks at anything
// that only a server knows. The flags that it depends on must have their answer already.
func (s *Snapshot) needsServer(f *compiledFlag) bool {
	var in *Input
	return f.state != dormant && f.state != cyclic && (in.lacks(s, f) ||
		slices.ContainsFunc(f.direct(), func(d int32) bool { return s.flags[d].remote }))
}
