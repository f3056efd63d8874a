package summary

import (
	"cmp"
	_ "embed" // stopwords.txt
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxRead       = 1000 // characters of an answer that are read
	maxWord       = 40   // characters of a word; longer ones are ignored
	maxThemes     = 5
	maxCandidates = 50 // terms that are compared with each other
	maxQuotes     = 2  // for each theme
)

// stopWords are English words that say nothing about a subject, without their
// apostrophes, and the parts of web addresses.
//
//go:embed stopwords.txt
var stopWordsText string

var stopWords = func() map[string]bool {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(stopWordsText) {
		words[word] = true
	}
	return words
}()

// A theme is a word, or two words that follow each other, in several answers.
type theme struct {
	text    string
	words   []string
	answers []int // ascending
}

// leastOf returns how many of n answers must contain a theme: 5 %, and at least
// two.
func leastOf(n int) int { return max(2, (n+19)/20) }

// themesOf returns up to five themes of answers, the most frequent one first. Of
// themes that share a word and nearly all their answers it takes the longest.
func themesOf(answers []string) (chosen []theme) {
	terms := make(map[string][]int) // the answers that have a term
	add := func(term string, answer int) {
		if at := terms[term]; len(at) == 0 || at[len(at)-1] != answer {
			terms[term] = append(at, answer)
		}
	}
	var clauses [][][]string
	capitals := make(map[string]bool)
	for i, s := range answers {
		clauses = append(clauses, split(s, capitals))
		for _, words := range clauses[i] {
			for _, word := range words {
				add(word, i)
			}
		}
	}
	least := leastOf(len(answers))
	for i := range answers {
		for _, words := range clauses[i] {
			for j := range words[:max(len(words), 1)-1] {
				// A pair can only be frequent if both its words are, so few are kept.
				if a, b := words[j], words[j+1]; len(terms[a]) >= least && len(terms[b]) >= least && a != "" && b != "" {
					add(a+" "+b, i)
				}
			}
		}
	}
	delete(terms, "")
	var found []theme
	for term, at := range terms {
		r, _ := utf8.DecodeRuneInString(term)
		// Hardly any language has longer articles.
		article := utf8.RuneCountInString(term) <= 3 && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) && !capitals[term]
		if len(at) >= least && !article {
			found = append(found, theme{term, strings.Fields(term), at})
		}
	}
	slices.SortFunc(found, func(a, b theme) int {
		return cmp.Or(cmp.Compare(len(b.answers), len(a.answers)), cmp.Compare(len(b.words), len(a.words)), cmp.Compare(a.text, b.text))
	})
	found = found[:min(len(found), maxCandidates)]
	for _, t := range found {
		inPair := len(t.words) == 1 && slices.ContainsFunc(found, func(other theme) bool { return len(other.words) == 2 && t.isNearly(other) })
		if len(chosen) < maxThemes && !inPair && !slices.ContainsFunc(chosen, t.isNearly) {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

// isNearly reports whether two themes share a word, or an ideograph, and at least
// four fifths of their answers.
func (t theme) isNearly(other theme) bool {
	if !slices.ContainsFunc(t.words, func(word string) bool { return slices.Contains(other.words, word) }) && !(isIdeograph(t.text) && strings.ContainsAny(t.text, other.text)) {
		return false
	}
	both := 0
	for _, n := range t.answers {
		if _, ok := slices.BinarySearch(other.answers, n); ok {
			both++
		}
	}
	return 5*both >= 4*max(len(t.answers), len(other.answers))
}

// isIdeograph reports whether a text begins with an ideograph.
func isIdeograph(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r > unicode.MaxLatin1 && unicode.Is(unicode.Han, r)
}

// split splits an answer into clauses, and these into words, of which stop words
// are empty. Chinese and Japanese do not separate words: each two ideographs that
// follow each other count as one. Words in capitals are added to capitals, unless
// all of the answer is in capitals.
func split(s string, capitals map[string]bool) (clauses [][]string) {
	var b strings.Builder
	ideographs := false
	for _, r := range begin(norm.NFKC.String(begin(s, maxRead)), maxRead) { // one character can become eighteen
		if r == '\'' || r == '’' || r == '‘' || r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			continue // don't; soft hyphens and joiners are invisible
		}
		if (r > unicode.MaxLatin1 && unicode.Is(unicode.Han, r)) != ideographs {
			ideographs = !ideographs
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	s = b.String()
	shouts := !strings.ContainsFunc(s, unicode.IsLower)
	for clause := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return r != ' ' && !inWord(r) && !unicode.In(r, unicode.Pd, unicode.Pc, unicode.Zs) && r != '\t'
	}) {
		var words []string
		for written := range strings.FieldsFuncSeq(clause, func(r rune) bool { return !inWord(r) }) {
			word := strings.ToLower(written)
			switch runes := []rune(word); {
			case isIdeograph(word):
				for i := range len(runes) - 1 {
					clauses = append(clauses, []string{string(runes[i : i+2])})
				}
				word = ""
			case len(runes) > maxWord, stopWords[word], len(runes) == 1 && runes[0] < unicode.MaxLatin1, !strings.ContainsFunc(word, unicode.IsLetter):
				word = ""
			case !shouts && !strings.ContainsFunc(written, unicode.IsLower):
				capitals[word] = true
			}
			words = append(words, word)
		}
		clauses = append(clauses, words)
	}
	return clauses
}

// inWord reports whether a character is part of a word. Hiragana, which writes
// endings and particles, is not.
func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unicode.Is(unicode.Hiragana, r)
}

// describe returns length, themes and quotes of answers in words (management.md
// §11.5, item 3). Of the answers with a theme, those with most themes are quoted.
// One that was quoted before is used again only if there is no other.
func describe(answers []string) (length, themed, quoted string) {
	lengths, all := make([]int, len(answers)), make([]int, len(answers))
	for i, s := range answers {
		lengths[i], all[i] = utf8.RuneCountInString(strings.TrimSpace(s)), i
	}
	length = count(len(answers), "answer") + ", median length " + count(median(lengths), "character") + "."
	used := make(map[string]bool)
	quote := func(of []int) string {
		var list []string
		for _, i := range of {
			if q := "“" + escape(line(answers[i], maxQuote)) + "”"; !used[q] {
				used[q] = true
				list = append(list, q)
			}
			if len(list) == maxQuotes {
				break
			}
		}
		if list == nil {
			list = []string{"“" + escape(line(answers[of[0]], maxQuote)) + "”"}
		}
		return bulletList(list)
	}
	themes := themesOf(answers)
	if len(themes) == 0 {
		return length, fmt.Sprintf("None: no word or phrase is in %d answers or more.", leastOf(len(answers))), quote(all)
	}
	speaks := make([]int, len(answers)) // the number of themes in each answer
	for _, t := range themes {
		for _, i := range t.answers {
			speaks[i]++
		}
	}
	var items, blocks []string
	for _, t := range themes {
		slices.SortStableFunc(t.answers, func(i, j int) int { return cmp.Compare(speaks[j], speaks[i]) })
		items = append(items, "**"+escape(t.text)+"**: "+share(len(t.answers), len(answers)))
		blocks = append(blocks, "**"+escape(t.text)+"**", quote(t.answers))
	}
	return length, bulletList(items), strings.Join(blocks, "\n\n")
}
