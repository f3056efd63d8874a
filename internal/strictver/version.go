package strictver

import (
	"cmp"
	"strconv"
	"strings"
)

// A Version has numbers that are digits without leading zeros, of any length. Pre are the
// identifiers of a pre-release, "" for none. Build metadata is checked and left out.
type Version struct{ Major, Minor, Patch, Pre string }

// Parse reads a version. With short, minor and patch may be missing.
func Parse(s string, short bool) (v Version, ok bool) {
	if v.Major, s, ok = leadingNumber(s); !ok {
		return v, false
	}
	for _, part := range []*string{&v.Minor, &v.Patch} {
		if s == "" && short {
			*part = "0"
			continue
		}
		if s == "" || s[0] != '.' {
			return v, false
		}
		if *part, s, ok = leadingNumber(s[1:]); !ok {
			return v, false
		}
	}
	s, build, built := strings.Cut(s, "+")
	if built && !identifiers(build, true) {
		return v, false
	}
	if s != "" && (s[0] != '-' || !identifiers(s[1:], false)) {
		return v, false
	}
	v.Pre = strings.TrimPrefix(s, "-")
	return v, true
}

func leadingNumber(s string) (digits, rest string, ok bool) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:], n == 1 || n > 1 && s[0] != '0'
}

// identifiers reports whether s is a list of identifiers with dots between them.
func identifiers(s string, leadingZeros bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		for i := range len(id) {
			c := id[i]
			if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
		if id == "" || !leadingZeros && len(id) > 1 && id[0] == '0' && allDigits(id) {
			return false
		}
	}
	return true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Fits reports whether all numbers have 64 bits at most.
func (v *Version) Fits() bool {
	for _, digits := range []string{v.Major, v.Minor, v.Patch} {
		if !fits64(digits) {
			return false
		}
	}
	if v.Pre == "" {
		return true
	}
	for id := range strings.SplitSeq(v.Pre, ".") {
		if allDigits(id) && !fits64(id) {
			return false
		}
	}
	return true
}

func fits64(digits string) bool {
	if len(digits) < 20 {
		return true
	}
	_, err := strconv.ParseUint(digits, 10, 64)
	return err == nil
}

// Compare returns the order of precedence.
func (v *Version) Compare(w *Version) int {
	order := cmp.Or(compareDigits(v.Major, w.Major), compareDigits(v.Minor, w.Minor), compareDigits(v.Patch, w.Patch))
	switch {
	case order != 0 || v.Pre == w.Pre:
		return order
	case v.Pre == "":
		return 1
	case w.Pre == "":
		return -1
	}
	a, b := v.Pre, w.Pre
	for {
		var x, y string
		var more, others bool
		x, a, more = strings.Cut(a, ".")
		y, b, others = strings.Cut(b, ".")
		if order := compareIdentifiers(x, y); order != 0 || !more && !others {
			return order
		}
		if !more || !others {
			if more {
				return 1
			}
			return -1
		}
	}
}

func compareDigits(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func compareIdentifiers(a, b string) int {
	switch n, m := allDigits(a), allDigits(b); {
	case n && m:
		return compareDigits(a, b)
	case n:
		return -1
	case m:
		return 1
	}
	return cmp.Compare(a, b)
}
