package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

	last  uint64 // number of the last delivery
	floor uint64 // all messages up to this sequence were acknowledged when the worker began
}

// A message is one that was delivered and not acknowledged.
type message struct {
	delivered
	sequence uint64 // in the stream
	delivery uint64 // as the consumer counts deliveries
	attempts uint64
	at       time.Time // when it was published
}

// A delivered is the part of [jetstream.Msg] that a message needs.
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
		stop(nil)
		release()
		<-kept
		w.lease.release(context.WithoutCancel(ctx))
		w.partitions.Add(-1)
	}()
	err = w.work(work)
	if cause := context.Cause(work); errors.Is(cause, errLeaseLost) {
		return cause
	}
	return err
}

var errLeaseLost = errors.New("the lease was lost")

// work stores batches until ctx ends or something fails. Nothing is in hand when it
// returns.
func (w *worker) work(ctx context.Context) (err error) {
	w.consumer, err = w.stream.js.Consumer(ctx, w.stream.c.Name, consumerName(w.partition))
	if err != nil {
		return err
	}
	connection := w.stream.c.Conn.Stats().Reconnects
	hand, err := w.gather(ctx, nil)
	if err == nil {
		err = w.storeOrphans(ctx, hand)
	}
	for err == nil {
		if err = w.store(ctx, hand); err != nil {
			break
		}
		if w.stream.c.Conn.Stats().Reconnects != connection {
			return nats.ErrDisconnected // the server may have forgotten deliveries
		}
		if hand, err = w.fetch(ctx, idleWait); err == nil && !w.follows(hand) {
			hand, err = w.gather(ctx, hand)
		}
	}
	return err
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
			w.last, w.floor = info.Delivered.Consumer, info.AckFloor.Stream
			return hand, nil
		case n < len(hand):
			// Some messages were taken for lost, and others have them now.
			giveBack(hand)
			hand = nil
		}
		more, err := w.fetch(ctx, gatherWait)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			hand = slices.DeleteFunc(hand, func(old message) bool { return old.sequence == m.sequence })
			hand = append(hand, m)
		}
	}
}

const (
	// idleWait is how long the server is asked to wait for a message, and
	// gatherWait the same while others have some.
	idleWait   = 5 * time.Second
	gatherWait = 250 * time.Millisecond

	// batchWait is how long a batch may grow once it has its first event.
	batchWait = 2 * time.Millisecond
)

// fetch returns the next messages, or none if none came in time.
func (w *worker) fetch(ctx context.Context, wait time.Duration) ([]message, error) {
	ctx, stop := whileConnected(ctx, w.stream.c.Conn)
	defer stop()
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	hand, err := w.pull(nil, 1, jetstream.FetchContext(waiting))
	if err == nil && len(hand) > 0 && w.c.MaxBatch > 1 {
		// If the server must end a batch because of its bytes, the batch has at
		// least one message only if that fits.
		bytes := max(w.c.MaxBytes, int(w.stream.c.Conn.MaxPayload())+maxEnvelope)
		hand, err = w.pull(hand, w.c.MaxBatch-1, jetstream.FetchMaxWait(batchWait), jetstream.FetchMaxBytes(bytes))
	}
	switch {
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		err = nil
	}
	if err != nil {
		giveBack(hand)
		return nil, err
	}
	return hand, nil
}

// maxEnvelope is how many bytes the subject and the headers of the stream add to a
// message.
const maxEnvelope = 4 << 10

// pull asks for up to n messages and appends what comes.
func (w *worker) pull(hand []message, n int, options ...jetstream.FetchOpt) ([]message, error) {
	batch, err := w.consumer.Fetch(n, options...)
	if err != nil {
		return hand, err
	}
	for m := range batch.Messages() {
		about, err := m.Metadata()
		if err != nil {
			return hand, err
		}
		w.delivered.Add(1)
		if about.NumDelivered > 1 {
			w.redelivered.Add(1)
		}
		hand = append(hand, message{m, about.Sequence.Stream, about.Sequence.Consumer, about.NumDelivered, about.Timestamp})
	}
	return hand, batch.Error()
}

// acknowledge tells the server that messages need not come again. If the server
// does not hear it, they come again, and the sink knows them.
func (w *worker) acknowledge(ctx context.Context, list []message) {
	if len(list) == 0 {
		return
	}
	var err error
	for _, m := range list[:len(list)-1] {
		err = cmp.Or(err, m.Ack())
	}
	// The server takes acknowledgements in their order, so the answer to the last
	// is one to all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWait)
	defer cancel()
	if err := errors.Join(err, list[len(list)-1].DoubleAck(ctx)); err != nil {
		w.log.WarnContext(ctx, "events were stored and will come again", "events", len(list), "error", err)
	}
}

// ackWait is how long an answer to an acknowledgement may take.
const ackWait = 5 * time.Second

// giveBack lets messages be delivered again at once.
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
