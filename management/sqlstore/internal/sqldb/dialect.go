package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Dialect has the differences between databases. Packages sqlite and postgres
// each have one.
type Dialect struct {
	// Postgres selects PostgreSQL; otherwise the database is SQLite.
	Postgres bool

	// Fault classifies an error of the driver.
	Fault func(error) Fault

	// Listen calls heard when it has begun to listen to a channel of
	// PostgreSQL, and for each notification. It returns nil when ctx ends, and
	// an error when the connection is lost.
	Listen func(ctx context.Context, channel string, heard func()) error

	// Lead runs f while it holds the lock of a name, and reports whether it
	// did: it does not while another process has the lock. If it loses the
	// lock, it ends the context of f. Nil means that no other process uses the
	// database.
	Lead func(ctx context.Context, name string, f func(context.Context) error) (led bool, err error)
}

// A Fault says what an error of a database means for the caller.
type Fault uint8

// The faults. Unavailable stands for every error that the caller has not
// caused.
const (
	Unavailable Fault = iota
	Conflict          // a unique value is taken
	Reference         // a referenced row does not exist
	BadData           // the values cannot be stored
	Retry             // the transaction lost against another one
)

// bind replaces question marks by the parameters of the database.
func (d *Dialect) bind(query string) string {
	if !d.Postgres {
		return query
	}
	var b strings.Builder
	n := 0
	for {
		before, after, ok := strings.Cut(query, "?")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = after
	}
}

// time and id convert times, and UUIDs of events and persons, to parameters.
func (d *Dialect) time(t time.Time) any {
	if d.Postgres {
		return t
	}
	return t.UnixMicro()
}

func (d *Dialect) id(id uuid.UUID) any {
	if d.Postgres {
		return id.String()
	}
	return id[:]
}

// A moment scans a time.
type moment struct{ *time.Time }

func (m moment) Scan(v any) error { return sqlstore.Moment(m).Scan(v) }

// fail translates an error of the database into the errors of the packages
// whose interfaces DB implements.
func (db *DB) fail(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.Is(err, context.Canceled) || errors.Is(err, capture.ErrUnavailable) {
		return err
	}
	switch db.d.Fault(err) {
	case Conflict:
		return fmt.Errorf("%w: %w", storage.ErrConflict, err)
	case Reference:
		return fmt.Errorf("%w: %w", storage.ErrNotFound, err)
	case BadData:
		return err
	}
	return fmt.Errorf("%w: %w", capture.ErrUnavailable, err)
}

// A column has the values of one column for many rows.
type column struct {
	name   string
	sort   string // type in PostgreSQL
	values list
}

// A list is a slice of parameters.
type list interface {
	len() int
	at(i int) any
	array() any // for PostgreSQL
}

type slice[T any] []T

func (s slice[T]) len() int     { return len(s) }
func (s slice[T]) at(i int) any { return s[i] }
func (s slice[T]) array() any   { return []T(s) }

// collect returns f of each element.
func collect[E, T any](from []E, f func(*E) T) slice[T] {
	list := make(slice[T], len(from))
	for i := range from {
		list[i] = f(&from[i])
	}
	return list
}

// times and uuids return columns in the types of Dialect.time and Dialect.id.
func times[E any](d *Dialect, name string, from []E, f func(*E) time.Time) column {
	if d.Postgres {
		return column{name, "timestamptz", collect(from, f)}
	}
	return column{name, "", collect(from, func(e *E) int64 { return f(e).UnixMicro() })}
}

func uuids[E any](d *Dialect, name string, from []E, f func(*E) uuid.UUID) column {
	if d.Postgres {
		return column{name, "uuid", collect(from, func(e *E) string { return f(e).String() })}
	}
	return column{name, "", collect(from, func(e *E) []byte {
		id := f(e)
		return id[:]
	})}
}

func integers[E any](name string, from []E, f func(*E) int64) column {
	return column{name, "bigint", collect(from, f)}
}

func texts[E any](name string, from []E, f func(*E) string) column {
	return column{name, "text", collect(from, f)}
}

// rowsPerStatement is how many rows one statement of SQLite inserts. More rows
// gain little, and a prepared statement of each size is kept.
const rowsPerStatement = 64

// insert inserts rows and returns the number of rows that were inserted or
// changed. The tail follows the rows, such as ON CONFLICT DO NOTHING. If scan
// is not nil, the statement returns rows.
func (t *tx) insert(ctx context.Context, table string, columns []column, tail string, scan func(*sql.Rows) error) (int64, error) {
	n := columns[0].values.len()
	if n == 0 {
		return 0, nil
	}
	names := collect(columns, func(c *column) string { return c.name })
	head := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") "
	if t.db.d.Postgres {
		arrays := collect(columns, func(c *column) string { return "?::" + c.sort + "[]" })
		args := collect(columns, func(c *column) any { return c.values.array() })
		return t.run(ctx, head+"SELECT * FROM unnest("+strings.Join(arrays, ", ")+") "+tail, args, scan)
	}
	var affected int64
	args := make([]any, 0, min(n, rowsPerStatement)*len(columns))
	for first := 0; first < n; first += rowsPerStatement {
		last := min(first+rowsPerStatement, n)
		args = args[:0]
		for i := first; i < last; i++ {
			for _, c := range columns {
				args = append(args, c.values.at(i))
			}
		}
		row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",") + "),"
		query := head + "VALUES " + strings.TrimSuffix(strings.Repeat(row, last-first), ",") + " " + tail
		some, err := t.run(ctx, query, args, scan)
		if err != nil {
			return affected, err
		}
		affected += some
	}
	return affected, nil
}

// maxValues is how many values a query names in SQLite.
const maxValues = 250

// in runs a query for all values. The query has IN (?) for `column = ANY
// (values)`; arguments for its other parameters come before.
func (t *tx) in(ctx context.Context, query string, before []any, values list, scan func(*sql.Rows) error) error {
	return t.db.d.in(query, before, values, func(query string, args []any) error {
		_, err := t.run(ctx, query, args, scan)
		return err
	})
}

// in calls run with as many queries as it takes for all values.
func (d *Dialect) in(query string, before []any, values list, run func(query string, args []any) error) error {
	if values.len() == 0 {
		return nil
	}
	if d.Postgres {
		return run(strings.Replace(query, "IN (?)", "= ANY (?)", 1), append(before, values.array()))
	}
	n := values.len()
	for first := 0; first < n; first += maxValues {
		last := min(first+maxValues, n)
		// There are few sizes, so that few statements are kept. The last value
		// fills the rest.
		size := 1
		for size < last-first {
			size *= 2
		}
		size = min(size, maxValues)
		args := append(make([]any, 0, len(before)+size), before...)
		for i := range size {
			args = append(args, values.at(min(first+i, last-1)))
		}
		marks := strings.TrimSuffix(strings.Repeat("?,", size), ",")
		if err := run(strings.Replace(query, "IN (?)", "IN ("+marks+")", 1), args); err != nil {
			return err
		}
	}
	return nil
}
