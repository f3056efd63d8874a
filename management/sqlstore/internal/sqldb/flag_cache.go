package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxCachedFlags is how many flags of all projects together are kept in memory, so that
// only those are read again that have changed.
const maxCachedFlags = 200_000

// A flagCache has the rows of projects as they were last read. The project that was not
// asked for longest makes room for others.
type flagCache struct {
	mu       sync.Mutex
	projects *simplelru.LRU[int64, cachedFlags]
	rows     int
}

// cachedFlags are the flags of a project that are not deleted, by ascending ID. The lists
// do not change.
type cachedFlags struct {
	rowVersion int64 // of the project when they were read, 0 if it is not known
	rows       []*flagRow
	stale      []int64 // IDs of flags that have changed since, up to the row version
}

func newFlagCache() *flagCache {
	c := new(flagCache)
	c.projects, _ = simplelru.NewLRU(maxCachedFlags, func(_ int64, k cachedFlags) { c.rows -= len(k.rows) }) // fails only for sizes below 1
	return c
}

func (c *flagCache) get(project int64) cachedFlags {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _ := c.projects.Get(project)
	return k
}

func (c *flagCache) set(project int64, k cachedFlags) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.projects.Remove(project)
	if len(k.rows) == 0 || len(k.rows) > maxCachedFlags {
		return
	}
	c.projects.Add(project, k)
	for c.rows += len(k.rows); c.rows > maxCachedFlags; {
		c.projects.RemoveOldest()
	}
}

// currentRowVersion returns the row version of a project, 0 if it has none, or where that does
// not tell whether flags have changed: within AtOnce only the first change replaces it.
func (a *accounts) currentRowVersion(ctx context.Context, project int64) (rowVersion int64, err error) {
	if a.grown != nil {
		return 0, nil
	}
	err = a.read(ctx, "SELECT mark FROM project_version WHERE project_id = ?", []any{project}, scanTo(&rowVersion))
	return rowVersion, wrap("read the row version of a project", err)
}

// FlagDefinitions implements [storage.Flags]. It reads nothing if the project has
// the row version that it had when its flags were read.
func (a *accounts) FlagDefinitions(ctx context.Context, project int64) ([]storage.Flag, error) {
	rowVersion, err := a.currentRowVersion(ctx, project)
	if err != nil {
		return nil, err
	}
	k := a.db.flags.get(project)
	if rowVersion == 0 || k.rowVersion != rowVersion {
		return a.readFlags(ctx, project, rowVersion)
	}
	if len(k.stale) > 0 {
		if k, err = a.refresh(ctx, project, k); err != nil {
			return nil, err
		}
		now, err := a.currentRowVersion(ctx, project)
		switch {
		case err != nil:
			return nil, err
		case now != rowVersion: // the rows may be newer than the row version
			return a.readFlags(ctx, project, now)
		}
		a.db.flags.set(project, k)
	}
	return collect(k.rows, func(row **flagRow) storage.Flag { return (*row).Flag }), nil
}

// refresh reads the flags that are stale.
func (a *accounts) refresh(ctx context.Context, project int64, k cachedFlags) (cachedFlags, error) {
	stale := slices.Compact(slices.Sorted(slices.Values(k.stale)))
	rows, err := featureFlags.list(ctx, a, "WHERE project_id = ? AND id IN (?) AND deleted = false ORDER BY id", project, slice[int64](stale))
	if err != nil {
		return k, err
	}
	fresh := make([]*flagRow, 0, len(k.rows)+len(rows))
	for _, row := range k.rows {
		if _, changed := slices.BinarySearch(stale, row.ID); !changed {
			fresh = append(fresh, row)
		}
	}
	for i := range rows {
		rows[i].LastCalled = nil // it changes, and the row version does not
		fresh = append(fresh, &rows[i])
	}
	slices.SortFunc(fresh, func(a, b *flagRow) int { return cmp.Compare(a.ID, b.ID) })
	return cachedFlags{k.rowVersion, fresh, nil}, nil
}

// maxStale is how many changes of flags are noted before the row versions of all are read.
const maxStale = 100

// alterFlags is alter for a change of flags, which returns their IDs. In a transaction
// nobody else changes the project: if its flags were known before, they are known
// afterwards, but for these.
func (a *accounts) alterFlags(ctx context.Context, project int64, change func(*accounts) ([]int64, error)) error {
	var ids []int64
	alter := func(a *accounts) (err error) {
		ids, err = change(a)
		return err
	}
	if a.t == nil {
		return a.alter(ctx, project, alter)
	}
	before, err := a.currentRowVersion(ctx, project)
	if err != nil {
		return err
	}
	if err := a.alter(ctx, project, alter); err != nil {
		return err
	}
	k := a.db.flags.get(project)
	if before == 0 || k.rowVersion != before || len(k.stale)+len(ids) > maxStale {
		return nil
	}
	after, err := a.currentRowVersion(ctx, project)
	if err == nil {
		a.db.flags.set(project, cachedFlags{after, k.rows, append(slices.Clip(k.stale), ids...)})
	}
	return err
}

