package sqlitetest

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modernc.org/sqlite"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	flagstaff "github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// Open returns an empty store, which is closed when the test ends.
func Open(tb testing.TB) sqlstore.Storage {
	tb.Helper()
	return empty.Open(tb)
}

var empty = NewTemplate(func(testing.TB, sqlstore.Storage) {})

// A Template is a store that is filled once and copied for each test.
type Template struct {
	fill       func(testing.TB, sqlstore.Storage)
	extensions []sqlstore.Extension
	uri        string // of the database that is copied; "" before there is one

	// kept keeps the database. It is a connection of the driver rather than a pool
	// of package database/sql, whose goroutines would belong to the bubble of the
	// first test, if that is one of package synctest.
	kept driver.Conn
}

// NewTemplate returns a Template that the first test to use it fills by fill. The
// rows of the database are copied, and nothing that a store keeps besides, such as
// caches. The stores have extensions.
func NewTemplate(fill func(testing.TB, sqlstore.Storage), extensions ...sqlstore.Extension) *Template {
	return &Template{fill: fill, extensions: extensions}
}

// Open returns a copy of the template, which is closed when the test ends.
func (t *Template) Open(tb testing.TB) sqlstore.Storage {
	tb.Helper()
	mu.Lock()
	defer mu.Unlock()
	if t.uri == "" {
		t.make(tb)
	}
	return t.openWith(tb, func(c connection) error {
		restore, err := c.NewRestore(t.uri)
		if err != nil {
			return err
		}
		_, err = restore.Step(-1)
		return errors.Join(err, restore.Finish())
	})
}

// make fills a store and copies it.
func (t *Template) make(tb testing.TB) {
	tb.Helper()
	var filled connection
	db := t.openWith(tb, func(c connection) error {
		filled = c
		return nil
	})
	t.fill(tb, db)
	templates++
	uri := "file:/flagstaff-template-" + strconv.Itoa(templates) + "?vfs=memdb"
	backup, err := filled.NewBackup(uri)
	if err != nil {
		tb.Fatalf("copy a store: %v", err)
	}
	_, err = backup.Step(-1)
	kept, e := backup.Commit()
	if err := errors.Join(err, e); err != nil {
		tb.Fatalf("copy a store: %v", err)
	}
	t.uri, t.kept = uri, kept
}

// A connection is one of the driver to a database.
type connection interface {
	sqlite.ExecQuerierContext
	NewBackup(uri string) (*sqlite.Backup, error)
	NewRestore(uri string) (*sqlite.Backup, error)
}

var (
	mu        sync.Mutex // held while a store is opened
	templates int        // how many there are

	// created is called, once, with the first connection to a new database in memory.
	created atomic.Pointer[func(connection) error]
)

// openWith opens a new store in memory, until the test ends. The first connection to
// it, while it is still without a schema, is passed to f. If a program opens
// another store in memory at the same moment, f may be called for that one: so a
// template with rows is not for tests that run beside others.
func (t *Template) openWith(tb testing.TB, f func(connection) error) sqlstore.Storage {
	tb.Helper()
	created.Store(&f)
	defer created.Store(nil)
	db, err := flagstaff.Open(tb.Context(), flagstaff.Memory, sqlstore.Options{Extensions: t.extensions})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return db
}

func init() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, dsn string) error {
		f := created.Load()
		if f == nil || !strings.HasPrefix(dsn, "file:/flagstaff-") || !strings.Contains(dsn, "vfs=memdb") {
			return nil
		}
		isNew, err := isEmpty(c)
		if err != nil || !isNew || !created.CompareAndSwap(f, nil) {
			return err
		}
		return (*f)(c.(connection))
	})
}

func isEmpty(c sqlite.ExecQuerierContext) (bool, error) {
	rows, err := c.QueryContext(context.Background(), "SELECT 1 FROM sqlite_schema", nil)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	err = rows.Next(make([]driver.Value, 1))
	if err == io.EOF {
		return true, nil
	}
	return false, err
}
