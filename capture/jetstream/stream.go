package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
)

// Config configures a [Stream]. Only Conn is required. Partitions and the fields
// after it configure what Open creates; Open changes nothing that exists.
type Config struct {
	// Conn is the connection to NATS, as Connect makes it. The caller closes it, last of
	// all.
	Conn *nats.Conn

	// Name is the name of the stream, and the beginning of all other names. Zero:
	// "flagstaff".
	Name string

	// Partitions is how many parts of the stream can be consumed at the same time,
	// at most 256. All events of one distinct ID are in one part. Zero: 1, which
	// keeps the order of all events; see the package's documentation.
	Partitions int

	// Replicas is on how many servers of a cluster an event is before it counts as
	// written. Zero: 1.
	Replicas int

	// MaxBytes bounds the stream. When it is full, it refuses new events, and
	// clients are told to come back. Zero: the limit of the account.
	MaxBytes int64

	// DuplicateWindow is for how long the stream recognises an event that is
	// written again. After it, the sink behind the Consumer does. Zero: 2 min.
	DuplicateWindow time.Duration

	// AckWait is how long events stay with a Consumer that gives no sign of life.
	// Zero: 1.5 s.
	AckWait time.Duration

	// MaxPending is how many events of a partition may be with a Consumer. While it
	// stores a batch, the next one comes if there is room for both. Zero: 2,000.
	MaxPending int

	// Lease is the time after which a Consumer that gives no sign of life loses its
	// partitions. Zero: 1.5 s.
	Lease time.Duration

	// MustExist makes Open fail with [ErrNoStream] instead of creating what is missing.
	MustExist bool

	// Log receives settings that exist and differ. Nil: no log.
	Log *slog.Logger
}

// ErrNoStream says that something is missing that [Config.MustExist] wants.
var ErrNoStream = errors.New("jetstream: there is no stream yet")

// nameRule matches names that streams, buckets and subjects may all have.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (c Config) withDefaults() (Config, error) {
	c.Name = cmp.Or(c.Name, "flagstaff")
	switch {
	case c.Conn == nil:
		return c, errors.New("jetstream: Config.Conn is missing")
	case !nameRule.MatchString(c.Name):
		return c, fmt.Errorf("jetstream: Config.Name is %q, want 1 to 64 letters, digits, - and _", c.Name)
	case c.Partitions < 0 || c.Partitions > 256:
		return c, fmt.Errorf("jetstream: Config.Partitions is %d, want 1 to 256, or 0 for the default", c.Partitions)
	case c.Replicas < 0 || c.Replicas > 5:
		return c, fmt.Errorf("jetstream: Config.Replicas is %d, want 1 to 5, or 0 for the default", c.Replicas)
	case c.MaxBytes < 0 || c.DuplicateWindow < 0 || c.AckWait < 0 || c.MaxPending < 0 || c.Lease < 0:
		return c, errors.New("jetstream: Config has a negative limit; zero means the default")
	case c.Lease > 0 && c.Lease < time.Second:
		return c, fmt.Errorf("jetstream: Config.Lease is %v, want at least 1s", c.Lease)
	case c.AckWait > 0 && c.AckWait < time.Second:
		return c, fmt.Errorf("jetstream: Config.AckWait is %v, want at least 1s", c.AckWait)
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c, nil
}

// A Stream keeps events until a [Consumer] has passed them on. It is safe for
// concurrent use.
type Stream struct {
	c          Config
	js         jetstream.JetStream
	leases     jetstream.KeyValue
	lease      time.Duration // how long a lease lasts
	partitions int
	consumers  []jetstream.ConsumerConfig // of the partitions, as they were found or made
	leader     atomic.Value               // string: the server of NATS that led the stream when it was last asked, "" for one alone

	publishing   chan struct{} // has a token for each window that is being published
	stalledAfter time.Duration // the constant of this name, but in tests
}

var _ capture.Sink = (*Stream)(nil)

