package capture

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ClientConfig configures a [Client]. Exactly one of Sink and URL is required.
type ClientConfig struct {
	// Sink takes the events in this process, as events of Project.
	Sink    Sink
	Project int64

	// URL is a server that speaks PostHog's capture protocol, without the path of a
	// route. Events are posted to /batch/ below it. APIKey is the project's.
	URL    string
	APIKey string

	// Analytics posts events to the newer route /i/v1/analytics/events of URL in place
	// of /batch/. There the server says of each event what became of it: one that it
	// could not store is sent again, and one that it drops is counted by the reason
	// that it gives (wire.md §2.9). Events $ai_* take /batch/ in any case.
	Analytics bool

	// HTTP sends to URL. It does not follow redirects unless it has a
	// CheckRedirect. Nil: an own client, which gives up after 10 s.
	HTTP *http.Client

	// MaxQueue is how many events and exposures may wait, including the ones that
	// are being sent; more are dropped. The memory, about 160 bytes for each, is
	// allocated at once. Zero: 10,000.
	MaxQueue int

	// MaxQueueBytes is how many bytes of encoded properties may wait. Events beyond
	// it are dropped. Zero: 32 MiB.
	MaxQueueBytes int64

	// MaxBatch is how many events are sent at once, as long as their JSON is
	// not much more than 500 kB. Zero: 100.
	MaxBatch int

	// MaxDelay is how long an event waits for others to be sent with. Zero:
	// 1 s.
	MaxDelay time.Duration

	// MaxRetries is how often sending a batch is repeated after a failure that may
	// pass: network errors, the answers 408, 429 and 5xx, and events that the server
	// of Analytics could not store, or any error of Sink except [*EventError]. After them the batch is dropped. Zero: 10, which takes
	// two to three minutes; negative: none.
	MaxRetries int

	// RetryDelay is the time before the first retry. It doubles with each retry, up
	// to 30 s, and a random part of at most half is subtracted. A server that asks
	// for more time with Retry-After gets it, up to 30 s. Zero: 500 ms.
	RetryDelay time.Duration

	// MaxExposures is about how many exposures are remembered so that they are not
	// reported again. The memory, 9 bytes for each, is allocated at once. Zero:
	// 65,536; negative: none, and every exposure is reported.
	MaxExposures int

	// GeoIP lets the server derive the location of persons from the address of this
	// process. Usually that is wrong, so by default events say $geoip_disable.
	GeoIP bool

	// OnError is called with a [*LostError] for what was lost. The sending
	// goroutine calls it and waits for it, so it must not call Flush or Close. Nil:
	// losses are only counted in Stats.
	OnError func(error)
}

const (
	maxRetryDelay   = 30 * time.Second
	maxRequestBytes = 500_000 // PostHog's SDKs keep to this, too
	maxReasons      = 32      // of ClientStats.Refusals, besides "other"
)

func (c ClientConfig) withDefaults() ClientConfig {
	c.MaxQueue = cmp.Or(c.MaxQueue, 10_000)
	c.MaxQueueBytes = cmp.Or(c.MaxQueueBytes, 32<<20)
	c.MaxBatch = min(cmp.Or(c.MaxBatch, 100), c.MaxQueue)
	c.MaxDelay = cmp.Or(c.MaxDelay, time.Second)
	c.MaxRetries = max(cmp.Or(c.MaxRetries, 10), 0)
	c.RetryDelay = min(cmp.Or(c.RetryDelay, 500*time.Millisecond), maxRetryDelay)
	c.MaxExposures = max(cmp.Or(c.MaxExposures, 65_536), 0)
	return c
}

func (c *ClientConfig) check() error {
	switch {
	case c.Sink == nil && c.URL == "":
		return errors.New("capture: ClientConfig has neither Sink nor URL")
	case c.Sink != nil && c.URL != "":
		return errors.New("capture: ClientConfig has both Sink and URL")
	case c.Sink != nil && c.Analytics:
		return errors.New("capture: ClientConfig.Analytics is a route of URL: Sink has none")
	case c.MaxQueue < 0 || c.MaxQueueBytes < 0 || c.MaxBatch < 0 || c.MaxDelay < 0 || c.RetryDelay < 0:
		return errors.New("capture: ClientConfig has a negative limit; zero means the default")
	case c.Sink != nil:
		return nil
	}
	// Neither may be in an error, because they may hold secrets.
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.RawQuery != "" || u.Fragment != "" {
		return errors.New("capture: ClientConfig.URL must be an absolute http or https URL without a query")
	}
	if checkKey(c.APIKey) != nil {
		return errors.New("capture: ClientConfig.APIKey must be a project API key")
	}
	return nil
}

// A Client reports events and exposures of a program that evaluates flags itself.
// It never makes its caller wait: it sends what it takes in the background, in
// batches, and drops and counts what it cannot keep. It sends events in their
// order, one batch at a time. It is safe for concurrent use.
//
// An event keeps its UUID and time when it is sent again, so it does no harm if the
// receiver has it already (wire.md §2.7).
//
// [NewClient] makes a Client. The zero value and nil are like a closed one, and count
// nothing.
type Client struct {
	c     ClientConfig
	queue *clientQueue
	seen  *seenTable // nil: none is remembered
	bytes atomic.Int64

	delivered, retries                atomic.Uint64
	full, invalid, refused, abandoned atomic.Uint64

	lost     atomic.Uint64 // events that were lost in the queue
	lostOpen uint64        // the part of lost from before Close
	closing  sync.Once
	stopped  chan struct{} // closed when the sender has returned
	abandon  context.CancelCauseFunc

	flush    atomic.Uint64 // up to this position, no event waits for a full batch
	mu       sync.Mutex
	progress chan struct{}     // closed and removed when queue.done moves; nil if no call waits
	refusals map[string]uint64 // the events in refused, by reason
}

