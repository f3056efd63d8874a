package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"syscall"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// creating keeps a process from opening files that it is about to close.
var creating sync.Mutex

// create creates a file for its owner only, unless it exists; SQLite would make
// it readable for everyone. An existing file is not opened, because closing it
// would release the locks that this process has on it. With mustExist, a missing
// file is an error.
func create(path string, mustExist bool) error {
	creating.Lock()
	defer creating.Unlock()
	if !mustExist {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", sqlstore.ErrNoStore, err)
	} else if err != nil {
		return err
	} else if info.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return nil
}

// uri returns the name of a file for SQLite.
func uri(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// A leader leads by holding locks on files beside a database. SQLite can lock
// files on every system, so each file is a database, which stays empty. The
// system releases the lock when the process ends, in whatever way.
type leader struct{ path string }

// lead is Lead of sqldb.Dialect.
func (l leader) lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error) {
	path := l.path + "-lead-" + url.QueryEscape(name)
	if err := create(path, false); err != nil {
		return false, err
	}
	options := url.Values{"_pragma": {"busy_timeout(0)", "journal_mode(MEMORY)"}}
	db, err := sql.Open("sqlite", uri(path)+"?"+options.Encode())
	if err != nil {
		return false, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	// Readers cannot interfere with this lock, as they can with an exclusive
	// one.
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if codeOf(err)&0xFF == busy {
			return false, nil
		}
		return false, err
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	return true, f(ctx)
}
