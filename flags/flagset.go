package flags

import (
	"math/bits"

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
			for _, d := range s.flags[w<<6+int32(b)].direct {
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
		for _, d := range s.flags[i].direct {
			if !set.has(d) {
				set.add(d)
				todo = append(todo, d)
			}
		}
	}
}

// buildFlagSets fills the Snapshot's sets of flags by what a request may see.
func (c *compiler) buildFlagSets() {
	s := c.s
	for k := range s.admits {
		s.admits[k] = newFlagSet(len(s.flags))
	}
	s.untagged, s.surveys = newFlagSet(len(s.flags)), newFlagSet(len(s.flags))
	var seen [len(s.admits)]map[int32]bool
	for k := range seen {
		seen[k] = make(map[int32]bool)
	}
	for n := range s.flags {
		i, f := int32(n), &s.flags[n]
		if f.state == dormant {
			continue
		}
		for k := range s.admits {
			if f.requirement.Admits(runtime.Kind(k)) {
				s.admits[k].add(i)
				s.needed[k].addFlag(f, seen[k])
			}
		}
		if len(f.tags) == 0 {
			s.untagged.add(i)
		}
		for _, tag := range f.tags {
			s.tagged[tag] = append(s.tagged[tag], i)
		}
		if f.survey {
			s.surveys.add(i)
		}
	}
}
