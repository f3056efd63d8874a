package text

import "strings"

// Matches reports whether a text is like a pattern, in which "*" stands for any text, also
// for none.
func Matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	for _, part := range parts[1:last] {
		_, rest, found := strings.Cut(s, part)
		s, ok = rest, ok && found
	}
	return ok && strings.HasSuffix(s, parts[last])
}
