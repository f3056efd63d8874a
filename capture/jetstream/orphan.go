package jetstream

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// An orphan is a message that is in the stream although it was acknowledged: after
// a crash, a server may have forgotten that it had deleted the message, and it
// never delivers it again. Nor does it deliver a message that got the number of
// another one because the stream had lost some. So orphans are stored as if they
// had been delivered; usually they are not new to the sink.
type orphan struct {
	*jetstream.RawStreamMsg
	stream jetstream.Stream
}

var _ delivered = orphan{}

func (o orphan) Subject() string { return o.RawStreamMsg.Subject }
func (o orphan) Data() []byte    { return o.RawStreamMsg.Data }

// Ack deletes the message.
func (o orphan) Ack() error { return o.DoubleAck(context.Background()) }

// DoubleAck deletes the message.
func (o orphan) DoubleAck(ctx context.Context) error { return o.stream.DeleteMsg(ctx, o.Sequence) }

// Nak does nothing: nobody else can have the message.
func (o orphan) Nak() error { return nil }

// InProgress does nothing, like Nak.
func (o orphan) InProgress() error { return nil }

// storeOrphans stores the orphans of the partition. hand is what was delivered and not
// acknowledged, in order, and has to stay in hand meanwhile; after an error it is given
// back.
func (w *worker) storeOrphans(ctx context.Context, hand []message) error {
	defer w.heartbeats(ctx, hand)()
	err := w.findOrphans(ctx, hand)
	if err != nil {
		giveBack(hand)
	}
	return err
}

// findOrphans stores the messages that had been delivered and are not in hand.
func (w *worker) findOrphans(ctx context.Context, hand []message) error {
	stream, err := w.stream.events(ctx)
	if err != nil {
		return err
	}
	inHand := func(sequence uint64) bool {
		_, found := slices.BinarySearchFunc(hand, sequence, func(m message, s uint64) int { return cmp.Compare(m.sequence, s) })
		return found
	}
	next, found := uint64(1), 0
	for next <= w.seen {
		var list []message
		for size := 0; next <= w.seen && len(list) < w.c.MaxBatch && size < w.c.MaxBytes; next++ {
			if inHand(next) { // so it need not be fetched
				continue
			}
			m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(w.stream.partitionSubject(w.partition)))
			if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
				return err
			}
			if err != nil || m.Sequence > w.seen {
				next = w.seen // there are no more
				continue
			}
			if next = m.Sequence; inHand(next) {
				continue
			}
			size += len(m.Data)
			list = append(list, message{delivered: orphan{m, stream}, sequence: m.Sequence, at: m.Time, trace: m.Header.Get(headerTrace)})
		}
		if _, err := w.store(ctx, list); err != nil { // orphans cannot be given back
			return err
		}
		found += len(list)
	}
	if found > 0 {
		w.log.InfoContext(ctx, "events that the stream had kept although they were stored were stored again", "events", found)
	}
	return nil
}
