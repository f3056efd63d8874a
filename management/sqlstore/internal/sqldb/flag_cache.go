package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxCachedFlags is how many flags of all projects together are kept in memory, so that
// only those are read again that have changed.
const maxCachedFlags = 200_000

// A flagRow is a flag without LastCalled, with the version of its row.
type flagRow struct {
	storage.Flag
	rowVersion int64
}

var flagRows = newTable(table[flagRow]{
	name: "feature_flag", noun: "a flag", key: 2,
	fields: func(f *flagRow) []field { return flagFields(&f.Flag, &f.rowVersion) },
})

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

// currentRowVersion returns the row version of a project, 0 if it is deleted, or where that does
// not tell whether flags have changed: within AtOnce only the first change replaces it.
func (a *accounts) currentRowVersion(ctx context.Context, project int64) (rowVersion int64, err error) {
	if a.grown != nil {
		return 0, nil
	}
	err = a.read(ctx, "SELECT v.mark FROM project_version v JOIN project p ON p.id = v.project_id WHERE p.id = ?", []any{project}, scanTo(&rowVersion))
	return rowVersion, wrap("read the row version of a project", err)
}

// FlagDefinitions implements [storage.Store]. It reads nothing if the project has
// the row version that it had when its flags were read.
func (a *accounts) FlagDefinitions(ctx context.Context, project int64) ([]storage.Flag, error) {
	rowVersion, err := a.currentRowVersion(ctx, project)
	if err != nil {
		return nil, err
	}
	k := a.db.flags.get(project)
	current := rowVersion != 0 && k.rowVersion == rowVersion
	if !current || len(k.stale) > 0 {
		rows := []*flagRow(nil)
		if current {
			rows, err = a.refresh(ctx, project, k)
		} else {
			rows, err = a.knownFlags(ctx, project, k.rows)
		}
		if err == nil && rows == nil {
			rows, err = a.allFlags(ctx, project)
		}
		if err != nil {
			return nil, err
		}
		k = cachedFlags{rowVersion: rowVersion, rows: rows}
		a.db.flags.set(project, k)
	}
	return collect(k.rows, func(row **flagRow) storage.Flag { return (*row).Flag }), nil
}

// CalledFlags implements [storage.Store].
func (a *accounts) CalledFlags(ctx context.Context, project int64) ([]storage.Flag, error) {
	list, err := a.FlagDefinitions(ctx, project)
	if err != nil {
		return nil, err
	}
	called := make(map[int64]time.Time)
	err = a.read(ctx, "SELECT id, last_called_at FROM feature_flag WHERE project_id = ? AND last_called_at IS NOT NULL", []any{project}, func(r *sql.Rows) error {
		var id int64
		var at time.Time
		err := r.Scan(&id, moment{&at})
		called[id] = at
		return err
	})
	for i := range list {
		if at, ok := called[list[i].ID]; ok {
			list[i].LastCalled = &at
		}
	}
	return list, wrap("read the last calls of flags", err)
}

func (a *accounts) allFlags(ctx context.Context, project int64) ([]*flagRow, error) {
	return a.flagRows(ctx, "WHERE project_id = ? AND deleted = false ORDER BY id", project)
}

// flagRows returns the rows that the end of a SELECT selects, without the last calls: these
// change, and the row versions do not.
func (a *accounts) flagRows(ctx context.Context, tail string, args ...any) ([]*flagRow, error) {
	list, err := flagRows.list(ctx, a, tail, args...)
	rows := make([]*flagRow, len(list))
	for i := range list {
		rows[i] = &list[i]
		rows[i].LastCalled = nil
	}
	return rows, err
}

// refresh reads the flags that are stale. It returns nil if the project has changed again.
func (a *accounts) refresh(ctx context.Context, project int64, k cachedFlags) ([]*flagRow, error) {
	stale := slices.Compact(slices.Sorted(slices.Values(k.stale)))
	fresh, err := a.flagRows(ctx, "WHERE project_id = ? AND id IN (?) AND deleted = false", project, stale)
	if err != nil {
		return nil, err
	}
	for _, row := range k.rows {
		if _, changed := slices.BinarySearch(stale, row.ID); !changed {
			fresh = append(fresh, row)
		}
	}
	slices.SortFunc(fresh, func(a, b *flagRow) int { return cmp.Compare(a.ID, b.ID) })
	if now, err := a.currentRowVersion(ctx, project); err != nil || now != k.rowVersion {
		return nil, err
	}
	return fresh, nil
}

// knownFlags returns the flags of a project of which it reads only the rows that are not known
// by their row versions. It returns nil if these are many, which one statement reads faster, and
// if one of them has changed since its row version was read: then the rows would not be of one
// moment. A known row may have been read in a transaction that was undone: then its row version
// is gone as well.
func (a *accounts) knownFlags(ctx context.Context, project int64, known []*flagRow) (rows []*flagRow, err error) {
	if len(known) == 0 {
		return nil, nil
	}
	missing := make(map[int64]int) // places in rows, by ID
	next := 0
	const query = "SELECT id, mark FROM feature_flag WHERE project_id = ? AND deleted = false ORDER BY id"
	err = a.read(ctx, query, []any{project}, eachPair(func(id, version int64) {
		for next < len(known) && known[next].ID < id {
			next++
		}
		row := &flagRow{rowVersion: version}
		if next < len(known) && known[next].ID == id && known[next].rowVersion == version {
			row = known[next]
		} else {
			missing[id] = len(rows)
		}
		rows = append(rows, row)
	}))
	if err != nil || len(missing) > len(rows)/4 {
		return nil, wrap("read the row versions of flags", err)
	}
	list, err := a.flagRows(ctx, "WHERE project_id = ? AND id IN (?)", project, slices.Collect(maps.Keys(missing)))
	if err != nil || len(list) != len(missing) {
		return nil, err
	}
	for _, row := range list {
		at := &rows[missing[row.ID]]
		if row.rowVersion != (*at).rowVersion {
			return nil, nil
		}
		*at = row
	}
	return rows, nil
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
