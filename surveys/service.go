package surveys

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

// Config configures a [Service]. Only Management is required.
type Config struct {
	// Management has the users, projects and flags. Its Store must have been opened with
	// [Extension]. Its Config.FlagUsers should be [FlagUsers].
	Management *management.Service

	// Leader makes sure that only one of several processes at a time keeps the schedules
	// of surveys. Nil: this is the only process.
	Leader storage.Leader

	// Summarizer puts answers into words. It is asked only for organizations that have
	// approved that answers are processed so. If it fails, answers are counted, as
	// [summary.Extractive] does. Nil: they are always counted, and sent nowhere.
	Summarizer summary.Summarizer

	// SummaryNotice says what Summarizer sends, and to whom, for the people who approve it.
	SummaryNotice string

	// OnResponse is called with each response to a survey of its project that
	// [Service.Sink] has stored, one call at a time and at most once for each event, with
	// the answers of that event alone. A call that fails is logged. Run makes the calls;
	// when a thousand responses wait for it, more are logged and forgotten. Nil: responses
	// are only stored.
	OnResponse func(context.Context, Response) error

	// InsightExists reports whether a project has an insight that a survey can be linked
	// to. Nil: it has all.
	InsightExists func(ctx context.Context, project, insight int64) (bool, error)

	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	// Log receives warnings. Nil discards them.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// A Service does what the management API offers for surveys, and checks
// permissions. Its methods are safe for concurrent use. They return a
// [*management.Error] for what is not possible, and any other error if storage
// fails.
type Service struct {
	c      Config
	data   *Data // outside of transactions
	events eventStore

	answered  chan struct{}       // a response was stored, or a survey has changed
	responses chan storedResponse // of which OnResponse is told
	notified  *lru.Cache[responseKey, struct{}]

	summarizerFailed atomic.Int64 // when, in Unix seconds
}

// New returns a Service, or an error if the Config makes no sense.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	if c.Management == nil {
		return nil, errors.New("surveys: Config.Management is missing")
	}
	data, err := DataIn(c.Management.Begin(nil).Store())
	if err != nil {
		return nil, err
	}
	notified, err := lru.New[responseKey, struct{}](maxNotified)
	if err != nil {
		return nil, err
	}
	return &Service{
		c: c, data: data, events: data, answered: make(chan struct{}, 1), responses: make(chan storedResponse, maxWaiting), notified: notified,
	}, nil
}

// now returns the time as stores keep it.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// Run keeps the schedules of surveys and calls Config.OnResponse, until ctx ends. Then it
// calls OnResponse for the responses that wait, for at most ten seconds, and returns nil.
// It must be called once: without it surveys do not end by themselves.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.keepSchedules(ctx) })
	wg.Go(func() { s.notifyResponses(ctx) })
	wg.Wait()
	return nil
}
