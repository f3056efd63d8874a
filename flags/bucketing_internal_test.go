package flags

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEnds compares points with the ends of shares as definitions compare them, in float64,
// around each end (evaluation.md §2.1 to §2.3).
func TestEnds(t *testing.T) {
	shares := []float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 1.5, math.SmallestNonzeroFloat64, 1e-18, 0x1p-60, 0x1p-59, 0x1p-8, math.Nextafter(1, 0), 1 - 0x1p-53, 0.1 + 0.2}
	for n := range 10_001 {
		shares = append(shares, float64(n)/100/100)
	}
	sum := 0.0
	for range 99 { // as the shares of variants add up
		sum += 33.33 / 100 / 33
		shares = append(shares, sum)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		shares = append(shares, random.Float64()*math.Pow(2, float64(-random.IntN(70))))
	}
	for _, share := range shares {
		atMost, below := endAtMost(share), endBelow(share)
		for _, end := range []point{atMost, below} {
			for d := -130; d <= 130; d++ { // float64 rounds the last 128 to one
				b := end + point(d)
				if b >= points { // before the first one, or behind the last
					continue
				}
				if in := b.share() <= share; in != (b < atMost) {
					t.Fatalf("bucket %d is at most %v: %v; the end is %d", b, share, in, atMost)
				}
				if in := b.share() < share; in != (b < below) {
					t.Fatalf("bucket %d is below %v: %v; the end is %d", b, share, in, below)
				}
			}
		}
	}
}

// FuzzEnds does it for any share and bucket.
func FuzzEnds(f *testing.F) {
	f.Add(0.25, uint64(1)<<58)
	f.Add(1.0, uint64(points-1))
	f.Fuzz(func(t *testing.T, share float64, n uint64) {
		b := point(n % points)
		if got := b < endAtMost(share); got != (b.share() <= share) {
			t.Errorf("bucket %d at most %v: %v", b, share, got)
		}
		if got := b < endBelow(share); got != (b.share() < share) {
			t.Errorf("bucket %d below %v: %v", b, share, got)
		}
	})
}
