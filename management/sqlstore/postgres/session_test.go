package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// terminate ends the backends that a query finds, as an administrator can. It
// fails the test if there is none.
func terminate(t *testing.T, url, which string) {
	t.Helper()
	raw, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	n := 0
	if err := raw.QueryRowContext(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM ("+which+") AS which").Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d backends are terminated, %v; want 1", n, err)
	}
}

// limited returns a context with a deadline, so that the test cannot hang.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A watcher is a running Watch.
type watcher struct {
	changed chan bool
	ended   chan error
}

func watch(ctx context.Context, db sqlstore.Storage) watcher {
	w := watcher{make(chan bool, 1000), make(chan error, 1)}
	go func() { w.ended <- db.Watch(ctx, func() { w.changed <- true }) }()
	return w
}

// hear waits until the watcher reports something.
func (w watcher) hear(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-w.changed:
	case err := <-w.ended:
		t.Fatalf("Watch ends with %v", err)
	case <-ctx.Done():
		t.Fatal("a watcher is not told")
	}
}

// lost waits until Watch reports that its connection is lost.
func (w watcher) lost(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case err := <-w.ended:
		if !errors.Is(err, capture.ErrUnavailable) {
			t.Errorf("Watch = %v, want ErrUnavailable", err)
		}
	case <-ctx.Done():
		t.Fatal("Watch does not end")
	}
}

func bootstrap(t *testing.T, db sqlstore.Storage) *management.Created {
	t.Helper()
	created, err := management.Bootstrap(t.Context(), db, management.First{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// touch increments a version.
func touch(t *testing.T, db sqlstore.Storage, p storage.Project) {
	t.Helper()
	if err := db.Projects().Update(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
}

func TestWatchTerminated(t *testing.T) {
	url := postgrestest.Open(t)
	db := open(t, url)
	created := bootstrap(t, db)
	ctx := limited(t)
	w := watch(ctx, db)
	w.hear(t, ctx)
	terminate(t, url, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'")
	w.lost(t, ctx)
	again := watch(ctx, db)
	again.hear(t, ctx)
	touch(t, db, created.Project)
	again.hear(t, ctx)
}

func TestLeadTerminated(t *testing.T) {
	url := postgrestest.Open(t)
	db, other := open(t, url), open(t, url)
	ctx := limited(t)
	led, err := db.Lead(ctx, "work", func(inner context.Context) error {
		terminate(t, url, fmt.Sprintf("SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database AND d.datname = current_database() WHERE locktype = 'advisory' AND classid = %d", postgres.LeaderLocks))
		select {
		case <-inner.Done():
		case <-ctx.Done():
			t.Error("the leader's context does not end")
		}
		if cause := context.Cause(inner); !strings.Contains(cause.Error(), `the lock "work" is lost`) {
			t.Errorf("the cause is %v", cause)
		}
		led, err := false, error(nil)
		for !led && err == nil { // the server says that it ends a session before it gives up its locks
			led, err = other.Lead(ctx, "work", func(context.Context) error { return nil })
		}
		if err != nil {
			t.Errorf("Lead of another process = %v", err)
		}
		return inner.Err()
	})
	if !led || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("Lead = %v, %v; want true and what has happened", led, err)
	}
	if led, err := db.Lead(ctx, "work", func(context.Context) error { return nil }); !led || err != nil {
		t.Errorf("Lead again = %v, %v; want true, nil", led, err)
	}
}

// TestQuietSessions leaves connections silent for several times the patience.
func TestQuietSessions(t *testing.T) {
	url := postgrestest.Open(t)
	const patience = 500 * time.Millisecond // enough for a busy machine
	defer postgres.SetPatience(patience)()
	db := open(t, url)
	created := bootstrap(t, db)
	ctx := limited(t)
	watching, stop := context.WithCancel(ctx)
	w := watch(watching, db)
	w.hear(t, ctx)
	led, err := db.Lead(ctx, "work", func(inner context.Context) error {
		select {
		case <-inner.Done():
			return context.Cause(inner)
		case err := <-w.ended:
			return err
		case <-time.After(5 * patience): // nothing may happen
		}
		led, err := open(t, url).Lead(ctx, "work", func(context.Context) error { return nil })
		if led || err != nil {
			t.Errorf("Lead of another process = %v, %v; want false, nil", led, err)
		}
		return nil
	})
	if !led || err != nil {
		t.Errorf("Lead = %v, %v; want true, nil", led, err)
	}
	touch(t, db, created.Project)
	w.hear(t, ctx)
	stop()
	if err := <-w.ended; err != nil {
		t.Errorf("Watch = %v, want nil", err)
	}
}

// TestFrozenSessions freezes the network, so that nothing is reported.
func TestFrozenSessions(t *testing.T) {
	url := postgrestest.Open(t)
	network := newNetwork(t, url)
	t.Cleanup(network.thaw)
	defer postgres.SetPatience(500 * time.Millisecond)()
	db := open(t, network.url)
	ctx := limited(t)
	w := watch(ctx, db)
	w.hear(t, ctx)
	led, err := db.Lead(ctx, "work", func(inner context.Context) error {
		network.freeze()
		<-inner.Done()
		return nil
	})
	if !led || err == nil || ctx.Err() != nil {
		t.Errorf("Lead = %v, %v; want true and what has happened", led, err)
	}
	w.lost(t, ctx)
	network.thaw()
	again := watch(ctx, db)
	again.hear(t, ctx)
}

// A network connects a program and its database.
type network struct {
	url string

	mu   sync.Mutex
	cold chan struct{} // closed by thaw; nil if the network is not frozen
}

func newNetwork(t *testing.T, url string) *network {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	kind, address := pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{url: fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", config.User, config.Password, l.Addr(), config.Database)}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = l.Close() })
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(kind, address)
			if err != nil {
				_ = near.Close()
				continue
			}
			wg.Go(func() { n.carry(far, near) })
			wg.Go(func() { n.carry(near, far) })
		}
	})
	return n
}

// carry copies the data of one end to the other.
func (n *network) carry(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 4096)
	for {
		k, err := from.Read(buffer)
		n.wait()
		if k > 0 {
			if _, err := to.Write(buffer[:k]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns when the network is not frozen.
func (n *network) wait() {
	n.mu.Lock()
	cold := n.cold
	n.mu.Unlock()
	if cold != nil {
		<-cold
	}
}

func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cold = make(chan struct{})
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cold != nil {
		close(n.cold)
		n.cold = nil
	}
}
