package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// projectsThemselves is the key of the version of the list of projects.
const projectsThemselves = 0

// changesChannel is the channel on which PostgreSQL announces new versions.
const changesChannel = "flagstaff_change"

// alter is atOnce for changes of a project's data. It increments the project's
// version.
func (a *accounts) alter(ctx context.Context, project int64, f func(*accounts) error) error {
	return a.atOnce(ctx, func(a *accounts) error {
		if err := f(a); err != nil {
			return err
		}
		if a.grown != nil && *a.grown == project {
			return nil
		}
		err := a.change(ctx, func(t *tx) error { return t.bump(ctx, project) })
		if err == nil && a.grown != nil {
			*a.grown = project
		}
		return err
	})
}

// bump increments the version of a project, and gives it a new row version.
func (t *tx) bump(ctx context.Context, project int64) error {
	const grow = `INSERT INTO project_version (project_id, version, mark) VALUES (?, 1, ?)
		ON CONFLICT (project_id) DO UPDATE SET version = project_version.version + 1, mark = excluded.mark`
	if t.pg != nil {
		_, err := t.exec(ctx, "WITH grown AS ("+grow+" RETURNING 1) SELECT pg_notify(?, '')", project, rowVersion{}, changesChannel)
		return err
	}
	t.bumped = true
	_, err := t.exec(ctx, grow, project, rowVersion{})
	return err
}

// bumpGroupTypes increments the versions of projects that have new group types.
func (t *tx) bumpGroupTypes(ctx context.Context, types []persons.NewGroupType) error {
	projects := collect(types, func(g *persons.NewGroupType) int64 { return g.Project })
	slices.Sort(projects)
	for _, project := range slices.Compact(projects) {
		if err := t.bump(ctx, project); err != nil {
			return err
		}
	}
	return nil
}

// Versions implements [storage.Changes].
func (db *DB) Versions(ctx context.Context) (map[int64]int64, error) {
	versions := make(map[int64]int64)
	err := db.read(ctx, "SELECT project_id, version FROM project_version", nil, pairsTo(versions))
	return versions, wrap("read versions", err)
}

// Watch implements [storage.Changes]. On PostgreSQL it opens its own
// connection.
func (db *DB) Watch(ctx context.Context, changed func()) error {
	follow := db.poll
	if db.d.Postgres {
		follow = db.listen
	}
	if err := follow(ctx, changed); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch changes: %w", db.fail(err))
	}
	return nil
}

// listen calls changed for notifications, once for all that have arrived while
// changed ran.
func (db *DB) listen(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	news := make(chan struct{}, 1)
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(news)
		err = db.d.Listen(ctx, changesChannel, func() {
			select {
			case news <- struct{}{}:
			default:
			}
		})
	})
	defer wg.Wait() // also after a panic
	defer cancel()
	for range news {
		changed()
	}
	return err
}

// pollInterval is how soon changes by other processes are seen on SQLite.
const pollInterval = 250 * time.Millisecond

// poll calls changed when versions have changed. It compares them only when
// something was written.
func (db *DB) poll(ctx context.Context, changed func()) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var written dataVersion
	var known map[int64]int64
	for {
		bumped := db.bumps.next()
		now, err := db.dataVersion(ctx)
		if err != nil {
			return err
		}
		if now != written {
			versions, err := db.Versions(ctx)
			if err != nil {
				return err
			}
			if known == nil || !maps.Equal(versions, known) {
				known = versions
				changed()
			}
			written = now
		}
		select {
		case <-bumped:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// A dataVersion changes whenever a connection sees that another connection has
// written to the database. Versions from different connections cannot be
// compared.
type dataVersion struct {
	conn *sql.Conn
	n    int64
}

// dataVersion reads it through one connection for all that watch, until that fails.
func (db *DB) dataVersion(ctx context.Context) (v dataVersion, err error) {
	db.polling.Lock()
	defer db.polling.Unlock()
	if db.poller == nil {
		if db.poller, err = db.reading.Conn(ctx); err != nil {
			return v, err
		}
	}
	v.conn = db.poller
	if err = v.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA data_version").Scan(&v.n); err != nil {
		db.poller = nil
		err = errors.Join(err, v.conn.Close())
	}
	return v, err
}

// bumps announces changes by this process sooner than a poll does.
type bumps struct {
	mu  sync.Mutex
	one chan struct{} // closed by the next change; nil if nobody waits
}

func (b *bumps) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.one == nil {
		b.one = make(chan struct{})
	}
	return b.one
}

func (b *bumps) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.one != nil {
		close(b.one)
		b.one = nil
	}
}

// Lead implements [storage.Leader]. PostgreSQL has a lock that a connection
// holds. When the connection is lost, or when the server does not answer for
// ten seconds, the context of f ends. SQLite has a lock on a file beside the
// database.
func (db *DB) Lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if _, busy := db.leaders.LoadOrStore(name, true); busy {
		return false, nil
	}
	defer db.leaders.Delete(name)
	if db.d.Lead == nil {
		return true, f(ctx)
	}
	led, err = db.d.Lead(ctx, name, f)
	if err != nil && !led {
		err = fmt.Errorf("lead %q: %w", name, db.fail(err))
	}
	return led, err
}
