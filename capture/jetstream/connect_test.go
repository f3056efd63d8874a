package jetstream_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
)

// TestOldServer: the start names the version of a server that is too old. There is none to
// try it with, so this one only greets.
func TestOldServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2.8.4": "is version 2.8.4, want 2.9 or later",
		"1.4.1": "is version 1.4.1, want 2.9 or later",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "INFO {\"server_id\":\"old\",\"version\":%q,\"proto\":1,\"max_payload\":1048576,\"headers\":true,\"jetstream\":true}\r\n", version)
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				if lines.Text() == "PING" {
					fmt.Fprint(conn, "PONG\r\n")
				}
			}
		}()
		conn := connect(t, l.Addr().String())
		if _, err := jetstream.Open(t.Context(), jetstream.Config{Conn: conn}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open with version %s = %v, want an error with %q", version, err, want)
		}
		if _, err := jetstream.OpenDefinitions(t.Context(), jetstream.DefinitionsConfig{Conn: conn}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenDefinitions with version %s = %v, want an error with %q", version, err, want)
		}
	}
}