const (
	// window is how many events of one Write are on their way at a time, and
	// windows is how many Writes may have a window.
	window  = 1024
	windows = 8

	// ackTimeout is after what time the client forgets an event that was never
	// acknowledged. Contexts end long before.
	ackTimeout = time.Minute
)

// Open returns the stream of the config's name, and creates what is missing: the
// stream, a second one for dead letters, durable consumers and a bucket of
// leases. Several processes may do so at once. It returns an error if what exists
// could lose events.
func Open(ctx context.Context, c Config) (*Stream, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	js, err := newContext(c.Conn, jetstream.WithPublishAsyncMaxPending(window*windows), jetstream.WithPublishAsyncTimeout(ackTimeout))
	if err != nil {
		return nil, err
	}
	s := &Stream{c: c, js: js, publishing: make(chan struct{}, windows), stalledAfter: stalledAfter}
	for _, step := range []func(context.Context) error{s.openEvents, s.openDeadLetters, s.openConsumers, s.openLeases} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openEvents creates or checks the stream of events.
func (s *Stream) openEvents(ctx context.Context) error {
	want := jetstream.StreamConfig{
		Name:        s.c.Name,
		Description: "Events until they are stored",
		// A stream that forgets what no consumer has taken, or what is old, would
		// lose acknowledged events.
		Retention:  jetstream.WorkQueuePolicy,
		Discard:    jetstream.DiscardNew,
		Storage:    jetstream.FileStorage,
		MaxBytes:   cmp.Or(s.c.MaxBytes, -1),
		Replicas:   cmp.Or(s.c.Replicas, 1),
		Duplicates: cmp.Or(s.c.DuplicateWindow, 2*time.Minute),
	}
	for p := range cmp.Or(s.c.Partitions, 1) {
		want.Subjects = append(want.Subjects, s.partitionSubject(p))
	}
	got, err := s.ensure(ctx, want)
	if err != nil {
		return err
	}
	s.partitions = len(got.Subjects)
	for p, subject := range got.Subjects {
		if subject != s.partitionSubject(p) {
			return fmt.Errorf("jetstream: stream %q has the subjects %s; want %s, and so on, one for each partition",
				s.c.Name, strings.Join(got.Subjects, ", "), s.partitionSubject(0))
		}
	}
	s.keeps(ctx, "partitions", s.partitions, s.c.Partitions)
	s.keeps(ctx, "replicas", got.Replicas, s.c.Replicas)
	s.keeps(ctx, "maximum of bytes", got.MaxBytes, s.c.MaxBytes)
	s.keeps(ctx, "duplicate window", got.Duplicates, s.c.DuplicateWindow)
	return nil
}

// openDeadLetters creates or checks the stream of dead letters.
func (s *Stream) openDeadLetters(ctx context.Context) error {
	_, err := s.ensure(ctx, jetstream.StreamConfig{
		Name:        s.deadLettersName(),
		Description: "Events that cannot be stored",
		Subjects:    []string{s.deadLettersName() + ".>"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxBytes:    -1,
		Replicas:    cmp.Or(s.c.Replicas, 1),
		Duplicates:  2 * time.Minute,
	})
	return err
}

// ensure creates a stream unless it exists, and returns its configuration.
func (s *Stream) ensure(ctx context.Context, want jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	stream, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s.c.MustExist {
			return want, fmt.Errorf("%w: %q is missing", ErrNoStream, want.Name)
		}
		stream, err = s.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // created a moment ago
			stream, err = s.js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return want, fmt.Errorf("jetstream: stream %q: %w%s", want.Name, err, hint(err))
	}
	got := stream.CachedInfo().Config
	if want.Name == s.c.Name {
		s.noteLeader(stream)
	}
	return got, checkStream(got, want)
}

// hint adds what an operator may not know.
func hint(err error) string {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return "; start nats-server with -js, or enable JetStream for the account"
	}
	return ""
}

