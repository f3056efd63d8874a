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

// minScore is on the zxcvbn scale from 0 to 4: a million seconds at ten thousand
// guesses per second.
const minScore = 3

// maxEstimated is how many code points are estimated. The time it takes grows
// with their square.
const maxEstimated = 64

// score estimates how hard a password is to guess, from 0 to 4, by the words,
// names, dates, walks on the keyboard, and sequences that it consists of.
//
// The library does the estimate. It has traits that are evened out here: it
// counts bytes in one place and code points in another, it tries so many ways to
// read digits as letters that one password can take a second, it knows repeated
// characters but not repeated groups, and no years after 2019.
func score(password string, terms []string) (score int) {
	defer func() {
		if recover() != nil {
			score = 0 // what cannot be estimated is not known to be good
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

// local are words that are in many passwords here, besides those that the library
// knows: the name of the product, and years.
var local = func() []string {
	words := []string{"flagstaff"}
	for year := 2040; year >= 1930; year-- {
		words = append(words, strconv.Itoa(year))
	}
	return words
}()

// isNoDictionary tells the library to leave a matcher out.
func isNoDictionary(m match.Matcher) bool {
	_, ok := frequency.Lists[m.ID]
	return !ok
}

// plain replaces characters by those they are variants of: ä by a, Ａ by A.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// fold is plain without the difference between upper and lower case.
func fold(s string) string { return strings.ToLower(plain(s)) }

// isSeparator reports whether a character stands between words.
func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// isProgression reports whether each character is as far from the one before as
// all others: aaaa, абвг, 8642.
func isProgression(chars []rune) bool {
	for i := 2; i < len(chars); i++ {
		if chars[i]-chars[i-1] != chars[1]-chars[0] {
			return false
		}
	}
	return true
}

// unit returns the group that chars repeat, or chars if they do not. The last
// repetition may be cut short.
func unit(chars []rune) []rune {
	for n := 1; 2*n <= len(chars); n++ {
		if slices.Equal(chars[n:], chars[:len(chars)-n]) {
			return chars[:n]
		}
	}
	return chars
}

// placeholders stand for what is not in ASCII. No keyboard and no dictionary has
// them, so each counts as one character that has to be guessed.
const placeholders = "\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"

// narrow returns as many bytes as there are characters. Equal characters become
// equal bytes; different ones become different bytes, unless there are too many.
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

// What digits and signs can stand for in a word, and two ways to read them. One
// character is read as one, so that positions stay.
const (
	leetSigns      = "4@8({[<3691!|0$57+%2"
	leetWithOneAsI = "aabcccceggiiiossttxz"
	leetWithOneAsL = "aabccccegglilossltxz"
)

// unleet returns the ways to read a password that has digits for letters, none if
// it has no such digits.
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
