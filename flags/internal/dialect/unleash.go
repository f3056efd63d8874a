package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// unleash compares as constraints of Unleash do. A property is a text; one that is not set, or
// null, is the empty text.
func unleash(operator string, value jsonscan.Value) (Check, error) {
	prepare := unleashOperators[operator]
	if prepare == nil {
		return Check{}, fmt.Errorf("there is no such operator of Unleash; want one of %s", strings.Join(slices.Sorted(maps.Keys(unleashOperators)), ", "))
	}
	o, err := readUnleash(value)
	if err != nil {
		return Check{}, err
	}
	compare, err := prepare(&o)
	if err != nil {
		return Check{}, err
	}
	return Check{
		Match: func(v Value) bool {
			s := v.Text
			switch v.Kind {
			case jsonscan.True:
				s = "true"
			case jsonscan.False:
				s = "false"
			case jsonscan.Array, jsonscan.Object:
				s, _ = text.Str(v.JSON)
			}
			holds, readable := compare(s, v.Now)
			return readable && holds != o.inverted
		},
		Now: strings.HasPrefix(operator, "DATE_"),
	}, nil
}

// An unleashCompare compares a text. What is not readable does not match, inverted or not.
type unleashCompare func(s string, now time.Time) (holds, readable bool)

var unleashOperators = map[string]func(*unleashOperand) (unleashCompare, error){
	"IN":              unleashIn(true),
	"NOT_IN":          unleashIn(false),
	"STR_CONTAINS":    unleashPart(anywhere),
	"STR_STARTS_WITH": unleashPart(atStart),
	"STR_ENDS_WITH":   unleashPart(atEnd),
	"NUM_EQ":          unleashNumbers(func(order int) bool { return order == 0 }),
	"NUM_LT":          unleashNumbers(func(order int) bool { return order < 0 }),
	"NUM_LTE":         unleashNumbers(func(order int) bool { return order <= 0 }),
	"NUM_GT":          unleashNumbers(func(order int) bool { return order > 0 }),
	"NUM_GTE":         unleashNumbers(func(order int) bool { return order >= 0 }),
	"DATE_BEFORE":     unleashDates(time.Time.Before),
	"DATE_AFTER":      unleashDates(time.Time.After),
	"SEMVER_EQ":       unleashVersions(func(order int) bool { return order == 0 }),
	"SEMVER_LT":       unleashVersions(func(order int) bool { return order < 0 }),
	"SEMVER_LTE":      unleashVersions(func(order int) bool { return order <= 0 }),
	"SEMVER_GT":       unleashVersions(func(order int) bool { return order > 0 }),
	"SEMVER_GTE":      unleashVersions(func(order int) bool { return order >= 0 }),
	"REGEX":           unleashPattern,
	"IN_CIDR":         unleashNetworks,
}

// An unleashOperand is what a constraint has beside its operator. As JSON it is an object with
// the same names, or the value or the values alone.
type unleashOperand struct {
	value           *string
	values          []string // not nil if there are any
	caseInsensitive bool
	inverted        bool
}

var errUnleashValue = errors.New(`want a text, an array of texts, or an object of "value", "values", "caseInsensitive" and "inverted"`)

func readUnleash(v jsonscan.Value) (o unleashOperand, err error) {
	if v.Kind() != jsonscan.Object {
		return o, o.take(v)
	}
	m := v.Object()
	for m.Next() {
		ok := true
		switch string(m.Name()) {
		case "value", "values":
			if err := o.take(m.Value()); err != nil {
				return o, err
			}
		case "caseInsensitive":
			o.caseInsensitive, ok = m.Value().Bool()
		case "inverted":
			o.inverted, ok = m.Value().Bool()
		default:
			ok = false
		}
		if !ok {
			return o, errUnleashValue
		}
	}
	return o, m.Err()
}

func (o *unleashOperand) take(v jsonscan.Value) error {
	switch v.Kind() {
	case jsonscan.String:
		s, _ := text.Str(v)
		o.value = &s
		return nil
	case jsonscan.Array:
		o.values = []string{}
		a := v.Array()
		for a.Next() {
			if a.Value().Kind() != jsonscan.String {
				return errUnleashValue
			}
			s, _ := text.Str(a.Value())
			o.values = append(o.values, s)
		}
		return a.Err()
	}
	return errUnleashValue
}

// list returns the values, which some operators want.
func (o *unleashOperand) list() ([]string, error) {
	if o.values == nil {
		return nil, errors.New("want an array of texts")
	}
	return o.values, nil
}

// single returns the value, which the others want.
func (o *unleashOperand) single() (string, error) {
	if o.value == nil {
		return "", errors.New("want a text")
	}
	return *o.value, nil
}

