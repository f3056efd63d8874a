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
	mostQuotes = 2   // of a theme
	mostQuote  = 200 // characters
	mostLabel  = 200 // characters of a choice
)

// quotes returns blocks with quotes of each theme. Where there are no themes, it
// quotes what comes first.
func (t *texts) quotes(themes []theme) []string {
	if len(themes) == 0 {
		var all theme
		for i := range t.all {
			all.found = append(all.found, i)
		}
		return []string{list(t.quote(all, func(int) int { return 0 }, make(map[string]bool)))}
	}
	var blocks []string
	speaks := make([]int, len(t.all)) // of how many themes
	for _, theme := range themes {
		for _, i := range theme.found {
			speaks[i]++
		}
	}
	used := make(map[string]bool)
	for _, theme := range themes {
		blocks = append(blocks, "**"+escape(theme.text)+"**", list(t.quote(theme, func(i int) int { return speaks[i] }, used)))
	}
	return blocks
}

// quote returns up to two quotes of a theme, those first that speak of the most
// themes. What was used before is only used again if there is nothing else.
func (t *texts) quote(theme theme, speaks func(i int) int, used map[string]bool) []string {
	order := slices.Clone(theme.found)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(speaks(j), speaks(i)) })
	var quotes []string
	var again string
	for _, i := range order {
		if len(quotes) == mostQuotes {
			break
		}
		q := "“" + escape(line(t.all[i].raw, mostQuote)) + "”"
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

// line returns the beginning of a text as one line of text that looks like what
// it is: without control characters, and without those that change the direction of
// what follows or cannot be seen.
func line(s string, most int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s { // what is not UTF-8 is U+FFFD
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

// isJoiner reports whether a format character makes a difference to how its
// neighbours are written: in emoji, and in Persian and Indic words.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// cut returns up to most characters of a text, and never a part of one that
// consists of several, like a letter with its accents or a flag, unless it is the
// only one.
func cut(s string, most int) string {
	end := 0 // of what fits, whatever it is
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

// isBorder reports whether a character ends before s[i:].
func isBorder(s string, i int) bool {
	next, _ := utf8.DecodeRuneInString(s[i:])
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	switch {
	case isJoiner(last), isJoiner(next), unicode.Is(unicode.M, next), unicode.Is(unicode.Sk, next) && next > unicode.MaxLatin1:
		return false
	case unicode.Is(unicode.Regional_Indicator, next):
		// Two make a flag.
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

// markup is what Markdown, in one dialect or another, gives a meaning within a
// line. What has one at its beginning is never there: quotes and labels begin with
// something else.
const markup = "\\`*_[]~|$^=+#{}"

// escape returns a line that shows itself, as Markdown and as HTML. After the
// characters that make addresses of websites and mailboxes it puts a word joiner,
// which cannot be seen: many programs make links of anything like an address, even
// if it is escaped.
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
