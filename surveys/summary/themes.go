package summary

import (
	"cmp"
	_ "embed" // stopwords.txt
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxRead, maxWord         = 1000, 40 // characters of an answer that are read, and of a word that counts
	maxThemes, maxCandidates = 5, 50    // of which the themes are chosen
	maxQuotes, maxQuote      = 5, 200   // characters of one, also of the text of a choice
)

//go:embed stopwords.txt
var stopWordsText string

var stopWords = slices.Sorted(strings.FieldsSeq(stopWordsText)) // without apostrophes

// A theme is a word, or two words that follow each other, in several answers.
type theme struct {
	text    string
	words   []string
	answers []int // ascending
}

// isIn reports whether a pair of words says what the theme says, and more.
func (t theme) isIn(pair theme) bool {
	return len(pair.words) == 2 && 5*len(pair.answers) >= 4*len(t.answers) &&
		slices.ContainsFunc(t.words, func(word string) bool { return slices.Contains(pair.words, word) })
}

// themesOf returns up to five themes of answers, the most frequent one first, and how
// many answers must contain one: 5 %, and at least two.
func themesOf(answers []string) (chosen []theme, least int) {
	least = max(2, (len(answers)+19)/20)
	terms := make(map[string][]int) // the answers that have a term
	for i, s := range answers {
		words := wordsOf(s)
		for j, word := range words {
			terms[word] = append(terms[word], i)
			if j > 0 && word != "" && words[j-1] != "" {
				terms[words[j-1]+" "+word] = append(terms[words[j-1]+" "+word], i)
			}
		}
	}
	delete(terms, "")
	var found []theme
	for text, at := range terms {
		if at = slices.Compact(at); len(at) < least {
			continue
		}
		words := strings.Fields(text)
		if ideograph.MatchString(text) {
			text = strings.Join(words, "")
		}
		if utf8.RuneCountInString(text) > 1 { // of which one says little
			found = append(found, theme{text, words, at})
		}
	}
	slices.SortFunc(found, func(a, b theme) int {
		return cmp.Or(cmp.Compare(len(b.answers), len(a.answers)), cmp.Compare(len(b.words), len(a.words)), slices.Compare(a.words, b.words))
	})
	found = found[:min(len(found), maxCandidates)]
	for _, t := range found {
		pairs := chosen // of two that have a word in common, the more frequent one is chosen
		if len(t.words) == 1 {
			pairs = found
		}
		if len(chosen) < maxThemes && !slices.ContainsFunc(pairs, t.isIn) {
			chosen = append(chosen, t)
		}
	}
	return chosen, least
}

var ideograph = regexp.MustCompile(`\p{Han}`)

// splits make an answer words with spaces between them, and a dot where a clause ends.
var splits = []struct {
	*regexp.Regexp
	by string
}{
	{regexp.MustCompile(`['’‘\p{Cf}\x{fe00}-\x{fe0f}]`), ""}, // what is not seen, or joins
	{regexp.MustCompile(`[\p{Pd}\p{Pc}\t]`), " "},
	{regexp.MustCompile(`[^\p{L}\p{N}\p{M} ]|\p{Hiragana}`), " . "}, // which writes endings
	{regexp.MustCompile(`\p{Han}+`), " . $0 . "},
	{ideograph, "$0 "}, // each counts as a word: ideographs have no spaces between words
}

// wordsOf returns the words of an answer, "" where a clause ends or one says nothing.
func wordsOf(s string) []string {
	s = strings.ToLower(begin(norm.NFKC.String(begin(s, maxRead)), maxRead)) // one character can become eighteen
	for _, split := range splits {
		s = split.ReplaceAllString(s, split.by)
	}
	words := strings.Fields(s)
	for i, word := range words {
		_, stop := slices.BinarySearch(stopWords, word)
		if stop || len(word) == 1 || utf8.RuneCountInString(word) > maxWord || !strings.ContainsFunc(word, unicode.IsLetter) {
			words[i] = ""
		}
	}
	return words
}

// describe returns themes and quotes of answers in words (management.md §11.5, item 3). The answer that
// speaks of most themes is quoted first. With each quote, the themes that it speaks of count less.
func describe(answers []string) (themed, quotes string) {
	themes, least := themesOf(answers)
	themed = fmt.Sprintf("None: no word or phrase is in %d answers or more.", least)
	items, speaks := []string(nil), make([][]int, len(answers)) // the themes of each answer
	for i, t := range themes {
		items = append(items, "**"+Escape(t.text)+"**: "+share(len(t.answers), len(answers)))
		for _, answer := range t.answers {
			speaks[answer] = append(speaks[answer], i)
		}
		themed = bulletList(items)
	}
	said, list, quoted := make([]float64, len(themes)), []string(nil), make(map[string]bool)
	for len(list) < maxQuotes {
		best, most := 0, -1.0
		for i, s := range answers {
			worth := 0.0
			for _, t := range speaks[i] {
				worth += 1 / (1 + said[t])
			}
			if worth > most && !quoted[s] {
				best, most = i, worth
			}
		}
		if most < 0 || most == 0 && len(themes) > 0 {
			break
		}
		quoted[answers[best]] = true
		list = append(list, "“"+Escape(Line(answers[best], maxQuote))+"”")
		for _, t := range speaks[best] {
			said[t]++
		}
	}
	return themed, bulletList(list)
}
