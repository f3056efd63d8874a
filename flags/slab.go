package flags

import "strings"

// A slab gives out lists that lie next to each other in memory: many of them cost one
// allocation. One list at a time is being made, at the beginning of what is free. The
// zero slab is ready.
type slab[E any] struct {
	free []E // all zero but for the list that is being made
	size int // of the block that free is part of
}

const slabSize = 256 // elements of a block, unless one list has more

// next returns a list with one element more, which is zero. The list must be the one that
// is being made, or nil to begin one.
func (s *slab[E]) next(list []E) []E {
	if len(list) == len(s.free) {
		s.size = max(2*len(list), min(2*s.size, slabSize), 2)
		free := make([]E, s.size)
		copy(free, list)
		s.free = free
	}
	return s.free[:len(list)+1]
}

// list returns a list of n elements that are zero.
func (s *slab[E]) list(n int) []E {
	if n > len(s.free) {
		s.size = max(n, min(2*s.size, slabSize), 2)
		s.free = make([]E, s.size)
	}
	return s.done(s.free[:n])
}

// done returns a list that is complete.
func (s *slab[E]) done(list []E) []E {
	s.free = s.free[len(list):]
	return list[:len(list):len(list)]
}

// put returns the address of a copy.
func (s *slab[E]) put(e E) *E {
	list := s.done(s.next(nil))
	list[0] = e
	return &list[0]
}

// A textSlab gives out texts that lie next to each other in memory. The zero textSlab is
// ready.
type textSlab struct {
	block strings.Builder
	size  int // of the block, in bytes
}

const textBlock = 4 << 10 // bytes of a block, unless one text has more

// text returns a copy.
func (s *textSlab) text(b []byte) string {
	start := s.block.Len()
	if s.block.Cap()-start < len(b) {
		s.size = max(len(b), min(2*s.size, textBlock), 64)
		s.block.Reset()
		s.block.Grow(s.size)
		start = 0
	}
	s.block.Write(b)
	return s.block.String()[start:]
}
