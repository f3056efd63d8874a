package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
)

// A single message that is tried again would come after those that were sent
// behind it. The client repeats all of them.
var once = []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}

// headroom is what the headers of a message take at most, also if it is set
// aside.
const headroom = 1 << 10

// Write implements [capture.Sink]. It returns nil when the stream has
// acknowledged all events. An event that is larger than NATS or the stream takes
// is a [*capture.EventError]; any other failure, a full stream included, is a
// [capture.ErrUnavailable] or the error of ctx.
func (s *Stream) Write(ctx context.Context, events []capture.Event) error {
	if len(events) == 0 {
		return nil
	}
	if !s.c.Conn.IsConnected() {
		// The client would keep the events until it is connected again, while
		// somebody waits.
		return unavailable(nats.ErrDisconnected)
	}
	select {
	case s.publishing <- struct{}{}:
		defer func() { <-s.publishing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var faults []error
	var buffer []byte
	for first := 0; first < len(events); first += window {
		part := events[first:min(first+window, len(events))]
		var bad []error
		var err error
		buffer, bad, err = s.publish(ctx, part, first, buffer[:0])
		if err != nil {
			return err
		}
		faults = append(faults, bad...)
	}
	return errors.Join(faults...)
}

// publish writes events that fit in a window and waits for all acknowledgements.
// It returns what is wrong with single events, counted from first, or else why
// nothing is known of any. buffer is memory, which it returns for the next time.
func (s *Stream) publish(ctx context.Context, events []capture.Event, first int, buffer []byte) (_ []byte, faults []error, err error) {
	futures := make([]jetstream.PubAckFuture, len(events))
	maxMessage := int(s.c.Conn.MaxPayload()) - headroom
	var room [24]byte
	for i := range events {
		e := &events[i]
		buffer = appendEvent(buffer[:0], e)
		if len(buffer) > maxMessage {
			faults = append(faults, &capture.EventError{Index: first + i, Err: fmt.Errorf("jetstream: event has %d bytes, want at most %d, which is what NATS takes at once", len(buffer), maxMessage)})
			continue
		}
		m := &nats.Msg{Subject: s.subject(e), Data: buffer, Header: nats.Header{
			jetstream.MsgIDHeader:          {string(appendMessageID(room[:0], e))},
			jetstream.ExpectedStreamHeader: {s.c.Name},
		}}
		// What is published was copied when this returns, and is never sent
		// again, so the buffer can be used for the next.
		if futures[i], err = s.js.PublishMsgAsync(m, once...); err != nil {
			return buffer, nil, unavailable(err)
		}
	}
	for i, f := range futures {
		if f == nil {
			continue
		}
		select {
		case <-f.Ok():
			continue
		case err = <-f.Err():
		case <-ctx.Done():
			return buffer, nil, ctx.Err()
		}
		if !errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum) {
			return buffer, nil, unavailable(err)
		}
		faults = append(faults, &capture.EventError{Index: first + i, Err: fmt.Errorf("jetstream: %w of stream %q", err, s.c.Name)})
	}
	return buffer, faults, nil
}
