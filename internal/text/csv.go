package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CSVCell returns a text that no spreadsheet takes for a formula or a command
// (management.md §11.8). Some programs skip invisible characters before it, and some accept
// signs that look like the usual ones: full-width and small ones, and the minus of
// mathematics.
func CSVCell(s string) string {
	unseen := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Mn, r) }
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, unseen))
	if strings.ContainsRune("=+-@%|＝＋－＠％｜﹦﹢﹣﹫﹪−", first) {
		return "'" + s
	}
	return s
}
