package text

import (
	"strings"
	"unicode/utf8"
)

// Shorten returns a text in a length fit for a message: its first bytes, as UTF-8.
func Shorten[T ~string | ~[]byte](v T, most int) string {
	s := strings.ToValidUTF8(string(v[:most+min(len(v)-most, utf8.UTFMax)]), "\uFFFD")
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
