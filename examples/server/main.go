package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/server"
)

//go:embed demo.json
var demo []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	m := Main{Args: os.Args[1:], Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(m.Run(ctx))
}

// Main is the program without the process: what main and the end-to-end tests
// share.
type Main struct {
	Args   []string
	Getenv func(string) string
	Stdout io.Writer
	Stderr io.Writer
}

// Run serves until ctx ends and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
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
	if err := m.serve(ctx, s); err != nil {
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

func (m *Main) serve(ctx context.Context, s *settings) error {
	log := s.logger(m.Stderr)
	evaluator := new(flags.Evaluator)
	var from source.Source = source.File{Path: s.flagsFile}
	if s.flagsFile == "" {
		d, err := flags.Decode(bytes.NewReader(demo))
		if err != nil {
			return err
		}
		from = source.Static{Definitions: d}
	}
	loader := source.NewLoader(evaluator, from, source.LoaderConfig{Log: log})
	// Definitions that cannot be read at the start are a mistake that somebody
	// should see; later ones leave the good set in place.
	if err := loader.Refresh(ctx); err != nil {
		return err
	}

	var registry server.Registry
	registry.Set(s.projectKey, &server.Project{
		ID: 1, Name: "default", Organization: "default", Flags: evaluator,
		Checked: func() time.Time { return loader.Status().Checked },
	})
	handler, err := server.New(server.Config{
		Projects:       &registry,
		Products:       s.products,
		TrustedProxies: s.proxies(),
		MaxBody:        int64(s.maxBody),
		MaxDecoded:     2 * int64(s.maxBody),
		RateLimit:      server.RateLimit{Project: server.Limit(s.rateLimit), IP: server.Limit(s.rateLimitIP)},
		Log:            log,
	})
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; is another server running there?", s.addr, err)
	}
	httpServer := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { _ = loader.Run(background) }) // returns nil when stopped
	defer wg.Wait()
	defer stop()

	if !s.trustedProxies.set {
		log.InfoContext(ctx, "X-Forwarded-For is believed whoever sends it, as the API says; -trusted-proxies limits that")
	}
	log.InfoContext(ctx, "serving", "project_key", s.projectKey, "flags", evaluator.Snapshot().Len())
	fmt.Fprintf(m.Stderr, "listening on http://%s\n", listener.Addr())

	failed := make(chan error, 1)
	wg.Go(func() { failed <- httpServer.Serve(listener) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "shutting down", "timeout", s.shutdownTimeout)
	deadline, cancel := context.WithTimeout(background, s.shutdownTimeout)
	defer cancel()
	if err := httpServer.Shutdown(deadline); err != nil {
		_ = httpServer.Close() // the requests that are left have had their time
		return fmt.Errorf("requests were still under way after %v: %w", s.shutdownTimeout, err)
	}
	return nil
}

// proxies returns nil if every peer is trusted.
func (s *settings) proxies() []netip.Prefix {
	if !s.trustedProxies.set {
		return nil
	}
	return s.trustedProxies.list
}
