package text

// Bools are the words of [ParseBool], for errors.
const Bools = "true or false (or 1, t, yes, on; 0, f, no, off)"

// ParseBool reads a boolean of a query in any case. ok is false for any other word.
func ParseBool(s string) (value, ok bool) {
	var room [5]byte // the longest word
	if len(s) > len(room) {
		return false, false
	}
	word := room[:len(s)]
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		word[i] = c
	}
	switch string(word) {
	case "true", "1", "t", "yes", "on":
		return true, true
	case "false", "0", "f", "no", "off":
		return false, true
	}
	return false, false
}
