package flags

// RenderedSize is the size of a Snapshot's rendered results.
func RenderedSize(s *Snapshot) int { return len(s.arena) }

// WearOut brings an Input's counters to just before they wrap.
func WearOut(in *Input, evaluations int) {
	in.gen = 1<<32 - 1 - uint32(evaluations/2)
	in.run = -uint32(runStep * evaluations)
}

// Bytes returns everything a Snapshot holds that rendering copies.
func Bytes(s *Snapshot) []byte { return s.arena }

// Patched returns how many flags a Snapshot has compiled since all were, 0 if it was
// compiled as a whole.
func Patched(s *Snapshot) int { return s.found.patched }
