package capture

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/flags"
)

// seenWays is how many exposures share a set. With the set's word of state they
// fill a cache line.
const seenWays = 7

// A seenSet remembers seenWays hashes. Zero is an empty place. The lowest three
// bits of the state are the place that is overwritten next once all are taken. The
// bits above count how often an exposure was found here.
type seenSet struct {
	hash  [seenWays]atomic.Uint64
	state atomic.Uint64
}

const (
	seenNext  = 7 // mask of the place in a state
	seenFound = 8 // one in the count of a state
)

// A seenTable remembers about as many hashes as it was made for. It consists of
// small sets, in each of which a new hash replaces the oldest, so it may forget
// some hashes earlier than others. It never waits: a goroutine that finds a place
// taken looks again.
//
// If two goroutines add the same hash, they try the same place, and only one gets
// it. If two add different hashes to a full set, one may overwrite the other, which
// is then forgotten early.
type seenTable struct {
	sets []seenSet
	seed maphash.Seed // of distinct IDs
	keys [2]uint64    // of flags and variants
}

func newSeenTable(size int) *seenTable {
	return &seenTable{
		sets: make([]seenSet, (size+seenWays-1)/seenWays),
		seed: maphash.MakeSeed(),
		keys: [2]uint64{rand.Uint64(), rand.Uint64()},
	}
}

// key hashes an exposure. It is a keyed hash of 64 bits: it is too improbable to
// matter that two exposures share one, even if a user tries. The user has a say in the
// distinct ID alone, so that the hash of the flag and the variant may be a faster one.
func (t *seenTable) key(distinctID, flag, variant string, enabled bool) uint64 {
	a := maphash.String(t.seed, distinctID)
	b := mix(t.keys[0], flag)
	v := uint64(0x9e3779b97f4a7c15)
	if variant != "" {
		v = mix(t.keys[1], variant)
	} else if enabled {
		v = 0xc2b2ae3d27d4eb4f
	}
	return together(a, b, v)
}

// together returns one hash of three. Each is random by itself; the multiplications keep equal
// ones apart.
func together(a, b, v uint64) uint64 {
	h := a ^ bits.RotateLeft64(b*0xff51afd7ed558ccd, 23) ^ bits.RotateLeft64(v*0xc4ceb9fe1a85ec53, 41)
	return max(h, 1)
}

// typedKey is key for a flag with a rule set.
func (t *seenTable) typedKey(distinctID, flag, value string, rule *flags.RuleResult) uint64 {
	v := mix(t.keys[1], value)
	if rule != nil {
		v = mix(mix(v, rule.ID), rule.VariantKey)
	}
	return together(maphash.String(t.seed, distinctID), mix(t.keys[0], flag), v)
}

// ofDetail is the hash of the exposure to what a flag was found to be.
func (t *seenTable) ofDetail(distinctID string, d flags.Detail) uint64 {
	if d.Ruled() {
		v, _ := d.Typed()
		return t.typedKey(distinctID, d.Key(), v.JSON, d.Rule())
	}
	variant, enabled := flagValue(d.Variant(), d.Enabled())
	return t.key(distinctID, d.Key(), variant, enabled)
}

// mix hashes a short text in words of eight bytes, with two multiplications for most.
func mix(key uint64, s string) uint64 {
	h := key ^ uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = fold(h ^ (uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56))
	}
	var rest uint64
	for i := range len(s) {
		rest = rest<<8 | uint64(s[i])
	}
	return fold(h ^ rest)
}

func fold(x uint64) uint64 {
	hi, lo := bits.Mul64(x, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

func (t *seenTable) set(h uint64) *seenSet {
	i, _ := bits.Mul64(h*0x9e3779b97f4a7c15, uint64(len(t.sets)))
	return &t.sets[i]
}

// add remembers h and reports whether it was new. If it was not, it counts.
func (t *seenTable) add(h uint64) bool {
	s := t.set(h)
	for {
		state := s.state.Load()
		free := -1
		for i := range s.hash {
			switch s.hash[i].Load() {
			case h:
				s.state.Add(seenFound)
				return false
			case 0:
				if free < 0 {
					free = i
				}
			}
		}
		if free >= 0 {
			if s.hash[free].CompareAndSwap(0, h) {
				return true
			}
			continue
		}
		next := state & seenNext
		old := s.hash[next].Load()
		if old == h || !s.hash[next].CompareAndSwap(old, h) {
			continue
		}
		s.advance(next)
		return true
	}
}

// repeats reports whether h is remembered. If it is, it counts.
func (t *seenTable) repeats(h uint64) bool {
	s := t.set(h)
	for i := range s.hash {
		if s.hash[i].Load() == h {
			s.state.Add(seenFound)
			return true
		}
	}
	return false
}

// advance moves the place that is overwritten next, if it is still place.
func (s *seenSet) advance(place uint64) {
	for {
		state := s.state.Load()
		if state&seenNext != place {
			return
		}
		if s.state.CompareAndSwap(state, state&^seenNext|(place+1)%seenWays) {
			return
		}
	}
}

// remove forgets h.
func (t *seenTable) remove(h uint64) {
	s := t.set(h)
	for i := range s.hash {
		s.hash[i].CompareAndSwap(h, 0)
	}
}

// found returns how often add found a hash.
func (t *seenTable) found() (n uint64) {
	for i := range t.sets {
		n += t.sets[i].state.Load() / seenFound
	}
	return n
}
