package dialect

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// launchDarkly compares as the Go SDK of LaunchDarkly does. The value is a list, of which one
// must match; what in it is of the wrong type matches nothing.
func launchDarkly(operator string, value jsonscan.Value) (Check, error) {
	if value.Kind() != jsonscan.Array {
		return Check{}, errors.New("want a list as the value")
	}
	match := launchDarklyOperators[operator]
	if match == nil {
		return Check{}, errors.New("LaunchDarkly has no such operator, or it is one of Flagstaff's own")
	}
	return Check{Match: match(value), NumberOnly: true}, nil
}

var launchDarklyOperators = map[string]func(list jsonscan.Value) func(Value) bool{
	"startsWith": launchDarklyTexts(strings.HasPrefix),
	"endsWith":   launchDarklyTexts(strings.HasSuffix),
	"contains":   launchDarklyTexts(strings.Contains),
	"matches": func(list jsonscan.Value) func(Value) bool {
		var patterns []*regexp.Regexp
		for a := list.Array(); a.Next(); {
			if s, ok := textOf(a.Value()); ok {
				if p, err := regexp.Compile(s); err == nil {
					patterns = append(patterns, p)
				}
			}
		}
		return func(v Value) bool {
			if v.Kind != jsonscan.String {
				return false
			}
			for _, p := range patterns {
				if p.MatchString(v.Text) {
					return true
				}
			}
			return false
		}
	},
	"lessThan":           launchDarklyNumbers(func(a, b float64) bool { return a < b }),
	"lessThanOrEqual":    launchDarklyNumbers(func(a, b float64) bool { return a <= b }),
	"greaterThan":        launchDarklyNumbers(func(a, b float64) bool { return a > b }),
	"greaterThanOrEqual": launchDarklyNumbers(func(a, b float64) bool { return a >= b }),
	"before":             launchDarklyTimes(time.Time.Before),
	"after":              launchDarklyTimes(time.Time.After),
	"semVerEqual":        launchDarklyVersions(0),
	"semVerLessThan":     launchDarklyVersions(-1),
	"semVerGreaterThan":  launchDarklyVersions(1),
}

// textOf returns the text of JSON, if it is one.
func textOf(v jsonscan.Value) (string, bool) {
	if v.Kind() != jsonscan.String {
		return "", false
	}
	return text.Str(v)
}

// anyOf reads a list, and returns what says whether one of the readable elements matches.
func anyOf[T any](list jsonscan.Value, read func(Value) (T, bool), matches func(property, of T) bool) func(Value) bool {
	var wanted []T
	for a := list.Array(); a.Next(); {
		if w, ok := read(valueOf(a.Value())); ok {
			wanted = append(wanted, w)
		}
	}
	return func(v Value) bool {
		p, ok := read(v)
		if !ok {
			return false
		}
		for i := range wanted {
			if matches(p, wanted[i]) {
				return true
			}
		}
		return false
	}
}

// valueOf returns JSON as a property would be seen.
func valueOf(v jsonscan.Value) Value {
	out := Value{Kind: v.Kind(), JSON: v}
	switch out.Kind {
	case jsonscan.String, jsonscan.Number:
		out.Text, _ = text.Str(v)
		out.Number, _ = v.Float()
	}
	return out
}

func launchDarklyTexts(matches func(s, part string) bool) func(jsonscan.Value) func(Value) bool {
	return func(list jsonscan.Value) func(Value) bool {
		return anyOf(list, func(v Value) (string, bool) { return v.Text, v.Kind == jsonscan.String }, matches)
	}
}

func launchDarklyNumbers(matches func(a, b float64) bool) func(jsonscan.Value) func(Value) bool {
	return func(list jsonscan.Value) func(Value) bool {
		return anyOf(list, func(v Value) (float64, bool) { return v.Number, v.Kind == jsonscan.Number }, matches)
	}
}

// launchDarklyTimes reads numbers as milliseconds, and texts as RFC 3339. The first moment of
// the calendar is none as an element of the list.
func launchDarklyTimes(matches func(a, b time.Time) bool) func(jsonscan.Value) func(Value) bool {
	return func(list jsonscan.Value) func(Value) bool {
		return anyOf(list, launchDarklyTime, func(a, b time.Time) bool { return !b.IsZero() && matches(a, b) })
	}
}