// checkStream returns an error if a stream could lose acknowledged events.
func checkStream(got, want jetstream.StreamConfig) error {
	var faults []string
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(got.Retention != want.Retention, "its retention is %v, want %v", got.Retention, want.Retention)
	fault(got.Storage != jetstream.FileStorage, "its storage is %v, want file", got.Storage)
	fault(got.Discard != jetstream.DiscardNew, "it discards old messages when it is full, want new ones to be refused")
	fault(got.MaxAge != 0, "it discards messages after %v, want never", got.MaxAge)
	fault(got.MaxMsgsPerSubject > 0, "it has a limit of %d messages per subject, want none", got.MaxMsgsPerSubject)
	fault(got.NoAck, "it does not acknowledge messages")
	fault(got.Sealed, "it is sealed")
	fault(got.Mirror != nil, "it is a mirror")
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("jetstream: stream %q exists and could lose events: %s; change it, delete it or choose another name", want.Name, strings.Join(faults, ", "))
}

// keeps logs that something exists with other settings than the config's.
func (s *Stream) keeps(ctx context.Context, what string, got, want any) {
	if got == want || want == 0 || want == int64(0) || want == time.Duration(0) {
		return
	}
	s.c.Log.WarnContext(ctx, "the stream exists and keeps its settings", "stream", s.c.Name, "setting", what, "is", got, "configured", want)
}

// openConsumers creates or checks the durable consumers.
func (s *Stream) openConsumers(ctx context.Context) error {
	for p := range s.partitions {
		s.consumers = append(s.consumers, jetstream.ConsumerConfig{
			Durable:       consumerName(p),
			Description:   "Stores the events of one partition",
			FilterSubject: s.partitionSubject(p),
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       cmp.Or(s.c.AckWait, 1500*time.Millisecond),
			MaxDeliver:    -1,
			MaxAckPending: cmp.Or(s.c.MaxPending, 2000),
		})
		consumer, err := s.openConsumer(ctx, p)
		if err != nil {
			return err
		}
		got := consumer.CachedInfo().Config
		got.PauseUntil = nil
		s.consumers[p] = got
	}
	s.keeps(ctx, "wait for acknowledgements", s.consumers[0].AckWait, s.c.AckWait)
	s.keeps(ctx, "maximum of pending acknowledgements", s.consumers[0].MaxAckPending, s.c.MaxPending)
	return nil
}

// openConsumer returns the durable consumer of a partition, and creates it if it is
// missing, as it was when the stream was opened.
func (s *Stream) openConsumer(ctx context.Context, partition int) (jetstream.Consumer, error) {
	want := s.consumers[partition]
	consumer, err := s.js.Consumer(ctx, s.c.Name, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if s.c.MustExist {
			return nil, fmt.Errorf("%w: its consumer %q is missing", ErrNoStream, want.Durable)
		}
		consumer, err = s.js.CreateConsumer(ctx, s.c.Name, want)
		if errors.Is(err, jetstream.ErrConsumerExists) { // created a moment ago
			consumer, err = s.js.Consumer(ctx, s.c.Name, want.Durable)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: consumer %q of stream %q: %w", want.Durable, s.c.Name, err)
	}
	got := consumer.CachedInfo().Config
	if got.FilterSubject != want.FilterSubject || got.AckPolicy != want.AckPolicy || got.MaxDeliver > 0 || got.MaxAckPending < 1 || got.HeadersOnly {
		return nil, fmt.Errorf("jetstream: consumer %q of stream %q exists and could lose events; want explicit acknowledgement, no limit of deliveries, a limit of pending acknowledgements, and the filter %s",
			want.Durable, s.c.Name, want.FilterSubject)
	}
	return consumer, nil
}

// openLeases creates the bucket of leases unless it exists.
func (s *Stream) openLeases(ctx context.Context) error {
	if s.c.MustExist {
		if _, err := s.js.KeyValue(ctx, s.c.Name+"-leases"); errors.Is(err, jetstream.ErrBucketNotFound) {
			return fmt.Errorf("%w: the bucket %q is missing", ErrNoStream, s.c.Name+"-leases")
		}
	}
	var err error
	s.leases, err = openBucket(ctx, s.js, jetstream.KeyValueConfig{
		Bucket:      s.c.Name + "-leases",
		Description: "Who stores the events of which partition",
		TTL:         cmp.Or(s.c.Lease, 1500*time.Millisecond),
		Replicas:    cmp.Or(s.c.Replicas, 1),
	})
	if err != nil {
		return err
	}
	status, err := s.leases.Status(ctx)
	if err != nil {
		return fmt.Errorf("jetstream: bucket %q: %w", s.leases.Bucket(), err)
	}
	if s.lease = status.TTL(); s.lease < time.Second {
		return fmt.Errorf("jetstream: bucket %q keeps values for %v, want at least 1s and not for ever; delete it", s.leases.Bucket(), s.lease)
	}
	s.keeps(ctx, "lease", s.lease, s.c.Lease)
	return nil
}

// openBucket returns a bucket and creates it unless it exists.
func openBucket(ctx context.Context, js jetstream.JetStream, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, c.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, c)
		if errors.Is(err, jetstream.ErrBucketExists) { // created a moment ago
			bucket, err = js.KeyValue(ctx, c.Bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: bucket %q: %w%s", c.Bucket, err, hint(err))
	}
	return bucket, nil
}

// Ready returns nil if the stream takes events, as far as can be told without
// writing any.
func (s *Stream) Ready(ctx context.Context) error {
	ctx, stop := whileConnected(ctx, s.c.Conn)
	defer stop()
	if _, err := s.events(ctx); err != nil {
		return unavailable(causeOf(ctx, err))
	}
	return nil
}

// events returns the stream of events. Its leader answers.
func (s *Stream) events(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, s.c.Name)
	if err == nil {
		s.noteLeader(stream)
	}
	return stream, err
}

