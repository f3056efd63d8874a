package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
)

// If the client repeated a single message, it would come after the ones that were
// sent behind it. Clients of capturing repeat all of them.
var once = []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}

// A stream with replicas has a leader, which acknowledges messages. It never acknowledges
// one that it got just before it died, or while it is frozen, and all other events wait
// meanwhile. So a Write that waits looks who leads: as soon as there is another leader, the
// Write is given up, and the next one goes there.
const (
	// quietWait is how long the stream may acknowledge nothing.
	quietWait = 5 * time.Second

	// firstLook is how long it may before a Write looks for another leader, and nextLook
	// the time between two looks. lookWait is how long a leader may take to answer.
	firstLook = 500 * time.Millisecond
	nextLook  = 250 * time.Millisecond
	lookWait  = 500 * time.Millisecond
)

var errOtherLeader = errors.New("the stream has got another leader, which does not acknowledge events that went to the one before")

// headroom is how many bytes the headers of a message take at most, also as a
// dead letter.
const headroom = 1 << 10

// headerTrace has the Trace of an event, under the name that W3C Trace Context gives it.
const headerTrace = "traceparent"

// Write implements [capture.Sink]. It returns nil when the stream has acknowledged
// all events. An event that is too large for NATS or the stream is a
// [*capture.EventError]. Any other failure, a full stream included, is a
// [capture.ErrUnavailable] or the error of ctx.
func (s *Stream) Write(ctx context.Context, events []capture.Event) error {
	if len(events) == 0 {
		return nil
	}
	if !s.c.Conn.IsConnected() {
		// Without a connection, NATS would keep the events until there is one,
		// while the caller waits.
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

// publish writes events that fit in a window and waits for all acknowledgements. It
// returns the faults of single events, counted from first, or else why nothing is
// known about any event. buffer is memory, which it returns for the next time.
func (s *Stream) publish(ctx context.Context, events []capture.Event, first int, buffer []byte) (_ []byte, faults []error, err error) {
	futures := make([]jetstream.PubAckFuture, len(events))
	led := s.leader.Load()
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
		if e.Trace != "" {
			m.Header[headerTrace] = []string{e.Trace}
		}
		// PublishMsgAsync has copied the message when it returns, and never sends
		// it again, so the buffer can be reused for the next one.
		if futures[i], err = s.js.PublishMsgAsync(m, once...); err != nil {
			return buffer, nil, unavailable(err)
		}
	}
	heard := time.Now()
	for i, f := range futures {
		if f == nil {
			continue
		}
		switch err := s.acknowledged(ctx, f, &heard, led); {
		case err == nil:
		case err == ctx.Err():
			return buffer, nil, err
		case !errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
			return buffer, nil, unavailable(err)
		default:
			faults = append(faults, &capture.EventError{Index: first + i, Err: fmt.Errorf("jetstream: %w of stream %q", err, s.c.Name)})
		}
	}
	return buffer, faults, nil
}

// acknowledged waits for an acknowledgement, and returns nil when it has come. heard is
// when the last one came for which somebody had to wait, led the leader of the stream when
// the events were sent.
func (s *Stream) acknowledged(ctx context.Context, f jetstream.PubAckFuture, heard *time.Time, led any) error {
	select {
	case <-f.Ok():
		return nil
	default:
	}
	silent, other := false, false // the leader did not answer; there is another one
	for wait := firstLook; ; wait = nextLook {
		select {
		case <-f.Ok():
			*heard = time.Now()
			return nil
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		switch {
		case other: // what it did acknowledge has come meanwhile
			return errOtherLeader
		case time.Since(*heard) > quietWait-nextLook:
			return fmt.Errorf("no acknowledgement for %v", quietWait)
		case led == "": // there is one server, and the connection ends with it
			continue
		}
		asking, cancel := context.WithTimeout(ctx, lookWait)
		_, err := s.events(asking)
		cancel()
		// A process that answers again may have the same name, and have started anew.
		other = err == nil && (silent || s.leader.Load() != led)
		silent = silent || err != nil
	}
}
