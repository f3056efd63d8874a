package flagd

import (
	"math"
	"slices"
)

// A weighing looks for shares with some ends and names.
type weighing struct {
	ends  []uint64
	names []string
	is    func([]share) bool // the shares are those that are wanted
	old   bool
}

// shares returns shares as fractional has them, or nil.
func (w weighing) shares() []any {
	if !w.old {
		return w.weights(w.ends, hashes, false)
	}
	// The lower half of the hashes has all that the upper half has. The last of it may be beyond
	// all percentages, or the last but one, or nothing is.
	n := slices.Index(w.ends, hashes/2)
	if n < 0 {
		return nil
	}
	lower := w.ends[:n]
	if n == 0 || lower[n-1] == math.MaxInt32 {
		if list := w.weights(lower, math.MaxInt32, false); list != nil {
			return list
		}
	}
	if n+1 < len(w.ends) && w.ends[n+1] == hashes/2+1 {
		return w.weights(append(slices.Clone(lower), math.MaxInt32), math.MaxInt32, false)
	}
	return w.weights(lower, math.MaxInt32, true)
}

const (
	maxSums   = 1 << 24 // that are tried beside the simplest one
	maxChecks = 50      // of those that come near

	maxRoundings = 250 // of the percentages of the old flagd
)

// weights returns shares that come to ends, of which whole is all. With more, the next name gets all
// that is left, by a weight below zero behind it.
func (w weighing) weights(ends []uint64, whole uint64, more bool) []any {
	first, total := uint64(1), uint64(1)
	for _, end := range ends {
		of := denominator(end, whole)
		first = max(first, of)
		if total = total / gcd(total, of) * of; total > math.MaxInt32 {
			total = math.MaxInt32
		}
	}
	if list := w.of(ends, whole, total, more); list != nil {
		return list
	}
	checks := 0
	for total = first; total < min(first+maxSums, math.MaxInt32) && checks < maxChecks; total++ {
		if comes(ends, whole, total) {
			if list := w.of(ends, whole, total, more); list != nil {
				return list
			}
			checks++
		}
	}
	return nil
}

// comes reports whether parts of a sum come to ends.
func comes(ends []uint64, whole, total uint64) bool {
	for _, end := range ends {
		if end*total/whole*whole <= total*(end-1) {
			return false
		}
	}
	return true
}

// of returns shares with a sum of weights. A weight below zero before one of the first or the last
// changes how the percentages of the old flagd are rounded, and nothing else.
func (w weighing) of(ends []uint64, whole, total uint64, more bool) []any {
	for try := range maxRoundings {
		below, before := try/5, 0
		if try%5 > 0 {
			before = max(len(ends)+1-try%5, 0)
		}
		var variants []any
		var weights []float64
		add := func(name string, weight float64) { variants, weights = append(variants, name), append(weights, weight) }
		sum := uint64(0)
		for i, end := range ends {
			weight := float64(end*total/whole - sum)
			if i == before && below > 0 {
				add(w.names[i], -float64(below))
				weight += float64(below)
			}
			add(w.names[i], weight)
			sum = end * total / whole
		}
		if before == len(ends) && below > 0 { // one of the largest hash alone
			add(w.names[before], -float64(below))
			add(w.names[before], float64(below))
		}
		if more {
			add(w.names[len(ends)], float64(2*total-sum))
			add(w.names[len(ends)], -float64(total))
		}
		for w.old && len(weights) < 2 { // it wants two
			add(w.names[0], 0)
		}
		shares, ok := newShares(variants, slices.Clone(weights))
		if w.old {
			var err error
			shares, err = oldShares(variants, weights)
			ok = err == nil
		}
		if ok && w.is(shares) {
			var list []any
			for i, weight := range weights {
				list = append(list, []any{variants[i], weight})
			}
			return list
		} else if !w.old {
			break
		}
	}
	return nil
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// denominator returns the least one of a fraction of a whole that comes to an end, if it is rounded
// up.
func denominator(end, whole uint64) uint64 {
	const fine = 31 // bits of the fractions that are not meant
	_, of := simplest((end-1)<<fine|1, whole<<fine, end<<fine, whole<<fine)
	return of
}

// simplest returns the fraction with the least denominator from a/b to c/d.
func simplest(a, b, c, d uint64) (n, of uint64) {
	whole := a / b
	switch {
	case a%b == 0:
		return whole, 1
	case whole < c/d:
		return whole + 1, 1
	}
	n, of = simplest(d, c-whole*d, b, a-whole*b)
	return whole*n + of, n
}
