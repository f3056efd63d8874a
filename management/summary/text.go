package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What is looked at.
const (
	mostRead = 1000 // characters of an answer
	mostWord = 40   // characters of a word; what is longer is none
	mostSkip = 2    // stop words between the words of a theme: ease of use
)

// Texts are answers in people's own words.
type texts struct {
	all   []text
	units []unit // what they consist of
	ids   map[symbol]int32
}

// A text is one of them.
type text struct {
	raw     string
	length  int // characters
	clauses []clause
	tone    int // above 0 if it is positive, below if negative
}

// A clause is a run of units with nothing between them but spaces.
type clause struct {
	units      []int32 // in texts.units
	ideographs bool    // and not words
}

// A symbol is a word, in the form that is compared, or an ideograph in a run of
// several. One that stands alone is a word.
type symbol struct {
	text      string
	ideograph bool
}

// A unit is a symbol and what is known of it.
type unit struct {
	symbol
	class   class
	english bool // one of the English words that have no meaning of their own

	// What tells words of other languages that have no meaning of their own.
	valued bool  // ends a clause, or is in capitals where not everything is
	next   int32 // the word after it, where that was seen first
	varied bool  // other words were seen there
}

// A class says what a unit can be part of.
type class uint8

const (
	content class = iota
	weak          // a theme only with another unit
	stop          // no theme
)

// read takes texts apart. None of them is blank.
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

// id returns the place of a symbol in t.units.
func (t *texts) id(text []byte, ideograph bool) int32 {
	if i, ok := t.ids[symbol{string(text), ideograph}]; ok { // without an allocation
		return i
	}
	s := symbol{string(text), ideograph}
	i := int32(len(t.units))
	t.ids[s] = i
	t.units = append(t.units, newUnit(s))
	return i
}

// A reader takes one text apart.
type reader struct {
	texts   *texts
	clauses []clause
	emoji   int // the tone of emoji

	shouts  bool   // the text has no lower case
	word    []byte // is being read, in lower case
	letters int    // that it has
	capital bool   // and all are upper case
	words   []int32
	run     []rune // of ideographs
}

// read does all of it. Words are separated by spaces, hyphens and the like, which
// belong to no clause; anything else ends the clause.
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
			continue // joiners, soft hyphens: nothing to be seen
		}
		r.endRun()
		switch {
		case unicode.Is(unicode.Hiragana, c): // endings and particles
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
			} // else don't, комп'ютер
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

// normalize returns the beginning of a text in the form in which it is read.
func normalize(s string) []rune {
	n := 0
	for i := range s {
		if n++; n > mostRead {
			s = s[:i]
			break
		}
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if norm.NFKC.IsNormalString(s) {
		return []rune(s)
	}
	// Some characters become eighteen.
	var iter norm.Iter
	var runes []rune
	for iter.InitString(norm.NFKC, s); !iter.Done() && len(runes) < mostRead; {
		runes = append(runes, []rune(string(iter.Next()))...)
	}
	return runes[:min(len(runes), mostRead)]
}

// isIdeograph reports whether a character is one that is written without spaces
// and has a meaning of its own.
func isIdeograph(r rune) bool { return unicode.Is(unicode.Han, r) && unicode.IsLetter(r) }

// isWord reports whether a character is part of a word. Some only follow others.
func isWord(r rune, first bool) bool {
	if unicode.In(r, unicode.M, unicode.Lm) {
		return !first
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == '‘' }

// letters returns those that a text begins with.
func letters(s []rune) []rune {
	i := slices.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	if i < 0 {
		return s
	}
	return s[:i]
}

// endWord ends the word that is being read. One that is too long ends the clause.
func (r *reader) endWord() {
	switch {
	case r.letters == 0:
		return
	case r.letters > mostWord:
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

// endWords ends the word and the clause.
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

// endRun ends a run of ideographs.
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
