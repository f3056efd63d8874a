package flags

import "slices"

// Changed returns the keys of the flags that may answer differently than those of
// an older Snapshot: whose definition or dependencies have changed, and those that
// only one of the two has. They come in the order of the definitions, the ones
// that are gone last. What is not of one flag, such as a cohort, changes all. Old
// may be nil.
func (s *Snapshot) Changed(old *Snapshot) []string {
	changed := make([]bool, len(s.flags))
	for i := range s.flags { // after what they depend on
		f := &s.flags[i]
		changed[i] = old == nil || s.common != old.common || !s.sameFlag(f, old) ||
			slices.ContainsFunc(f.direct, func(d int32) bool { return changed[d] })
	}
	var keys []string
	for _, i := range s.order {
		if changed[i] {
			keys = append(keys, s.flags[i].key)
		}
	}
	if old == nil {
		return keys
	}
	for _, i := range old.order {
		key := old.flags[i].key
		if _, ok := s.index[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// sameFlag reports whether an older Snapshot has the same flag with the same direct
// dependencies.
func (s *Snapshot) sameFlag(f *compiledFlag, old *Snapshot) bool {
	i, ok := old.index[f.key]
	if !ok {
		return false
	}
	was := &old.flags[i]
	return f.digest == was.digest && f.state == was.state &&
		slices.EqualFunc(f.direct, was.direct, func(d, wd int32) bool { return s.flags[d].key == old.flags[wd].key })
}