func unleashIn(in bool) func(*unleashOperand) (unleashCompare, error) {
	return func(o *unleashOperand) (unleashCompare, error) {
		list, err := o.list()
		set := make(map[string]bool, len(list))
		for _, s := range list {
			set[s] = true
		}
		return func(s string, _ time.Time) (bool, bool) { return set[s] == in, true }, err
	}
}

// A part is where a text has another one.
type part uint8

const (
	anywhere part = iota
	atStart
	atEnd
)

func (p part) within(s, other string) bool {
	switch p {
	case atStart:
		return strings.HasPrefix(s, other)
	case atEnd:
		return strings.HasSuffix(s, other)
	}
	return strings.Contains(s, other)
}

func (p part) withinBytes(s, other []byte) bool {
	switch p {
	case atStart:
		return bytes.HasPrefix(s, other)
	case atEnd:
		return bytes.HasSuffix(s, other)
	}
	return bytes.Contains(s, other)
}

func unleashPart(p part) func(*unleashOperand) (unleashCompare, error) {
	return func(o *unleashOperand) (unleashCompare, error) {
		list, err := o.list()
		if o.caseInsensitive {
			return lowerPart(p, list), err
		}
		return func(s string, _ time.Time) (bool, bool) {
			return slices.ContainsFunc(list, func(other string) bool { return p.within(s, other) }), true
		}, err
	}
}

func lowerPart(p part, list []string) unleashCompare {
	texts := make([]string, len(list))
	asBytes := make([][]byte, len(list))
	for i, s := range list {
		texts[i] = strings.ToLower(s)
		asBytes[i] = []byte(texts[i])
	}
	return func(s string, _ time.Time) (bool, bool) {
		var buf [256]byte
		if lower, ok := lowerASCII(buf[:0], s); ok {
			for _, other := range asBytes {
				if p.withinBytes(lower, other) {
					return true, true
				}
			}
			return false, true
		}
		s = strings.ToLower(s)
		return slices.ContainsFunc(texts, func(other string) bool { return p.within(s, other) }), true
	}
}

// lowerASCII appends a text in lower case, unless it has other letters or too many.
func lowerASCII(dst []byte, s string) ([]byte, bool) {
	if len(s) > cap(dst) {
		return nil, false
	}
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			return nil, false
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst, true
}

// Numbers are floating-point numbers with a mantissa of 64 bits.

// maxUnleashNumber is how long a number may be. A longer one is not read, since that takes time.
const maxUnleashNumber = 10_000

func unleashNumbers(want func(order int) bool) func(*unleashOperand) (unleashCompare, error) {
	return func(o *unleashOperand) (unleashCompare, error) {
		s, err := o.single()
		if err != nil {
			return nil, err
		}
		other, ok := bigUnleashNumber(s)
		if !ok {
			return nil, errors.New("want a number")
		}
		otherDecimal, isDecimal := readDecimal(s)
		return func(s string, _ time.Time) (bool, bool) {
			if isDecimal {
				if d, ok := readDecimal(s); ok {
					return want(d.compare(otherDecimal)), true
				}
			}
			n, ok := bigUnleashNumber(s)
			return ok && want(n.Cmp(other)), ok
		}, nil
	}
}

func bigUnleashNumber(s string) (*big.Float, bool) {
	if s == "" || len(s) > maxUnleashNumber {
		return nil, false
	}
	n, _, err := big.ParseFloat(s, 10, 0, big.ToNearestEven)
	return n, err == nil
}

// A decimal is digits / 10^scale, with at most 18 digits. Two of them that differ also differ
// when they are rounded to 64 bits, so that they are compared as they are.
type decimal struct {
	digits   uint64
	scale    int
	negative bool
}

// readDecimal reads a sign or none, digits, and a point and digits or none.
func readDecimal(s string) (d decimal, ok bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d.negative = s[0] == '-'
		s = s[1:]
	}
	whole, fraction, hasPoint := strings.Cut(s, ".")
	d.scale = len(fraction)
	if whole == "" || len(whole)+d.scale >= len(powersOfTen) || hasPoint && fraction == "" {
		return d, false
	}
	for _, part := range [...]string{whole, fraction} {
		for i := range len(part) {
			c := part[i] - '0'
			if c > 9 {
				return d, false
			}
			d.digits = d.digits*10 + uint64(c)
		}
	}
	d.negative = d.negative && d.digits != 0
	return d, true
}

func (d decimal) compare(other decimal) int {
	if d.negative != other.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	high, low := bits.Mul64(d.digits, powersOfTen[other.scale])
	otherHigh, otherLow := bits.Mul64(other.digits, powersOfTen[d.scale])
	order := 0
	switch {
	case high < otherHigh || high == otherHigh && low < otherLow:
		order = -1
	case high != otherHigh || low != otherLow:
		order = 1
	}
	if d.negative {
		return -order
	}
	return order
}

