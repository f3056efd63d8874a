package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

const (
	startTime = 60 * time.Second // for a server to be ready, and for an orderly end
	lookAgain = 20 * time.Millisecond
)

// A node is a server in a process of its own, on an address that stays.
type node struct {
	url  string
	args []string
	log  string // the file of its standard error

	program string // faults change it, and what follows; there is one at a time
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	result  error         // of the process, afterwards
}

// newNode starts a server. The arguments lack the address.
func newNode(t *testing.T, program, folder, name string, args ...string) *node {
	t.Helper()
	addr := natstest.FreeAddress(t)
	n := &node{
		url: "http://" + addr, program: program, log: filepath.Join(folder, name+".log"),
		args: append([]string{"serve", "-addr", addr, "-project-key", projectKey, "-log-level", "warn", "-trusted-proxies", "none", "-drain", drain.String()}, args...),
	}
	t.Cleanup(func() {
		_ = n.kill() // it may be dead
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, tail(n.log))
		}
	})
	if err := n.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// tail returns the last lines of a file.
func tail(file string) []byte {
	const most = 4 << 10
	text, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}

// start starts the process and returns when it is ready. Limits are commands of a shell,
// such as "ulimit -n 64", and settings of the environment.
func (n *node) start(ctx context.Context, limits ...string) error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	script := strings.Join(append(limits, `exec "$0" "$@"`), "\n")
	cmd := exec.Command("sh", append([]string{"-c", script, n.program}, n.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd, n.ended = cmd, make(chan struct{})
	go func() {
		n.result = cmd.Wait()
		close(n.ended)
	}()
	if err := await(ctx, n.url+" to be ready", func() bool {
		status, _, _ := get(ctx, n.url+"/readyz", "")
		return status == http.StatusOK || n.hasEnded()
	}); err != nil || !n.hasEnded() {
		return err
	}
	return fmt.Errorf("%s has ended: %w", n.url, n.result)
}

func (n *node) hasEnded() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// signal sends a signal, and for one that ends the process waits until it has ended.
func (n *node) signal(s syscall.Signal) error {
	if err := n.cmd.Process.Signal(s); err != nil || s == syscall.SIGSTOP || s == syscall.SIGCONT {
		return err
	}
	select {
	case <-n.ended:
		if s == syscall.SIGTERM && n.result != nil {
			return fmt.Errorf("%s after SIGTERM: %w", n.url, n.result)
		}
		return nil
	case <-time.After(startTime):
		_ = n.cmd.Process.Kill() // it may end at this moment
		return fmt.Errorf("%s does not end after %v", n.url, s)
	}
}

func (n *node) kill() error { return n.signal(syscall.SIGKILL) }

// restart ends the process in an orderly way and starts it again, with limits.
func (n *node) restart(ctx context.Context, limits ...string) error {
	if err := n.signal(syscall.SIGTERM); err != nil {
		return err
	}
	return n.start(ctx, limits...)
}

// figures returns metrics of the process.
func (n *node) figures(ctx context.Context) (goroutines, memory float64, err error) {
	status, text, err := get(ctx, n.url+"/metrics", "")
	if err != nil || status != http.StatusOK {
		return 0, 0, fmt.Errorf("%s/metrics: status %d, %v", n.url, status, err)
	}
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "go_goroutines":
			goroutines = number
		case name == "process_resident_memory_bytes":
			memory = number
		}
	}
	if goroutines == 0 || memory == 0 {
		return 0, 0, fmt.Errorf("%s/metrics lacks goroutines or memory", n.url)
	}
	return goroutines, memory, nil
}

// await looks again and again until something is so.
func await(ctx context.Context, what string, is func() bool) error {
	deadline := time.NewTimer(startTime)
	defer deadline.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-deadline.C:
			return fmt.Errorf("%v were not enough for %s", startTime, what)
		case <-again.C:
		}
	}
	return nil
}

// client sends all requests. A server that is paused holds them.
var client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

// get fetches a document, with a key if there is one.
func get(ctx context.Context, url, key string) (status int, body []byte, err error) {
	return send(ctx, http.MethodGet, url, key, nil)
}

// send sends a request and reads the answer. A status of 0 comes with an error.
func send(ctx context.Context, method, url, key string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer w.Body.Close()
	if answer, err = io.ReadAll(w.Body); err != nil {
		return 0, nil, err
	}
	return w.StatusCode, answer, nil
}
