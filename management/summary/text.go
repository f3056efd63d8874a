package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of what is read.
const (
	maxRead = 1000 // characters of an answer
	maxWord = 40   // characters of a word; longer ones are ignored
	maxSkip = 2    // stop words between the two words of a theme, like "ease of use"
)

// texts are answers in respondents' own words.
type texts struct {
	all   []text
	units []unit // the distinct words and ideographs of all texts
	ids   map[symbol]int32
}

// A text is one answer.
type text struct {
	raw     string
	length  int // characters
	clauses []clause
	tone    int // above 0 if the text praises, below 0 if it complains
}

// A clause is a run of units that only spaces separate.
type clause struct {
	units      []int32 // indexes of texts.units
	ideographs bool    // the units are ideographs, not words
}

// A symbol is a word, in the form in which words are compared, or an ideograph
// in a run of several. An ideograph that stands alone is a word.
type symbol struct {
	text      string
	ideograph bool
}

// A unit is a symbol with what the texts reveal about it.
type unit struct {
	symbol
	class   class
	english bool // one of the English words without a meaning of their own

	// These fields tell words without a meaning of their own in other
	// languages.
	valued bool  // ends a clause, or is capitalized in a text that has lower case
	next   int32 // the word after its first occurrence
	varied bool  // other words follow it elsewhere
}

// A class says whether a unit can be a theme or a part of one.
type class uint8

const (
	content class = iota
	weak          // a theme only together with another unit
	stop          // neither a theme nor a part of one
)

// read splits texts into clauses and units. None of the texts may be blank.
func read(raw []string) *texts {
	t := &texts{all: make([]text, len(raw)), ids: make(map[symbol]int32)}
	for i, s := range raw {
		r := reader{texts: t}
		r.read(s)
		t.all[i] = text{raw: s, length: utf8.RuneCountInString(strings.TrimSpace(s)), clauses: r.clauses}
		t.all[i].tone = r.emoji + t.tone(r.clauses)
	}
	return t
}

// id returns the index in t.units of the unit for a symbol, which it adds if
// need be.
func (t *texts) id(text []byte, ideograph bool) int32 {
	if i, ok := t.ids[symbol{string(text), ideograph}]; ok { // a conversion that does not allocate
		return i
	}
	s := symbol{string(text), ideograph}
	i := int32(len(t.units))
	t.ids[s] = i
	t.units = append(t.units, newUnit(s))
	return i
}

// A reader splits one text.
type reader struct {
	texts   *texts
	clauses []clause
	emoji   int // the tone of the emoji

	shouts  bool   // the text has no lower case
	word    []byte // the current word, in lower case
	letters int    // the number of letters in word
	capital bool   // all of them are upper case
	words   []int32
	run     []rune // the current run of ideographs
}

// read splits a whole text. Spaces, hyphens and the like separate words without
// ending the clause. Any other character that is not part of a word ends it.
func (r *reader) read(raw string) {
	s := normalize(raw)
	r.shouts = !slices.ContainsFunc(s, unicode.IsLower)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isIdeograph(c) {
			r.endWords()
			r.run = append(r.run, c)
			continue
		}
		if unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Variation_Selector, c) {
			continue // joiners and soft hyphens are invisible
		}
		r.endRun()
		switch {
		case unicode.Is(unicode.Hiragana, c): // used for endings and particles
			r.endWords()
		case isWord(c, len(r.word) == 0):
			r.capital = unicode.IsUpper(c) && (r.capital || len(r.word) == 0)
			r.word = utf8.AppendRune(r.word, unicode.ToLower(c))
			r.letters++
		case isApostrophe(c) && len(r.word) > 0:
			switch suffix := letters(s[i+1:]); {
			case len(suffix) == 1 && unicode.ToLower(suffix[0]) == 's': // user's, it's
				i++
			case len(suffix) > 2 && unicode.Is(unicode.Latin, suffix[0]): // l'interface
				r.endWord()
			} // else the apostrophe is part of the word: don't, комп'ютер
		case unicode.In(c, unicode.Pd, unicode.Pc, unicode.Zs), c == '\t':
			r.endWord()
		default:
			r.emoji += emoji[c]
			r.endWords()
		}
	}
	r.endRun()
	r.endWords()
}

// normalize returns the beginning of a text in Unicode's form NFKC.
func normalize(s string) []rune {
	n := 0
	for i := range s {
		if n++; n > maxRead {
			s = s[:i]
			break
		}
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if norm.NFKC.IsNormalString(s) {
		return []rune(s)
	}
	// A single character can become eighteen, so the length is checked again.
	var iter norm.Iter
	var runes []rune
	for iter.InitString(norm.NFKC, s); !iter.Done() && len(runes) < maxRead; {
		runes = append(runes, []rune(string(iter.Next()))...)
	}
	return runes[:min(len(runes), maxRead)]
}

// isIdeograph reports whether a character has a meaning of its own and is
// written without spaces.
func isIdeograph(r rune) bool { return unicode.Is(unicode.Han, r) && unicode.IsLetter(r) }

// isWord reports whether a character can be part of a word. Some characters
// cannot be the first.
func isWord(r rune, first bool) bool {
	if unicode.In(r, unicode.M, unicode.Lm) {
		return !first
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == '‘' }

// letters returns the letters at the beginning of a text.
func letters(s []rune) []rune {
	i := slices.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	if i < 0 {
		return s
	}
	return s[:i]
}

// endWord ends the current word. A word that is too long ends the clause as
// well.
func (r *reader) endWord() {
	switch {
	case r.letters == 0:
		return
	case r.letters > maxWord:
		r.endClause()
	default:
		id := r.texts.id(r.word, false)
		if r.capital && r.letters > 1 && !r.shouts {
			r.texts.units[id].valued = true
		}
		r.words = append(r.words, id)
	}
	r.word, r.letters = r.word[:0], 0
}

// endWords ends the current word and the clause.
func (r *reader) endWords() {
	r.endWord()
	r.endClause()
}

func (r *reader) endClause() {
	if len(r.words) == 0 {
		return
	}
	for i, id := range r.words {
		switch u := &r.texts.units[id]; {
		case i == len(r.words)-1:
			u.valued = true
		case u.next < 0:
			u.next = r.words[i+1]
		case u.next != r.words[i+1]:
			u.varied = true
		}
	}
	r.clauses = append(r.clauses, clause{units: r.words})
	r.words = nil
}

// endRun ends the current run of ideographs.
func (r *reader) endRun() {
	switch len(r.run) {
	case 0:
		return
	case 1:
		r.words = append(r.words, r.texts.id(utf8.AppendRune(nil, r.run[0]), false))
		r.endClause()
	default:
		units := make([]int32, len(r.run))
		var b [utf8.UTFMax]byte
		for i, c := range r.run {
			units[i] = r.texts.id(utf8.AppendRune(b[:0], c), true)
		}
		r.clauses = append(r.clauses, clause{units, true})
	}
	r.run = r.run[:0]
}
