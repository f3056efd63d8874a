package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// TestEmpty: a listener that is about to close takes the connections that wait, and no
// other one begins.
func TestEmpty(t *testing.T) {
	l, err := listenTCP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		if err == nil {
			t.Cleanup(func() { conn.Close() })
		}
		return err
	}
	if err := dial(time.Minute); err != nil {
		t.Fatal(err)
	}
	emptied := make(chan error, 1)
	go func() { emptied <- empty(t.Context(), &listener{Listener: l}, handshakeTime) }()
	open := 1
	for err = dial(handshakeTime); err == nil && open < 1000; err = dial(handshakeTime) {
		open++ // empty has not begun
		pause(t.Context())
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("after %d connections, another one: %v, want that it does not come about", open, err)
	}
	select {
	case err := <-emptied:
		t.Fatalf("it ends with %v while connections wait", err)
	case <-time.After(2 * handshakeTime): // as long as it would take
	}
	for range open {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if err := <-emptied; err != nil {
		t.Error(err)
	}
}
