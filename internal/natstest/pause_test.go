//go:build unix

package natstest_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// TestCluster: servers of a cluster know each other, and one that is paused says nothing.
func TestCluster(t *testing.T) {
	servers := natstest.Cluster(t, 3)
	if got := natstest.URLs(servers); strings.Count(got, "nats://127.0.0.1:") != 3 {
		t.Errorf("URLs = %q, want three", got)
	}
	servers[1].Pause(t)
	conn, err := net.Dial("tcp", servers[1].Addr) // the system takes the connection
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("a paused server has said %d bytes, want nothing", n)
	}
	servers[1].Resume(t)
	if line := greeting(t, servers[1]); !strings.Contains(line, `"cluster":"test"`) {
		t.Errorf("the server says %q, want that it is in the cluster", line)
	}
}
