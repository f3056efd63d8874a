package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flagstaff-go/flagstaff/capture"
)

// ConsumerConfig configures a [Consumer]. Only Sink is required.
type ConsumerConfig struct {
	// Sink stores the events. It must be idempotent, as all Sinks are.
	Sink capture.Sink

	// MaxBatch is how many events are written at once, at most Config.MaxPending.
	// Zero: 1,000.
	MaxBatch int

	// MaxBytes bounds the bytes of a batch, unless its first event alone has more.
	// Zero: 16 MiB.
	MaxBytes int

	// WriteTimeout is how long a Write may take. Zero: 30 s.
	WriteTimeout time.Duration

	// Attempts is how often the sink may refuse an event before it is a dead
	// letter. Zero: 3.
	Attempts int

	// MaxBackoff bounds the pause after failed writes, which doubles from 50 ms.
	// Zero: 10 s.
	MaxBackoff time.Duration

	// Log receives failures when they begin, and dead letters. Nil: no log.
	Log *slog.Logger
}

func (c ConsumerConfig) withDefaults() (ConsumerConfig, error) {
	if c.Sink == nil {
		return c, errors.New("jetstream: ConsumerConfig.Sink is missing")
	}
	if c.MaxBatch < 0 || c.MaxBytes < 0 || c.WriteTimeout < 0 || c.Attempts < 0 || c.MaxBackoff < 0 {
		return c, errors.New("jetstream: ConsumerConfig has a negative limit; zero means the default")
	}
	c.MaxBatch = cmp.Or(c.MaxBatch, 1000)
	c.MaxBytes = cmp.Or(c.MaxBytes, 16<<20)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 10*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c, nil
}

// minBackoff is the first pause after a failed write.
const minBackoff = 50 * time.Millisecond

// Stats counts what a [Consumer] has done since it was made.
type Stats struct {
	Delivered   uint64 // messages that came, again or not
	Redelivered uint64 // messages that came again
	Stored      uint64 // events that the sink has stored
	DeadLetters uint64 // messages that could not be stored, see [Stream.DeadLetters]
	Failures    uint64 // writes that failed, if only for some events

	// Partitions is how many partitions the Consumer has now. Other machines have
	// the others, or these wait to be taken.
	Partitions int

	Stalled int    // partitions of these whose events the stream does not deliver
	Renewed uint64 // how often the consumer of such a partition was made anew in NATS
}

// A Consumer passes the events of a [Stream] on to a sink. It is safe for
// concurrent use.
type Consumer struct {
	stream *Stream
	c      ConsumerConfig
	owner  string // of leases

	delivered, redelivered, stored, deadLetters, failures, renewed atomic.Uint64
	partitions, stalled                                            atomic.Int64
}

// NewConsumer returns a Consumer, or an error if the config makes no sense.
func NewConsumer(s *Stream, c ConsumerConfig) (*Consumer, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Consumer{stream: s, c: c, owner: rand.Text()}, nil
}

// Stats returns what the Consumer has done.
func (c *Consumer) Stats() Stats {
	return Stats{
		Delivered: c.delivered.Load(), Redelivered: c.redelivered.Load(), Stored: c.stored.Load(),
		DeadLetters: c.deadLetters.Load(), Failures: c.failures.Load(), Partitions: int(c.partitions.Load()),
		Stalled: int(c.stalled.Load()), Renewed: c.renewed.Load(),
	}
}

// Run passes events on until ctx ends. Then it finishes the batch that is being
// written, gives back the other messages, and returns nil. It must be called once.
// It returns an error only if the connection is closed.
func (c *Consumer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for p := range c.stream.partitions {
		w := &worker{
			Consumer: c, partition: p,
			log:   c.c.Log.With("partition", p),
			lease: lease{bucket: c.stream.leases, key: consumerName(p), owner: c.owner, lasts: c.stream.lease},
		}
		wg.Go(func() {
			if err := w.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// awaitConnection returns when there is a connection.
func awaitConnection(ctx context.Context, conn *nats.Conn) error {
	changed := conn.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer conn.RemoveStatusListener(changed)
	for {
		switch {
		case conn.IsClosed():
			return nats.ErrConnectionClosed
		case conn.IsConnected():
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// whileConnected returns a context that ends with the connection, and a function
// that ends it.
func whileConnected(ctx context.Context, conn *nats.Conn) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	changed := conn.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-changed:
			cancel(nats.ErrDisconnected)
		case <-ctx.Done():
		}
	})
	if !conn.IsConnected() {
		cancel(nats.ErrDisconnected)
	}
	return ctx, func() {
		cancel(context.Canceled)
		wg.Wait()
		conn.RemoveStatusListener(changed)
	}
}

// causeOf returns why ctx has ended, if an error is about that.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// sleep returns nil after d, or the error of ctx if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// jitter shortens a pause by up to a quarter, so that machines do not act in
// step.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(mathrand.Int64N(int64(d)/4+1))
}
