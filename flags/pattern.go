package flags

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// What a match may cost (evaluation.md §4.6).
const (
	patternTime  = 5 * time.Millisecond
	patternClock = time.Millisecond // between two moments that regexp2 sees
	maxSteps     = 400_000          // instructions times bytes of a text that are matched without a look at the clock, which a busy machine is late for
	maxSlowText  = 64 << 10         // bytes of a text for regexp2
)

// regexp2 has one clock for the process. Its goroutine runs while a match with a limit of
// time does, and a second longer.
func init() { regexp2.SetTimeoutCheckPeriod(patternClock) }

// slowBoundaries writes the boundaries of words for regexp2, to which a word is something else.
var slowBoundaries = strings.NewReplacer(
	`\b`, "(?(?<=["+wordClass+"])(?!["+wordClass+"])|(?=["+wordClass+"]))",
	`\B`, "(?(?<=["+wordClass+"])(?=["+wordClass+"])|(?!["+wordClass+"]))",
)

// A pattern is one that was compiled for package regexp, for regexp2, or, if it has
// boundaries of words, for both.
type pattern struct {
	source       string
	re           *regexp.Regexp
	instructions int             // of re
	slow         *regexp2.Regexp // for what re cannot decide: all texts, or those beyond ASCII
	timeouts     *patternTimeouts
	exceeded     atomic.Bool // whether it has ever exceeded its time
}

// patternTimeouts are the matches of a line of Snapshots that were given up.
type patternTimeouts struct {
	count     atomic.Uint64
	onTimeout atomic.Pointer[func(pattern string)]
}

// slowMatches is what an Evaluator knows of them.
type slowMatches struct {
	before    atomic.Uint64 // of Snapshots that others have replaced
	onTimeout atomic.Pointer[func(pattern string)]
}

// swap takes over from a Snapshot to the next one. Either may be nil.
func (m *slowMatches) swap(old, next *Snapshot) {
	if next != nil && next.timeouts != nil {
		if onTimeout := m.onTimeout.Load(); onTimeout != nil {
			next.timeouts.onTimeout.Store(onTimeout)
		}
	}
	if old != nil && old.timeouts != nil && (next == nil || next.timeouts != old.timeouts) {
		m.before.Add(old.timeouts.count.Load())
	}
}

// OnPatternTimeout sets a function that is called for each pattern of a filter when a match
// of it is given up for the first time. The calls come from evaluations, which wait for
// them; it must not block, and be safe for concurrent use. Nil: no calls.
func (e *Evaluator) OnPatternTimeout(f func(pattern string)) {
	if e == nil {
		return
	}
	onTimeout := &f
	if f == nil {
		onTimeout = nil
	}
	e.slow.onTimeout.Store(onTimeout)
	if s := e.Snapshot(); s != nil && s.timeouts != nil {
		s.timeouts.onTimeout.Store(onTimeout)
	}
}

// PatternTimeouts returns how many matches of patterns were given up, which took more than
// 5 ms (evaluation.md §4.6).
func (e *Evaluator) PatternTimeouts() uint64 {
	if e == nil {
		return 0
	}
	n := e.slow.before.Load()
	if s := e.Snapshot(); s != nil && s.timeouts != nil {
		n += s.timeouts.count.Load()
	}
	return n
}

// MatchString reports whether the text has a match. A match that takes more than
// patternTime is none.
func (p *pattern) MatchString(s string) bool {
	matched, _ := p.match(s)
	return matched
}

// match is MatchString that tells whether the match ended in time.
func (p *pattern) match(s string) (matched, inTime bool) {
	inTime = true
	switch {
	case p.slow != nil && (p.re == nil || !isASCII(s)):
		matched, inTime = p.matchSlowly(s)
	case p.instructions*len(s) > maxSteps:
		r := timedReader{rest: s, period: 10_000 / p.instructions, end: time.Now().Add(patternTime)}
		matched = p.re.MatchReader(&r)
		inTime = !r.late
	default:
		matched = p.re.MatchString(s)
	}
	if !inTime {
		p.timeouts.count.Add(1)
		if onTimeout := p.timeouts.onTimeout.Load(); onTimeout != nil && p.exceeded.CompareAndSwap(false, true) {
			(*onTimeout)(p.source)
		}
		return false, false
	}
	return matched, true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// matchSlowly matches with regexp2, which looks at the clock of its own. That may be late,
// so that a match was given up although it has hardly begun.
func (p *pattern) matchSlowly(s string) (matched, inTime bool) {
	if len(s) > maxSlowText {
		return false, false
	}
	defer func() {
		if recover() != nil {
			matched, inTime = false, false
		}
	}()
	for start := time.Now(); ; {
		matched, err := p.slow.MatchString(s)
		if err == nil {
			return matched, true
		}
		if errors.Is(err, regexp2.ErrBacktrackingStackLimit) || time.Since(start) >= patternTime {
			return false, false
		}
	}
}

// A timedReader reads a text up to a point in time.
type timedReader struct {
	rest         string
	period, left int // characters between two looks at the clock, and up to the next one
	end          time.Time
	late         bool
}

// ReadRune implements [io.RuneReader].
func (r *timedReader) ReadRune() (c rune, size int, err error) {
	if r.left--; r.left < 0 {
		r.left, r.late = r.period, time.Now().After(r.end)
	}
	if r.rest == "" || r.late {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}

// compileSlow compiles a pattern that was written out for regexp2.
func (b *regexpBuilder) compileSlow(written string, source int) (re *regexp2.Regexp, err error) {
	if source > served.MaxPattern {
		return nil, fmt.Errorf("%w: more than %d bytes, and something that is matched slowly", errRegexTooLarge, served.MaxPattern)
	}
	written = slowBoundaries.Replace(written)
	if len(written) > maxPatternOut {
		return nil, fmt.Errorf("%w: its classes are too long", errRegexTooLarge)
	}
	// The time to compile grows with the square of the length, and is bounded as memory is.
	if err := b.spend(source*source + len(written)*bytesClassElement); err != nil {
		return nil, err
	}
	panicked := recoverPanic(func() {
		re, err = regexp2.Compile(written, regexp2.RE2, regexp2.OptionMaintainCaptureOrder())
	})
	if panicked != nil {
		return nil, fmt.Errorf("%w: %w", errPattern, panicked)
	}
	if err != nil {
		reason, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "error parsing regexp: "), " in `") // what follows is the pattern as written
		return nil, fmt.Errorf("%w: %s", errPattern, reason)
	}
	re.MatchTimeout = patternTime - patternClock // the clock adds one period
	return re, nil
}
