package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/internal/memlimit"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/summary/chat"
)

// Main is the standalone server as a program, without the process around it. Its
// zero value has neither arguments nor an environment, and needs only its writers.
type Main struct {
	Name    string    // of the program, for messages and help; "" is "flagstaff serve"
	Args    []string  // the command line after the name, see doc.go
	Environ []string  // variables as NAME=VALUE, as os.Environ returns them
	Stdout  io.Writer // keys of a first start, help, and what commands report
	Stderr  io.Writer // the log, and why the program ends

	// Tracing follows requests, events and what the store does. Nil: nobody does.
	Tracing Tracing

	// store, if not nil, replaces the store that the settings name, and stays
	// open. Tests use it to look into the store.
	store sqlstore.Storage
}

func (m *Main) name() string { return cmp.Or(m.Name, "flagstaff serve") }

// getenv returns the value of a variable, "" if there is none. As in a process, the
// last of several with one name counts.
func (m *Main) getenv(name string) string {
	for _, variable := range slices.Backward(m.Environ) {
		if n, value, ok := strings.Cut(variable, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// Run serves until ctx ends, or does what an option such as -create-key says, and
// returns the exit code: 0 after an orderly shutdown, 1 if the server cannot start or
// serve or -check finds an error, 2 if a setting is invalid. Settings of the memory of the process follow the
// limit of its container unless GOMEMLIMIT and GOGC say otherwise. Run must be called
// once; several values may run in one process, on different addresses.
func (m *Main) Run(ctx context.Context) int {
	s, err := m.settings()
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil && s.checkOnly:
		return m.report(m.check(ctx, s, err), exitInvalid)
	case err != nil:
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(m.Stderr, "%s: %s\n", m.name(), line)
		}
		return exitInvalid
	case s.version:
		fmt.Fprintln(m.Stdout, release.Get())
		return 0
	}
	for _, sentence := range s.unknown {
		s.logger(m.Stderr).WarnContext(ctx, sentence)
	}
	do := m.serve
	switch {
	case s.checkOnly:
		do = func(ctx context.Context, s *settings) error { return m.check(ctx, s, nil) }
	case s.createKey != "":
		do = m.createKey
	case s.setQuota.set:
		do = m.setQuota
	case s.stream.replay:
		do = m.replay
	}
	return m.report(do(ctx, s), exitFailed)
}

// Exit codes.
const (
	exitFailed  = 1
	exitInvalid = 2 // a setting is invalid
)

// report prints an error, and returns the exit code, which is code if there is one.
func (m *Main) report(err error, code int) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(m.Stderr, "%s: %v\n", m.name(), err)
	return code
}

