package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// set returns the words of a text of several lines.
func set(lines string) map[string]bool {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(lines) {
		words[word] = true
	}
	return words
}

// stopWords are English words that are neither a theme nor a part of one. They
// are written without apostrophes, as are all words here. The last line has the
// parts of web addresses.
var stopWords = set(`
	a about above after again ago all almost already also always am an and another any anybody anyone anything
	are around as at away be became because been before being below between both but by can come comes could
	did do does doing done down during each either else enough especially etc even ever every everybody everyone everything
	few first for from further gave get gets getting give given go goes going gone got had has have having he her
	here hers herself hey hi hello him himself his how however i id if ill im in instead into is it its itself ive just
	keep kind know last least let lets lot lots made make makes making many may maybe me might mine most much must my
	myself of off often oh ok okay on once one ones only onto or other others our ours ourselves out over overall own
	part per perhaps pretty probably put quite rather re really said same say seem seems see seen several shall she
	should since so some somebody someone something sometimes somewhat soon still stuff such sure take than thank thanks
	that thats the their theirs them themselves then there theres these they theyd theyll theyre theyve thing things think
	this those though through till to together took toward two under until up upon us used using usually
	various very via was way ways we wed well went were weve what whatever whats when where whether which while who
	whole whom whose why will with within would yes yet you youd youll your youre yours yourself youve yup
	com http https www`)

// weakWords are English words that say nothing about a subject by themselves,
// but do together with another word: "not working", "more integrations".
var weakWords = set(`
	add adding allow amazing awesome awful bad best better big cool excellent fantastic feel feels fine give good great
	hate hope horrible improve improved less like liked likes little long love loved loves more need needed needs new
	nice old perfect please possible small terrible too try trying use useful uses want wanted wants wish work worked
	working works worse worst`)

// negations are English words that reverse the tone of the words after them.
// They are weak words too.
var negations = set(`
	aint arent cannot cant couldnt didnt doesnt dont hadnt hardly hasnt havent isnt lack lacks mustnt neednt neither
	never no nobody none nor not nothing rarely shouldnt wasnt werent without wont wouldnt`)

// requests are English words by which people ask for something.
var requests = set(`
	add allow better cheaper could easier faster hope improve lack lacking lacks missing more need needed needs please
	should simpler want wants wish would`)

// newUnit classifies a symbol as far as its text alone allows.
func newUnit(s symbol) unit {
	u := unit{symbol: s, next: -1}
	switch {
	case s.ideograph:
		u.class = weak
	case stopWords[s.text]:
		u.class, u.english = stop, true
	case weakWords[s.text], negations[s.text]:
		u.class, u.english = weak, true
	case !strings.ContainsFunc(s.text, unicode.IsLetter), utf8.RuneCountInString(s.text) == 1 && u.isSpelled():
		u.class = stop
	}
	return u
}

// isSpelled reports whether the unit is written in a script that takes several
// letters for a word, and whose languages put articles and prepositions before
// other words.
func (u *unit) isSpelled() bool {
	r, _ := utf8.DecodeRuneInString(u.text)
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew)
}

// These limits tell words without a meaning of their own in languages for which
// there is no list.
const (
	maxFunction = 5 // letters of a word without a meaning of its own
	minFunction = 3 // answers that contain it
	minEnglish  = 4 // texts are English if one word in so many is in a list
)

// classify classifies the words of texts that are not English. A short word
// that appears in several answers, before different words but never at the end
// of a clause, is probably an article, a preposition, a pronoun or the like.
// The function answers returns the number of answers with a unit.
func (t *texts) classify(answers func(unit int) int) {
	var words, english int
	for _, text := range t.all {
		for _, clause := range text.clauses {
			for _, id := range clause.units {
				if u := &t.units[id]; !u.ideograph {
					words++
					if u.english {
						english++
					}
				}
			}
		}
	}
	if english*minEnglish >= words {
		return
	}
	for i := range t.units {
		u := &t.units[i]
		if u.class == content && !u.valued && u.varied && u.isSpelled() && answers(i) >= minFunction && utf8.RuneCountInString(u.text) <= maxFunction {
			u.class = weak
		}
	}
}