// NewClient returns a Client and starts the goroutine that sends; Close stops
// it. The error says what is wrong with the config.
func NewClient(c ClientConfig) (*Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	client := &Client{c: c, queue: newClientQueue(c.MaxQueue), stopped: make(chan struct{})}
	if c.MaxExposures > 0 {
		client.seen = newSeenTable(c.MaxExposures)
	}
	s := newSender(client)
	ctx, cancel := context.WithCancelCause(context.Background())
	client.abandon = cancel
	go func() {
		defer close(client.stopped)
		s.run(ctx)
	}()
	return client, nil
}

// isUnset reports whether the Client is nil, or was not made by NewClient.
func (c *Client) isUnset() bool { return c == nil || c.queue == nil }

// Flush waits until everything that was taken before is delivered or given up. It
// does not wait for other events to fill a batch. If ctx ends first, it returns the
// reason.
func (c *Client) Flush(ctx context.Context) error {
	if c.isUnset() {
		return nil
	}
	end, _ := c.queue.end()
	for {
		now := c.flush.Load()
		if now >= end || c.flush.CompareAndSwap(now, end) {
			break
		}
	}
	c.queue.signal()
	for {
		moved := c.moved()
		if c.queue.done.Load() >= end {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// moved returns a channel that is closed when queue.done moves.
func (c *Client) moved() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		c.progress = make(chan struct{})
	}
	return c.progress
}

// Close takes no more events. It sends the waiting ones, retries included, until
// ctx ends, and waits for its goroutine, so a Sink has to respect its context. The
// error is a [*LostError] if events were lost from then on. A second Close does the
// same.
func (c *Client) Close(ctx context.Context) error {
	if c.isUnset() {
		return nil
	}
	c.closing.Do(func() {
		c.lostOpen = c.lost.Load()
		c.queue.close()
	})
	stop := context.AfterFunc(ctx, func() { c.abandon(context.Cause(ctx)) })
	defer stop()
	<-c.stopped
	c.abandon(nil) // releases the context
	lost := c.lost.Load() - c.lostOpen
	if lost == 0 {
		return nil
	}
	cause := context.Cause(ctx)
	if cause == nil {
		cause = errors.New("they could not be delivered; OnError was told why")
	}
	return &LostError{Count: int(lost), Err: cause}
}

// lose counts and reports n events that were queued and are dropped.
func (c *Client) lose(kind *atomic.Uint64, n int, err error) {
	kind.Add(uint64(n))
	c.lost.Add(uint64(n))
	c.report(n, err)
}

// countRefusals counts n events of DroppedRefused by their reason.
func (c *Client) countRefusals(reason string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals == nil {
		c.refusals = make(map[string]uint64)
	}
	if _, known := c.refusals[reason]; !known && len(c.refusals) >= maxReasons {
		reason = "other"
	}
	c.refusals[reason] += uint64(n)
}

func (c *Client) report(n int, err error) {
	if c.c.OnError != nil {
		c.c.OnError(&LostError{Count: n, Err: err})
	}
}

// advance marks the positions before pos as done and frees what they held.
func (c *Client) advance(pos uint64, bytes int64) {
	c.bytes.Add(-bytes)
	c.queue.done.Store(pos)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress != nil {
		close(c.progress)
		c.progress = nil
	}
}

// ClientStats are counts since the start of a [Client]. Each event that the Client
// was given is in one of them.
type ClientStats struct {
	Queued    int    // waiting or being sent
	Delivered uint64 // to the Sink or the server
	Repeated  uint64 // exposures that were reported before

	DroppedFull      uint64 // dropped because too many waited, or after Close
	DroppedInvalid   uint64 // dropped because they cannot be sent
	DroppedRefused   uint64 // dropped because the receiver refused them
	DroppedAbandoned uint64 // dropped because retries or the time for Close were used up

	Retries uint64 // attempts to send a batch after the first

	// Refusals counts the events in DroppedRefused by reason: what a server with
	// Analytics says about an event, such as "event_too_large"; the status of an
	// answer about all of them, such as "401"; or "sink". After 32 reasons, others
	// are counted as "other". Nil if there are none.
	Refusals map[string]uint64
}

// Stats returns the counts. While the Client works, they are not all from one
// moment. Stats looks at all memory of exposures, so it should not be called all
// the time.
func (c *Client) Stats() ClientStats {
	if c.isUnset() {
		return ClientStats{}
	}
	s := ClientStats{
		Queued:           c.queue.waiting(),
		Delivered:        c.delivered.Load(),
		DroppedFull:      c.full.Load(),
		DroppedInvalid:   c.invalid.Load(),
		DroppedRefused:   c.refused.Load(),
		DroppedAbandoned: c.abandoned.Load(),
		Retries:          c.retries.Load(),
	}
	if c.seen != nil {
		s.Repeated = c.seen.found()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Refusals = maps.Clone(c.refusals)
	return s
}

const (
	clientLibrary = "flagstaff-go"
	clientModule  = "github.com/flagstaff-go/flagstaff"
)

// clientVersion is this module's version as the program was built with it.
var clientVersion = sync.OnceValue(func() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Path == clientModule {
			version = info.Main.Version
		}
		for _, m := range info.Deps {
			if m.Path == clientModule {
				version = m.Version
			}
		}
	}
	version = strings.Trim(version, "()")
	return cmp.Or(strings.TrimPrefix(version, "v"), "devel")
})