// serve starts the parts in the order of their dependencies and stops them in
// the opposite order: first no new requests are accepted, then pending events
// are written, then the stream is no longer consumed, and at last the store is
// closed.
func (m *Main) serve(ctx context.Context, s *settings) (err error) {
	limitMemory(m.getenv)
	log, ended := newSampler(s.logger(m.Stderr))
	defer ended()
	for _, sentence := range s.exposed() {
		log.WarnContext(ctx, sentence)
	}
	given, err := m.prepare(ctx, s, log)
	if err != nil {
		return err
	}
	defer given.close()
	metrics := newStoreMetrics()
	store := m.store
	if store == nil {
		if store, err = s.open(ctx, sqlstore.Options{Log: log, OnOperation: m.traceOperations(metrics.onOperation)}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
	}
	keys, err := s.checkSecrets(ctx, store, given.keys, log)
	if err != nil {
		return err
	}
	var registry server.Registry
	asked, err := surveys.DataIn(store)
	if err != nil {
		return err
	}
	projects, err := catalog.New(catalog.Config{Store: store, Registry: &registry, Publishers: []catalog.Publisher{asked.Publish}, Log: log})
	if err != nil {
		return err
	}
	services, err := s.services(store, keys, given, projects, log)
	if err != nil {
		return err
	}
	sink := m.traceSink(services.surveys.Sink(store), "store events")
	events, err := s.openStream(ctx, given.conn, sink, log)
	if err != nil {
		return err
	}
	if err := m.bootstrap(ctx, s, store, services.accounts, given.appURL); err != nil {
		return err
	}

	if s.flagsFile == "" {
		if err := services.accounts.ReleaseFiles(ctx); err != nil {
			return err
		}
		if err := s.addDemo(ctx, store, services, sink); err != nil {
			return err
		}
	}

	// Everything that runs besides requests gets a context that outlives the
	// requests.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()

	if err := projects.Refresh(ctx); err != nil {
		return err
	}
	if err := s.importFlags(background, &wg, store, services.accounts, projects, log); err != nil {
		return err
	}
	wg.Go(func() { _ = projects.Run(background) }) // returns nil when stopped
	stopConsuming := events.consume(background)
	defer stopConsuming()
	ready := events.readiness(store)
	group := capture.CollectorConfig{Sink: m.traceStream(events, sink), MaxBytes: maxWaiting(memlimit.Process()), OnWrite: func(n int, d time.Duration, err error) {
		ready.wrote(n, err)
		metrics.wrote(n, d, err)
		if err != nil {
			log.Error("events were not written", "events", n, "duration", d, "error", err)
		}
	}}
	if m.Tracing != nil {
		group.OnAccept = m.Tracing.OnAccept
	}
	collector, err := capture.NewCollector(group)
	if err != nil {
		return err
	}
	flagQuota, err := startQuota(background, &wg, store, "feature_flags", s.quota, log)
	if err != nil {
		return err
	}
	eventQuota, err := startQuota(background, &wg, store, "events", s.eventQuota, log)
	if err != nil {
		return err
	}
	connections := newConnections(given.most)
	shown := slices.Concat(events.metrics(), metrics.collectors(store), connections.metrics())
	if given.tls != nil {
		shown = append(shown, given.tls.metric())
		wg.Go(func() { given.tls.watch(background) })
	}
	config := server.Config{
		Projects:     &registry,
		Store:        store,
		StoreTimeout: time.Duration(s.storeTimeout),
		Quota:        flagQuota,
		OFREP:        true,
		MaxStreams:   cmp.Or(min(s.maxStreams.n, given.most/2), -1), // 0 is the default of the server
		Products:     s.products,
		MaxBody:      int64(s.maxBody),
		MaxDecoded:   2 * int64(s.maxBody),

		MaxBodyMemory: int64(s.maxBodyMemory),

		Capture: server.CaptureConfig{Collector: collector, Quota: eventQuota, MaxEvent: int(s.maxEvent)},
		Management: server.ManagementConfig{
			Service:        services.accounts,
			Routes:         services.surveys.Routes(),
			AllowKeyInBody: s.allowKeyInBody,
			Origins:        s.managementOrigin,
			AppURL:         s.appURL,
		},
		TrustedProxies: s.proxies(),
		RateLimit:      server.RateLimit{Project: server.Limit(s.rateLimit), IP: server.Limit(s.rateLimitIP)},
		Ready:          ready.check,
		Metrics:        shown,
		PrivateMetrics: !s.publicMetrics,
		Log:            log,
	}
	if m.Tracing != nil {
		config.OnRequest = m.Tracing.OnRequest
	}
	if given.geo != nil {
		wg.Go(func() { _ = given.geo.Watch(background, 0) }) // returns nil when stopped
		config.Geo = given.geo
	}
	services.run(background, &wg)
	handler, api, err := s.withConsole(config, services.accounts, services.surveys, &registry, ready, usageOf(flagQuota, eventQuota, s))
	if err != nil {
		return err
	}

	if s.accessLog > 0 {
		handler = &accessLog{next: handler, share: float64(s.accessLog), clientIP: api.ClientIP, log: s.accessLogger(m.Stderr)}
	}
	if given.debug != nil {
		wg.Go(func() { s.serveDebug(background, given.debug, api.MetricsHandler(), log) })
		fmt.Fprintf(m.Stderr, "debug pages on http://%s\n", given.debug.Addr())
	}

	collecting, drain := context.WithCancel(background)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		_ = collector.Run(collecting) // returns nil when it has drained
	}()
	defer func() { <-collected }()
	defer drain()

	log.InfoContext(ctx, "serving", "store", s.storeName(), "stream", s.stream.name(), "management", given.appURL+"/api/")
	fmt.Fprintf(m.Stderr, "listening on %s\n", given.url)
	if s.demo {
		if err := s.linkConsole(ctx, m.Stderr, given.url, services.accounts); err != nil {
			return err
		}
		if err := s.welcome(ctx, m.Stdout, given.url, services.accounts); err != nil {
			return err
		}
	}
	if err := m.notify("READY=1"); err != nil {
		return err
	}
	front := front{
		listener: given.listener, tls: given.tls, connections: connections, ready: ready, closeStreams: api.CloseStreams, handler: handler,
		stopping: func() error { return m.notify("STOPPING=1") }, log: log,
	}
	return front.answer(ctx, time.Duration(s.drain), time.Duration(s.shutdownTimeout))
}

