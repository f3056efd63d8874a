package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
)

// maxDebugTime is how long an answer of the debug pages may take, and so a profile.
const maxDebugTime = 2 * time.Minute

// checkDebug checks -debug-addr. No host would mean all addresses, which must be said.
func (s *settings) checkDebug() error {
	if s.debugAddr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(s.debugAddr)
	if err != nil || host == "" || strings.Contains(s.debugAddr, "/") {
		return fmt.Errorf("invalid value %q for flag -debug-addr: want HOST:PORT, such as 127.0.0.1:6060", s.debugAddr)
	}
	return nil
}

// debugPages are the pages of -debug-addr: metrics, profiles, and how the program was built.
// They do not have the command line, in which the password of the database may be.
func debugPages(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, body) // the client may have gone
		}
	}
	mux.HandleFunc("GET /{$}", text("/metrics\n/debug/build\n/debug/pprof/\n"))
	build := release.Get().String() + "\n"
	if info, ok := debug.ReadBuildInfo(); ok {
		build += info.String()
	}
	mux.HandleFunc("GET /debug/build", text(build))
	return mux
}

// localOnly refuses requests whose Host is a name of somewhere else: a page that a browser on
// this machine shows could otherwise make its own name mean a loopback address, and read the
// answers.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
			http.Error(w, "The debug pages answer to an IP address or localhost only.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveDebug serves the debug pages until ctx ends.
func (s *settings) serveDebug(ctx context.Context, l net.Listener, metrics http.Handler, logger *slog.Logger) {
	handler := debugPages(metrics)
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		handler = localOnly(handler)
	} else {
		logger.WarnContext(ctx, "the debug pages can be reached from other machines, where anybody can look into the program and slow it down", "debug_addr", l.Addr().String())
	}
	pages := &http.Server{
		Handler: handler, ErrorLog: log.New(serverLog{logger}, "", 0), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: maxHeaderTime, ReadTimeout: maxRequestTime, WriteTimeout: maxDebugTime, IdleTimeout: maxIdleTime,
	}
	stop := context.AfterFunc(ctx, func() { _ = pages.Close() }) // nobody waits for a profile
	defer stop()
	if err := pages.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		logger.ErrorContext(ctx, "the debug pages are gone", "error", err)
	}
}
