package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An Extension lets another package keep tables of its own in a store, see
// [Options.Extensions]. A nil function is not called.
type Extension struct {
	// Name is the name of the extension, in lower case. The table NAME_db_version has the
	// version of its tables.
	Name string

	// Migrations has the folders sqlite and postgres with migrations in SQL, as
	// github.com/pressly/goose reads them. The store runs its own migrations first.
	Migrations fs.FS

	// Start is called each time the store is opened, in a transaction after the migrations.
	Start func(context.Context, Tx) error

	// Stored is called in each transaction that stores events, when it has stored them with
	// what they do to persons. It gets the events that were not stored before, and must
	// not keep them. A transaction may be tried again.
	Stored func(ctx context.Context, tx Tx, events []capture.Event) error

	// Erased is called in each transaction that deletes what is known of distinct IDs
	// because their person is deleted with all events, or their events that happened
	// before a time are too old. The time is zero if all events go.
	Erased func(ctx context.Context, tx Tx, project int64, distinctIDs []string, before time.Time) error

	// Tables have data of projects that must be deleted after their project.
	Tables []Table
}

// A Table is a table with the column project_id, for [Extension.Tables].
type Table struct {
	Name string
	Key  string // the primary key
	By   string // a column that stands after project_id in an index
}

// A Tx runs the statements of an [Extension], within one transaction of the store or outside of
// transactions, where each statement commits by itself. Parameters are question marks. Of
// the store's own tables, extensions may read project, feature_flag, event and
// person_distinct_id.
//
// An argument can be a [time.Time], which the databases keep in different types; a
// uuid.UUID, as events and persons have it; and a list of these, of texts or of integers,
// which belongs to the IN (?) of the statement. [Moment] reads a time.
//
// Its methods return the errors that the ports of package storage return.
type Tx interface {
	// Has reports whether the store was opened with an extension.
	Has(extension string) bool

	// Postgres reports whether the database is PostgreSQL. Otherwise it is SQLite.
	Postgres() bool

	// Query calls scan for each row of a statement, which may only read outside of
	// transactions.
	Query(ctx context.Context, statement string, args []any, scan func(*sql.Rows) error) error

	// Exec runs a statement and returns the number of rows that it has changed.
	Exec(ctx context.Context, statement string, args ...any) (int64, error)

	// Changed must be called in the transaction that changes what clients can fetch of a
	// project. It increments the project's version.
	Changed(ctx context.Context, project int64) error
}

// TxOf returns what runs the statements of an extension for a store, or within the
// transaction that [storage.Store.Atomic] passes on. The error says that the store was opened
// without the extension, or is not one that can be extended.
func TxOf(store storage.Store, extension string) (Tx, error) {
	tx, ok := store.(Tx)
	switch {
	case !ok:
		return nil, errors.New("sqlstore: the store cannot be extended")
	case !tx.Has(extension):
		return nil, fmt.Errorf("sqlstore: the store was opened without the extension %s", extension)
	}
	return tx, nil
}

// A Moment scans a time.
type Moment struct{ *time.Time }

// Scan implements [sql.Scanner].
func (m Moment) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		*m.Time = time.UnixMicro(v).UTC()
	case time.Time:
		*m.Time = v.UTC()
	default:
		return fmt.Errorf("sqlstore: a time is stored as %T", v)
	}
	return nil
}
