package natstest_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// greeting returns what a server says first.
func greeting(t *testing.T, s *natstest.Server) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestServer: a server comes back at its address after both ways to end.
func TestServer(t *testing.T) {
	s := natstest.Start(t)
	s.Stop()
	s.Settings = []string{"max_payload: 12345"}
	s.Run(t)
	addr := s.Addr
	for name, end := range map[string]func(){"Stop": s.Stop, "Kill": s.Kill} {
		if got := greeting(t, s); !strings.Contains(got, `"max_payload":12345`) || !strings.Contains(got, `"jetstream":true`) {
			t.Errorf("the server says %q, want its limit and JetStream", got)
		}
		end()
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("the server takes connections after %s", name)
		}
		s.Run(t)
		if s.Addr != addr {
			t.Errorf("the address is %s after %s, want %s", s.Addr, name, addr)
		}
	}
}

// TestWrongSettings: the error has what the server has logged.
func TestWrongSettings(t *testing.T) {
	if _, err := natstest.Program(); err != nil {
		t.Skip(err)
	}
	s, err := natstest.New(t.TempDir(), "max_payload: many")
	if err == nil {
		s.Kill()
		t.Fatal("New = nil, want an error")
	}
	if !strings.Contains(err.Error(), "nats.conf:3") {
		t.Errorf("New = %v, want an error about the third line", err)
	}
}
