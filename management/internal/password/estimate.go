package password

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ccojocar/zxcvbn-go/frequency"
	"github.com/ccojocar/zxcvbn-go/match"
	"github.com/ccojocar/zxcvbn-go/matching"
	"github.com/ccojocar/zxcvbn-go/scoring"
	"golang.org/x/text/unicode/norm"
)

// minScore is on the zxcvbn scale from 0 to 4. A score of 3 takes a million
// seconds at ten thousand guesses per second.
const minScore = 3

// maxEstimated limits the code points that are estimated, because the time
// grows with their square.
const maxEstimated = 64

// score estimates how hard a password is to guess, from 0 to 4, by the words,
// names, dates, keyboard walks and sequences that it consists of.
//
// The library zxcvbn makes the estimate. The code around it makes up for the
// library's quirks: it counts bytes in one place and code points in another; it
// tries so many ways to read digits as letters that one password can take a
// second; it knows repeated characters but not repeated groups, and no years
// after 2019.
func score(password string, terms []string) (score int) {
	defer func() {
		if recover() != nil {
			score = 0 // an estimate that fails must not let the password pass
		}
	}()
	chars := []rune(plain(password))
	if isProgression(chars) {
		return 0
	}
	chars = unit(chars)
	p := narrow(chars[:min(len(chars), maxEstimated)])

	words := slices.Concat(terms, local)
	matches := matching.Omnimatch(p, words, matching.FilterL33tMatcher)
	for _, read := range unleet(p) {
		matches = append(matches, matching.Omnimatch(read, words, isNoDictionary)...)
	}
	return scoring.MinimumEntropyMatchSequence(p, matches).Score
}

// local are words that are frequent in passwords for this product and that the
// library does not know: the name of the product, and recent years.
var local = func() []string {
	words := []string{"flagstaff"}
	for year := 2040; year >= 1930; year-- {
		words = append(words, strconv.Itoa(year))
	}
	return words
}()

// isNoDictionary is a filter for the library. It leaves out every matcher
// without a dictionary.
func isNoDictionary(m match.Matcher) bool {
	_, ok := frequency.Lists[m.ID]
	return !ok
}

// plain replaces characters by their basic form: ä by a, Ａ by A.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// fold returns the plain form in lower case.
func fold(s string) string { return strings.ToLower(plain(s)) }

// isSeparator reports whether a character can separate words.
func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// isProgression reports whether all characters have the same distance from the
// one before, as in aaaa, абвг and 8642.
func isProgression(chars []rune) bool {
	for i := 2; i < len(chars); i++ {
		if chars[i]-chars[i-1] != chars[1]-chars[0] {
			return false
		}
	}
	return true
}

// unit returns the group that chars repeat, or chars if they repeat none. The
// last repetition may be incomplete.
func unit(chars []rune) []rune {
	for n := 1; 2*n <= len(chars); n++ {
		if slices.Equal(chars[n:], chars[:len(chars)-n]) {
			return chars[:n]
		}
	}
	return chars
}

// placeholders replace characters beyond ASCII. No keyboard and no dictionary
// has them, so each counts as one character to be guessed.
const placeholders = "\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"

// narrow returns one byte per character. Equal characters become equal bytes;
// different characters become different bytes, as long as there are
// placeholders.
func narrow(chars []rune) string {
	seen := make(map[rune]byte)
	bytes := make([]byte, len(chars))
	for i, r := range chars {
		if r >= ' ' && r <= '~' {
			bytes[i] = byte(r)
			continue
		}
		if _, ok := seen[r]; !ok {
			seen[r] = placeholders[len(seen)%len(placeholders)]
		}
		bytes[i] = seen[r]
	}
	return string(bytes)
}

// These are the digits and signs that can stand for letters, and two ways to
// read them. Each is read as one letter, so that positions stay the same.
const (
	leetSigns      = "4@8({[<3691!|0$57+%2"
	leetWithOneAsI = "aabcccceggiiiossttxz"
	leetWithOneAsL = "aabccccegglilossltxz"
)

// unleet returns the ways to read the digits and signs of a password as
// letters, or nil if it has none of these.
func unleet(p string) []string {
	var readings []string
	for _, letters := range []string{leetWithOneAsI, leetWithOneAsL} {
		reading := strings.Map(func(r rune) rune {
			if i := strings.IndexRune(leetSigns, r); i >= 0 {
				return rune(letters[i])
			}
			return r
		}, p)
		if reading != p && !slices.Contains(readings, reading) {
			readings = append(readings, reading)
		}
	}
	return readings
}
