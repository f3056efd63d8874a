package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A boundaryMatcher matches a pattern with \b or \B.
type boundaryMatcher struct {
	ascii   *regexp.Regexp // reads word characters of ASCII only
	program *syntax.Prog
	threads sync.Pool // of *threads
}

func newBoundaryMatcher(ascii *regexp.Regexp, expression string) (Matcher, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	n := len(program.Inst)
	m := &boundaryMatcher{ascii: ascii, program: program}
	m.threads.New = func() any { return &threads{met: make([]uint64, (n+63)/64)} }
	return m, nil
}

// MatchString reports whether the text has a match.
func (m *boundaryMatcher) MatchString(s string) bool {
	if !hasOtherWords(s) {
		return m.ascii.MatchString(s)
	}
	t := m.threads.Get().(*threads)
	defer m.threads.Put(t)
	return t.match(m.program, s)
}

// hasOtherWords reports whether a text has word characters beyond ASCII.
func hasOtherWords(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			for _, r := range s[i:] {
				if r >= utf8.RuneSelf && isWord(r) {
					return true
				}
			}
			return false
		}
	}
	return false
}

// isWord reports whether \w matches a character. Negative numbers are none.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= 0 && isAlphanumeric(byte(r))
	}
	return unicode.In(r, word...)
}

// threads are the instructions at which a program may be, after some of the text.
type threads struct {
	met   []uint64 // instructions of stack and now, 64 per word
	stack []uint32
	now   []uint32 // instructions that read a character
	next  []uint32 // where they lead
}

// match runs a program over a text: all its threads at once, one character after the
// other, so that the time is bounded by the length of both. It knows other word
// characters than package regexp, and nothing of where a match begins and ends.
func (t *threads) match(p *syntax.Prog, s string) bool {
	t.next = t.next[:0]
	before := rune(-1)
	for i := 0; ; {
		after, size := rune(-1), 0
		if i < len(s) {
			after, size = utf8.DecodeRuneInString(s[i:])
		}
		flags := syntax.EmptyOpContext(before, after) &^ (syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary)
		if isWord(before) != isWord(after) {
			flags |= syntax.EmptyWordBoundary
		} else {
			flags |= syntax.EmptyNoWordBoundary
		}
		// A match may begin anywhere.
		if t.advance(p, append(t.next, uint32(p.Start)), flags) {
			return true
		}
		if size == 0 {
			return false
		}
		t.next = t.next[:0]
		for _, pc := range t.now {
			if p.Inst[pc].MatchRune(after) {
				t.next = append(t.next, p.Inst[pc].Out)
			}
		}
		before, i = after, i+size
	}
}

// advance follows the instructions that read no character, and collects the others. It
// reports whether the program has matched.
func (t *threads) advance(p *syntax.Prog, from []uint32, flags syntax.EmptyOp) bool {
	clear(t.met)
	t.now = t.now[:0]
	t.stack = append(t.stack[:0], from...)
	t.next = from[:0] // keeps what was allocated
	for len(t.stack) > 0 {
		pc := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if t.met[pc>>6]&(1<<(pc&63)) != 0 {
			continue
		}
		t.met[pc>>6] |= 1 << (pc & 63)
		switch inst := &p.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			t.stack = append(t.stack, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			t.stack = append(t.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				t.stack = append(t.stack, inst.Out)
			}
		case syntax.InstFail:
		default:
			t.now = append(t.now, pc)
		}
	}
	return false
}
