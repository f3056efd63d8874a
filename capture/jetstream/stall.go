package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A consumer of NATS can stop to deliver what the stream has: after some of its leaders
// have died in turn, its replicas may disagree for good about what was delivered and
// acknowledged. Nothing that a client of the consumer sees tells that from a stream without
// events, so the worker looks at the stream itself. Acknowledged messages leave it, so its
// oldest one is to be stored next. If that stays the same although the sink does not work
// on it, the worker deletes the consumer and makes it anew. The new one delivers all that
// the stream has; the sink knows what was stored before.

// A stall is what a worker knows about the oldest message of its partition.
type stall struct {
	storing atomic.Int64 // when the sink got what it works on, in nanoseconds since 1970; 0 if it has nothing

	// The rest belongs to watch and, while that does not run, to the worker.
	oldest uint64    // sequence, 0 for none
	since  time.Time // from when on the consumer should have delivered it
	looked time.Time
	told   bool
}

const (
	// stalledAfter is how long the oldest message may stay the same, in addition to the
	// time in which another client may have it. It is longer than NATS takes to choose
	// another leader. Tests have a shorter one in Stream.stalledAfter.
	stalledAfter = 10 * time.Second

	// stallLooks is how often a worker looks at the oldest message in that time. A look
	// may take until the next one.
	stallLooks = 4

	// renewWait is how long it may take to make a consumer anew.
	renewWait = 10 * time.Second
)

var errStalled = errors.New("the stream has events that its consumer does not deliver")

// watched works like work, and returns errStalled if the stream is stalled.
func (w *worker) watched(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { stop(w.watch(ctx)) })
	defer wg.Wait()
	defer stop(nil)
	err := w.work(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return cause
	}
	return err
}

// watch looks at the oldest message until ctx ends, or returns errStalled.
func (w *worker) watch(ctx context.Context) error {
	patience := w.stream.stalledAfter + w.stream.consumers[w.partition].AckWait
	pause := w.stream.stalledAfter / stallLooks
	for {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		began := w.stall.storing.Load()
		oldest, err := w.oldest(ctx, pause)
		now := time.Now()
		slow := began > 0 && now.Sub(time.Unix(0, began)) > 2*pause // the sink is at work
		switch {
		case err == nil && oldest != w.stall.oldest:
			if w.stall.told {
				w.log.InfoContext(ctx, "the stream delivers its events again")
			}
			w.tell(false)
			w.stall.oldest, w.stall.since = oldest, now
		case err != nil || slow || now.Sub(w.stall.looked) > patience: // this says nothing about the consumer
			w.stall.since = now
		case oldest > 0 && now.Sub(w.stall.since) > patience:
			w.tell(true)
			w.log.ErrorContext(ctx, errStalled.Error()+"; making the consumer anew", "sequence", oldest, "since", w.stall.since.UTC())
			return errStalled
		}
		w.stall.looked = now
	}
}

// tell notes whether the partition is stalled, as far as this worker is concerned.
func (w *worker) tell(stalled bool) {
	if w.stall.told == stalled {
		return
	}
	w.stall.told = stalled
	if stalled {
		w.stalled.Add(1)
	} else {
		w.stalled.Add(-1)
	}
}

// oldest returns the sequence of the oldest message of the partition, 0 if there is none.
func (w *worker) oldest(ctx context.Context, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stream, err := w.stream.events(ctx)
	if err != nil {
		return 0, err
	}
	m, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(w.stream.partitionSubject(w.partition)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// renew deletes the consumer of the partition and makes it anew. Nothing may be in hand.
func (w *worker) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	err := w.stream.js.DeleteConsumer(ctx, w.stream.c.Name, consumerName(w.partition))
	if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = w.stream.openConsumer(ctx, w.partition)
	}
	if err != nil {
		return fmt.Errorf("make the consumer anew: %w", err)
	}
	w.renewed.Add(1)
	w.stall.since = time.Now()
	return nil
}

// Ready returns nil unless the stream has events that it does not deliver to this
// Consumer. Then the Consumer tries to mend that; another one can store them, too.
func (c *Consumer) Ready(context.Context) error {
	if n := c.stalled.Load(); n > 0 {
		return unavailable(fmt.Errorf("%w, in %d of its partitions", errStalled, n))
	}
	return nil
}
