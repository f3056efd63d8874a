package pattern

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Beyond these, a regular expression is faster than a list of texts, or smaller.
const (
	simpleTexts = 32   // alternatives
	simpleBytes = 1024 // of all of them
	simpleClass = 8    // characters of a class
)

// Simple returns a Matcher without a regular expression for a parsed expression that says
// no more than that a text contains, begins with, ends with or is one of a few texts, as
// in "^(a|b)" and "@example[.]com$". ".*" and ".+" may stand at both ends. The texts to
// match must be valid UTF-8. It is not ok if the expression says anything else.
func Simple(re *syntax.Regexp) (m Matcher, ok bool) {
	e := expansion{sequences: [][]piece{nil}}
	if !e.append(re) {
		return nil, false
	}
	out := make(anyOf, len(e.sequences))
	for i, s := range e.sequences {
		if out[i], ok = newAlternative(s); !ok {
			return nil, false
		}
	}
	if len(out) == 1 {
		return &out[0], true
	}
	return out, true
}

// A piece is a part of what an expression matches: a text, or one of the kinds below.
type piece struct {
	kind pieceKind
	text string
}

type pieceKind uint8

const (
	pieceText pieceKind = iota
	pieceBegin
	pieceEnd
	pieceLine // any number of characters up to the end of the line
	pieceLine1
	pieceAll // any number of characters
	pieceAll1
)

// An expansion is all that an expression matches, as sequences of pieces.
type expansion struct {
	sequences [][]piece
	bytes     int
}

// append adds an expression behind all sequences. It is not ok if that cannot be done.
func (e *expansion) append(re *syntax.Regexp) (ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpLiteral:
		return re.Flags&syntax.FoldCase == 0 && e.add(piece{text: string(re.Rune)})
	case syntax.OpBeginText:
		return e.add(piece{kind: pieceBegin})
	case syntax.OpEndText:
		return e.add(piece{kind: pieceEnd})
	case syntax.OpStar, syntax.OpPlus:
		kind := pieceLine
		switch re.Sub[0].Op {
		case syntax.OpAnyCharNotNL:
		case syntax.OpAnyChar:
			kind = pieceAll
		default:
			return false
		}
		if re.Op == syntax.OpPlus {
			kind++
		}
		return e.add(piece{kind: kind})
	case syntax.OpCapture:
		return e.append(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !e.append(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		return e.branch(re.Sub, nil)
	case syntax.OpQuest:
		return e.branch(re.Sub, []piece{{}})
	case syntax.OpCharClass:
		var letters []piece
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if letters = append(letters, piece{text: string(r)}); len(letters) > simpleClass {
					return false
				}
			}
		}
		return len(letters) > 0 && e.branch(nil, letters)
	}
	return false
}

// add adds a piece behind all sequences.
func (e *expansion) add(p piece) (ok bool) {
	for i, s := range e.sequences {
		if n := len(s); p.kind == pieceText && n > 0 && s[n-1].kind == pieceText {
			s = append(s[:n-1:n-1], piece{text: s[n-1].text + p.text})
		} else {
			s = append(s[:n:n], p)
		}
		e.sequences[i] = s
		e.bytes += len(p.text)
	}
	return e.bytes <= simpleBytes
}

// branch continues all sequences in several ways: with each of the expressions, and with
// each of the pieces.
func (e *expansion) branch(subs []*syntax.Regexp, pieces []piece) (ok bool) {
	var all [][]piece
	start := e.sequences
	fork := func(add func(*expansion) bool) bool {
		b := expansion{sequences: append([][]piece(nil), start...), bytes: e.bytes}
		ok := add(&b)
		all, e.bytes = append(all, b.sequences...), b.bytes
		return ok && len(all) <= simpleTexts
	}
	for _, sub := range subs {
		if !fork(func(b *expansion) bool { return b.append(sub) }) {
			return false
		}
	}
	for _, p := range pieces {
		if !fork(func(b *expansion) bool { return b.add(p) }) {
			return false
		}
	}
	e.sequences = all
	return true
}

