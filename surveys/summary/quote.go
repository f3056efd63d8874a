package summary

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxQuote = 200 // characters, also of the text of a choice

// line returns the beginning of a text as a single line that looks like what it
// contains: without control characters, and without format characters that are
// invisible or change the direction of the text after them.
func line(s string, most int) string {
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

// markup lists the characters that have a meaning within a line in some dialect
// of Markdown. Characters with a meaning only at the beginning of a line are
// not listed: quotes and labels never stand there.
const markup = "\\`*_[]~|$^=+#{}"

// escape returns a line in a form that both Markdown and HTML display as it is.
// It adds a word joiner, which is invisible, after the characters that make a
// text an address of a website or a mailbox: many programs turn anything like
// an address into a link, even if it is escaped.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(markup, r) {
			b.WriteByte('\\')
		}
		b.WriteString(html.EscapeString(string(r)))
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if r == '@' || (r == '.' || r == ':') && (next == '/' || unicode.IsLetter(next)) {
			b.WriteRune('\u2060')
		}
	}
	return b.String()
}