// given is what the settings name besides the store.
type given struct {
	listener *listener
	url      string       // of the listener
	tls      *certificate // nil without -tls-cert
	debug    net.Listener // nil without -debug-addr
	most     int          // connections
	appURL   string
	geo      *geoip.Resolver // nil without -geoip
	keys     [][]byte
	mailer   management.Mailer // nil without mail
	words    *chat.Summarizer  // nil without -summary-url
	conn     *nats.Conn        // nil without -stream
}

// prepare checks and opens what the settings name besides the store. It comes
// first, because a first start makes a store and tells its keys only once.
func (m *Main) prepare(ctx context.Context, s *settings, log *slog.Logger) (_ *given, err error) {
	g := new(given)
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if g.most, err = s.connections(); err != nil {
		return nil, err
	}
	if g.tls, err = s.certificate(log); err != nil {
		return nil, err
	}
	if g.listener, err = m.listen(ctx, s); err != nil {
		return nil, err
	}
	if s.debugAddr != "" {
		if g.debug, err = listenTCP(ctx, s.debugAddr); err != nil {
			return nil, err
		}
	}
	g.url = g.listener.url(s.scheme())
	g.appURL = cmp.Or(s.appURL, g.url)
	if strings.HasPrefix(g.appURL, unixPrefix) {
		g.appURL = s.scheme() + "://localhost" // nobody can write a link to a Unix socket
	}
	if s.flagsFile != "" {
		if _, _, err := (source.File{Path: s.flagsFile}).Load(ctx, ""); err != nil {
			return nil, err
		}
	}
	if s.geoip != "" {
		if g.geo, err = geoip.Open(s.geoip, geoip.Options{Log: log}); err != nil {
			return nil, err
		}
	}
	if g.keys, err = s.secretKeys(); err != nil {
		return nil, err
	}
	if s.stream.url != "" {
		if g.conn, err = s.connectStream(log); err != nil {
			return nil, err
		}
	}
	if s.mailDir != "" {
		if err := s.checkMailDir(); err != nil {
			return nil, err
		}
	}
	if g.mailer, err = s.mailer(g.appURL); err != nil {
		return nil, err
	}
	if g.words, err = s.summarizer(); err != nil {
		return nil, err
	}
	if m.store == nil {
		if err := s.checkFirstKeys(ctx); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *given) close() {
	if g.conn != nil {
		g.conn.Close()
	}
	if g.geo != nil {
		_ = g.geo.Close() // of a file that was only read
	}
	if g.debug != nil {
		_ = g.debug.Close() // as the other one
	}
	if g.listener != nil {
		_ = g.listener.Close() // has no effect once the server serves
	}
}

// setQuota changes the quota of the first organization of a store.
func (m *Main) setQuota(ctx context.Context, s *settings) (err error) {
	store, err := s.openExisting(ctx, s.logger(m.Stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	organizations, err := store.Organizations().List(ctx)
	if err != nil {
		return err
	}
	if len(organizations) == 0 {
		return fmt.Errorf("%s has no organization yet; start the server on it first", s.storeName())
	}
	o := organizations[0]
	if err := store.SetQuota(ctx, o.ID.String(), "feature_flags", s.setQuota.n); err != nil {
		return err
	}
	if s.setQuota.n < 0 {
		fmt.Fprintf(m.Stdout, "organization %q has no quota of its own any more\n", o.Name)
	} else {
		fmt.Fprintf(m.Stdout, "organization %q has a quota of %d\n", o.Name, s.setQuota.n)
	}
	return nil
}

// startQuota counts a resource, starting from the counts in the store, until
// ctx ends.
func startQuota(ctx context.Context, wg *sync.WaitGroup, store sqlstore.Storage, resource string, allowed allowance, log *slog.Logger) (*quota.Quota, error) {
	q, err := quota.New(quota.Config{Store: store, Resource: resource, Limit: allowed.n, Period: allowed.period, Log: log})
	if err != nil {
		return nil, err
	}
	organizations, err := store.Organizations().List(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, o := range organizations {
		ids = append(ids, o.ID.String())
	}
	if err := q.Load(ctx, ids...); err != nil {
		return nil, err
	}
	wg.Go(func() { _ = q.Run(ctx) }) // returns nil when stopped
	return q, nil
}

// proxies returns the trusted proxies, or nil if every peer is trusted. That is worth a
// warning, unless it is the demo, which only this machine reaches.
func (s *settings) proxies() []netip.Prefix {
	if !s.trustedProxies.set {
		if s.demo {
			return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		}
		return nil
	}
	return s.trustedProxies.list
}
