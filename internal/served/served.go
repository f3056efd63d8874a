package served

import (
	"errors"
	"math"
	"regexp"
)

// Limits of one flag.
const (
	MaxGroups     = 1000 // condition sets
	MaxProperties = 1000 // filters of one condition set
	MaxVariants   = 500
	MaxVariantKey = 400  // bytes
	MaxPattern    = 1000 // bytes of a regular expression
)

// Limits of definitions.
const (
	MaxTreeGroups     = 66      // groups that may be nested in a cohort's tree
	MaxGroupTypeIndex = 1 << 20 // the highest index that a group type can have
	MaxProblems       = 10_000  // problems of a snapshot; further ones are left out, errors too
)

// ErrBehavioral says of a filter that its cohort, or one to which that refers, asks what
// somebody did. Nobody matches such a criterion (evaluation.md §5.6).
var ErrBehavioral = errors.New("flags: the cohort asks what somebody did, which flags cannot tell")

var variantKey = regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`)

// IsVariantKey reports whether a text may be the key of a variant.
func IsVariantKey(text string) bool {
	return len(text) <= MaxVariantKey && variantKey.MatchString(text)
}

// FlagKey is the form of the key of a flag, of at most 400 characters.
var FlagKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// SumsTo100 reports whether the sum of the shares of variants, in percent, is 100. Only what
// float64 makes of sums such as 33.33 + 33.33 + 33.34 is forgiven.
func SumsTo100(sum float64) bool { return math.Abs(sum-100) <= 1e-6 }