func launchDarklyTime(v Value) (time.Time, bool) {
	switch v.Kind {
	case jsonscan.Number:
		return time.Unix(0, int64(v.Number)*int64(time.Millisecond)), true // which overflows as it does there
	case jsonscan.String:
		return launchDarklyDate(v.Text)
	}
	return time.Time{}, false
}

// launchDarklyDate reads a moment of RFC 3339, as leniently as it is read there: an hour may have
// one digit, an offset up to 99 hours, and what follows Z, or an offset and a character that is
// not ASCII, does not count.
func launchDarklyDate(s string) (time.Time, bool) {
	ok := true
	// field reads n digits up to a number, and the character behind them, which must be one of
	// ends.
	field := func(least, n, low, high int, ends string) (number int, end byte) {
		i := 0
		for i < len(s) && i < n && '0' <= s[i] && s[i] <= '9' {
			number = number*10 + int(s[i]-'0')
			i++
		}
		switch {
		case i < least || number < low || number > high:
			ok = false
		case i < len(s) && strings.IndexByte(ends, s[i]) >= 0:
			end = s[i]
			s = s[i+1:]
			return number, end
		case ends == "" && (i == len(s) || s[i] == 0 || s[i] >= 0x80):
		default:
			ok = false
		}
		return number, 0
	}
	year, _ := field(4, 4, 0, 9999, "-")
	month, _ := field(2, 2, 1, 12, "-")
	day, _ := field(2, 2, 1, 31, "tT")
	hour, _ := field(1, 2, 0, 23, ":")
	minute, _ := field(2, 2, 0, 59, ":")
	second, end := field(2, 2, 0, 60, ".zZ+-")
	nanos := 0
	if end == '.' {
		before := len(s)
		nanos, end = field(1, 9, 0, 999_999_999, "zZ+-")
		for i := before - len(s) - 1; i < 9; i++ {
			nanos *= 10
		}
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if end == '+' || end == '-' {
		hours, _ := field(2, 2, 0, 99, ":")
		minutes, _ := field(2, 2, 0, 59, "")
		offset := time.Duration(hours*60+minutes) * time.Minute
		if end == '+' {
			offset = -offset
		}
		t = t.Add(offset)
	}
	return t, ok
}

// launchDarklyVersions compares versions, of which the minor and the patch number may be missing.
func launchDarklyVersions(result int) func(jsonscan.Value) func(Value) bool {
	return func(list jsonscan.Value) func(Value) bool {
		return anyOf(list, launchDarklyVersion, func(a, b version) bool { return a.compare(b) == result })
	}
}

// A version is a semantic version without what follows a plus sign.
type version struct {
	numbers [3]int
	pre     string
}

func launchDarklyVersion(v Value) (out version, ok bool) {
	if v.Kind != jsonscan.String {
		return out, false
	}
	read, ok := strictver.Parse(v.Text, true)
	return version{[...]int{number(read.Major), number(read.Minor), number(read.Patch)}, read.Pre}, ok
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// number returns the number of some digits, which overflows silently.
func number(digits string) (n int) {
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// compare returns -1, 0 or 1, by the precedence of semantic versions.
func (v version) compare(w version) int {
	for i := range v.numbers {
		if c := cmp.Compare(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.pre == w.pre:
		return 0
	case v.pre == "":
		return 1
	case w.pre == "":
		return -1
	}
	a, b, moreA, moreB := v.pre, w.pre, true, true
	for moreA && moreB {
		var p, q string
		p, a, moreA = strings.Cut(a, ".")
		q, b, moreB = strings.Cut(b, ".")
		c := 0
		switch m, n := isDigits(p), isDigits(q); {
		case m && n:
			c = cmp.Compare(number(p), number(q))
		case m:
			c = -1
		case n:
			c = 1
		default:
			c = cmp.Compare(p, q)
		}
		if c != 0 {
			return c
		}
	}
	switch {
	case moreA:
		return 1
	case moreB:
		return -1
	}
	return 0
}
