package reference

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
)

// rustFloat is the grammar of Rust's f64 parser (§4.7): no spaces, no
// hexadecimal, no underscores.
var rustFloat = regexp.MustCompile(`^[+-]?((?i:inf|infinity|nan)|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

// jsonNumber returns the value of a JSON number. A literal beyond float64 is
// not a number (§4.7).
func jsonNumber(x any) (float64, bool) {
	literal, isNumber := x.(json.Number)
	if !isNumber {
		return 0, false
	}
	value, err := strconv.ParseFloat(literal.String(), 64)
	return value, err == nil
}

// numeric implements the conversion of §4.7: numbers as they are, strings by
// Rust's grammar, nothing else.
func numeric(x any) (float64, bool) {
	if s, isText := x.(string); isText {
		return parseFloat(s)
	}
	return jsonNumber(x)
}

// parseFloat reads a numeric string. An overflow becomes an infinity (§4.7).
func parseFloat(s string) (float64, bool) {
	if !rustFloat.MatchString(s) {
		return 0, false
	}
	value, err := strconv.ParseFloat(s, 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

// compareNumbers implements gt, gte, lt and lte (§4.7). Comparisons with NaN
// are false.
func compareNumbers(operator string, p, f any) bool {
	x, ok1 := numeric(p)
	bound, ok2 := numeric(f)
	if !ok1 || !ok2 {
		return false
	}
	switch operator {
	case "gt":
		return x > bound
	case "gte":
		return x >= bound
	case "lt":
		return x < bound
	default:
		return x <= bound
	}
}

// rangeBounds reads the value of between (§4.8). It reports false if neither
// operator can match.
func rangeBounds(f any) (low, high float64, ok bool) {
	bounds, isArray := f.([]any)
	if !isArray || len(bounds) != 2 {
		return 0, 0, false
	}
	low, ok1 := numeric(bounds[0])
	high, ok2 := numeric(bounds[1])
	if !ok1 || !ok2 || math.IsNaN(low) || math.IsNaN(high) || low > high {
		return 0, 0, false
	}
	return low, high, true
}
