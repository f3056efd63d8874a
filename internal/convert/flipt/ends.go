package flipt

import (
	"math"
	"slices"
)

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

// normalized is how servers from 2.9 on do it.
func normalized(shares []float32) []uint64 {
	return inProportion(shares, func(end float32) uint64 { return uint64(end) })
}

// rounded is how libraries do it that evaluate on the client's side.
func rounded(shares []float32) []uint64 {
	return inProportion(shares, func(end float32) uint64 { return uint64(math.Round(float64(end))) })
}

// inProportion computes the ends of shares of their sum. The conversions keep processors that
// multiply and add in one step from rounding in another way.
func inProportion(shares []float32, whole func(end float32) uint64) (ends []uint64) {
	var total, sum float32
	for _, share := range shares {
		total += share
	}
	for _, share := range shares {
		sum += float32(float32(share/total) * 100)
		ends = append(ends, whole(float32(sum*(buckets/100))))
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
