package summary

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxQuotes = 2   // for each theme
	maxQuote  = 200 // characters
	maxLabel  = 200 // of the text of a choice
)

// quotes returns a block of quotes for each theme. If there are no themes, it
// returns one block with the first texts.
func (t *texts) quotes(themes []theme) []string {
	if len(themes) == 0 {
		var all theme
		for i := range t.all {
			all.found = append(all.found, i)
		}
		return []string{bulletList(t.quote(all, func(int) int { return 0 }, make(map[string]bool)))}
	}
	var blocks []string
	speaks := make([]int, len(t.all)) // the number of themes in each text
	for _, theme := range themes {
		for _, i := range theme.found {
			speaks[i]++
		}
	}
	used := make(map[string]bool)
	for _, theme := range themes {
		blocks = append(blocks, "**"+escape(theme.text)+"**", bulletList(t.quote(theme, func(i int) int { return speaks[i] }, used)))
	}
	return blocks
}

// quote returns up to two quotes for a theme. Texts with more themes come
// first. A text that was quoted before is used again only if there is no other.
func (t *texts) quote(theme theme, speaks func(i int) int, used map[string]bool) []string {
	order := slices.Clone(theme.found)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(speaks(j), speaks(i)) })
	var quotes []string
	var again string
	for _, i := range order {
		if len(quotes) == maxQuotes {
			break
		}
		q := "“" + escape(line(t.all[i].raw, maxQuote)) + "”"
		switch {
		case !used[q]:
			used[q] = true
			quotes = append(quotes, q)
		case again == "":
			again = q
		}
	}
	if len(quotes) == 0 {
		quotes = append(quotes, again)
	}
	return quotes
}

// line returns the beginning of a text as a single line that looks like what it
// contains: without control characters, and without format characters that are
// invisible or change the direction of the text after them.
func line(s string, most int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s { // bytes that are not UTF-8 become U+FFFD
		switch {
		case unicode.IsSpace(r), unicode.Is(unicode.Cc, r):
			space = n > 0
			continue
		case unicode.Is(unicode.Cf, r) && !isJoiner(r):
			continue
		}
		if n > most {
			break
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		b.WriteRune(r)
		n++
	}
	if n <= most {
		return b.String()
	}
	return cut(b.String(), most-1) + "…"
}

// isJoiner reports whether a format character changes how its neighbours are
// written. Joiners do so in emoji, and in Persian and Indic words.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// cut returns up to most characters of a text. It does not split a sequence of
// characters that is displayed as one, such as a letter with its accents or a
// flag, unless the whole result would be empty.
func cut(s string, most int) string {
	end := 0 // the end of the longest prefix that fits, split or not
	for range most {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	for i := end; i > 0; {
		if isBorder(s, i) {
			return strings.TrimRight(s[:i], " ")
		}
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[:end]
}

// isBorder reports whether s can be split before s[i:].
func isBorder(s string, i int) bool {
	next, _ := utf8.DecodeRuneInString(s[i:])
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	switch {
	case isJoiner(last), isJoiner(next), unicode.Is(unicode.M, next), unicode.Is(unicode.Sk, next) && next > unicode.MaxLatin1:
		return false
	case unicode.Is(unicode.Regional_Indicator, next):
		// Two regional indicators make one flag.
		n := 0
		for rest := s[:i]; ; n++ {
			r, size := utf8.DecodeLastRuneInString(rest)
			if !unicode.Is(unicode.Regional_Indicator, r) {
				return n%2 == 0
			}
			rest = rest[:len(rest)-size]
		}
	}
	return norm.NFC.PropertiesString(s[i:]).BoundaryBefore()
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
