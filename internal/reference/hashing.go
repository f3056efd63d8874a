package reference

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// hashDivisor is 0xFFFFFFFFFFFFFFF as a float64, which rounds to 2^60 (§2.1).
const hashDivisor = float64(0xFFFFFFFFFFFFFFF)

// hashText returns the hash of §2.1 for any text: the top 60 bits of the
// digest, divided into [0, 1]. The algorithm is a bucketing_hash: "xxhash64",
// or anything else for SHA-1 (§2.1).
func hashText(algorithm, text string) float64 {
	if algorithm == "xxhash64" {
		return float64(xxhash.Sum64String(text)>>4) / hashDivisor
	}
	digest := sha1.Sum([]byte(text))
	digits := hex.EncodeToString(digest[:])[:15]
	n, _ := strconv.ParseUint(digits, 16, 64) // 15 hexadecimal digits always parse
	return float64(n) / hashDivisor
}

// bucketHash is the function H of §2.1 with the rule for the empty subject
// (§2.5).
func (f *flag) bucketHash(subject, salt string) float64 {
	if subject == "" {
		return 0
	}
	return hashText(f.hash, f.key+"."+subject+salt)
}

// holdoutHash is the function HH of §2.7. It has no rule for the empty subject.
func (f *flag) holdoutHash(subject string) float64 {
	return hashText(f.hash, "holdout-"+subject)
}

// inRollout implements §2.2.
func (f *flag) inRollout(c condition, subject string) bool {
	return c.rollout == 100 || f.bucketHash(subject, "") <= c.rollout/100
}

// chooseVariant implements §2.3. It returns nil for a boolean flag, and for a
// gap in the shares.
func (f *flag) chooseVariant(c condition, subject string) *string {
	if f.pinned(c) {
		return c.pin
	}
	if len(f.variants) == 0 {
		return nil
	}
	h, total := f.bucketHash(subject, "variant"), 0.0
	for _, v := range f.variants {
		total += v.share / 100
		if h < total {
			return &v.key
		}
	}
	return nil
}

// pinned reports whether the condition names an existing variant.
func (f *flag) pinned(c condition) bool {
	for _, v := range f.variants {
		if c.pin != nil && *c.pin == v.key {
			return true
		}
	}
	return false
}

// hashMatters is "could influence" of §2.6. "Not 100" is meant literally: 150
// counts.
func (f *flag) hashMatters(c condition) bool {
	if c.rollout != 100 {
		return true
	}
	if f.pinned(c) {
		return false
	}
	reachable, before := 0, 0.0
	for _, v := range f.variants {
		if before < 100 && v.share != 0 {
			reachable++
		}
		before += v.share
	}
	return reachable > 1
}

// heldOut implements §13.2.
func (f *flag) heldOut(subject string) bool {
	if f.holdout == nil {
		return false
	}
	percentage := min(max(f.holdout.percentage, 0), 100) // clamped (§13.1)
	return percentage == 100 || f.holdoutHash(subject) <= percentage/100
}
