package convert

import "strings"

// Pointer returns the JSON pointer that leads to a value by names, "" for none.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + escape.Replace(name))
	}
	return b.String()
}

// Steps returns the names that a JSON pointer consists of.
func Steps(pointer string) (names []string) {
	if pointer == "" {
		return nil
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		names = append(names, unescape.Replace(name))
	}
	return names
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)
