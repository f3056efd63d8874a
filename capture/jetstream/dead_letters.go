package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
)

// The headers of dead letters.
const (
	headerReason    = "Flagstaff-Reason"    // one line of text
	headerSubject   = "Flagstaff-Subject"   // that it had
	headerSequence  = "Flagstaff-Sequence"  // that it had
	headerPublished = "Flagstaff-Published" // when it was, RFC 3339
	headerDelivered = "Flagstaff-Delivered" // how often it was
)

// A DeadLetter is a message that could not be stored.
type DeadLetter struct {
	Sequence uint64    // in the stream of dead letters
	Time     time.Time // when it became a dead letter

	Reason    string    // why, in one line
	Subject   string    // of the message
	Original  uint64    // sequence in the stream of events
	Published time.Time // when it was published
	Delivered int       // how often it was delivered
	Data      []byte    // of the message
}

// Event returns the event, or an error if the message cannot be decoded. The event
// refers to Data.
func (a *DeadLetter) Event() (capture.Event, error) {
	e, err := decodeEvent(a.Data)
	if err != nil {
		return e, fmt.Errorf("jetstream: %w", err)
	}
	return e, nil
}

// addDeadLetter copies a message to the stream of dead letters.
func (b *batch) addDeadLetter(ctx context.Context, it *item) error {
	s := b.stream
	// A message that was copied and not acknowledged comes again. The stream
	// recognises its ID.
	id := strconv.FormatUint(it.sequence, 10) + "-" + strconv.FormatInt(it.at.UnixNano(), 10)
	m := &nats.Msg{
		Subject: s.deadLettersName() + "." + strings.TrimPrefix(it.Subject(), s.c.Name+".events."),
		Data:    it.Data(),
		Header: nats.Header{
			jetstream.MsgIDHeader:          {id},
			jetstream.ExpectedStreamHeader: {s.deadLettersName()},
			headerReason:                   {oneLine(it.reason)},
			headerSubject:                  {it.Subject()},
			headerSequence:                 {strconv.FormatUint(it.sequence, 10)},
			headerPublished:                {it.at.UTC().Format(time.RFC3339Nano)},
			headerDelivered:                {strconv.FormatUint(it.attempts, 10)},
		},
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWait)
	defer cancel()
	if _, err := s.js.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	b.Consumer.deadLetters.Add(1)
	b.log.ErrorContext(ctx, "an event cannot be stored and is a dead letter now", "subject", it.Subject(), "sequence", it.sequence, "reason", oneLine(it.reason))
	return nil
}

// oneLine makes an error one line that fits in a header.
func oneLine(err error) string {
	const maxLine = 300 // bytes
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxLine {
		text = text[:maxLine]
	}
	return strings.ToValidUTF8(text, "")
}

// DeadLetters iterates over the dead letters, the oldest first. An error ends it.
// Those that come meanwhile may be missing.
func (s *Stream) DeadLetters(ctx context.Context) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		stream, err := s.js.Stream(ctx, s.deadLettersName())
		if err != nil {
			yield(DeadLetter{}, unavailable(err))
			return
		}
		for next := uint64(1); ; next++ {
			m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(s.deadLettersName()+".>"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if err != nil {
				yield(DeadLetter{}, unavailable(err))
				return
			}
			next = m.Sequence
			if !yield(newDeadLetter(m), nil) {
				return
			}
		}
	}
}

// newDeadLetter reads what addDeadLetter wrote. A message of another publisher has no
// headers; it is listed all the same.
func newDeadLetter(m *jetstream.RawStreamMsg) DeadLetter {
	a := DeadLetter{Sequence: m.Sequence, Time: m.Time, Data: m.Data, Reason: m.Header.Get(headerReason), Subject: m.Header.Get(headerSubject)}
	a.Original, _ = strconv.ParseUint(m.Header.Get(headerSequence), 10, 64)
	a.Published, _ = time.Parse(time.RFC3339Nano, m.Header.Get(headerPublished))
	a.Delivered, _ = strconv.Atoi(m.Header.Get(headerDelivered))
	return a
}

// Replay puts a message back into the stream, behind all others, so that it is
// tried again, and removes it from the dead letters. A Replay whose outcome is
// unknown can be repeated.
func (s *Stream) Replay(ctx context.Context, a DeadLetter) error {
	subject := a.Subject
	if e, err := decodeEvent(a.Data); err == nil {
		subject = s.subject(&e) // the number of partitions may have changed
	}
	if subject == "" {
		return fmt.Errorf("jetstream: dead letter %d has no subject; it was published there by somebody else", a.Sequence)
	}
	id := "replay-" + strconv.FormatUint(a.Sequence, 10) + "-" + strconv.FormatInt(a.Time.UnixNano(), 10)
	if _, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: a.Data}, jetstream.WithMsgID(id), jetstream.WithExpectStream(s.c.Name)); err != nil {
		return unavailable(err)
	}
	return s.Discard(ctx, a)
}

// Discard deletes a dead letter, for good.
func (s *Stream) Discard(ctx context.Context, a DeadLetter) error {
	stream, err := s.js.Stream(ctx, s.deadLettersName())
	if err != nil {
		return unavailable(err)
	}
	if err := stream.DeleteMsg(ctx, a.Sequence); err != nil {
		// The error is the same whether the message is gone already or cannot be
		// deleted.
		if _, missing := stream.GetMsg(ctx, a.Sequence); errors.Is(missing, jetstream.ErrMsgNotFound) {
			return nil
		}
		return unavailable(err)
	}
	return nil
}
