package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestMain lets the test binary be the server, so that a test can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("FLAGSTAFF_TEST_SERVER") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		m := Main{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
		os.Exit(m.Run(ctx))
	}
	os.Exit(postgrestest.Main(m))
}

// A victim is a server in a process of its own.
type victim struct {
	stderr *output
	cmd    *exec.Cmd
	url    string
}

func startVictim(t *testing.T, store string, more ...string) *victim {
	t.Helper()
	stderr := newOutput()
	cmd := exec.Command(os.Args[0], append([]string{"-store", store, "-project-key", "phc_durable", "-addr", "127.0.0.1:0"}, more...)...)
	cmd.Env = append(os.Environ(), "FLAGSTAFF_TEST_SERVER=1")
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &victim{cmd: cmd, stderr: stderr}
	t.Cleanup(v.kill)
	v.url = stderr.await(t, `listening on (http://\S+)`)[1]
	return v
}

// kill ends the process at once, as SIGKILL does.
func (v *victim) kill() {
	_ = v.cmd.Process.Kill() // it may be dead
	_ = v.cmd.Wait()         // with the error that it was killed
}

// load sends events until it is stopped, the way SDKs do: what is not answered
// with 200 is sent again with the same UUIDs.
type load struct {
	url   atomic.Pointer[string]
	acked chan struct{} // one for each acknowledged request, if a test listens
	stop  func()        // ends the senders and waits for them

	mu     sync.Mutex
	events map[uuid.UUID]bool // acknowledged
	last   map[string]int     // per sender, the last n acknowledged
	failed map[string]int     // answers other than 200
}

func newLoad(url string) *load {
	l := &load{acked: make(chan struct{}), events: make(map[uuid.UUID]bool), last: make(map[string]int), failed: make(map[string]int)}
	l.url.Store(&url)
	return l
}

// run is one sender. Each of its requests has between one and five events, all of
// one person, whose property n counts them.
func (l *load) run(ctx context.Context, sender string) error {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	n := 0
	for i := 0; ctx.Err() == nil; i++ {
		var ids []uuid.UUID
		var batch []map[string]any
		for range 1 + i%5 {
			n++
			id := capture.NewUUID(time.Now())
			ids = append(ids, id)
			batch = append(batch, map[string]any{
				"event": "tick", "uuid": id.String(), "distinct_id": sender, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
				"properties": map[string]any{"n": n, "$set": map[string]any{"n": n}},
			})
		}
		body, err := json.Marshal(map[string]any{"api_key": "phc_durable", "batch": batch})
		if err != nil {
			return err
		}
		for {
			status, err := l.post(client, body)
			if status == http.StatusOK {
				break
			}
			l.mu.Lock()
			l.failed[fmt.Sprintf("%d %v", status, err != nil)]++
			l.mu.Unlock()
			if status != 0 && status < 500 {
				return fmt.Errorf("status %d", status)
			}
			if err := l.pause(ctx); err != nil {
				return nil // not acknowledged: nobody may count on it
			}
		}
		l.mu.Lock()
		for _, id := range ids {
			l.events[id] = true
		}
		l.last[sender] = n
		l.mu.Unlock()
		select {
		case l.acked <- struct{}{}:
		default:
		}
	}
	return nil
}

// pause is the client's backoff.
func (l *load) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

func (l *load) post(client *http.Client, body []byte) (int, error) {
	w, err := client.Post(*l.url.Load()+"/batch/", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer w.Body.Close()
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		return 0, err
	}
	if w.StatusCode == http.StatusOK && string(answer) != `{"status":1}` {
		return 0, fmt.Errorf("answer %q", answer)
	}
	return w.StatusCode, nil
}

// await returns when n more requests, or some more, were acknowledged.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for i := range n {
		select {
		case <-l.acked:
		case <-deadline:
			t.Fatalf("%d requests were acknowledged, want %d; failures: %v", i, n, l.failures())
		}
	}
}

