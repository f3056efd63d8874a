package flagstaff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// A Client has the flags of one project and keeps them current until Close. A nil Client
// has none, and neither has one that [Open] did not make.
type Client struct {
	config    Config
	log       *slog.Logger
	evaluator flags.Evaluator
	loader    *source.Loader // nil: the Config was refused
	events    *capture.Client
	owned     bool // events was made here
	kinds     atomic.Pointer[map[string]kind]
	warned    sync.Map // keys of flags that warn has logged

	unknown func(short [shortKey]byte, n int, long string) // counts a key that no flag has, see Person.missed

	closing sync.Once
	closed  error
}

const (
	openWait   = 10 * time.Second       // for the first definitions, where a context has no deadline
	firstPause = 250 * time.Millisecond // pause after the first attempt that failed
	lastPause  = 2 * time.Second        // between two attempts
	closeTime  = 5 * time.Second        // for the last exposures, where a context has no deadline
)

// Open returns a Client. It waits for the first definitions until ctx ends, or for ten
// seconds if ctx has no deadline, unless waiting is pointless: the server refuses the
// keys, or a file cannot be read.
//
// The Client is never nil. It works in any case: without definitions it answers
// fallbacks, and goes on trying until Close. The error says what is missing; only if
// the Config itself is wrong will there never be definitions.
func Open(ctx context.Context, config Config) (*Client, error) {
	c := &Client{config: config, log: config.Log, events: config.Events}
	c.log = cmp.Or(c.log, slog.Default())
	c.unknown = func(short [shortKey]byte, n int, long string) {
		if n == 0 {
			c.evaluator.NoteUnknown(long)
		} else {
			c.evaluator.NoteUnknown(string(short[:n]))
		}
	}
	from, err := config.definitions()
	if err == nil && c.events == nil && config.URL != "" && config.ProjectKey != "" {
		c.owned = true
		c.events, err = capture.NewClient(capture.ClientConfig{
			URL: config.URL, APIKey: config.ProjectKey, HTTP: config.HTTP,
			OnError: func(err error) { c.log.Warn("exposures were lost", "error", err) },
		})
	}
	if err != nil {
		return c, err
	}
	loaded := make(chan struct{}) // closed when the loader has tried once
	once := sync.OnceFunc(func() { close(loaded) })
	c.loader = source.NewLoader(&c.evaluator, from, source.LoaderConfig{
		Interval: config.Interval, Compile: config.Compile, Log: c.log, OnDefinitions: c.learn,
		OnLoad: func(error) { once() },
	})
	go func() { _ = c.loader.Run(context.WithoutCancel(ctx)) }() // it fails only without a source
	return c, c.await(ctx, loaded)
}

// await waits until there are definitions, or until waiting is pointless. The loader
// makes long pauses after a failure; a program that starts tries more often.
func (c *Client) await(ctx context.Context, loaded <-chan struct{}) error {
	if _, ok := ctx.Deadline(); !ok {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, openWait)
		defer stop()
	}
	select {
	case <-loaded:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", flags.ErrNotReady, context.Cause(ctx))
	}
	for pause := firstPause; c.Snapshot() == nil; pause = min(2*pause, lastPause) {
		err := c.loader.Status().Err
		if c.config.URL == "" || errors.Is(err, source.ErrRefused) || !sleep(ctx, pause) {
			return fmt.Errorf("%w: %w", flags.ErrNotReady, err)
		}
		_ = c.loader.Refresh(ctx) // its error is in the Status
	}
	return nil
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Snapshot returns the current definitions, or nil if there are none.
func (c *Client) Snapshot() *flags.Snapshot {
	if c == nil {
		return nil
	}
	return c.evaluator.Snapshot()
}

// Evaluator returns what holds the current definitions, for code that wants package
// flags, such as an OpenFeature provider. It is nil for a nil Client.
func (c *Client) Evaluator() *flags.Evaluator {
	if c == nil {
		return nil
	}
	return &c.evaluator
}

// Events returns the client that reports exposures, to report other events with it. It
// is nil if none are reported.
func (c *Client) Events() *capture.Client {
	if c == nil {
		return nil
	}
	return c.events
}

// Status says where the definitions come from, how old they are, and what is wrong with
// them. It has forms for a health page, see [source.Status].
func (c *Client) Status() source.Status {
	if c == nil {
		return source.Status{}
	}
	return c.loader.Status()
}

// Refresh loads the definitions at once, see [source.Loader.Refresh].
func (c *Client) Refresh(ctx context.Context) error {
	if c == nil {
		return flags.ErrNotReady
	}
	return c.loader.Refresh(ctx)
}

// Close stops following the definitions and sends the last exposures until ctx ends, or
// for five seconds if ctx has no deadline. The Client goes on answering from the last
// definitions. The error says how many exposures were lost. A second Close waits for
// the first one and returns its error.
func (c *Client) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.closing.Do(func() {
		_ = c.loader.Close() // it is always nil
		if !c.owned || c.events == nil {
			return
		}
		if _, ok := ctx.Deadline(); !ok {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, closeTime)
			defer stop()
		}
		c.closed = c.events.Close(ctx)
	})
	return c.closed
}

// warn logs what is wrong with the payload of a flag, once for each flag.
func (c *Client) warn(key string, err error) {
	if c == nil {
		return
	}
	if _, again := c.warned.LoadOrStore(key, true); !again {
		c.log.Warn("a payload is not what the program wants", "error", err)
	}
}
