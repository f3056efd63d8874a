package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A worker stores the events of one partition, in their order.
//
// It writes an event only when all earlier ones of the partition were written. A
// durable consumer delivers messages in order, but to any client that asks. So the
// worker first makes sure that no other client has messages that are not
// acknowledged (gather). From then on the consumer's own numbers tell: it counts
// deliveries, so if the next number is not the last plus one, another client has
// got messages, and the worker begins anew.
//
// A machine that was frozen may wake up and write a batch after another machine has
// written the same events and later ones. Then its events are not new to the sink.
type worker struct {
	*Consumer
	partition int
	log       *slog.Logger
	lease     lease
	consumer  jetstream.Consumer
	answers   sync.WaitGroup // to acknowledgements
	huge      bool           // the next message has more bytes than the server takes now
	stall     stall

	last uint64 // number of the last delivery
	seen uint64 // all messages up to this sequence had been delivered when the worker gathered
}

// A message is one that was delivered and not acknowledged.
type message struct {
	delivered
	sequence uint64 // in the stream
	delivery uint64 // as the consumer counts deliveries
	attempts uint64
	at       time.Time // when it was published
	trace    string    // of the event
}

// A delivered is what a message needs of where it comes from.
type delivered interface {
	Subject() string
	Data() []byte
	Ack() error
	DoubleAck(ctx context.Context) error
	Nak() error
	InProgress() error
}

// run works until ctx ends. It returns an error only if the connection is closed.
func (w *worker) run(ctx context.Context) error {
	const minPause, maxPause = 50 * time.Millisecond, time.Second
	failure, pause := "", minPause
	for {
		switch err := awaitConnection(ctx, w.stream.c.Conn); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		begin := time.Now()
		err := w.lead(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(begin) > w.lease.lasts {
			failure, pause = "", minPause // it went well for a while
		}
		if text := err.Error(); text != failure {
			failure = text
			w.log.WarnContext(ctx, "events are not read from the stream; trying again", "error", err)
		}
		if sleep(ctx, jitter(pause)) != nil {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// lead waits for the lease and works for as long as the lease is held.
func (w *worker) lead(ctx context.Context) error {
	until, err := w.lease.acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquire the lease: %w", err)
	}
	work, stop := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	// The lease is renewed until what is in hand is given back.
	renewing, release := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(kept)
		w.lease.keep(renewing, until)
		stop(errLeaseLost)
	}()
	w.partitions.Add(1)
	defer func() {
		w.tell(false)
		stop(nil)
		release()
		<-kept
		w.lease.release(context.WithoutCancel(ctx))
		w.partitions.Add(-1)
	}()
	for err = errStalled; errors.Is(err, errStalled); {
		if err = w.watched(work); errors.Is(err, errStalled) {
			err = cmp.Or(w.renew(work), err)
		}
	}
	if cause := context.Cause(work); errors.Is(cause, errLeaseLost) {
		return cause
	}
	return err
}

var errLeaseLost = errors.New("the lease was lost")

// work stores batches until ctx ends or something fails. Nothing is in hand when it
// returns.
func (w *worker) work(ctx context.Context) (err error) {
	defer w.answers.Wait()
	if w.consumer, err = w.stream.openConsumer(ctx, w.partition); err != nil {
		return err
	}
	connection := w.stream.c.Conn.Stats().Reconnects
	hand, err := w.gather(ctx, nil)
	if err == nil {
		err = w.storeOrphans(ctx, hand)
	}
	for err == nil {
		if hand, err = w.store(ctx, hand); err != nil {
			giveBack(hand)
		} else {
			hand, err = w.follow(ctx, connection)
		}
		if err == nil {
			hand, err = w.gather(ctx, hand)
		}
	}
	return err
}

// follow stores messages as they come, for as long as each delivery comes right
// after the last one. Otherwise it returns what is in hand. It fails if there was
// another connection than the one with this number.
//
// Messages are given back only after the request for more is withdrawn (see drain).
func (w *worker) follow(ctx context.Context, connection uint64) (hand []message, err error) {
	in := w.startIntake(ctx)
	defer func() {
		hand = append(hand, in.stop()...)
		if err != nil {
			giveBack(hand)
			hand = nil
		}
	}()
	for {
		next, err := in.take(ctx)
		switch {
		case err != nil:
			return nil, err
		case w.stream.c.Conn.Stats().Reconnects != connection:
			return next, nats.ErrDisconnected // the server may have forgotten deliveries
		case !w.follows(next):
			return next, nil
		}
		if left, err := w.store(ctx, next); err != nil {
			return left, err
		}
		in.settled(len(next))
	}
}

// follows reports whether a delivery comes right after the last one.
func (w *worker) follows(hand []message) bool {
	for _, m := range hand {
		if m.delivery != w.last+1 {
			return false
		}
		w.last = m.delivery
	}
	return true
}

// gather takes all messages that were delivered and are not acknowledged, and puts
// them in order. hand is the part of them that the worker has. What others have
// comes when they give it back, or when their time is over.
func (w *worker) gather(ctx context.Context, hand []message) (_ []message, err error) {
	defer func() {
		if err != nil {
			giveBack(hand)
		}
	}()
	for {
		info, err := w.consumer.Info(ctx)
		if err != nil {
			return nil, err
		}
		inProgress(hand)
		switch n := info.NumAckPending; {
		case n == len(hand):
			slices.SortFunc(hand, func(a, b message) int { return cmp.Compare(a.sequence, b.sequence) })
			w.last, w.seen = info.Delivered.Consumer, info.Delivered.Stream
			return hand, nil
		case n < len(hand):
			// Some messages were taken for lost, and others have them now.
			giveBack(hand)
			hand = nil
		}
		more, err := w.pull(ctx, w.c.MaxBatch, w.c.MaxBytes, gatherWait)
		for _, m := range more {
			hand = slices.DeleteFunc(hand, func(old message) bool { return old.sequence == m.sequence })
			hand = append(hand, m)
		}
		if err != nil {
			return nil, err
		}
	}
}

// acknowledge tells the server that messages need not come again. If the server
// does not hear it, they come again, and the sink knows them. The next batch is
// stored while the server answers.
func (w *worker) acknowledge(ctx context.Context, list []message) {
	if len(list) == 0 {
		return
	}
	var err error
	for _, m := range list[:len(list)-1] {
		err = cmp.Or(err, m.Ack())
	}
	w.answers.Wait()
	w.answers.Go(func() {
		// The server takes acknowledgements in their order, so the answer to the last
		// is one to all.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWait)
		defer cancel()
		if err := errors.Join(err, list[len(list)-1].DoubleAck(ctx)); err != nil {
			w.log.WarnContext(ctx, "events were stored and will come again", "events", len(list), "error", err)
		}
	})
}

// ackWait is how long an answer to an acknowledgement may take.
const ackWait = 5 * time.Second

// giveBack lets messages be delivered again at once. No request of the worker may be
// waiting meanwhile (see drain).
func giveBack(hand []message) {
	for _, m := range hand {
		_ = m.Nak() // otherwise it is delivered again later
	}
}

// inProgress keeps messages from being delivered to another client.
func inProgress(hand []message) {
	for _, m := range hand {
		_ = m.InProgress() // otherwise they come again, and the sink knows them
	}
}
