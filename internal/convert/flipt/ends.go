package flipt

import "slices"

// buckets is how many buckets the shares of a rule have.
const buckets = 1000

// A way computes the ends of shares.
type way func(shares []float32) []uint64

// cut is how servers before 2.9 do it: each share is cut to whole buckets, and those beyond the
// last end are in none.
func cut(shares []float32) (ends []uint64) {
	end := uint64(0)
	for _, share := range shares {
		end += uint64(share * (buckets / 100))
		ends = append(ends, end)
	}
	return ends
}

// normalized is how servers from 2.9 on do it. The conversions keep processors that multiply and
// add in one step from rounding in another way.
func normalized(shares []float32) (ends []uint64) {
	var total, sum float32
	for _, share := range shares {
		total += share
	}
	for _, share := range shares {
		sum += float32(float32(share/total) * 100)
		ends = append(ends, uint64(float32(sum*(buckets/100))))
	}
	if len(ends) > 0 {
		ends[len(ends)-1] = buckets
	}
	return ends
}

// capped returns ends as far as buckets reach.
func capped(ends []uint64) []uint64 {
	ends = slices.Clone(ends)
	for i := range ends {
		ends[i] = min(ends[i], buckets)
	}
	return ends
}

// thresholdEnd returns the number of the hundred buckets that are below a percentage.
func thresholdEnd(percentage float64) uint64 {
	end := uint64(0)
	for end < 100 && float32(end) < float32(percentage) {
		end++
	}
	return end
}
