package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// How long clients may take. Package server gives bodies and long answers more time as long
// as they move, and exempts event streams.
const (
	maxHeaderTime  = 10 * time.Second // for TLS and the header of a request
	maxRequestTime = 30 * time.Second // for a request with its body
	maxAnswerTime  = 30 * time.Second // from the header of a request to the end of the answer
	maxIdleTime    = 2 * time.Minute  // of a connection between two requests
	maxHeader      = 64 << 10         // bytes of the header of a request
	maxMultiplexed = 100              // requests at once on one connection of HTTP/2
)

// A front is what meets clients.
type front struct {
	listener    *listener
	tls         *certificate // nil without TLS
	connections *connections
	handler     http.Handler
	ready       *readiness
	log         *slog.Logger

	closeStreams func()
	stopping     func() error // tells systemd
}

// answer serves requests until ctx ends, and then shuts down so that no request is cut that
// was read.
//
// For the time of drain it answers as before, but /readyz says that it is not
// ready, so that balancers send their requests elsewhere, and each answer closes its
// connection. Then it ends event streams, whose clients find another server by now, closes
// the listener, and finishes what began. The system resets connections that wait to be
// accepted when the listener closes.
func (f *front) answer(ctx context.Context, drain, timeout time.Duration) error {
	httpServer := f.server()
	failed := make(chan error, 1)
	go func() {
		if f.tls == nil {
			failed <- httpServer.Serve(f.listener)
		} else {
			failed <- httpServer.ServeTLS(f.listener, "", "")
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	f.ready.draining.Store(true)
	f.log.InfoContext(ctx, "shutting down", "drain", drain, "timeout", timeout)
	told := f.stopping()
	select {
	case err := <-failed:
		return err
	case <-time.After(drain):
	}
	f.closeStreams()
	f.connections.stop()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err := errors.Join(told, f.listener.Close())
	if e := <-failed; !errors.Is(e, net.ErrClosed) { // Serve has noted all connections that it took
		err = errors.Join(err, e)
	}
	f.connections.await(deadline) // Shutdown would drop requests that are being read
	if e := httpServer.Shutdown(deadline); e != nil {
		_ = httpServer.Close() // the remaining requests have had their time
		err = errors.Join(err, fmt.Errorf("requests were still under way after %v: %w", timeout, e))
	}
	return err
}

// server returns the server of the program, with the limits of docs/limits.md.
func (f *front) server() *http.Server {
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.ready.draining.Load() {
				w.Header().Set("Connection", "close")
			}
			if f.connections.isSurplus(r.Context()) {
				refuse(w)
				return
			}
			f.handler.ServeHTTP(w, r)
		}),
		ConnContext:       f.connections.admit,
		ConnState:         f.connections.note,
		ReadHeaderTimeout: maxHeaderTime,
		ReadTimeout:       maxRequestTime,
		WriteTimeout:      maxAnswerTime,
		IdleTimeout:       maxIdleTime,
		MaxHeaderBytes:    maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxMultiplexed,
			WriteByteTimeout:     maxAnswerTime,
		},
		ErrorLog: log.New(serverLog{f.log}, "", 0),
	}
	if f.tls != nil {
		s.TLSConfig = f.tls.config()
	}
	return s
}

// refuse answers a request on a connection that is one too many, and ends the connection.
// Balancers ask another server then.
func refuse(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", "1")
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"type":"server_error","code":"service_unavailable","detail":"The server has too many connections. Please try again later.","attr":null}`) // the client may have gone
}

// A serverLog puts what [http.Server] has to say into the log. What clients do is not a fault
// of the program.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	level := slog.LevelError
	for _, client := range []string{"http: TLS handshake error", "http2: ", "http: URL query contains semicolon"} {
		if strings.HasPrefix(text, client) {
			level = slog.LevelDebug
		}
	}
	l.log.Log(context.Background(), level, "the HTTP server reports an error", "error", text)
	return len(b), nil
}

// closeNow closes a connection without a word, which could wait for the client.
func closeNow(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // its goroutine notices
}