func (l *load) failures() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// check compares with what is stored: every acknowledged event is there, nothing
// twice, and persons are as their last event left them.
func (l *load) check(t *testing.T, db sqlstore.Storage) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	stored := make(map[uuid.UUID]int)
	largest := make(map[string]float64)
	for e, err := range db.AllEvents(t.Context(), 1, storage.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored[e.UUID]++
		var p struct{ N float64 }
		if err := json.Unmarshal(e.Properties, &p); err != nil {
			t.Fatal(err)
		}
		largest[e.DistinctID] = max(largest[e.DistinctID], p.N)
	}
	lost, twice := 0, 0
	for id := range l.events {
		if stored[id] == 0 {
			lost++
		}
	}
	for _, n := range stored {
		if n > 1 {
			twice++
		}
	}
	if lost > 0 || twice > 0 {
		t.Errorf("of %d acknowledged events %d are lost; of %d stored ones %d are there twice", len(l.events), lost, len(stored), twice)
	}
	for sender, n := range l.last {
		got, err := db.AppendPerson(t.Context(), nil, 1, sender)
		var p struct{ N float64 }
		if e := json.Unmarshal(got, &p); err != nil || e != nil || p.N < float64(n) || p.N != largest[sender] {
			t.Errorf("person %s is %s, %v; want n = %v, the last of its stored events, at least %d", sender, got, err, largest[sender], n)
		}
	}
	t.Logf("%d events acknowledged, %d stored, failures on the way: %v", len(l.events), len(stored), l.failed)
	if len(l.events) == 0 || len(l.failed) == 0 {
		t.Error("nothing was acknowledged, or nothing failed: the test tests nothing")
	}
}

// senders starts so many.
func (l *load) senders(t *testing.T, n int) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := l.run(ctx, fmt.Sprintf("sender-%d", i)); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("sender %d: %v", i, err)
			}
		})
	}
	l.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(l.stop)
}

// TestKilledServer kills the server with SIGKILL under load, several times
// (wire.md §2.4: what was answered 200 is durable).
func TestKilledServer(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (string, func() (sqlstore.Storage, error)){
		"SQLite": func(t *testing.T) (string, func() (sqlstore.Storage, error)) {
			path := filepath.Join(t.TempDir(), "killed.db")
			return path, func() (sqlstore.Storage, error) { return sqlite.Open(t.Context(), path, sqlstore.Options{}) }
		},
		"PostgreSQL": func(t *testing.T) (string, func() (sqlstore.Storage, error)) {
			url := postgrestest.Open(t)
			return url, func() (sqlstore.Storage, error) { return postgres.Open(t.Context(), url, sqlstore.Options{}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, reopen := open(t)
			v := startVictim(t, store)
			l := newLoad(v.url)
			l.senders(t, 16)
			for range fulltest.Count(1, 4) {
				l.await(t, 400)
				v.kill()
				v = startVictim(t, store)
				l.url.Store(&v.url)
			}
			l.await(t, 400)
			l.stop()
			v.kill()
			db, err := reopen()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			l.check(t, db)
		})
	}
}

// TestShutdownUnderLoad stops the server in an orderly way: requests under way are
// answered, and everything that was taken is written.
func TestShutdownUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stopped.db")
	var l *load
	for range fulltest.Count(2, 3) {
		url, _, stopServer := start(t, nil, "-store", path, "-project-key", "phc_durable", "-addr", "127.0.0.1:0")
		if l == nil {
			l = newLoad(url)
			l.senders(t, 16)
		}
		l.url.Store(&url)
		l.await(t, 400)
		if code := stopServer(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
	l.stop()
	db, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l.check(t, db)
}

// TestRestartedDatabase restarts PostgreSQL under load. The server answers 503
// meanwhile and goes on by itself.
func TestRestartedDatabase(t *testing.T) {
	database := postgrestest.Start(t)
	url, _, stopServer := start(t, nil, "-store", database.URL, "-project-key", "phc_durable", "-addr", "127.0.0.1:0")
	l := newLoad(url)
	l.senders(t, 16)
	for range fulltest.Count(1, 3) {
		l.await(t, 400)
		database.Stop(t)
		database.Run(t)
	}
	l.await(t, 400)
	l.stop()
	if code := stopServer(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	db, err := postgres.Open(t.Context(), database.URL, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l.check(t, db)
}
