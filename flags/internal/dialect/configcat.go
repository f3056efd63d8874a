package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
)

// configCat compares as the Go SDK of ConfigCat does. What cannot be compared, because it is
// missing or of another type, matches neither an operator nor the one that begins with "not_".
func configCat(operator string, value jsonscan.Value) (Check, error) {
	operator, negated := strings.CutPrefix(operator, "not_")
	compile := configCatOperators[operator]
	if compile == nil {
		return Check{}, errors.New("ConfigCat has no such operator")
	}
	match, err := compile(value)
	if err != nil {
		return Check{}, err
	}
	return Check{Match: func(v Value) bool {
		matches, ok := match(v)
		return ok && matches != negated
	}}, nil
}

// A configCatMatch says whether a property matches. It is not ok if that cannot be compared.
type configCatMatch func(v Value) (matches, ok bool)

var configCatOperators = map[string]func(value jsonscan.Value) (configCatMatch, error){
	"equal":       configCatTexts(func(s, of string) bool { return s == of }),
	"contains":    configCatTexts(strings.Contains),
	"starts_with": configCatTexts(strings.HasPrefix),
	"ends_with":   configCatTexts(strings.HasSuffix),

	"array_contains": configCatArray,

	"version_equal":            configCatVersions(func(order int) bool { return order == 0 }),
	"version_less":             configCatVersions(func(order int) bool { return order < 0 }),
	"version_less_or_equal":    configCatVersions(func(order int) bool { return order <= 0 }),
	"version_greater":          configCatVersions(func(order int) bool { return order > 0 }),
	"version_greater_or_equal": configCatVersions(func(order int) bool { return order >= 0 }),

	"number_equal":            configCatNumbers(func(a, b float64) bool { return a == b }),
	"number_less":             configCatNumbers(func(a, b float64) bool { return a < b }),
	"number_less_or_equal":    configCatNumbers(func(a, b float64) bool { return a <= b }),
	"number_greater":          configCatNumbers(func(a, b float64) bool { return a > b }),
	"number_greater_or_equal": configCatNumbers(func(a, b float64) bool { return a >= b }),

	// The value is in seconds.
	"before": configCatNumbers(func(a, b float64) bool { return a < b }),
	"after":  configCatNumbers(func(a, b float64) bool { return a > b }),

	"hashed_equal":          configCatHashed(nil),
	"hashed_starts_with":    configCatHashed(func(s string, n int) string { return s[:n] }),
	"hashed_ends_with":      configCatHashed(func(s string, n int) string { return s[len(s)-n:] }),
	"hashed_array_contains": configCatHashedArray,
}

// configCatText returns what is compared as a text.
func configCatText(v Value) (string, bool) {
	switch v.Kind {
	case jsonscan.String:
		return v.Text, true
	case jsonscan.Number:
		return strconv.FormatFloat(v.Number, 'g', 16, 64), true
	case jsonscan.Array:
		list, ok := configCatElements(v)
		if !ok {
			return "", false
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		err := e.Encode(list)
		return strings.TrimSuffix(b.String(), "\n"), err == nil
	}
	return "", false
}

// configCatElements returns a list of texts, which may be written as a text.
func configCatElements(v Value) ([]string, bool) {
	if v.Kind == jsonscan.String {
		var list []string
		err := json.Unmarshal([]byte(v.Text), &list)
		return list, err == nil
	}
	list, err := textsOf(v.JSON)
	return list, err == nil
}

// textsOf returns an array of texts.
func textsOf(v jsonscan.Value) ([]string, error) {
	list := []string{}
	if v.Kind() != jsonscan.Array {
		return nil, errWantTexts
	}
	for a := v.Array(); a.Next(); {
		s, ok := textOf(a.Value())
		if !ok {
			return nil, errWantTexts
		}
		list = append(list, s)
	}
	return list, nil
}

var errWantTexts = errors.New("want an array of texts")

// configCatTexts compares with a list of texts, of which one must match.
func configCatTexts(matches func(s, of string) bool) func(jsonscan.Value) (configCatMatch, error) {
	return func(value jsonscan.Value) (configCatMatch, error) {
		list, err := textsOf(value)
		return func(v Value) (bool, bool) {
			s, ok := configCatText(v)
			return ok && slices.ContainsFunc(list, func(of string) bool { return matches(s, of) }), ok
		}, err
	}
}

func configCatArray(value jsonscan.Value) (configCatMatch, error) {
	list, err := textsOf(value)
	return func(v Value) (bool, bool) {
		elements, ok := configCatElements(v)
		return slices.ContainsFunc(elements, func(e string) bool { return slices.Contains(list, e) }), ok
	}, err
}

func configCatVersions(matches func(order int) bool) func(jsonscan.Value) (configCatMatch, error) {
	return func(value jsonscan.Value) (configCatMatch, error) {
		list, err := textsOf(value)
		versions, readable := make([]strictver.Version, len(list)), true
		for i, s := range list {
			var ok bool
			versions[i], ok = configCatVersion(s)
			readable = readable && ok
		}
		return func(v Value) (bool, bool) {
			if v.Kind != jsonscan.String || !readable {
				return false, false
			}
			p, ok := configCatVersion(v.Text)
			return ok && slices.ContainsFunc(versions, func(w strictver.Version) bool { return matches(p.Compare(&w)) }), ok
		}, err
	}
}

// configCatVersion reads a version whose numbers have 64 bits.
func configCatVersion(s string) (strictver.Version, bool) {
	v, ok := strictver.Parse(strings.TrimSpace(s), false)
	return v, ok && v.Fits()
}

func configCatNumbers(matches func(a, b float64) bool) func(jsonscan.Value) (configCatMatch, error) {
	return func(value jsonscan.Value) (configCatMatch, error) {
		want, ok := value.Float()
		if !ok || value.Kind() != jsonscan.Number {
			return nil, errors.New("want a number")
		}
		return func(v Value) (bool, bool) {
			n, ok := v.Number, v.Kind == jsonscan.Number
			if v.Kind == jsonscan.String {
				var err error
				n, err = strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(v.Text), ",", "."), 64)
				ok = err == nil
			}
			return ok && matches(n, want), ok
		}, nil
	}
}

