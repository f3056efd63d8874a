package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// LoaderConfig configures a Loader. The zero value polls as often as the source
// suggests, or every two seconds.
type LoaderConfig struct {
	// Interval is the time between polls. It is shortened by up to a tenth, so
	// that many processes do not poll in step. Zero means the interval that the
	// source suggests by a method Pace() (interval, maxBackoff time.Duration),
	// as Remote does, or two seconds.
	Interval time.Duration

	// MaxBackoff limits the pause after failed loads, which doubles, beginning
	// with Interval. Zero means the limit that the source suggests, or
	// Interval, so that a repaired source is live at once.
	MaxBackoff time.Duration

	// Identity distinguishes this Loader from others that poll the same source,
	// for example the name of a machine. It determines when in the interval the
	// Loader polls, so that many Loaders are spread evenly even if all start at
	// once. Empty means a random one.
	Identity string

	// Compile configures the compilation.
	Compile flags.CompileOptions

	// OnDefinitions is called with new definitions before they are compiled,
	// one call at a time. It must not change them. Nil means no call.
	OnDefinitions func(*flags.Definitions)

	// OnSwap is called after each swap, one call at a time, on the goroutine
	// that loaded. The first time, old is nil. Nil means no call.
	OnSwap func(old, current *flags.Snapshot)

	// OnLoad is called after each attempt to load, by Refresh or Run, with its
	// error, which is nil if the served definitions are current. It comes after
	// OnSwap, one call at a time, and not if a context ended the attempt. Nil
	// means no call.
	OnLoad func(err error)

	// Log receives new definitions with their problems, and errors of Run, each
	// of them only when it changes. Nil means no log.
	Log *slog.Logger
}

// A paced source suggests how often to poll. Zero means no suggestion.
type paced interface {
	Pace() (interval, maxBackoff time.Duration)
}

