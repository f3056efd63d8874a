package flags

import (
	"sort"

	"github.com/cespare/xxhash/v2"
)

// A hashKind is the function that turns a text into a bucket.
type hashKind uint8

const (
	kindSHA1 hashKind = iota
	kindXX64
)

// The names of the bucketing hashes in definitions.
const (
	hashSHA1 = "sha1"
	hashXX64 = "xxhash64"

	hintHash = `use "sha1" or "xxhash64"`
)

// The salts of evaluation.md §2.1.
const (
	saltRollout = ""
	saltVariant = "variant"
)

// parseHash returns the hash of a name. It is not ok, and SHA-1, if there is none.
func parseHash(name string) (hashKind, bool) {
	switch name {
	case hashSHA1:
		return kindSHA1, true
	case hashXX64:
		return kindXX64, true
	}
	return kindSHA1, false
}

// A point is where a text falls: the top 60 bits of its hash (evaluation.md §2.1).
// Definitions speak of shares of 1; the compiler turns their ends into points, so
// that evaluation compares integers.
type point uint64

// points is how many there are.
const points = 1 << 60

// share is the bucket as a float64 in [0, 1], which is what definitions compare. 1 is
// possible, since the top points round up.
func (b point) share() float64 { return float64(b) / points }

// endAtMost returns the first bucket whose share is above a share.
func endAtMost(share float64) point {
	return endOf(share, func(b point) bool { return b.share() <= share })
}

// endBelow returns the first bucket whose share is not below a share.
func endBelow(share float64) point {
	return endOf(share, func(b point) bool { return b.share() < share })
}

// endOf returns the first bucket that is not in, where all before one are. It is near
// the share: within what a float64 of 60 bits rounds.
func endOf(share float64, in func(point) bool) point {
	if share != share { // not in JSON, and no bucket is in
		return 0
	}
	const rounded = 1 << 8
	near := point(min(max(share, 0), 1) * points)
	first := near - min(near, rounded)
	return first + point(sort.Search(int(min(near+rounded, points)-first), func(n int) bool { return !in(first + point(n)) }))
}

// bucket returns where a text falls.
func (k hashKind) bucket(text []byte) point {
	if k == kindXX64 {
		return point(xxhash.Sum64(text) >> 4)
	}
	return point(sha1Top(text) >> 4)
}

// Bucket returns where a subject falls in a flag's rollout, in [0, 1], with the
// default hash: a condition set with rollout percentage p admits the subject if
// Bucket <= p/100. An empty subject is 0, and of a longer subject the first 200
// characters count, as in every evaluation. See evaluation.md §2.
func Bucket(flagKey, subject string) float64 {
	if subject == "" {
		return 0
	}
	return kindSHA1.bucket([]byte(flagKey + "." + cutDistinctID(subject))).share()
}
