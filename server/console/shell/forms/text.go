package forms

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/words"
)

// Excerpt shortens a value for a list.
func Excerpt(raw json.RawMessage) string {
	if slices.Contains([]string{`""`, "[]", "{}"}, string(raw)) {
		return ""
	}
	return Shorten(Text(raw), 160)
}

// Exact writes a number so that it is read as the same number, and decimal a place in a picture.
func Exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Lines takes back what browsers do to the ends of lines.
func Lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// Names reads a list of names with commas.
func Names(s string) []string { return parts(s, ",\n") }

// LineNames reads a list with a line for each element.
func LineNames(s string) []string { return parts(s, "\n") }

// parts returns what is between separators, without what is empty.
func parts(s, separators string) []string {
	out := []string{}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Joined writes a list as people say it.
func Joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// IsNumber reports whether a text is an ID.
func IsNumber(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

// Atoi returns a whole number, or 0.
func Atoi(text string) int {
	n, _ := strconv.Atoi(text) // 0 is as good as what is not a number
	return n
}

// FullName returns how somebody is called: by name or, without one, by address.
func FullName(first, last, email string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return email
}

// Initials returns the first letters of how somebody is called: two of a name, one of an address.
func Initials(name string) string {
	var out []rune
	for word := range strings.FieldsSeq(name) {
		first, _ := utf8.DecodeRuneInString(word)
		out = append(out, unicode.ToUpper(first))
	}
	if len(out) > 2 {
		out = []rune{out[0], out[len(out)-1]}
	}
	return string(out)
}

// Count writes a number with a noun, and thousands apart.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number writes a number with thousands apart.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The forms of JSON values that people type and read.
var (
	Text    = words.Text
	Texts   = words.Texts
	Shorten = words.Shorten
	Percent = words.Percent
)