func (c LoaderConfig) withDefaults(s Source) LoaderConfig {
	var interval, backoff time.Duration
	if p, ok := s.(paced); ok {
		interval, backoff = p.Pace()
	}
	if c.Interval <= 0 {
		c.Interval = cmp.Or(max(interval, 0), 2*time.Second)
	}
	c.MaxBackoff = max(cmp.Or(c.MaxBackoff, backoff), c.Interval)
	if c.Identity == "" {
		c.Identity = strconv.FormatUint(rand.Uint64(), 16)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// A Loader keeps an Evaluator current from a Source.
type Loader struct {
	evaluator *flags.Evaluator
	source    Source
	config    LoaderConfig
	schedule  schedule

	loading chan struct{} // holds one token: the right to load

	mu     sync.Mutex
	status Status
}

// Status describes the definitions of a Loader and its last attempt.
type Status struct {
	// Version is the version of the served definitions, "" if there are none.
	Version string

	// Origin is the origin of the definitions: "remote", "file", "static", or
	// "cache" for definitions that a Cached has kept, until its source answers.
	// For other sources it is the result of their method Origin() string, or
	// "".
	Origin string

	// Fetched is when the definitions left their origin: when this process, or
	// the one that kept them in a cache, downloaded or read them. The age of
	// definitions is the time since then.
	Fetched time.Time

	// Loaded is when the definitions were swapped in. Checked is when their
	// origin last answered, with new definitions or with "not modified"; for
	// definitions from a cache it is Fetched. So a change may have gone unseen
	// for the time since Checked.
	Loaded  time.Time
	Checked time.Time

	// Err is the error of the last attempt, nil if it succeeded, and Failures
	// is the number of attempts since the last success. An attempt that got
	// definitions only from a cache has failed.
	Err      error
	Failures int

	// Problems are the problems of the served definitions.
	Problems []flags.Problem
}

// NewLoader returns a Loader. It loads nothing before Refresh or Run.
func NewLoader(e *flags.Evaluator, s Source, c LoaderConfig) *Loader {
	c = c.withDefaults(s)
	return &Loader{
		evaluator: e, source: s, config: c,
		schedule: newSchedule(c.Identity, c.Interval),
		loading:  make(chan struct{}, 1),
	}
}

// Run loads at once, and then once per interval, at the times that follow from
// the Loader's Identity. It returns nil when ctx ends. Errors of the source
// never end it; they make the pauses longer, a RetryError in particular.
func (l *Loader) Run(ctx context.Context) error {
	logged := ""
	for {
		_ = l.Refresh(ctx) // its error is in the Status, even if there were definitions in a cache
		if ctx.Err() != nil {
			return nil
		}
		status := l.Status()
		switch {
		case status.Err == nil:
			logged = ""
		case status.Err.Error() != logged:
			logged = status.Err.Error()
			l.config.Log.ErrorContext(ctx, "flag definitions cannot be loaded; the last good ones stay", "error", status.Err)
		}
		timer := time.NewTimer(l.schedule.pause(time.Now(), l.backoff(status)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// backoff returns the additional pause before the pause until the next slot,
// which is about an interval.
func (l *Loader) backoff(status Status) time.Duration {
	if status.Err == nil {
		return 0
	}
	n := min(max(status.Failures-1, 0), 30)
	pause := min(l.config.Interval<<n, l.config.MaxBackoff)
	if pause < l.config.Interval { // the shift has overflowed
		pause = l.config.MaxBackoff
	}
	atLeast := max(pause-l.config.Interval, 0)
	if retry, ok := errors.AsType[*RetryError](status.Err); ok {
		atLeast = max(atLeast, retry.After)
	}
	return atLeast
}

// Refresh loads at once, and returns when the snapshot is swapped in or when
// the source has nothing new. It waits for a running load, or for ctx. If the
// source fails and a cache has definitions, Refresh returns nil, and the error
// of the source is in the Status.
func (l *Loader) Refresh(ctx context.Context) error {
	select {
	case l.loading <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.loading }()

	err := l.load(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		l.mu.Lock()
		l.status.Err = err
		l.status.Failures++
		l.mu.Unlock()
	}
	if l.config.OnLoad != nil {
		l.config.OnLoad(l.Status().Err)
	}
	return err
}

func (l *Loader) load(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("source: loading panicked: %v", r)
		}
	}()
	a, err := l.ask(ctx, l.Status().Version)
	if errors.Is(err, ErrNotModified) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.status.Checked, l.status.Err, l.status.Failures = time.Now(), nil, 0
		l.status.Origin = a.origin
		if a.version != "" {
			l.status.Version = a.version
		}
		return nil
	}
	if err != nil {
		return err
	}
	if l.config.OnDefinitions != nil {
		l.config.OnDefinitions(a.definitions)
	}
	s, err := flags.Compile(a.definitions, l.config.Compile)
	if err != nil {
		return errors.Join(a.stale, err)
	}
	old := l.evaluator.Swap(s)
	l.mu.Lock()
	status := Status{Version: a.version, Origin: a.origin, Fetched: a.fetched, Loaded: time.Now(), Problems: s.Problems()}
	status.Checked = status.Loaded
	if a.stale != nil {
		status.Checked, status.Err, status.Failures = a.fetched, a.stale, l.status.Failures+1
	}
	l.status = status
	l.mu.Unlock()
	l.log(ctx, s, status)
	if l.config.OnSwap != nil {
		l.config.OnSwap(old, s)
	}
	return nil
}

// An answer has everything that a Loader records about a load.
type answer struct {
	definitions *flags.Definitions
	version     string
	origin      string
	fetched     time.Time // when the definitions left their origin
	stale       error     // why the origin may have newer definitions; nil if it has not
}

// An answerer is a Source that gives complete answers.
type answerer interface {
	answer(ctx context.Context, have string) (answer, error)
}

func (l *Loader) ask(ctx context.Context, have string) (answer, error) {
	if s, ok := l.source.(answerer); ok {
		return s.answer(ctx, have)
	}
	d, version, err := l.source.Load(ctx, have)
	return answer{definitions: d, version: version, origin: originOf(l.source), fetched: time.Now()}, err
}

// originOf returns the origin that a Source states, or "".
func originOf(s Source) string {
	if o, ok := s.(interface{ Origin() string }); ok {
		return o.Origin()
	}
	return ""
}

// log logs a swap with the worst problems, so that a broken flag is noticed by
// the person who has changed it.
func (l *Loader) log(ctx context.Context, s *flags.Snapshot, status Status) {
	problems := status.Problems
	l.config.Log.InfoContext(ctx, "flag definitions loaded", "flags", s.Len(), "problems", len(problems), "version", status.Version, "origin", status.Origin)
	const maxLogged = 20 // problems
	for i, p := range problems {
		if i == maxLogged {
			l.config.Log.WarnContext(ctx, "more problems in flag definitions", "count", len(problems)-maxLogged)
			return
		}
		level := slog.LevelInfo
		switch p.Severity {
		case flags.Error:
			level = slog.LevelError
		case flags.Warning:
			level = slog.LevelWarn
		}
		l.config.Log.Log(ctx, level, "problem in flag definitions", "problem", p.DefinitionError.Error())
	}
}

// Status returns the state of the Loader and the result of its last attempt.
func (l *Loader) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}
