package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// A stream has the settings of -stream and its companions.
type stream struct {
	url        string
	consume    bool
	replicas   whole
	partitions whole
	replay     bool
}

// checkStream checks these settings. It never quotes a URL, which may have a
// password.
func (s *settings) checkStream() error {
	c := &s.stream
	switch {
	case c.url == "" && c.replay:
		return errors.New("flag -stream-replay needs a -stream")
	case c.url == "" && !c.consume:
		return errors.New("flag -stream-consume=false needs a -stream")
	case c.url != "" && !c.consume && !c.replay && !database.IsPostgres(s.store):
		return errors.New("flag -stream-consume=false needs a -store that another server fills: postgres://…")
	case c.url == "":
		return nil
	}
	for one := range strings.SplitSeq(c.url, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("invalid value for flag -stream: want nats://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before HOST if it needs one")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return errors.New("invalid value for flag -stream: the scheme must be nats, tls, ws or wss")
		}
	}
	return nil
}

// name returns the name of the stream without secrets.
func (c *stream) name() string {
	if c.url == "" {
		return "none"
	}
	var hosts []string
	for one := range strings.SplitSeq(c.url, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			hosts = append(hosts, u.Host)
		}
	}
	return "NATS at " + strings.Join(hosts, ", ")
}

// connect returns a connection that reconnects whenever it is lost.
func (c *stream) connect(log *slog.Logger) (*nats.Conn, error) {
	conn, err := jetstream.Connect(c.url,
		nats.Name("flagstaff"),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil if the connection was closed on purpose
				log.Error("the connection to the stream is lost; events are refused until it is back", "stream", c.name(), "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the connection to the stream is back", "stream", c.name()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Error("the stream reports an error", "stream", c.name(), "error", err)
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.name(), err)
	}
	return conn, nil
}

// connectStream returns a connection that can carry the largest event.
func (s *settings) connectStream(log *slog.Logger) (*nats.Conn, error) {
	conn, err := s.stream.connect(log)
	if err != nil {
		return nil, err
	}
	if most := conn.MaxPayload(); most < int64(s.maxEvent) {
		conn.Close()
		return nil, fmt.Errorf("%s takes messages of at most %d bytes, and -max-event is %d: raise max_payload of NATS, or lower -max-event", s.stream.name(), most, s.maxEvent)
	}
	return conn, nil
}

// An eventStream is the stream between the collector and the store. It is nil
// if there is no stream.
type eventStream struct {
	stream   *jetstream.Stream
	consumer *jetstream.Consumer // nil if only other servers store the events
	store    capture.Sink
}

// openStream opens the stream of -stream over a connection; without -stream it
// returns nil. The consumed events go to store.
func (s *settings) openStream(ctx context.Context, conn *nats.Conn, store capture.Sink, log *slog.Logger) (*eventStream, error) {
	c := &s.stream
	if conn == nil {
		return nil, nil
	}
	e := &eventStream{store: store}
	var err error
	e.stream, err = jetstream.Open(ctx, jetstream.Config{Conn: conn, Partitions: c.partitions.n, Replicas: c.replicas.n, Log: log})
	if err == nil && c.consume {
		e.consumer, err = jetstream.NewConsumer(e.stream, jetstream.ConsumerConfig{Sink: store, Log: log})
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// consume stores the events of the stream until the caller calls stop.
func (e *eventStream) consume(ctx context.Context) (stop func()) {
	if e == nil || e.consumer == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = e.consumer.Run(ctx) }) // returns nil when stopped; the connection is closed later
	return func() {
		cancel()
		wg.Wait()
	}
}

// readiness returns what /readyz looks at: the store, and events on their way to
// the store or to the stream.
func (e *eventStream) readiness(store sqlstore.Storage) *readiness {
	if e == nil {
		return newReadiness(store.CanWrite, part{"the store does not answer", store.Ready})
	}
	parts := []part{{"the store does not answer", store.Ready}, {"the stream does not answer", e.stream.Ready}}
	if e.consumer != nil {
		parts = append(parts, part{"the stream does not deliver its events", e.consumer.Ready})
	}
	return newReadiness(e.stream.CanWrite, parts...)
}

// metrics returns the metrics of the stream for /metrics.
func (e *eventStream) metrics() []prometheus.Collector {
	switch {
	case e == nil:
		return nil
	case e.consumer == nil:
		return []prometheus.Collector{waitingEvents{e.stream}}
	}
	stats := e.consumer.Stats
	return []prometheus.Collector{
		waitingEvents{e.stream},
		counter("flagstaff_stream_delivered_total", "Messages of the stream that came to this server.",
			nil, func() uint64 { return stats().Delivered }),
		counter("flagstaff_stream_redelivered_total", "Messages of the stream that came again.",
			nil, func() uint64 { return stats().Redelivered }),
		counter("flagstaff_stream_stored_total", "Events of the stream that this server has stored.",
			nil, func() uint64 { return stats().Stored }),
		counter("flagstaff_stream_dead_letters_total", "Messages of the stream that could not be stored and are dead letters.",
			nil, func() uint64 { return stats().DeadLetters }),
		counter("flagstaff_stream_failures_total", "Attempts to store events of the stream that failed, if only for some of them.",
			nil, func() uint64 { return stats().Failures }),
		counter("flagstaff_stream_renewals_total", "How often this server has made a consumer of NATS anew that did not deliver what the stream had.",
			nil, func() uint64 { return stats().Renewed }),
		gauge("flagstaff_stream_partitions", "Partitions of the stream that this server stores now.",
			func() float64 { return float64(stats().Partitions) }),
		gauge("flagstaff_stream_stalled_partitions", "Partitions of the stream that this server stores, and whose events NATS does not deliver.",
			func() float64 { return float64(stats().Stalled) }),
	}
}

// waitingEvents is a metric that is missing if the stream does not answer.
type waitingEvents struct{ *jetstream.Stream }

var descWaiting = prometheus.NewDesc("flagstaff_stream_waiting_events",
	"Events in the stream that are not stored yet, by any server.", nil, nil)

// Describe implements [prometheus.Collector].
func (w waitingEvents) Describe(ch chan<- *prometheus.Desc) { ch <- descWaiting }

// lagTimeout is how long /metrics waits for the stream.
const lagTimeout = 2 * time.Second

// Collect implements [prometheus.Collector].
func (w waitingEvents) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	if n, err := w.Waiting(ctx); err == nil {
		ch <- prometheus.MustNewConstMetric(descWaiting, prometheus.GaugeValue, float64(n))
	}
}

// replay puts dead letters back into the stream, and lists them.
func (m *Main) replay(ctx context.Context, s *settings) error {
	conn, err := s.stream.connect(s.logger(m.Stderr))
	if err != nil {
		return err
	}
	defer conn.Close()
	events, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
	if err != nil {
		return err
	}
	// The list is complete before the first replay: an event that is a dead letter
	// again meanwhile must wait for the next run.
	var list []jetstream.DeadLetter
	for a, err := range events.DeadLetters(ctx) {
		if err != nil {
			return err
		}
		list = append(list, a)
	}
	for _, a := range list {
		if err := events.Replay(ctx, a); err != nil {
			return err
		}
		fmt.Fprintf(m.Stdout, "%s  %s  %s\n", a.Published.Format(time.RFC3339), a.Subject, a.Reason)
	}
	fmt.Fprintf(m.Stdout, "%d events are in the stream again\n", len(list))
	return nil
}
