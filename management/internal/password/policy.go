package password

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A PolicyError says why a password is refused, in a sentence for the user who
// chose it. It never quotes the password.
type PolicyError string

func (e PolicyError) Error() string { return string(e) }

// The first text is prescribed by management.md §4.4.
const (
	errTooShort  PolicyError = "This password is too short. It must contain at least 8 characters."
	errTooLong   PolicyError = "This password is too long. It must contain at most 128 characters."
	errBlank     PolicyError = "This password consists of blanks only."
	errPersonal  PolicyError = "This password is too similar to your name or e-mail address."
	errGuessable PolicyError = "This password is too easy to guess. Add another word or two. Uncommon words are better."
)

// Check returns nil or a [PolicyError] with the first reason to refuse a
// password: its length, that it consists mostly of personal values, or that it
// is easy to guess. Personal values are the names and the e-mail address of the
// user; of the address, only the part before the @ counts. Check does not wait,
// and takes a few milliseconds, 20 at worst.
func (h *Hasher) Check(password string, personal ...string) error {
	n := utf8.RuneCountInString(password)
	terms := personalTerms(personal)
	switch {
	case n < MinLength:
		return errTooShort
	case n > MaxLength:
		return errTooLong
	case strings.TrimSpace(password) == "":
		return errBlank
	case mainlyOf(fold(password), terms):
		return errPersonal
	case score(password, terms) < minScore:
		return errGuessable
	}
	return nil
}

// minTerm is the minimum length of a personal value, in code points. Shorter
// values occur in many passwords by chance.
const minTerm = 3

// personalTerms returns the terms that a password should not consist of: folded
// personal values and the words in them, the longest first.
func personalTerms(personal []string) []string {
	var terms []string
	for _, value := range personal {
		if at := strings.LastIndexByte(value, '@'); at >= 0 {
			value = value[:at]
		}
		value = fold(strings.TrimSpace(value))
		terms = append(terms, value)
		terms = append(terms, strings.FieldsFunc(value, isSeparator)...)
	}
	terms = slices.DeleteFunc(terms, func(s string) bool { return utf8.RuneCountInString(s) < minTerm })
	slices.SortFunc(terms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(terms)
}

// mainlyOf reports whether terms make up at least half of a password, whether
// or not digits stand for letters.
func mainlyOf(password string, terms []string) bool {
	for _, p := range append(unleet(password), password) {
		rest := p
		for _, term := range terms {
			rest = strings.ReplaceAll(rest, term, "")
		}
		if 2*utf8.RuneCountInString(rest) <= utf8.RuneCountInString(p) {
			return true
		}
	}
	return false
}
