package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// LoaderConfig configures a Loader. The zero value polls every two seconds.
type LoaderConfig struct {
	// Interval between polls, varied by up to a tenth so that many processes
	// do not poll in step. Zero: two seconds.
	Interval time.Duration

	// MaxBackoff bounds the pause after failed loads, which doubles from
	// Interval. Zero: Interval, so that a mended source is live at once.
	MaxBackoff time.Duration

	// Compile configures the compilation.
	Compile flags.CompileOptions

	// OnSwap is called after each swap, one call at a time, from the goroutine
	// that loaded. Old is nil the first time. Nil: no call.
	OnSwap func(old, current *flags.Snapshot)

	// Log is told of new definitions with their problems, and by Run of errors,
	// of each only when it changes. Nil: no log.
	Log *slog.Logger
}

func (c LoaderConfig) withDefaults() LoaderConfig {
	if c.Interval <= 0 {
		c.Interval = 2 * time.Second
	}
	c.MaxBackoff = max(cmp.Or(c.MaxBackoff, c.Interval), c.Interval)
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

	loading chan struct{} // holds one token: the right to load

	mu     sync.Mutex
	status Status
}

// Status tells what a Loader has and when it got it.
type Status struct {
	// Version of the definitions that are served, "" if there are none.
	Version string

	// Loaded is when they were swapped in; Checked when the source last
	// answered, with new definitions or with "not modified".
	Loaded  time.Time
	Checked time.Time

	// Err is the error of the last attempt, nil if it went well, and Failures
	// counts the attempts since the last one that did.
	Err      error
	Failures int

	// Problems of the definitions that are served.
	Problems []flags.Problem
}

// NewLoader returns a Loader that loads nothing before Refresh or Run.
func NewLoader(e *flags.Evaluator, s Source, c LoaderConfig) *Loader {
	return &Loader{evaluator: e, source: s, config: c.withDefaults(), loading: make(chan struct{}, 1)}
}

// Run loads now and then after each interval. It returns nil when ctx ends.
// Errors of the source never end it.
func (l *Loader) Run(ctx context.Context) error {
	logged := ""
	for {
		err := l.Refresh(ctx)
		if ctx.Err() != nil {
			return nil
		}
		pause := l.config.Interval
		switch {
		case err == nil:
			logged = ""
		case err.Error() != logged:
			logged = err.Error()
			l.config.Log.ErrorContext(ctx, "flag definitions cannot be loaded; the last good ones stay", "error", err)
		}
		if err != nil {
			n := min(l.Status().Failures-1, 30)
			pause = min(pause<<n, l.config.MaxBackoff)
			if pause <= 0 {
				pause = l.config.MaxBackoff
			}
		}
		timer := time.NewTimer(jitter(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// jitter shortens a pause by up to a tenth: a change is never seen later than
// the interval says.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1))
}

// Refresh loads now and returns when the snapshot is swapped in, or when the
// source has nothing new. It waits for a load that is under way, or for ctx.
func (l *Loader) Refresh(ctx context.Context) error {
	select {
	case l.loading <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.loading }()

	err := l.load(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Err = err
	l.status.Failures++
	return err
}

func (l *Loader) load(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("source: loading panicked: %v", r)
		}
	}()
	d, version, err := l.source.Load(ctx, l.Status().Version)
	if errors.Is(err, ErrNotModified) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.status.Checked, l.status.Err, l.status.Failures = time.Now(), nil, 0
		if version != "" {
			l.status.Version = version
		}
		return nil
	}
	if err != nil {
		return err
	}
	s, err := flags.Compile(d, l.config.Compile)
	if err != nil {
		return err
	}
	old := l.evaluator.Swap(s)
	now := time.Now()
	l.mu.Lock()
	l.status = Status{Version: version, Loaded: now, Checked: now, Problems: s.Problems()}
	l.mu.Unlock()
	l.log(ctx, s, version)
	if l.config.OnSwap != nil {
		l.config.OnSwap(old, s)
	}
	return nil
}

// log tells of a swap, with the worst problems: a broken flag should be seen by
// whoever changed it.
func (l *Loader) log(ctx context.Context, s *flags.Snapshot, version string) {
	problems := s.Problems()
	l.config.Log.InfoContext(ctx, "flag definitions loaded", "flags", s.Len(), "problems", len(problems), "version", version)
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
