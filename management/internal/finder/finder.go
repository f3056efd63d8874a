package finder

import (
	"regexp"
	"strings"
)

// New returns a function that reports whether a text contains the search, whatever
// the case of letters. A blank in the search stands for a blank, - or _.
func New(search string) func(string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(search, "\uFFFD")), " ", "[ _-]")
	return regexp.MustCompile("(?i)" + pattern).MatchString
}