// An alternative is a text and what may stand before and behind it.
type alternative struct {
	text          string
	before, after surroundings
}

// surroundings are what may stand on one side of a text.
type surroundings struct {
	anchored bool // only what follows, up to the end of the whole
	none     bool // nothing may stand there
	line     bool // no end of a line
	some     bool // at least one character
}

// newAlternative is not ok if a sequence has another form.
func newAlternative(s []piece) (a alternative, ok bool) {
	if len(s) > 0 && s[0].kind == pieceBegin {
		a.before.anchored, s = true, s[1:]
	}
	if n := len(s); n > 0 && s[n-1].kind == pieceEnd {
		a.after.anchored, s = true, s[:n-1]
	}
	if len(s) > 0 && s[0].kind >= pieceLine {
		a.before.take(s[0].kind)
		s = s[1:]
	} else {
		a.before.none = a.before.anchored
	}
	if n := len(s); n > 0 && s[n-1].kind >= pieceLine {
		a.after.take(s[n-1].kind)
		s = s[:n-1]
	} else {
		a.after.none = a.after.anchored
	}
	switch {
	case len(s) == 1 && s[0].kind == pieceText:
		a.text = s[0].text
	case len(s) > 0:
		return a, false
	}
	// Where the text may be at several places, only the simplest of these forms is
	// understood; and an end of a line within the text is not.
	fixed := a.before.none || a.after.none
	if (a.before.some || a.after.some) && !fixed || a.before.some && a.after.some ||
		(a.before.line || a.after.line) && strings.Contains(a.text, "\n") {
		return a, false
	}
	return a, true
}

func (s *surroundings) take(k pieceKind) {
	s.some = k == pieceLine1 || k == pieceAll1
	s.line = k <= pieceLine1 && (s.anchored || s.some)
}

// allow reports whether a text may stand on this side. For a side that is not anchored,
// near is the character next to the text.
func (s *surroundings) allow(text string, near rune) bool {
	switch {
	case s.none:
		return text == ""
	case s.some && text == "":
		return false
	case !s.line:
		return true
	case s.anchored:
		return strings.IndexByte(text, '\n') < 0
	}
	return near != '\n'
}

// MatchString reports whether the text has the alternative.
func (a *alternative) MatchString(s string) bool {
	switch {
	case a.before.none && a.after.none:
		return s == a.text
	case a.before.none:
		if !strings.HasPrefix(s, a.text) {
			return false
		}
		rest := s[len(a.text):]
		if !a.after.line && !a.after.some {
			return true
		}
		near, _ := utf8.DecodeRuneInString(rest)
		return a.after.allow(rest, near)
	case a.after.none:
		if !strings.HasSuffix(s, a.text) {
			return false
		}
		rest := s[:len(s)-len(a.text)]
		if !a.before.line && !a.before.some {
			return true
		}
		near, _ := utf8.DecodeLastRuneInString(rest)
		return a.before.allow(rest, near)
	case a.before.line && a.after.line:
		return strings.IndexByte(s, '\n') < 0 && strings.Contains(s, a.text)
	case a.before.line: // the first place has the fewest characters before it
		i := strings.Index(s, a.text)
		return i >= 0 && strings.IndexByte(s[:i], '\n') < 0
	case a.after.line:
		i := strings.LastIndex(s, a.text)
		return i >= 0 && strings.IndexByte(s[i+len(a.text):], '\n') < 0
	}
	return strings.Contains(s, a.text)
}

// anyOf matches what one of several alternatives matches.
type anyOf []alternative

// MatchString reports whether the text has one of the alternatives.
func (m anyOf) MatchString(s string) bool {
	for i := range m {
		if m[i].MatchString(s) {
			return true
		}
	}
	return false
}
