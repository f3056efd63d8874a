package jetstream

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How a connection behaves that Connect returns. A server that is frozen, or behind a
// network that swallows what is sent, says nothing: after its last answer, the client asks
// three times, each time after another pingInterval, so that it notices within 3 s. If it
// is sending meanwhile, it waits up to flushTimeout longer. So another server is tried
// within 5 s.
const (
	pingInterval = time.Second
	pingLimit    = 2 // that wait for an answer; one more, and the connection counts as dead
	flushTimeout = 2 * time.Second
	dialTimeout  = 2 * time.Second
	redialPause  = 250 * time.Millisecond // after all servers were tried
)

// Connect connects to one of the servers of NATS in url, which are separated by commas.
// The connection tries to reconnect for ever, and notices within 5 s that a server does not
// answer. With options, nats.Connect adds or changes more.
func Connect(url string, options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, append([]nats.Option{
		nats.MaxReconnects(-1),
		nats.ReconnectWait(redialPause),
		nats.Timeout(dialTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(pingLimit),
		nats.FlusherTimeout(flushTimeout),
	}, options...)...)
}

// The oldest nats-server that the soak test passes with (examples/soak).
const oldestMajor, oldestMinor = 2, 9

// newContext returns what sends requests over a connection, or an error if the connected
// server is too old.
func newContext(conn *nats.Conn, options ...jetstream.JetStreamOpt) (jetstream.JetStream, error) {
	version := conn.ConnectedServerVersion() // "" without a connection; then requests say so
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n == 2 && (major < oldestMajor || major == oldestMajor && minor < oldestMinor) {
		return nil, fmt.Errorf("jetstream: nats-server at %s is version %s, want %d.%d or later", conn.ConnectedAddr(), version, oldestMajor, oldestMinor)
	}
	js, err := jetstream.New(conn, options...)
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return js, nil
}
