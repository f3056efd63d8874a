package soak

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var (
	soakTime = flag.Duration("soak", 0, "how long to start, load and hurt servers, a third of it one with SQLite, a third two with PostgreSQL and NATS, and a third two with clusters of these; without it the test is skipped")
	oldOne   = flag.String("old", "", "the path of an older version of the program flagstaff, from which servers are upgraded under load")
)

const (
	paused        = 2 * time.Second  // time that a process is stopped
	pausedNATS    = 12 * time.Second // the same of a server of NATS; others take over meanwhile
	drain         = time.Second      // in which a server that is to end still answers
	betweenFaults = 20 * time.Second // at most
	load          = time.Second      // without a fault, at least
	moreRoutines  = 20               // goroutines that a process may have at rest more than at its start
	moreMemory    = 96 << 20         // bytes that a process may have grown by
	diskSize      = "size=512m"
	fewFiles      = "ulimit -n 64"
	littleMemory  = "export GOMEMLIMIT=64MiB"
	fullDiskLasts = time.Second
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A fault hurts a world, and has ended when it returns.
type fault struct {
	name  string
	hurt  func(ctx context.Context) error
	takes time.Duration // at least
	once  bool          // it cannot happen again
}

// TestSoak is the program.
func TestSoak(t *testing.T) {
	if *soakTime <= 0 {
		t.Skip("-soak says how long")
	}
	program := build(t)
	older := cmp.Or(*oldOne, program) // with which servers start
	t.Run("one server with SQLite", func(t *testing.T) {
		end, folder, disk := time.Now().Add(*soakTime/3), t.TempDir(), true
		store := filepath.Join(folder, "disk")
		if err := os.Mkdir(store, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("none", store, "tmpfs", 0, diskSize); err != nil {
			t.Logf("the disk is not filled: a small one cannot be mounted: %v", err)
			disk = false
		} else {
			t.Cleanup(func() {
				if err := syscall.Unmount(store, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
		}
		file := filepath.Join(store, "soak.db")
		keys := filepath.Join(folder, "keys")
		n := newNode(t, older, folder, "server", "-store", file, "-first-keys", keys)
		w := newWorld(t, keys, n)
		faults := faultsOf(n, "the server", program)
		faults = append(faults,
			fault{name: "64 file descriptors", takes: drain, hurt: func(ctx context.Context) error { return n.restart(ctx, fewFiles) }},
			fault{name: "64 MiB of memory", takes: drain, hurt: func(ctx context.Context) error { return n.restart(ctx, littleMemory) }},
		)
		if disk {
			faults = append(faults, fault{name: "the disk is full", takes: fullDiskLasts, hurt: func(ctx context.Context) error { return fillDisk(ctx, store) }})
		}
		w.run(end, faults)
		if err := n.signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		w.check(func() (sqlstore.Storage, error) { return sqlite.Open(t.Context(), file, sqlstore.Options{}) })
	})
	t.Run("two servers with PostgreSQL and NATS", func(t *testing.T) {
		end, folder := time.Now().Add(*soakTime/3), t.TempDir()
		database, stream := postgrestest.Start(t), natstest.Start(t)
		keys := filepath.Join(folder, "keys")
		args := []string{"-store", database.URL, "-stream", stream.URL(), "-first-keys", keys, "-secret-key-file", secretKeys(t, folder)}
		first := newNode(t, older, folder, "first", args...)
		second := newNode(t, older, folder, "second", args...)
		w := newWorld(t, keys, first, second)
		faults := append(faultsOf(first, "the first server", program), faultsOf(second, "the second server", program)...)
		faults = append(faults,
			fault{name: "PostgreSQL restarts", hurt: func(context.Context) error {
				database.Stop(t)
				database.Run(t)
				return nil
			}},
			fault{name: "NATS is killed", hurt: func(context.Context) error {
				stream.Kill()
				stream.Run(t)
				return nil
			}},
		)
		w.run(end, faults)
		w.finish(database.URL)
	})
	t.Run("two servers with clusters of PostgreSQL and NATS", func(t *testing.T) {
		end, folder := time.Now().Add(*soakTime/3), t.TempDir()
		database := postgrestest.Start(t)
		standby := database.Standby(t)
		streams := natstest.Cluster(t, 3)
		var faults []fault
		for i, s := range streams {
			faults = append(faults, fault{name: fmt.Sprintf("server %d of NATS is killed", i+1), hurt: func(context.Context) error {
				s.Kill()
				s.Run(t)
				return nil
			}})
		}
		js := connect(t, natstest.URLs(streams))
		faults = append(faults, fault{name: "the server of NATS that leads is paused", takes: pausedNATS, hurt: func(ctx context.Context) error {
			s := streams[leader(t, js)]
			s.Pause(t)
			pass(ctx, pausedNATS)
			s.Resume(t)
			return nil
		}})
		keys, store := filepath.Join(folder, "keys"), database.Either(standby)
		args := []string{"-store", store, "-stream", natstest.URLs(streams), "-stream-replicas", "3", "-first-keys", keys, "-secret-key-file", secretKeys(t, folder)}
		first := newNode(t, older, folder, "first", args...)
		second := newNode(t, older, folder, "second", args...)
		w := newWorld(t, keys, first, second)
		faults = append(faults, faultsOf(first, "the first server", program)[0])
		faults = append(faults, fault{name: "PostgreSQL is killed, and its standby promoted", once: true, hurt: func(context.Context) error {
			database.Stop(t)
			standby.Promote(t)
			return nil
		}})
		w.run(end, faults)
		w.finish(store)
	})
}

// finish waits for the stream, ends the servers and compares.
func (w *world) finish(database string) {
	open := func() (sqlstore.Storage, error) { return postgres.Open(w.t.Context(), database, sqlstore.Options{}) }
	w.awaitStored(open)
	var ends sync.WaitGroup
	for _, n := range w.nodes {
		ends.Go(func() {
			if err := n.signal(syscall.SIGTERM); err != nil {
				w.t.Error(err)
			}
		})
	}
	ends.Wait()
	w.check(open)
}

// build makes the program flagstaff.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flagstaff")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/flagstaff-go/flagstaff/cmd/flagstaff")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// secretKeys makes the file of keys that servers on one database share.
func secretKeys(t *testing.T, folder string) string {
	t.Helper()
	file := filepath.Join(folder, "secret.key")
	if err := os.WriteFile(file, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// faultsOf returns the faults that can happen to every server. An older version is
// upgraded when its process has ended: it does not start with what a newer one has made of
// the store.
func faultsOf(n *node, name, program string) []fault {
	return []fault{
		{name: name + " is killed", hurt: func(ctx context.Context) error {
			err := n.kill()
			n.program = program
			return errors.Join(err, n.start(ctx))
		}},
		{name: name + " is paused", takes: paused, hurt: func(ctx context.Context) error {
			if err := n.signal(syscall.SIGSTOP); err != nil {
				return err
			}
			pass(ctx, paused)
			return n.signal(syscall.SIGCONT)
		}},
		{name: name + " restarts", takes: drain, hurt: func(ctx context.Context) error {
			n.program = program
			return n.restart(ctx)
		}},
	}
}

// fillDisk leaves no room on a disk for a while.
func fillDisk(ctx context.Context, folder string) error {
	filler := filepath.Join(folder, "filler")
	f, err := os.Create(filler)
	if err != nil {
		return err
	}
	block := bytes.Repeat([]byte{1}, 1<<20)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, f.Close())
	}
	pass(ctx, fullDiskLasts)
	return errors.Join(f.Close(), os.Remove(filler))
}

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// newWorld makes the flags and returns a world without load.
func newWorld(t *testing.T, keys string, nodes ...*node) *world {
	t.Helper()
	text, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, nodes: nodes, acked: make(map[uuid.UUID]bool)}
	w.secret = regexp.MustCompile(`phs_\w+`).FindString(string(text))
	w.personal = regexp.MustCompile(`phx_\w+`).FindString(string(text))
	if w.secret == "" || w.personal == "" {
		t.Fatalf("no keys in %s", keys)
	}
	if err := w.makeFlags(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// run loads the servers up to a time, hurts them in turns, in each way at least once, and
// prints figures. The faults of the first round share the time that they leave.
func (w *world) run(end time.Time, faults []fault) {
	t, ctx := w.t, w.t.Context()
	before := make([][2]float64, len(w.nodes))
	measure := func(what string) {
		for i, n := range w.nodes {
			goroutines, memory, err := n.figures(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if what == "before" {
				before[i] = [2]float64{goroutines, memory}
			}
			t.Logf("%s the load, %s has %.0f goroutines and %.0f MiB", what, n.url, goroutines, memory/(1<<20))
		}
	}
	measure("before")
	if least := time.Now().Add(*soakTime / 4); end.Before(least) { // a busy machine takes long to start them
		end = least
	}
	t.Logf("%v are left for the load", time.Until(end).Round(time.Millisecond))
	recoveries := make(map[string][]time.Duration)
	w.begin(ctx)
	for i := 0; !t.Failed(); i++ {
		pause := betweenFaults
		if i < len(faults) {
			rest := time.Until(end)
			for _, f := range faults[i:] {
				rest -= f.takes
			}
			pause = min(max(rest/time.Duration(len(faults)-i+1), load), betweenFaults)
		} else if rest := time.Until(end); rest < betweenFaults {
			pass(ctx, rest)
			break
		}
		pass(ctx, pause)
		f := faults[i%len(faults)]
		if f.once && i >= len(faults) {
			continue
		}
		w.mu.Lock()
		w.faults = append(w.faults, span{start: time.Now()})
		w.mu.Unlock()
		if err := f.hurt(ctx); err != nil {
			t.Errorf("%s: %v", f.name, err)
			break
		}
		healed := time.Now()
		if err := w.recovered(ctx); err != nil {
			t.Errorf("after %s: %v", f.name, err)
		}
		recoveries[f.name] = append(recoveries[f.name], time.Since(healed))
		w.mu.Lock()
		w.faults[len(w.faults)-1].end = time.Now()
		w.mu.Unlock()
	}
	w.end()
	t.Logf("the load has ended %v after its time", time.Since(end).Round(time.Millisecond))
	defer func() { t.Logf("after another %v it is compared", time.Since(end).Round(time.Millisecond)) }()
	w.report(recoveries)
	for i, n := range w.nodes {
		if err := await(ctx, "the goroutines of requests to end", func() bool {
			goroutines, _, err := n.figures(ctx)
			return err == nil && goroutines <= before[i][0]+moreRoutines
		}); err != nil {
			t.Error(err)
		}
		if _, memory, err := n.figures(ctx); err != nil || memory > before[i][1]+moreMemory {
			t.Errorf("%s has %.0f MiB, %.0f before the load; %v", n.url, memory/(1<<20), before[i][1]/(1<<20), err)
		}
	}
	measure("after")
}

// recovered returns when all nodes take events and answer requests for flags.
func (w *world) recovered(ctx context.Context) error {
	for _, n := range w.nodes {
		if err := await(ctx, n.url+" to recover", func() bool {
			flags, _, _ := send(ctx, http.MethodPost, n.url+"/flags/?v=2", "", []byte(`{"api_key":"`+projectKey+`","distinct_id":"r"}`))
			events, _, _ := send(ctx, http.MethodPost, n.url+"/i/v0/e/", "", []byte(`{"api_key":"`+projectKey+`","distinct_id":"r","event":"recovered"}`))
			return flags == http.StatusOK && events == http.StatusOK
		}); err != nil {
			return err
		}
	}
	return nil
}

// report prints figures.
func (w *world) report(recoveries map[string][]time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(what string, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	c := &w.counts
	row("requests with events", "%d acknowledged with %d events; %d answered 503, %d not answered, all sent again", c.sent.Load(), len(w.acked), c.refused.Load(), c.unreachable.Load())
	row("requests for flags", "%d answered, %d partial; %d not answered", c.asked.Load(), c.partial.Load(), c.unanswered.Load())
	row("answers compared", "%d", c.compared.Load())
	row("changes of flags", "%d answered, %d with an unknown end; %d versions", c.changed.Load(), c.unclear.Load(), len(w.versions))
	row("lists", "%d answered, %d not", c.listed.Load(), c.unlisted.Load())
	if n := len(w.arrivals); n > 0 {
		slices.Sort(w.arrivals)
		row("a change reaches a program", "median %v, longest %v of %d", w.arrivals[n/2].Round(time.Millisecond), w.arrivals[n-1].Round(time.Millisecond), n)
	}
	for _, name := range slices.Sorted(maps.Keys(recoveries)) {
		times := recoveries[name]
		slices.Sort(times)
		row(name, "%d times, recovered after %v, %v at most", len(times), times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	}
	if err := table.Flush(); err != nil {
		w.t.Error(err)
	}
	w.t.Logf("figures:\n%s", out.String())
	for _, text := range w.wrong {
		w.t.Error(text)
	}
	if c.sent.Load() == 0 || c.compared.Load() == 0 || c.changed.Load() == 0 {
		w.t.Error("nothing was acknowledged, compared or changed: nothing is shown")
	}
}

// awaitStored returns when everything that was acknowledged has come out of the stream.
func (w *world) awaitStored(open func() (sqlstore.Storage, error)) {
	db, err := open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := await(w.t.Context(), "the stream to be empty", func() bool {
		_, lost, _ := w.stored(db)
		return lost == 0
	}); err != nil {
		w.t.Error(err)
	}
}

// stored counts the stored events that the load has sent, the acknowledged ones that are
// lost, and those that are there twice.
func (w *world) stored(db sqlstore.Storage) (stored, lost, twice int) {
	times := make(map[uuid.UUID]int)
	for e, err := range db.AllEvents(w.t.Context(), 1, storage.EventFilter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		times[e.UUID]++
	}
	for id := range w.acked {
		if times[id] == 0 {
			lost++
		}
	}
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	return len(times), lost, twice
}

// check compares what was acknowledged with what is stored.
func (w *world) check(open func() (sqlstore.Storage, error)) {
	db, err := open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	stored, lost, twice := w.stored(db)
	w.t.Logf("of %d acknowledged events %d are lost; of %d stored ones %d are there twice", len(w.acked), lost, stored, twice)
	if lost > 0 || twice > 0 {
		w.t.Error("events are lost or doubled")
	}
}
