package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// TestEmpty: a listener that is about to close takes the connection that waits, and no
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
	emptied := make(chan error)
	go func() { emptied <- empty(t.Context(), &listener{Listener: l}, handshakeTime) }()
	select {
	case err := <-emptied:
		t.Fatalf("it ends with %v while a connection waits", err)
	case <-time.After(2 * handshakeTime):
	}
	if err := dial(handshakeTime); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another connection: %v, want that it does not come about", err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-emptied; err != nil {
		t.Error(err)
	}
}
