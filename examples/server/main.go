package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	limitMemory()
	m := Main{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(m.Run(ctx))
}

// Main is the program without the process. Both main and the end-to-end tests
// run it.
type Main struct {
	Args   []string
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// store, if not nil, replaces the store that the settings name, and stays
	// open. Tests use it to look into the store.
	store sqlstore.Storage
}

// Run serves until ctx ends and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	if len(m.Args) > 0 && m.Args[0] == "diff" {
		return m.diff(ctx, m.Args[1:])
	}
	s, err := parse(m.Args, m.Getenv, m.Stdout)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintf(m.Stderr, "server: %v\n", err)
		return 2
	case s.version:
		fmt.Fprintln(m.Stdout, version())
		return 0
	}
	do := m.serve
	switch {
	case s.createKey != "":
		do = m.createKey
	case s.setQuota.set:
		do = m.setQuota
	case s.importFile != "":
		do = m.importFile
	case s.stream.replay:
		do = m.replay
	}
	if err := do(ctx, s); err != nil {
		fmt.Fprintf(m.Stderr, "server: %v\n", err)
		return 1
	}
	return 0
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "flagstaff " + info.Main.Version
	}
	return "flagstaff (unknown version)"
}

// serve starts the parts in the order of their dependencies and stops them in
// the opposite order: first no new requests are accepted, then pending events
// are written, then the stream is no longer consumed, and at last the store is
// closed.
func (m *Main) serve(ctx context.Context, s *settings) (err error) {
	log := s.logger(m.Stderr)
	store := m.store
	if store == nil {
		if store, err = openStore(ctx, s, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
	}

	// A first start prints keys that are shown only once. Problems with
	// settings should be found before that.
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; is another server running there?", s.addr, err)
	}
	defer listener.Close() // has no effect once the server serves
	var registry server.Registry
	projects, err := catalog.New(catalog.Config{Store: store, Registry: &registry, Log: log})
	if err != nil {
		return err
	}
	appURL := cmp.Or(s.appURL, "http://"+listener.Addr().String())
	services, err := s.services(store, appURL, projects.Changed, log)
	if err != nil {
		return err
	}
	sink := services.surveys.Sink(store)
	events, err := s.openStream(ctx, sink, log)
	if err != nil {
		return err
	}
	defer events.close()
	if err := m.bootstrap(ctx, s, store); err != nil {
		return err
	}

	if s.demo && s.flagsFile == "" {
		if err := s.addDemo(ctx, store, services); err != nil {
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
	if err := s.pinFlags(background, &wg, store, projects); err != nil {
		return err
	}
	wg.Go(func() { _ = projects.Run(background) }) // returns nil when stopped
	stopConsuming := events.consume(background)
	defer stopConsuming()
	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: events.sink(sink), OnWrite: func(n int, d time.Duration, err error) {
		if err != nil {
			log.Error("events were not written", "events", n, "duration", d, "error", err)
		}
	}})
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
	config := server.Config{
		Projects:   &registry,
		Store:      store,
		Quota:      flagQuota,
		OFREP:      true,
		Products:   s.products,
		MaxBody:    int64(s.maxBody),
		MaxDecoded: 2 * int64(s.maxBody),

		MaxBodyMemory: int64(s.maxBodyMemory),

		Capture: server.CaptureConfig{Collector: collector, Quota: eventQuota},
		Management: server.ManagementConfig{
			Service:        services.accounts,
			Surveys:        services.surveys,
			AllowKeyInBody: s.allowKeyInBody,
			Origins:        s.managementOrigin,
			AppURL:         s.appURL,
		},
		TrustedProxies: s.proxies(),
		RateLimit:      server.RateLimit{Project: server.Limit(s.rateLimit), IP: server.Limit(s.rateLimitIP)},
		Ready:          events.ready(store.Ready),
		Metrics:        events.metrics(),
		Log:            log,
	}
	if s.geoip != "" {
		resolver, err := geoip.Open(s.geoip, geoip.Options{Log: log})
		if err != nil {
			return err
		}
		defer resolver.Close()
		wg.Go(func() { _ = resolver.Watch(background, 0) }) // returns nil when stopped
		config.Geo = resolver
	}
	services.run(background, &wg)
	handler, err := server.New(config)
	if err != nil {
		return err
	}

	collecting, drain := context.WithCancel(background)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		_ = collector.Run(collecting) // returns nil when it has drained
	}()
	defer func() { <-collected }()
	defer drain()

	log.InfoContext(ctx, "serving", "store", s.storeName(), "stream", s.stream.name(), "management", appURL+"/api/")
	fmt.Fprintf(m.Stderr, "listening on http://%s\n", listener.Addr())
	return m.answer(ctx, s, log, listener, handler)
}

// setQuota changes the quota of the first organization of a store.
func (m *Main) setQuota(ctx context.Context, s *settings) (err error) {
	store, err := openStore(ctx, s, s.logger(m.Stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	organizations, err := store.Organizations(ctx)
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

// answer serves requests until ctx ends, and then finishes the ones under way.
func (m *Main) answer(ctx context.Context, s *settings, log *slog.Logger, listener net.Listener, handler http.Handler) error {
	httpServer := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "shutting down", "timeout", s.shutdownTimeout)
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdownTimeout)
	defer cancel()
	err := httpServer.Shutdown(deadline)
	if err != nil {
		_ = httpServer.Close() // the remaining requests have had their time
		err = fmt.Errorf("requests were still under way after %v: %w", s.shutdownTimeout, err)
	}
	<-failed
	return err
}

// startQuota counts a resource, starting from the counts in the store, until
// ctx ends.
func startQuota(ctx context.Context, wg *sync.WaitGroup, store sqlstore.Storage, resource string, allowed allowance, log *slog.Logger) (*quota.Quota, error) {
	q, err := quota.New(quota.Config{Store: store, Resource: resource, Limit: allowed.n, Period: allowed.period, Log: log})
	if err != nil {
		return nil, err
	}
	organizations, err := store.Organizations(ctx)
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

// proxies returns the trusted proxies, or nil if every peer is trusted.
func (s *settings) proxies() []netip.Prefix {
	if !s.trustedProxies.set {
		return nil
	}
	return s.trustedProxies.list
}
