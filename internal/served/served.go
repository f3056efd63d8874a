package served

import (
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
