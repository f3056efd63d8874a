package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// A pulled is a message that the server has delivered.
type pulled struct {
	m    *nats.Msg
	conn *nats.Conn
}

var _ delivered = pulled{}

func (p pulled) Subject() string   { return p.m.Subject }
func (p pulled) Data() []byte      { return p.m.Data }
func (p pulled) Ack() error        { return p.conn.Publish(p.m.Reply, []byte("+ACK")) }
func (p pulled) Nak() error        { return p.conn.Publish(p.m.Reply, []byte("-NAK")) }
func (p pulled) InProgress() error { return p.conn.Publish(p.m.Reply, []byte("+WPI")) }

func (p pulled) DoubleAck(ctx context.Context) error {
	_, err := p.conn.RequestWithContext(ctx, p.m.Reply, []byte("+ACK"))
	return err
}

// A pullRequest asks the server for messages. With NoWait, the server waits until
// Expires for the first message, and then sends what there is at once: no request
// waits for a batch to become full. Package jetstream of NATS cannot ask for this;
// it would either look again and again, or wait for the end of the time.
type pullRequest struct {
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes,omitempty"`
	Expires  time.Duration `json:"expires"`
	NoWait   bool          `json:"no_wait"`
}

const (
	// idleWait is how long the server is asked to wait for a message, and
	// gatherWait the same while others have some.
	idleWait   = 5 * time.Second
	gatherWait = 250 * time.Millisecond

	// answerWait is how much longer the answer to a request may take.
	answerWait = 5 * time.Second

	// drainWait is how long messages may take that were on their way when a
	// request was given up.
	drainWait = time.Second

	// refusedPause is the pause after a request that the server has refused
	// because requests of others wait.
	refusedPause = 20 * time.Millisecond
)

// maxEnvelope is how many bytes the subject and the headers of the stream add to a
// message.
const maxEnvelope = 4 << 10

// pull asks for up to n messages and about as many bytes, and waits for the first
// one. It returns none if none came in time. Messages that it returns with an error
// are in hand as well.
func (w *worker) pull(ctx context.Context, n, bytes int, wait time.Duration) (hand []message, err error) {
	conn := w.stream.c.Conn
	// The server ends a request at the first message that has too many bytes.
	r := pullRequest{Batch: n, MaxBytes: max(bytes, w.largest()), Expires: wait, NoWait: true}
	if w.huge {
		r.Batch, r.MaxBytes, w.huge = 1, 0, false
	}
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	arrived := make(chan *nats.Msg, n+2) // the server may add a status at the end
	inbox := conn.NewInbox()
	sub, err := conn.ChanSubscribe(inbox, arrived)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			hand = append(hand, w.drain(sub, arrived)...)
		} else {
			_ = sub.Unsubscribe() // nothing more comes
		}
	}()
	connected, stop := whileConnected(ctx, conn)
	defer stop()
	begin := time.Now()
	if err := conn.PublishRequest(w.requests(), inbox, request); err != nil {
		return nil, err
	}
	patience := time.NewTimer(wait + answerWait)
	defer patience.Stop()
	for want := r.Batch; len(hand) < want; {
		select {
		case m := <-arrived:
			end, err := endOf(m)
			if err != nil {
				return hand, err
			}
			if end {
				if want = r.Batch - undelivered(m, r.Batch-len(hand)); want > len(hand) {
					patience.Reset(answerWait)
					continue
				}
				w.huge = m.Header.Get("Description") == tooManyBytes && len(hand) == 0
				if !w.huge && len(hand) == 0 && time.Since(begin) < wait/2 {
					err = sleep(ctx, refusedPause)
				}
				return hand, err
			}
			if hand, err = w.add(hand, m); err != nil {
				return hand, err
			}
		case <-patience.C:
			return hand, errors.New("the server does not answer a request for messages")
		case <-connected.Done():
			return hand, context.Cause(connected)
		}
	}
	return hand, nil
}

// requests is the subject of requests for messages of the partition.
func (w *worker) requests() string {
	return "$JS.API.CONSUMER.MSG.NEXT." + w.stream.c.Name + "." + consumerName(w.partition)
}

// largest is how many bytes a message may have.
func (w *worker) largest() int { return int(w.stream.c.Conn.MaxPayload()) + maxEnvelope }

// tooManyBytes is the status of a request that ends before a message that has more
// bytes than the request has left.
const tooManyBytes = "Message Size Exceeds MaxBytes"

// endOf reports whether a message is a status that ends a request, and returns an
// error if something is wrong with the request.
func endOf(m *nats.Msg) (end bool, err error) {
	status := m.Header.Get("Status")
	if len(m.Data) > 0 || status == "" {
		return false, nil
	}
	switch status {
	case "404", "408": // no messages, or no more
		return true, nil
	case "409":
		switch m.Header.Get("Description") {
		case tooManyBytes, "Batch Completed":
			return true, nil
		}
	}
	return true, fmt.Errorf("the server refuses a request for messages: %s %s", status, m.Header.Get("Description"))
}

// undelivered returns how many messages a request has not got that a status has ended. A
// consumer with replicas delivers a message when a majority of them knows, and may say
// before that the request has ended; then the rest comes behind the status. Without a
// number, there are so many as have not come.
func undelivered(m *nats.Msg, missing int) int {
	n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil || n < 0 || n > missing {
		return missing
	}
	return n
}

// add appends a message that came to hand.
func (w *worker) add(hand []message, m *nats.Msg) ([]message, error) {
	about, err := m.Metadata()
	if err != nil {
		return hand, err
	}
	w.delivered.Add(1)
	if about.NumDelivered > 1 {
		w.redelivered.Add(1)
	}
	return append(hand, message{pulled{m, w.stream.c.Conn}, about.Sequence.Stream, about.Sequence.Consumer, about.NumDelivered, about.Timestamp, m.Header.Get(headerTrace)}), nil
}

// drain ends the subscription of a request and returns the messages that the server
// had sent before it knew. Otherwise nobody would get them for a while.
func (w *worker) drain(sub *nats.Subscription, arrived <-chan *nats.Msg) (hand []message) {
	if sub.Drain() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainWait)
	defer cancel()
	// Asked about the consumer, the server forgets a request that nobody waits for any
	// more. If nats-server 2.9 found out when it has to deliver a message again, it would
	// forget the message until AckWait has passed. Without a connection nothing comes.
	_, _ = w.consumer.Info(ctx)
	for {
		select {
		case m := <-arrived:
			if end, _ := endOf(m); !end {
				hand, _ = w.add(hand, m) // a message without metadata cannot be given back
			}
		default:
			return hand
		}
	}
}
