package flags

import (
	"math/bits"
	"slices"

	"github.com/flagstaff-go/flagstaff/runtime"
)

func newFlagSet(flags int) flagSet { return make(flagSet, (flags+63)/64) }

func (set flagSet) add(i int32) { set[i>>6] |= 1 << (i & 63) }

func (set flagSet) has(i int32) bool { return set[i>>6]&(1<<(i&63)) != 0 }

// retain removes the flags that the other set does not have.
func (set flagSet) retain(other flagSet) {
	for w := range set {
		set[w] &= other[w]
	}
}

// addDependencies adds all flags that members of the set depend on. None of the
// members comes after last.
func (s *Snapshot) addDependencies(set flagSet, last int32) {
	if s.cyclic {
		s.addCyclicDependencies(set)
		return
	}
	for w := last >> 6; w >= 0; w-- {
		// Dependencies come earlier: bits that are added to this word are lower
		// than the one that adds them.
		for word := set[w]; word != 0; {
			b := 63 - bits.LeadingZeros64(word)
			for _, d := range s.flags[w<<6+int32(b)].direct() {
				set.add(d)
			}
			word = set[w] & (1<<b - 1)
		}
	}
}

// addCyclicDependencies is addDependencies for definitions with dependency
// cycles, where a dependency may come later in program order.
func (s *Snapshot) addCyclicDependencies(set flagSet) {
	var todo []int32
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			todo = append(todo, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, d := range s.flags[i].direct() {
			if !set.has(d) {
				set.add(d)
				todo = append(todo, d)
			}
		}
	}
}

// addTagged numbers the evaluation contexts of flag i.
func (s *Snapshot) addTagged(i int32, f *compiledFlag) {
	numbers := make([]int32, len(f.tags()))
	for n, tag := range f.tags() {
		number, ok := s.tagNumbers[tag]
		if !ok {
			number = int32(len(s.tagged))
			s.tagNumbers[tag] = number
			s.tagged = append(s.tagged, nil)
		}
		if numbers[n] = number; f.tagMatch == runtime.AnyTag {
			s.tagged[number] = append(s.tagged[number], i)
		}
	}
	if f.tagMatch == runtime.AllTags {
		s.allTagged = append(s.allTagged, allTagged{i, numbers})
	}
}

// addAdmitted adds the flags that the evaluation contexts of a request admit. It needs
// room for the numbers of all contexts. Its time does not depend on how often the
// request names one.
func (s *Snapshot) addAdmitted(set flagSet, tags []string, named []uint64) {
	clear(named)
	for _, tag := range tags {
		n, ok := s.tagNumbers[tag]
		if !ok || named[n>>6]&(1<<(n&63)) != 0 {
			continue
		}
		named[n>>6] |= 1 << (n & 63)
		for _, i := range s.tagged[n] {
			set.add(i)
		}
	}
	for _, f := range s.allTagged {
		if !slices.ContainsFunc(f.tags, func(n int32) bool { return named[n>>6]&(1<<(n&63)) == 0 }) {
			set.add(f.flag)
		}
	}
}

// buildFlagSets fills the Snapshot's sets of flags by what a request may see, and the
// slots that flags look at.
func (c *compiler) buildFlagSets() {
	s := c.s
	for k := range s.admits {
		s.admits[k], s.needed[k] = newFlagSet(len(s.flags)), neededSet{}
	}
	s.untagged, s.surveys = newFlagSet(len(s.flags)), newFlagSet(len(s.flags))
	s.tagNumbers, s.tagged, s.allTagged = make(map[string]int32), nil, nil
	s.read = make([]bool, len(s.slots))
	seen := make([]uint8, len(s.slots)) // bits by runtime.Kind
	device, anonymous := false, false
	for n := range s.flags {
		i, f := int32(n), &s.flags[n]
		if f.state == dormant {
			continue
		}
		device, anonymous = device || f.byDevice, anonymous || f.continuity >= 0
		for k := range s.admits {
			if f.requirement.Admits(runtime.Kind(k)) {
				s.admits[k].add(i)
				s.needed[k].addFlag(f, seen, 1<<k)
			}
		}
		if len(f.tags()) == 0 {
			s.untagged.add(i)
		} else {
			s.addTagged(i, f)
		}
		if f.survey {
			s.surveys.add(i)
		}
	}
	if !device {
		s.deviceSlot = -1
	}
	if !anonymous {
		s.anonymousSlot = -1
	}
	for i, kinds := range seen {
		if kinds == 0 {
			continue
		}
		s.read[i] = true
		for _, other := range s.slots[i].fallbacks {
			s.read[other] = true
		}
	}
	for _, i := range []int32{s.deviceSlot, s.anonymousSlot} {
		if i >= 0 {
			s.read[i] = true
		}
	}
}
