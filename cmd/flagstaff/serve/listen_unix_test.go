//go:build unix

package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// socketFolder returns a folder with a name short enough for sockets.
func socketFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "fs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// unixClient returns a client that connects to a Unix socket.
func unixClient(t *testing.T, path string) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// TestUnixSocket: the program answers on a Unix socket with a mode, and removes the socket at
// the end. It replaces the socket of a dead process, and refuses the socket of a living one.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(socketFolder(t), "s.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"-store", ":memory:", "-project-key", "phc_unix", "-addr", "unix:" + path, "-socket-mode", "0600", "-trusted-proxies", "127.0.0.1", "-rate-limit-ip", "0.0001:1"}
	url, _, stop := start(t, nil, args...)
	if url != "unix:"+path {
		t.Errorf("it listens on %s", url)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v; want mode 0600", info, err)
	}
	client := unixClient(t, path)
	flags := func(from string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/flags?v=2", strings.NewReader(`{"api_key":"phc_unix","distinct_id":"u"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", from)
		w, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		return w.StatusCode
	}
	// The proxy behind the socket is believed, so each of its clients has a limit of its own.
	for _, tt := range []struct {
		from string
		want int
	}{{"198.51.100.1", 200}, {"198.51.100.1", 429}, {"198.51.100.2", 200}} {
		if got := flags(tt.from); got != tt.want {
			t.Errorf("a request of %s: status %d, want %d", tt.from, got, tt.want)
		}
	}
	code, _, stderr := command(t, args...)
	if code != 1 || !strings.Contains(stderr, "is another server running there?") {
		t.Errorf("a second server: exit code %d, %q", code, stderr)
	}
	client.CloseIdleConnections()
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// TestSystemd: the program takes a socket that systemd passes, says when it is ready and when
// it stops, and connections that come between two processes are answered by the second.
func TestSystemd(t *testing.T) {
	folder := socketFolder(t)
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	listening, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	socket, err := listening.File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	state := func() string {
		t.Helper()
		b := make([]byte, 100)
		if err := states.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := states.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	run := func() (*exec.Cmd, *output) {
		t.Helper()
		stderr := newOutput()
		// The shell knows the number that its process keeps.
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", os.Args[0], "-store", ":memory:", "-project-key", "phc_systemd", "-addr", "systemd:web", "-drain", "10ms")
		cmd.Env = append(os.Environ(), "FLAGSTAFF_TEST_SERVER=1", "LISTEN_FDS=2", "LISTEN_FDNAMES=other:web", "NOTIFY_SOCKET="+states.LocalAddr().String())
		cmd.ExtraFiles = []*os.File{os.Stdin, socket}
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may be dead
			_ = cmd.Wait()
		})
		if got := state(); got != "READY=1" {
			t.Errorf("systemd is told %q, want READY=1\n%s", got, stderr)
		}
		return cmd, stderr
	}
	url := "http://" + listening.Addr().String()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	ask := func() error {
		w, err := client.Get(url + "/healthz")
		if err != nil {
			return err
		}
		defer w.Body.Close()
		if _, err := io.Copy(io.Discard, w.Body); err != nil || w.StatusCode != http.StatusOK {
			return errors.Join(err, errors.New(w.Status))
		}
		return nil
	}
	first, _ := run()
	if err := ask(); err != nil {
		t.Error(err)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "STOPPING=1" {
		t.Errorf("systemd is told %q, want STOPPING=1", got)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first process ends with %v", err)
	}
	between, err := net.Dial("tcp", listening.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	if _, err := io.WriteString(between, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	second, stderr := run()
	if answer, err := io.ReadAll(between); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK") {
		t.Errorf("a request between two processes: %q, %v", answer, err)
	}
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the second process ends with %v\n%s", err, stderr)
	}
}
