package memstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// accounts is the part of a Store that transactions are about: all but events,
// persons and what is counted. Reading never waits: it finds the tables as the
// last change left them.
type accounts struct {
	writing sync.Mutex // held by who makes the next tables
	current atomic.Pointer[tables]
	changed chan struct{} // closed by the next change; nil if nobody waits
}

// tables are a state of accounts, which is not changed any more: a change begins
// with a copy of the struct, for which [table] is made.
type tables struct {
	lastUser, lastProject, lastFlag, lastCohort int64 // IDs, which are not given again

	users         table[management.User]
	scenes        table[management.Scene]
	keys          table[management.PersonalKey]
	totps         table[management.TOTP]
	pendingTOTPs  table[management.PendingTOTP]
	backupCodes   table[management.BackupCode]
	emailTokens   table[management.EmailToken]
	organizations table[management.Organization]
	memberships   table[management.Membership]
	projects      table[management.Project]
	flags         table[management.FeatureFlag]
	cohorts       table[management.Cohort]
	earlyAccess   table[management.EarlyAccessFeature]
	surveys       table[management.Survey]
	archived      table[archived]
	deleted       table[deletion]
	activities    table[management.Activity]

	versions map[int64]int64 // by project; 0: of projects themselves
}

// A deletion remembers a project until its events and persons are deleted too.
type deletion struct {
	project int64
	at      time.Time
}

// tables returns the tables to read from.
func (a *accounts) tables() *tables {
	if t := a.current.Load(); t != nil {
		return t
	}
	return new(tables)
}

// change lets f change a copy of the tables, and keeps it unless f fails.
func (a *accounts) change(ctx context.Context, f func(*tables) error) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	next := *a.tables()
	if err := f(&next); err != nil {
		return err
	}
	a.current.Store(&next)
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
	return nil
}

// Atomic implements [management.Store].
func (s *Store) Atomic(ctx context.Context, f func(management.Store) error) error {
	return s.change(ctx, func(next *tables) error {
		t := &transaction{throttle: &s.throttle, store: s}
		t.current.Store(next)
		if err := f(t); err != nil {
			return err
		}
		*next = *t.tables()
		return nil
	})
}

// A transaction is the Store that Atomic gives to its function. Its accounts are
// those of the Store to begin with, and the Store's in the end if all goes well.
type transaction struct {
	accounts
	*throttle // of the Store

	store *Store
}

// Atomic implements [management.Store].
func (t *transaction) Atomic(ctx context.Context, f func(management.Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(t)
}

// A table has rows in the order in which they were added. Whoever has a copy of a
// table keeps what it was: rows are replaced and never changed, and so are tables,
// except that new rows are appended. They go behind the end of older copies,
// where nobody looks, and over what a transaction that failed has left there.
type table[T any] []*T

func (t *table[T]) add(row T) { *t = append(*t, &row) }

// put replaces the first row that is like the new one, or adds it.
func (t *table[T]) put(row T, like func(*T) bool) {
	if i := slices.IndexFunc(*t, like); i >= 0 {
		*t = slices.Clone(*t)
		(*t)[i] = &row
		return
	}
	t.add(row)
}

// edit replaces the rows that are selected by what f makes of copies of them, and
// returns how many they are.
func (t *table[T]) edit(selected func(*T) bool, f func(*T)) int {
	n := 0
	for i := range *t {
		if !selected((*t)[i]) {
			continue
		}
		if n++; n == 1 {
			*t = slices.Clone(*t)
		}
		row := *(*t)[i]
		f(&row)
		(*t)[i] = &row
	}
	return n
}

// remove removes the rows that are selected, and returns how many they are.
func (t *table[T]) remove(selected func(*T) bool) int {
	if !t.has(selected) {
		return 0
	}
	before := len(*t)
	*t = slices.DeleteFunc(slices.Clone(*t), selected)
	return before - len(*t)
}

func (t *table[T]) has(selected func(*T) bool) bool { return slices.ContainsFunc(*t, selected) }

// one returns a copy of the first row that is selected; what is its name in the
// error if there is none.
func one[T any](ctx context.Context, rows table[T], what string, selected func(*T) bool) (*T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, selected)
	if i < 0 {
		return nil, missing(what)
	}
	return new(*rows[i]), nil
}

// all returns copies of the rows that are selected.
func all[T any](ctx context.Context, rows table[T], selected func(*T) bool) ([]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []T
	for _, row := range rows {
		if selected(row) {
			list = append(list, *row)
		}
	}
	return list, nil
}

// page returns a part of a list.
func page[T any](list []T, limit, offset int) []T {
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))]
}

func missing(what string) error { return fmt.Errorf("%w: %s", management.ErrNotFound, what) }

func taken(what string) error { return fmt.Errorf("%w: %s", management.ErrConflict, what) }
