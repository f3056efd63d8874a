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
	// Interval between polls, shortened by up to a tenth so that many processes
	// do not poll in step. Zero: what the source suggests by a method
	// Pace() (interval, maxBackoff time.Duration), as Remote does, or two
	// seconds.
	Interval time.Duration

	// MaxBackoff bounds the pause after failed loads, which doubles from
	// Interval. Zero: what the source suggests, or Interval, so that a mended
	// source is live at once.
	MaxBackoff time.Duration

	// Identity tells this Loader from others that poll the same source: the
	// name of a machine, say. Where in the interval it polls follows from it,
	// so that many are spread evenly even if all start at once. Empty: a
	// random one.
	Identity string

	// Compile configures the compilation.
	Compile flags.CompileOptions

	// OnDefinitions is called with definitions that have arrived, before they are
	// compiled, one call at a time. It must not change them. Nil: no call.
	OnDefinitions func(*flags.Definitions)

	// OnSwap is called after each swap, one call at a time, from the goroutine
	// that loaded. Old is nil the first time. Nil: no call.
	OnSwap func(old, current *flags.Snapshot)

	// OnLoad is called after each attempt to load, by Refresh or Run, with its
	// error: nil if what is served is current. It comes after OnSwap, one call
	// at a time, and not when a context ended the attempt. Nil: no call.
	OnLoad func(err error)

	// Log is told of new definitions with their problems, and by Run of errors,
	// of each only when it changes. Nil: no log.
	Log *slog.Logger
}

// A paced source knows how often it is worth asking. Zero: it does not.
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

// Status tells what a Loader has and when it got it.
type Status struct {
	// Version of the definitions that are served, "" if there are none.
	Version string

	// Origin is where they come from: "remote", "file", "static", or "cache"
	// for those that a Cached kept until its source has answered. Of other
	// sources it is what their method Origin() string returns, or "".
	Origin string

	// Fetched is when they left their origin: were downloaded or read, by this
	// process or by the one that kept them in a cache. The age of definitions
	// is the time since then.
	Fetched time.Time

	// Loaded is when they were swapped in; Checked when their origin last
	// answered, with new definitions or with "not modified". For definitions
	// of a cache it is Fetched. So the time since Checked is for how long a
	// change may have gone unseen.
	Loaded  time.Time
	Checked time.Time

	// Err is the error of the last attempt, nil if it went well, and Failures
	// counts the attempts since the last one that did. An attempt that had to
	// be content with a cache has failed.
	Err      error
	Failures int

	// Problems of the definitions that are served.
	Problems []flags.Problem
}

// NewLoader returns a Loader that loads nothing before Refresh or Run.
func NewLoader(e *flags.Evaluator, s Source, c LoaderConfig) *Loader {
	c = c.withDefaults(s)
	return &Loader{
		evaluator: e, source: s, config: c,
		schedule: newSchedule(c.Identity, c.Interval),
		loading:  make(chan struct{}, 1),
	}
}

// Run loads now, and from then on once per interval, at the times that follow
// from the Loader's Identity. It returns nil when ctx ends. Errors of the source
// never end it; they, and a RetryError in particular, make the pauses longer.
func (l *Loader) Run(ctx context.Context) error {
	logged := ""
	for {
		_ = l.Refresh(ctx) // its error is in the Status, also if a cache made up for it
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

// backoff returns how long not to poll at all, beyond the pause up to the next
// slot, which is about an interval.
func (l *Loader) backoff(status Status) time.Duration {
	if status.Err == nil {
		return 0
	}
	n := min(max(status.Failures-1, 0), 30)
	pause := min(l.config.Interval<<n, l.config.MaxBackoff)
	if pause < l.config.Interval { // more than there are bits
		pause = l.config.MaxBackoff
	}
	atLeast := max(pause-l.config.Interval, 0)
	if retry, ok := errors.AsType[*RetryError](status.Err); ok {
		atLeast = max(atLeast, retry.After)
	}
	return atLeast
}

// Refresh loads now and returns when the snapshot is swapped in, or when the
// source has nothing new. It waits for a load that is under way, or for ctx. If a
// cache makes up for a source that fails, the error is nil, and that of the
// source is in the Status.
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

// An answer is what a Loader wants to know of a load.
type answer struct {
	definitions *flags.Definitions
	version     string
	origin      string
	fetched     time.Time // when the definitions left their origin
	stale       error     // why they are not those that the origin has now; nil: they are
}

// An answerer is a Source that can tell all that.
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

// originOf returns what a Source says that definitions come from.
func originOf(s Source) string {
	if o, ok := s.(interface{ Origin() string }); ok {
		return o.Origin()
	}
	return ""
}

// log tells of a swap, with the worst problems: a broken flag should be seen by
// whoever changed it.
func (l *Loader) log(ctx context.Context, s *flags.Snapshot, status Status) {
	problems := status.Problems
	l.config.Log.InfoContext(ctx, "flag definitions loaded", "flags", s.Len(), "problems", len(problems), "version", status.Version, "origin", status.Origin)
	const most = 20
	for i, p := range problems {
		if i == most {
			l.config.Log.WarnContext(ctx, "more problems in flag definitions", "count", len(problems)-most)
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

// Status returns what the Loader has and how its last attempt went.
func (l *Loader) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}
