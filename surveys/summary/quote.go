package summary

import (
	"html"
	"regexp"
	"strings"
	"unicode"
)

// Line returns the beginning of a text as a single line that looks like what it contains: without
// control characters, and format characters that are invisible or turn the text after them.
func Line(s string, most int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune { // which replaces what is not UTF-8
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d': // which join letters, and emoji
			return -1
		}
		return r
	}, s)), " ")
	if begin(s, most) == s {
		return s
	}
	s = begin(s, most-1)
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 { // between two words, if there are any
		s = s[:i]
	}
	return s + "…"
}

// begin returns the first characters of a text.
func begin(s string, most int) string {
	for i := range s {
		if most--; most < 0 {
			return s[:i]
		}
	}
	return s
}

var (
	markup  = regexp.MustCompile("[\\\\`*_\\[\\]~|$^=+#{}]") // within a line, in some dialect of Markdown
	address = regexp.MustCompile(`([.:])([/\pL])`)
)

// Escape returns a line in a form that both Markdown and HTML display as it is.
// It adds a word joiner, which is invisible, after the characters that make a
// text an address: many programs turn even an escaped address into a link.
func Escape(line string) string {
	line = address.ReplaceAllString(strings.ReplaceAll(line, "@", "@\u2060"), "$1\u2060$2")
	return html.EscapeString(markup.ReplaceAllString(line, `\$0`))
}
