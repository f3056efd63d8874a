package storage

import (
	"context"
	"database/sql"
)

// A Tx runs the statements of an extension (sqlstore.Extension), within one transaction of the
// store or outside of transactions, where each statement commits by itself. Parameters are
// question marks. Of the store's own tables, extensions may read project, feature_flag, event
// and person_distinct_id.
//
// An argument can be a [time.Time], which the databases keep in different types; a
// uuid.UUID, as events and persons have it; and a list of these, of texts or of integers,
// which belongs to the IN (?) of the statement. sqlstore.Moment reads a time.
//
// Its methods return the errors of a [Table].
type Tx interface {
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
