package flags

import (
	"regexp/syntax"
	"strings"
)

// Beyond these, a regular expression is faster than a list of texts, or smaller.
const (
	simpleTexts = 32   // alternatives
	simpleBytes = 1024 // of all of them
	simpleClass = 8    // characters of a class
)

// In an expanded pattern these stand for what is not a text.
const (
	markBegin = "\U0010fff0"
	markEnd   = "\U0010fff1"
	markLine  = "\U0010fff2" // any number of characters up to the end of the line
	markSome  = "\U0010fff3" // the same, and at least one
	marks     = markBegin + markEnd + markLine + markSome
)

// A textPattern matches a text that has one of a few texts.
type textPattern []patternText

// A patternText is a text, and what may stand before and behind it.
type patternText struct {
	text          string
	before, after textSide
}

type textSide struct {
	anchored bool // it is all that stands on this side
	line     bool // after any characters of one line
	some     bool // and at least one
	none     bool // nothing may stand there
}

// newTextPattern returns a Matcher without a regular expression for a parsed expression
// that says no more than that a text contains, begins with, ends with or is one of a few
// texts, as in "^(a|b)" and "@example[.]com$". ".*" and ".+" may stand at one end.
func newTextPattern(re *syntax.Regexp) (Matcher, bool) {
	var m textPattern
	for _, s := range expand(re) {
		var t patternText
		s, t.before.anchored = strings.CutPrefix(s, markBegin)
		s, t.after.anchored = strings.CutSuffix(s, markEnd)
		s, t.before.some = strings.CutPrefix(s, markSome)
		s, t.after.some = strings.CutSuffix(s, markSome)
		s, t.before.line = strings.CutPrefix(s, markLine)
		s, t.after.line = strings.CutSuffix(s, markLine)
		if t.text = s; strings.ContainsAny(s, marks) || !t.before.fits(t.after) || !t.after.fits(t.before) {
			return nil, false
		}
		m = append(m, t)
	}
	if len(m) == 1 {
		return &m[0], true
	}
	return m, m != nil
}

// fits reports whether the place of the text is known from the other side, if it must be.
func (side *textSide) fits(other textSide) bool {
	side.line = side.anchored && side.line
	side.none = side.anchored && !side.line && !side.some
	return !side.line && !side.some || other.anchored && !other.some && (side.line || !other.line)
}

// expand returns all texts that an expression matches, with marks; nil if they are too many or
// it has other parts.
func expand(re *syntax.Regexp) (all []string) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if s := string(re.Rune); re.Flags&syntax.FoldCase == 0 && !strings.ContainsAny(s, marks) {
			return bounded([]string{s})
		}
	case syntax.OpBeginText:
		return []string{markBegin}
	case syntax.OpEndText:
		return []string{markEnd}
	case syntax.OpStar, syntax.OpPlus:
		if re.Sub[0].Op == syntax.OpAnyCharNotNL {
			return []string{map[syntax.Op]string{syntax.OpStar: markLine, syntax.OpPlus: markSome}[re.Op]}
		}
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpConcat:
		all = []string{""}
		for _, sub := range re.Sub {
			var longer []string
			for _, behind := range expand(sub) {
				for _, before := range all {
					longer = append(longer, before+behind)
				}
			}
			all = bounded(longer)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			texts := expand(sub)
			if texts == nil {
				return nil
			}
			all = append(all, texts...)
		}
	case syntax.OpQuest:
		if texts := expand(re.Sub[0]); texts != nil {
			all = append(texts, "")
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if all = append(all, string(c)); len(all) > simpleClass || strings.ContainsRune(marks, c) {
					return nil
				}
			}
		}
	}
	return bounded(all)
}

func bounded(texts []string) []string {
	bytes := 0
	for _, s := range texts {
		bytes += len(s)
	}
	if len(texts) > simpleTexts || bytes > simpleBytes {
		return nil
	}
	return texts
}

// MatchString reports whether the text has one of the texts.
func (m textPattern) MatchString(s string) bool {
	for i := range m {
		if m[i].MatchString(s) {
			return true
		}
	}
	return false
}

// MatchString reports whether the text has this one.
func (t *patternText) MatchString(s string) bool {
	switch {
	case t.before.none && t.after.none:
		return s == t.text
	case t.before.line && t.after.line:
		return strings.IndexByte(s, '\n') < 0 && strings.Contains(s, t.text)
	case t.before.none:
		rest, ok := strings.CutPrefix(s, t.text)
		return ok && t.after.allows(rest, 0)
	case t.after.none:
		rest, ok := strings.CutSuffix(s, t.text)
		return ok && t.before.allows(rest, len(rest)-1)
	}
	return strings.Contains(s, t.text)
}

// allows reports whether a text may stand on the side. near is the place next to the text.
func (side *textSide) allows(text string, near int) bool {
	return (!side.some || text != "" && text[near] != '\n') && (!side.anchored || strings.IndexByte(text, '\n') < 0)
}
