package flags

import (
	"slices"
	"sync"
)

// maxRefs is how many declared keys have a number. Flags of more keys are found by key.
const maxRefs = 1 << 16

// declared has the keys that the program has declared, by number. No key has number 0.
var declared = struct {
	mu      sync.RWMutex
	keys    []string
	numbers map[string]int32
}{keys: []string{""}, numbers: make(map[string]int32)}

// A Ref names a flag. A Ref that [Declare] has returned has a number besides, by which
// each Snapshot that is compiled later finds the flag without a look at its key. Its
// methods answer like the methods of [Snapshot] with these names, do not allocate, and
// write nothing that others read. The zero value names a flag with an empty key, which
// does not exist.
type Ref struct {
	key    string
	number int32 // 0: none
}

// Declare returns a Ref with a number, the same one for the same key. Call it when the
// program starts, for variables of packages: a number is kept for ever, and costs each
// Snapshot four bytes and one search.
func Declare(key string) Ref {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	number, ok := declared.numbers[key]
	if !ok && len(declared.keys) <= maxRefs {
		number = int32(len(declared.keys))
		declared.keys = append(declared.keys, key)
		declared.numbers[key] = number
	}
	return Ref{key, number}
}

// ByKey returns a Ref without a number.
func ByKey(key string) Ref { return Ref{key: key} }

// Key returns the key of the flag.
func (f Ref) Key() string { return f.key }

// place returns the place of the flag in a Snapshot, which may be unset.
func (f Ref) place(s *Snapshot) (i int32, ok bool) {
	if n := int(f.number); n > 0 && n < len(s.places) {
		i = s.places[n]
		return i, i >= 0
	}
	return s.find(f.key)
}

// findPlaces finds the flags that the program has declared. The table is immutable, so
// that processors share it: a number that is declared later is beyond its end.
func (s *Snapshot) findPlaces() {
	declared.mu.RLock()
	keys := slices.Clip(declared.keys)
	declared.mu.RUnlock()
	if s.places = nil; len(keys) == 1 {
		return
	}
	s.places = make([]int32, len(keys))
	for n, key := range keys {
		i, ok := s.find(key)
		if !ok || n == 0 {
			i = -1
		}
		s.places[n] = i
	}
}

// Bool reports whether the flag is enabled, see [Snapshot.Bool]. If the flag has variants
// in this Snapshot, or a rule set of another type, it returns the fallback: the program knows
// another flag. So it does where a rule set leaves the value to the caller.
func (f Ref) Bool(s *Snapshot, r *Request, fallback bool) bool {
	if s == nil {
		return fallback
	}
	i, ok := f.place(s)
	if !ok || s.flags[i].form&formMultivariate != 0 {
		return fallback
	}
	if s.flags[i].ruled {
		if d, ok := f.Detail(s, r); ok {
			return d.Bool(fallback)
		}
	}
	return s.boolAt(i, r, fallback)
}

// Lookup returns the value of the flag as text, see [Snapshot.Lookup].
func (f Ref) Lookup(s *Snapshot, r *Request) (value string, ok bool) {
	if s == nil {
		return "", false
	}
	i, ok := f.place(s)
	if !ok {
		return "", false
	}
	return s.lookupAt(i, r)
}