func (s *Stream) noteLeader(stream jetstream.Stream) {
	name := ""
	if c := stream.CachedInfo().Cluster; c != nil {
		name = c.Leader
	}
	s.leader.Store(name)
}

// CanWrite returns nil if the stream has room and its server can write to its disk.
// It writes a value that disappears by itself.
func (s *Stream) CanWrite(ctx context.Context) error {
	ctx, stop := whileConnected(ctx, s.c.Conn)
	defer stop()
	stream, err := s.events(ctx)
	if err == nil {
		most, used := stream.CachedInfo().Config.MaxBytes, stream.CachedInfo().State.Bytes
		if most > 0 && used > uint64(most)/100*99 {
			return unavailable(fmt.Errorf("stream %q is full: it has %d of %d bytes", s.c.Name, used, most))
		}
		_, err = s.leases.Put(ctx, "can-write", nil)
	}
	if err != nil {
		return unavailable(causeOf(ctx, err))
	}
	return nil
}

// Waiting returns how many events are not stored yet: the lag of all Consumers
// together. It asks the server.
func (s *Stream) Waiting(ctx context.Context) (uint64, error) {
	ctx, stop := whileConnected(ctx, s.c.Conn)
	defer stop()
	// The number of messages in the stream would be wrong, because it may have
	// orphans.
	var n uint64
	for p := range s.partitions {
		consumer, err := s.js.Consumer(ctx, s.c.Name, consumerName(p))
		if err != nil {
			return 0, unavailable(causeOf(ctx, err))
		}
		info := consumer.CachedInfo()
		n += info.NumPending + uint64(info.NumAckPending)
	}
	return n, nil
}

// unavailable makes an error one that blames no event.
func unavailable(err error) error {
	return fmt.Errorf("%w: jetstream: %w", capture.ErrUnavailable, err)
}

func consumerName(partition int) string { return "writer-" + strconv.Itoa(partition) }

// deadLettersName is the name of the stream of dead letters, and the beginning of
// its subjects.
func (s *Stream) deadLettersName() string { return s.c.Name + "-aside" }

// partitionSubject matches the subjects of a partition.
func (s *Stream) partitionSubject(partition int) string {
	return s.c.Name + ".events." + strconv.Itoa(partition) + ".*"
}
