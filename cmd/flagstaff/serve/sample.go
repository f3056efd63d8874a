package serve

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// Of lines of one kind the first passes. The others are counted, and a line says how
	// many there were: after sampleTime, and every sampleAgain while it goes on. A kind is
	// forgotten when none has come for sampleAgain, which is longer than what works in the
	// background waits before it tries again.
	sampleTime  = time.Minute
	sampleAgain = 10 * time.Minute

	// maxKinds is how many kinds of lines are told apart at a time. Further ones count as
	// one.
	maxKinds = 256

	// maxKindValue is how much of a value counts to tell kinds apart.
	maxKindValue = 200 // bytes
)

// A sampler is a [slog.Handler] that does not repeat warnings and errors without end: a store
// that is down would be worth a line for each request. Lines are of one kind if they have the
// same level, message, and values of the attributes of distinguishes. A sampler is safe for
// concurrent use.
type sampler struct {
	next slog.Handler
	*samples
}

// distinguishes has the attributes that make a line another one. Other attributes, such as
// the error itself, say more about the same.
var distinguishes = map[string]bool{
	"route": true, "page": true, "status": true, "store": true, "stream": true, "resource": true, "kind": true,
	"project": true, "flag": true, "problem": true, "survey": true, "setting": true, "value": true,
}

// samples are what the samplers of one log have in common.
type samples struct {
	mu     sync.Mutex
	kinds  map[lineKind]*repeated
	closed bool
}

type lineKind struct {
	level  slog.Level
	text   string // "" for all that are too many
	values string
}

type repeated struct {
	left  int // out, since begun
	last  slog.Record
	next  slog.Handler // for last
	begun time.Time
	again bool // sampleTime is over
	timer *time.Timer
}

// newSampler returns a log that leaves repetitions out, and a function that ends this: it
// writes how many lines were left out, and all later lines pass.
func newSampler(log *slog.Logger) (sampled *slog.Logger, end func()) {
	s := &samples{kinds: make(map[lineKind]*repeated)}
	return slog.New(&sampler{log.Handler(), s}), s.end
}

// Enabled implements [slog.Handler].
func (h *sampler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler].
func (h *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampler{h.next.WithAttrs(attrs), h.samples}
}

// WithGroup implements [slog.Handler].
func (h *sampler) WithGroup(name string) slog.Handler {
	return &sampler{h.next.WithGroup(name), h.samples}
}

// Handle implements [slog.Handler].
func (h *sampler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn || h.passes(r) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

func kindOf(r slog.Record) lineKind {
	var values strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if distinguishes[a.Key] {
			text := a.Value.String()
			values.WriteString(a.Key + "=" + text[:min(len(text), maxKindValue)] + "\x00")
		}
		return true
	})
	return lineKind{r.Level, r.Message, values.String()}
}

// passes counts a line, and reports whether it is to be written.
func (h *sampler) passes(r slog.Record) bool {
	k := kindOf(r)
	s := h.samples
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return true
	}
	c := s.kinds[k]
	if c == nil && len(s.kinds) >= maxKinds {
		k = lineKind{level: r.Level}
		c = s.kinds[k]
	}
	if c == nil {
		c = &repeated{begun: time.Now()}
		c.timer = time.AfterFunc(sampleTime, func() { s.endOf(k, c) })
		s.kinds[k] = c
		return true
	}
	c.left++
	c.last, c.next = r.Clone(), h.next
	return false
}

// endOf ends the time of a kind. Its next time begins, unless it was quiet for long.
func (s *samples) endOf(k lineKind, c *repeated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds[k] != c {
		return
	}
	if c.again && c.left == 0 {
		delete(s.kinds, k)
		return
	}
	c.tell()
	c.left, c.again, c.begun = 0, true, time.Now()
	c.timer.Reset(sampleAgain)
}

// end ends the times of all kinds.
func (s *samples) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for k, c := range s.kinds {
		c.timer.Stop()
		delete(s.kinds, k)
		c.tell()
	}
}

// tell writes the last line that was left out, with how many there were.
func (c *repeated) tell() {
	if c.left == 0 {
		return
	}
	c.last.AddAttrs(slog.Int("left_out", c.left), slog.Duration("within", time.Since(c.begun).Round(time.Millisecond)))
	_ = c.next.Handle(context.Background(), c.last) // nobody can be told
}