// A readFlag is a flag of a list that is being read.
type readFlag struct {
	id, rowVersion int64
	called         *time.Time
	row            *flagRow // nil if it is not known
}

// Flags implements [storage.Flags].
func (a *accounts) Flags(ctx context.Context, project int64) ([]storage.Flag, error) {
	rowVersion, err := a.currentRowVersion(ctx, project)
	if err != nil {
		return nil, err
	}
	return a.readFlags(ctx, project, rowVersion)
}

// readFlags is Flags. It reads only the rows that are not known by their row versions. A
// known row may have been read in a transaction that was undone: then its row version is gone
// as well. The row version of the project, or 0, was read
// before: if flags have changed since, it is over.
func (a *accounts) readFlags(ctx context.Context, project, rowVersion int64) ([]storage.Flag, error) {
	const tries = 3
	for range tries {
		known := a.db.flags.get(project).rows
		if known == nil {
			break
		}
		list, missing, err := a.flagRowVersions(ctx, project, known)
		if err != nil {
			return nil, err
		}
		if len(missing) > len(list)/4 { // one statement reads many rows faster
			break
		}
		if len(missing) > 0 {
			const tail = "WHERE project_id = ? AND id IN (?) ORDER BY id"
			rows, err := featureFlags.list(ctx, a, tail, project, collect(missing, func(f **readFlag) int64 { return (*f).id }))
			if err != nil {
				return nil, err
			}
			if !complete(missing, rows) {
				continue // a row has changed since its row version was read
			}
		}
		return a.db.flags.keep(project, rowVersion, list), nil
	}
	rows, err := featureFlags.list(ctx, a, "WHERE project_id = ? AND deleted = false ORDER BY id", project)
	if err != nil {
		return nil, err
	}
	list := make([]readFlag, len(rows))
	for i := range rows {
		row := &rows[i]
		list[i] = readFlag{row.ID, row.rowVersion, row.LastCalled, row}
		row.LastCalled = nil // it changes, and the row version does not
	}
	return a.db.flags.keep(project, rowVersion, list), nil
}

// flagRowVersions lists the flags of a project, which all have a row in the end, and in missing
// the flags whose row is not known yet. Both are by ascending ID, as known is.
func (a *accounts) flagRowVersions(ctx context.Context, project int64, known []*flagRow) (list []readFlag, missing []*readFlag, err error) {
	list = make([]readFlag, 0, len(known)+1)
	var f readFlag
	called := maybeStamp{&a.db.d, &f.called}
	next := 0
	const query = "SELECT id, mark, last_called_at FROM feature_flag WHERE project_id = ? AND deleted = false ORDER BY id"
	err = a.read(ctx, query, []any{project}, func(r *sql.Rows) error {
		if err := r.Scan(&f.id, &f.rowVersion, called); err != nil {
			return err
		}
		for next < len(known) && known[next].ID < f.id {
			next++
		}
		f.row = nil
		if next < len(known) && known[next].ID == f.id && known[next].rowVersion == f.rowVersion {
			f.row = known[next]
		}
		list = append(list, f)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the row versions of flags: %w", err)
	}
	for i := range list {
		if list[i].row == nil {
			missing = append(missing, &list[i])
		}
	}
	return list, missing, nil
}

// complete gives flags their rows, and reports whether all rows still have the row versions
// that were listed. So the list is of one moment, although it took two statements.
func complete(missing []*readFlag, rows []flagRow) bool {
	if len(rows) != len(missing) {
		return false
	}
	for i, f := range missing {
		row := &rows[i]
		if row.ID != f.id || row.rowVersion != f.rowVersion {
			return false
		}
		row.LastCalled = nil // it changes, and the row version does not
		f.row = row
	}
	return true
}

// keep remembers the rows of a list, and returns its flags.
func (c *flagCache) keep(project, rowVersion int64, list []readFlag) []storage.Flag {
	if len(list) == 0 {
		c.set(project, cachedFlags{})
		return nil
	}
	flags, rows := make([]storage.Flag, len(list)), make([]*flagRow, len(list))
	for i := range list {
		f := &list[i]
		rows[i], flags[i] = f.row, f.row.Flag
		flags[i].LastCalled = f.called
	}
	c.set(project, cachedFlags{rowVersion: rowVersion, rows: rows})
	return flags
}
