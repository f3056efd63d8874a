package text

import "strings"

// Identifier returns the text as which a distinct ID, a group key or the name of
// an event is stored: each NUL becomes U+FFFD, and what is beyond n characters is
// cut off. A result that is shorter than s shares no memory with it, since the
// rest may be large.
func Identifier(s string, n int) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return strings.Clone(s[:i])
		}
		n--
	}
	return s
}
