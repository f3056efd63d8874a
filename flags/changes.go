package flags

import (
	"cmp"
	"slices"
)

// Changed returns the keys of the flags whose answers may differ from the answers
// of an older Snapshot: flags whose definition or dependencies have changed, and
// flags that only one of the two has. They come in the order of the definitions;
// flags that are gone come last. A change outside of flags, such as of a cohort,
// changes all flags. Old may be nil: then all flags have changed. A nil Snapshot has no
// flags.
func (s *Snapshot) Changed(old *Snapshot) []string {
	s = cmp.Or(s, emptySnapshot())
	changed := make([]bool, len(s.flags))
	for i := range s.flags { // each comes after the flags that it depends on
		f := &s.flags[i]
		changed[i] = old == nil || s.common != old.common || !s.sameFlag(f, old) ||
			slices.ContainsFunc(f.direct(), func(d int32) bool { return changed[d] })
	}
	var keys []string
	for _, i := range s.order {
		if changed[i] {
			keys = append(keys, s.flags[i].key())
		}
	}
	if old == nil {
		return keys
	}
	for _, i := range old.order {
		key := old.flags[i].key()
		if _, ok := s.find(key); !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// sameFlag reports whether an older Snapshot has a flag with the same definition
// and the same direct dependencies.
func (s *Snapshot) sameFlag(f *compiledFlag, old *Snapshot) bool {
	i, ok := old.find(f.key())
	if !ok {
		return false
	}
	was := &old.flags[i]
	return f.digest == was.digest && f.state == was.state &&
		slices.EqualFunc(f.direct(), was.direct(), func(d, wd int32) bool { return s.flags[d].key() == old.flags[wd].key() })
}
