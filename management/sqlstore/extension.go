package sqlstore

import (
	"context"
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
	Start func(context.Context, storage.Tx) error

	// Stored is called in each transaction that stores events, when it has stored them with
	// what they do to persons. It gets the events that were not stored before, and must
	// not keep them. A transaction may be tried again.
	Stored func(ctx context.Context, tx storage.Tx, events []capture.Event) error

	// Erased is called in each transaction that deletes what is known of distinct IDs
	// because their person is deleted with all events, or their events that happened
	// before a time are too old. The time is zero if all events go.
	Erased func(ctx context.Context, tx storage.Tx, project int64, distinctIDs []string, before time.Time) error

	// Tables have data of projects that must be deleted after their project.
	Tables []Table
}

// A Table is a table with the column project_id, for [Extension.Tables].
type Table struct {
	Name string
	Key  string // the primary key
	By   string // a column that stands after project_id in an index
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
