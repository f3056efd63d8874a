package flags

import (
	"crypto/sha1"
	"encoding/binary"

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

// bucket maps a text to [0, 1]: it is the top 60 bits of the text's hash, as
// float64, over 2^60 (evaluation.md §2.1). 1 is possible, since the top values round
// up.
func (k hashKind) bucket(text []byte) float64 {
	var top uint64
	if k == kindXX64 {
		top = xxhash.Sum64(text)
	} else {
		sum := sha1.Sum(text)
		// The sum was just written in words of 32 bits. To load 64 at once
		// would have to wait until both are in the cache.
		top = uint64(binary.BigEndian.Uint32(sum[0:4]))<<32 | uint64(binary.BigEndian.Uint32(sum[4:8]))
	}
	return bucketOf(top)
}

func bucketOf(top uint64) float64 { return float64(top>>4) / (1 << 60) }

// Bucket returns where a subject falls in a flag's rollout, in [0, 1], with the
// default hash: a condition set with rollout percentage p admits the subject if
// Bucket <= p/100. An empty subject is 0, and of a longer subject the first 200
// characters count, as in every evaluation. See evaluation.md §2.
func Bucket(flagKey, subject string) float64 {
	if subject == "" {
		return 0
	}
	return kindSHA1.bucket([]byte(flagKey + "." + cutDistinctID(subject)))
}
