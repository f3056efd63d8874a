package flags

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of regular expressions. To match a pattern costs its whole program for
// every character of the text, so the program of each pattern is bounded. The memory
// of all programs and the text of all patterns are bounded together.
const (
	maxPattern        = 4 << 10  // bytes of one pattern
	maxProgram        = 10_000   // instructions of one pattern
	maxRegexpsMemory  = 64 << 20 // bytes of all programs, estimated
	maxRegexpsText    = 4 << 20  // bytes of all patterns, rewritten, and ranges of their classes
	bytesInstruction  = 80
	bytesClassElement = 4
)

var errRegexTooLarge = fmt.Errorf("%w: regular expression", ErrTooLarge)

// A regexpBuilder compiles the patterns of one set of definitions. Equal patterns
// are compiled once.
type regexpBuilder struct {
	done map[string]regexpResult
	regexpBudget
	timeouts *patternTimeouts
}

// A regexpBudget is what all patterns together need so far.
type regexpBudget struct {
	memory   int
	text     int  // bytes of rewritten patterns, and ranges of their classes
	exceeded bool // a pattern was refused because of the others
}

type regexpResult struct {
	m   Matcher
	err error
}

// compilePattern compiles a pattern with the caller's engine or, if that is nil,
// translated for package regexp.
func (b *regexpBuilder) compilePattern(source string, engine func(string) (Matcher, error)) (Matcher, error) {
	if r, ok := b.done[source]; ok {
		return r.m, r.err
	}
	m, err := b.compileNewPattern(source, engine)
	if b.done == nil {
		b.done = make(map[string]regexpResult)
	}
	b.done[strings.Clone(source)] = regexpResult{m, err}
	return m, err
}

func (b *regexpBuilder) compileNewPattern(source string, engine func(string) (Matcher, error)) (m Matcher, err error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("%w: more than %d bytes", errRegexTooLarge, maxPattern)
	}
	if engine != nil {
		if panicked := recoverPanic(func() { m, err = engine(source) }); panicked != nil {
			return nil, panicked
		}
		if err == nil && m == nil {
			err = errors.New("the engine returned no matcher")
		}
		if err != nil {
			return nil, err
		}
		return guardedMatcher{m}, nil
	}
	written, boundary, err := readPattern(source)
	if err != nil {
		return nil, err
	}
	if b.text += len(written); b.text > maxRegexpsText {
		b.exceeded = true
		return nil, fmt.Errorf("%w: all patterns together have more than %d MiB, classes written out", errRegexTooLarge, maxRegexpsText>>20)
	}
	p := &pattern{source: source, timeouts: b.timeouts}
	parsed, err := syntax.Parse(written, syntax.Perl)
	if err == nil {
		instructions, elements := regexpCost(parsed)
		if instructions > maxProgram {
			return nil, fmt.Errorf("%w: it compiles to more than %d instructions", errRegexTooLarge, maxProgram)
		}
		if err := b.spend(instructions*bytesInstruction + elements*bytesClassElement); err != nil {
			return nil, err
		}
		if t, ok := newTextPattern(parsed); ok {
			return t, nil
		}
		if p.re, err = regexp.Compile(written); err != nil {
			return nil, err
		}
		p.instructions = instructions
	}
	if p.re == nil || boundary {
		if p.slow, err = b.compileSlow(written, len(source)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// spend takes memory out of what all patterns may have.
func (b *regexpBuilder) spend(bytes int) error {
	if b.memory += bytes; b.memory > maxRegexpsMemory {
		b.exceeded = true
		return fmt.Errorf("%w: all patterns together need more than %d MiB", errRegexTooLarge, maxRegexpsMemory>>20)
	}
	return nil
}

// A guardedMatcher keeps a panic of a caller's engine from leaving an evaluation.
type guardedMatcher struct{ Matcher }

func (g guardedMatcher) MatchString(s string) (matched bool) {
	defer func() {
		if recover() != nil {
			matched = false
		}
	}()
	return g.Matcher.MatchString(s)
}

// regexpCost estimates, from above, how many instructions an expression compiles to
// and how many elements its character classes have.
func regexpCost(re *syntax.Regexp) (instructions, elements int) {
	const maxCount = 1 << 30
	instructions, elements = 1+len(re.Rune), len(re.Rune)
	if re.Op == syntax.OpCharClass {
		instructions = 1
	}
	for _, sub := range re.Sub {
		i, e := regexpCost(sub)
		instructions, elements = min(instructions+i, maxCount), min(elements+e, maxCount)
	}
	if re.Op == syntax.OpRepeat {
		n := max(re.Max, re.Min+1)
		instructions = min(instructions*(n+1), maxCount)
	}
	return instructions + 1, elements
}

// A Matcher is a compiled regular expression, such as *regexp.Regexp.
// MatchString must be safe for concurrent use.
type Matcher interface {
	MatchString(s string) bool
}
