package flags

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
)

// Limits of regular expressions. To match a pattern costs its whole program for
// every character of the text, so the program of each pattern is bounded. The memory
// of all programs and the text of all patterns are bounded together.
const (
	maxPattern        = 4 << 10  // bytes of one pattern
	maxProgram        = 10_000   // instructions of one pattern
	maxRegexpsMemory  = 64 << 20 // bytes of all programs, estimated
	maxRegexpsText    = 4 << 20  // bytes of all patterns, rewritten
	bytesInstruction  = 80
	bytesClassElement = 4
)

var (
	errRegexUnsupported = errors.New("the pattern needs look-around or back-references")
	errRegexTooLarge    = fmt.Errorf("%w: regular expression", ErrTooLarge)
)

// A regexpBuilder compiles the patterns of one set of definitions. Equal patterns
// are compiled once.
type regexpBuilder struct {
	done   map[string]regexpResult
	memory int
	text   int // bytes of rewritten patterns
}

type regexpResult struct {
	m   Matcher
	err error
}

// compilePattern compiles a pattern with the caller's engine or, if that is nil,
// with package regexp.
func (b *regexpBuilder) compilePattern(pattern string, engine func(string) (Matcher, error)) (Matcher, error) {
	if r, ok := b.done[pattern]; ok {
		return r.m, r.err
	}
	m, err := b.compileNewPattern(pattern, engine)
	if b.done == nil {
		b.done = make(map[string]regexpResult)
	}
	b.done[strings.Clone(pattern)] = regexpResult{m, err}
	return m, err
}

func (b *regexpBuilder) compileNewPattern(pattern string, engine func(string) (Matcher, error)) (m Matcher, err error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("%w: more than %d bytes", errRegexTooLarge, maxPattern)
	}
	if engine != nil {
		if panicked := recoverPanic(func() { m, err = engine(pattern) }); panicked != nil {
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
	rewritten := unicodeClasses(pattern)
	if b.text += len(rewritten); b.text > maxRegexpsText {
		return nil, fmt.Errorf("%w: all patterns together have more than %d MiB, classes written out", errRegexTooLarge, maxRegexpsText>>20)
	}
	parsed, err := syntax.Parse(rewritten, syntax.Perl)
	if err != nil {
		if beyondRE2(pattern) {
			return nil, errRegexUnsupported
		}
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok {
			return nil, errors.New("the pattern is invalid")
		}
		return nil, fmt.Errorf("the pattern is invalid: %s", e.Code)
	}
	instructions, elements := regexpCost(parsed)
	if instructions > maxProgram {
		return nil, fmt.Errorf("%w: it compiles to more than %d instructions", errRegexTooLarge, maxProgram)
	}
	if b.memory += instructions*bytesInstruction + elements*bytesClassElement; b.memory > maxRegexpsMemory {
		return nil, fmt.Errorf("%w: all patterns together need more than %d MiB", errRegexTooLarge, maxRegexpsMemory>>20)
	}
	return regexp.Compile(rewritten)
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

// unicodeClasses writes out \d, \w and \s, which are ASCII to package regexp, as
// what they mean in the dialect of flags (evaluation.md §4.6).
func unicodeClasses(pattern string) string {
	if !strings.Contains(pattern, `\`) {
		return pattern
	}
	const (
		digit = `\p{Nd}`
		word  = `\p{L}\p{M}\p{Nd}\p{Pc}`
		space = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	)
	var b strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		ch := pattern[i]
		switch {
		case ch == '\\' && i+1 < len(pattern):
			i++
			switch next := pattern[i]; {
			case next == 'Q':
				// Quoted text up to \E.
				end := strings.Index(pattern[i:], `\E`)
				if end < 0 {
					b.WriteString(pattern[i-1:])
					return b.String()
				}
				b.WriteString(pattern[i-1 : i+end+2])
				i += end + 1
			case next == 'd':
				b.WriteString(digit)
			case next == 'D':
				b.WriteString(`\P{Nd}`)
			case next == 'w' && class:
				b.WriteString(word)
			case next == 'w':
				b.WriteString("[" + word + "]")
			case next == 'W' && class:
				b.WriteString(complementOf(word))
			case next == 'W':
				b.WriteString("[^" + word + "]")
			case next == 's' && class:
				b.WriteString(space)
			case next == 's':
				b.WriteString("[" + space + "]")
			case next == 'S' && class:
				b.WriteString(complementOf(space))
			case next == 'S':
				b.WriteString("[^" + space + "]")
			default:
				b.WriteByte(ch)
				b.WriteByte(next)
			}
		case ch == '[' && !class:
			class = true
			b.WriteByte(ch)
			// A bracket right after the opening one is literal.
			if i+1 < len(pattern) && pattern[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(pattern) && pattern[i+1] == ']' {
				i++
				b.WriteByte(']')
			}
		case ch == '[' && class && i+1 < len(pattern) && pattern[i+1] == ':':
			// [:alpha:] inside a class.
			end := strings.Index(pattern[i:], ":]")
			if end < 0 {
				b.WriteByte(ch)
				continue
			}
			b.WriteString(pattern[i : i+end+2])
			i += end + 1
		case ch == ']' && class:
			class = false
			b.WriteByte(ch)
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

var complements sync.Map // class → its complement

// complementOf writes the complement of a class as ranges, since a class cannot
// contain a negated class.
func complementOf(class string) string {
	if s, ok := complements.Load(class); ok {
		return s.(string)
	}
	re, err := syntax.Parse("[^"+class+"]", syntax.Perl)
	if err != nil {
		return "" // the classes are constants of this file
	}
	var b strings.Builder
	for i := 0; i+1 < len(re.Rune); i += 2 {
		b.WriteString(`\x{` + strconv.FormatInt(int64(re.Rune[i]), 16) + `}-\x{` + strconv.FormatInt(int64(re.Rune[i+1]), 16) + `}`)
	}
	complements.Store(class, b.String())
	return b.String()
}

// beyondRE2 reports whether a pattern uses something that the dialect of flags has
// and RE2 has not: look-around, atomic groups, conditionals, back-references,
// possessive quantifiers.
func beyondRE2(pattern string) bool {
	class := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch ch := pattern[i]; {
		case ch == '\\' && i+1 < len(pattern):
			next := pattern[i+1]
			i++
			if !class && (next >= '1' && next <= '9' || next == 'k' || next == 'g') {
				return true
			}
		case class:
			class = ch != ']'
		case ch == '[':
			class = true
			if i+1 < len(pattern) && pattern[i+1] == '^' {
				i++
			}
			if i+1 < len(pattern) && pattern[i+1] == ']' {
				i++
			}
		case ch == '(':
			for _, open := range []string{"(?=", "(?!", "(?<=", "(?<!", "(?>", "(?("} {
				if strings.HasPrefix(rest, open) {
					return true
				}
			}
		case ch == '+' && i > 0 && strings.IndexByte("*+?}", pattern[i-1]) >= 0 && i > 1:
			return true
		}
	}
	return false
}

// A Matcher is a compiled regular expression, such as *regexp.Regexp.
// MatchString must be safe for concurrent use.
type Matcher interface {
	MatchString(s string) bool
}