// A configCatHash is the value of an operator whose texts are hidden by hashes.
type configCatHash struct {
	hashes  map[string]bool
	lengths []int // of the texts that were hashed, or nil
	salt    string
}

// compileConfigCatHash reads an object with hashes, a salt and a context salt, which is put
// behind it. With lengths a hash has the length of its text before it, and a low line between.
func compileConfigCatHash(value jsonscan.Value, lengths bool) (h configCatHash, err error) {
	var object struct {
		Hashes        []string
		Salt, Context string
	}
	if value.Kind() != jsonscan.Object || json.Unmarshal(value, &object) != nil || object.Hashes == nil {
		return h, errors.New(`want an object with "hashes", "salt" and "context"`)
	}
	h = configCatHash{hashes: make(map[string]bool), salt: object.Salt + object.Context}
	for _, s := range object.Hashes {
		if lengths {
			digits, _, _ := strings.Cut(s, "_")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 || digits == s || strconv.Itoa(n) != digits {
				return h, errors.New("want hashes such as 5_ab01")
			}
			if !slices.Contains(h.lengths, n) {
				h.lengths = append(h.lengths, n)
			}
		}
		h.hashes[s] = true
	}
	return h, nil
}

// has reports whether a text has one of the hashes, behind a prefix.
func (h *configCatHash) has(prefix []byte, s string) bool {
	var text [256]byte
	sum := sha256.Sum256(append(append(text[:0], s...), h.salt...))
	var digits [32 + 2*sha256.Size]byte
	return h.hashes[string(hex.AppendEncode(append(digits[:0], prefix...), sum[:]))]
}

// configCatHashed compares the whole text, or a part of each length that was hashed.
func configCatHashed(part func(s string, n int) string) func(jsonscan.Value) (configCatMatch, error) {
	return func(value jsonscan.Value) (configCatMatch, error) {
		h, err := compileConfigCatHash(value, part != nil)
		return func(v Value) (bool, bool) {
			s, ok := configCatText(v)
			if !ok || part == nil {
				return ok && h.has(nil, s), ok
			}
			for _, n := range h.lengths {
				var prefix [32]byte
				if n <= len(s) && h.has(append(strconv.AppendInt(prefix[:0], int64(n), 10), '_'), part(s, n)) {
					return true, true
				}
			}
			return false, true
		}, err
	}
}

func configCatHashedArray(value jsonscan.Value) (configCatMatch, error) {
	h, err := compileConfigCatHash(value, false)
	return func(v Value) (bool, bool) {
		elements, ok := configCatElements(v)
		return slices.ContainsFunc(elements, func(e string) bool { return h.has(nil, e) }), ok
	}, err
}
