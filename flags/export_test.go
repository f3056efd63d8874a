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

// NewDocumentReader returns a DocumentReader that keeps documents of all sizes.
func NewDocumentReader() *DocumentReader { return &DocumentReader{all: true} }

// Keeps reports whether a DocumentReader has a document of which it can use something again.
func Keeps(d *DocumentReader) bool { return d.last != nil }

// Sums returns the sums of flags that a Definitions has, and that it should have.
func Sums(d *Definitions) (has, want any) {
	want = sumsOf(d.Flags, nil)
	if !d.sums.areOf(d.Flags) {
		return want, want
	}
	return d.sums.of(d.Flags), want
}