var powersOfTen = func() (list [19]uint64) {
	list[0] = 1
	for i := 1; i < len(list); i++ {
		list[i] = list[i-1] * 10
	}
	return list
}()

// unleashDates compares times. An absent one is now.
func unleashDates(want func(t, other time.Time) bool) func(*unleashOperand) (unleashCompare, error) {
	return func(o *unleashOperand) (unleashCompare, error) {
		s, err := o.single()
		if err != nil {
			return nil, err
		}
		other, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return nil, errors.New("want a time of RFC 3339")
		}
		return func(s string, now time.Time) (bool, bool) {
			t := now
			if s != "" {
				var err error
				if t, err = time.Parse(time.RFC3339, s); err != nil {
					return false, false
				}
			}
			return want(t, other), true
		}, nil
	}
}

func unleashVersions(want func(order int) bool) func(*unleashOperand) (unleashCompare, error) {
	return func(o *unleashOperand) (unleashCompare, error) {
		s, err := o.single()
		if err != nil {
			return nil, err
		}
		other, ok := readUnleashVersion(s)
		if !ok {
			return nil, errors.New("want a version such as 1.2.3 or 1.2.3-rc.1")
		}
		return func(s string, _ time.Time) (bool, bool) {
			v, ok := readUnleashVersion(s)
			return ok && want(v.compare(other)), ok
		}, nil
	}
}

// A unleashVersion is a version of SemVer 2.0.0 with all of its three numbers. Build metadata
// does not count.
type unleashVersion struct {
	numbers    [3]uint64
	prerelease string
}

func readUnleashVersion(s string) (v unleashVersion, ok bool) {
	read, ok := strictver.Parse(s, false)
	v.prerelease = read.Pre
	for i, part := range [...]string{read.Major, read.Minor, read.Patch} {
		n, fits := smallNumber(part)
		v.numbers[i] = n
		ok = ok && fits
	}
	return v, ok
}

// smallNumber reads digits, unless they are too many for 64 bits.
func smallNumber(s string) (n uint64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	if s == "" || len(s) > 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func (v unleashVersion) compare(other unleashVersion) int {
	if order := slices.Compare(v.numbers[:], other.numbers[:]); order != 0 {
		return order
	}
	a, b := v.prerelease, other.prerelease
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	for a != "" || b != "" {
		var one, two string
		one, a, _ = strings.Cut(a, ".")
		two, b, _ = strings.Cut(b, ".")
		if one == two {
			continue
		}
		x, isNumber := smallNumber(one)
		y, isOtherNumber := smallNumber(two)
		switch {
		case one == "" || two != "" && isNumber && !isOtherNumber:
			return -1
		case two == "" || !isNumber && isOtherNumber:
			return 1
		case isNumber && x < y || !isNumber && one < two:
			return -1
		}
		return 1
	}
	return 0
}

func unleashPattern(o *unleashOperand) (unleashCompare, error) {
	pattern, err := o.single()
	if err != nil {
		return nil, err
	}
	if o.caseInsensitive {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, errors.New("want a pattern of RE2")
	}
	return func(s string, _ time.Time) (bool, bool) { return re.MatchString(s), true }, nil
}

// unleashNetworks compares an address with addresses and networks. What is neither among them
// does not count.
func unleashNetworks(o *unleashOperand) (unleashCompare, error) {
	list, err := o.list()
	var networks []netip.Prefix
	for _, s := range list {
		if n, ok := readNetwork(strings.TrimSpace(s)); ok {
			networks = append(networks, n)
		}
	}
	return func(s string, _ time.Time) (bool, bool) {
		a, err := netip.ParseAddr(strings.TrimSpace(s))
		if err != nil || a.Zone() != "" {
			return false, true
		}
		a = a.Unmap()
		for _, n := range networks {
			if n.Contains(a) {
				return true, true
			}
		}
		return false, true
	}, err
}

// readNetwork reads an address or a network. Where IPv6 has IPv4 within it, it is of IPv4.
func readNetwork(s string) (n netip.Prefix, ok bool) {
	s, length, isNetwork := strings.Cut(s, "/")
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return n, false
	}
	size := uint64(a.BitLen())
	if isNetwork {
		l, ok := smallNumber(length)
		if !ok || l > size {
			return n, false
		}
		size = l
	}
	if a.Is4In6() && size >= 96 {
		a, size = a.Unmap(), size-96
	}
	return netip.PrefixFrom(a, int(size)).Masked(), true
}
