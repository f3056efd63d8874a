package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// Backup copies the database in one file to another file, as it is at one moment, while
// other processes and [Open] in this one use it. It makes the copy with access for its
// owner only, checks that it is sound, and waits until it is on the disk. Until then the
// copy has another name, "to" with ".partial" added, and it is removed if ctx ends or
// anything fails. The error is [fs.ErrExist] if "to" exists, and [fs.ErrNotExist] if
// there is no database at path. The schema stays as it is: Open brings it up to date.
//
// The copy is one file, without a write-ahead log. Keys that encrypt secrets in it are
// not part of it.
func Backup(ctx context.Context, path, to string) (err error) {
	if path == Memory || path == "" || to == Memory || to == "" {
		return errors.New("sqlite: back up: want the names of two files")
	}
	for _, f := range []struct {
		name string
		want bool
	}{{path, true}, {to, false}} {
		switch info, err := os.Stat(f.name); {
		case err == nil && info.IsDir():
			return fmt.Errorf("sqlite: back up: %s is a folder, want a file", f.name)
		case err == nil && !f.want:
			return fmt.Errorf("sqlite: back up: %w", &fs.PathError{Op: "create", Path: f.name, Err: fs.ErrExist})
		case err != nil && (f.want || !errors.Is(err, fs.ErrNotExist)):
			return fmt.Errorf("sqlite: back up: %w", err)
		}
	}
	partial := to + ".partial"
	// SQLite would make the file readable for everyone. It takes one that is empty.
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: it is from another backup that still runs, or was interrupted; remove it in the second case", err)
		}
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	defer os.Remove(partial) // there is none if all went well
	if err := f.Close(); err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	if err := execute(ctx, path, func(db *sql.Conn) error {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", partial)
		return err
	}); err != nil {
		return fmt.Errorf("sqlite: back up %s: %w", path, err)
	}
	if err := execute(ctx, partial, func(db *sql.Conn) error { return sound(ctx, db) }); err != nil {
		return fmt.Errorf("sqlite: the copy of %s is not sound: %w", path, err)
	}
	if err := errors.Join(syncFile(partial), os.Link(partial, to), os.Remove(partial), syncFolder(filepath.Dir(to))); err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	return nil
}

// execute runs a function on a connection to a file that exists.
func execute(ctx context.Context, path string, f func(*sql.Conn) error) (err error) {
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)"}}
	db, err := sql.Open("sqlite", uri(path)+"?"+options.Encode())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return f(conn)
}

// sound returns what is wrong with the pages, indexes and references of a database.
func sound(ctx context.Context, db *sql.Conn) error {
	var answer string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return errors.New(answer)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder makes the names in a folder durable, where systems have that.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
