package sqldb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
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

// statement returns a query and its arguments as the database takes them. An IN (?) takes the
// list among the arguments as a single parameter, so that lists of all sizes share one
// statement; nothing is in an empty list, so that the query need not be run.
func (d *Dialect) statement(query string, given []any) (_ string, args []any, empty bool) {
	args = make([]any, len(given))
	for i, v := range given {
		l, ok := listOf(v)
		if !ok {
			args[i] = d.param(v)
			continue
		}
		empty = empty || l.len() == 0
		_, ids := v.([]uuid.UUID)
		switch {
		case d.Postgres:
			args[i] = l.array()
			query = strings.Replace(query, "IN (?)", "= ANY (?)", 1)
		case ids: // JSON has no bytes
			args[i] = string(rawjson.Must(collect(v.([]uuid.UUID), func(id *uuid.UUID) string { return hex.EncodeToString(id[:]) })))
			query = strings.Replace(query, "IN (?)", "IN (SELECT unhex(value) FROM json_each(?))", 1)
		default:
			args[i] = string(rawjson.Must(l.array()))
			query = strings.Replace(query, "IN (?)", "IN (SELECT value FROM json_each(?))", 1)
		}
	}
	return d.bind(query), args, empty
}

// param returns a value as the database takes it. A uuid.UUID is the ID of an event or a person,
// which SQLite stores as bytes. Other UUIDs are stored as texts: fields of rows point to them.
func (d *Dialect) param(v any) any {
	switch v := v.(type) {
	case moment:
		return d.param(*v.Time)
	case maybeMoment:
		if *v.at == nil {
			return nil
		}
		return d.param(**v.at)
	case **uuid.UUID:
		if *v == nil {
			return nil
		}
		return (*v).String()
	case time.Time:
		if !d.Postgres {
			return v.UnixMicro()
		}
	case uuid.UUID:
		if !d.Postgres {
			return v[:]
		}
		return v.String()
	}
	return v
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
	values list
}

// columnOf returns a column with f of each element.
func columnOf[E, T any](name string, from []E, f func(*E) T) column {
	return column{name, slice[T](collect(from, f))}
}

// A list is a slice of parameters.
type list interface {
	len() int
	at(i int) any
	array() any   // for PostgreSQL
	sort() string // of its elements, in PostgreSQL
}

type slice[T any] []T

func (s slice[T]) len() int     { return len(s) }
func (s slice[T]) at(i int) any { return s[i] }

func (s slice[T]) array() any {
	if ids, ok := any([]T(s)).([]uuid.UUID); ok {
		return idsOf(ids)
	}
	return []T(s)
}

func (s slice[T]) sort() string {
	switch any(*new(T)).(type) {
	case int64:
		return "bigint"
	case bool:
		return "boolean"
	case []byte:
		return "bytea"
	case time.Time:
		return "timestamptz"
	case uuid.UUID:
		return "uuid"
	}
	return "text"
}

// listOf returns an argument as a list, if it is one.
func listOf(v any) (list, bool) {
	switch v := v.(type) {
	case []string:
		return slice[string](v), true
	case []int64:
		return slice[int64](v), true
	case []uuid.UUID:
		return slice[uuid.UUID](v), true
	}
	return nil, false
}

// idsOf returns UUIDs as texts, which is how all are stored but those of events and persons.
func idsOf(ids []uuid.UUID) []string { return collect(ids, (*uuid.UUID).String) }

// collect returns f of each element.
func collect[E, T any](from []E, f func(*E) T) []T {
	list := make([]T, len(from))
	for i := range from {
		list[i] = f(&from[i])
	}
	return list
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
		arrays := collect(columns, func(c *column) string { return "?::" + c.values.sort() + "[]" })
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
				args = append(args, t.db.d.param(c.values.at(i)))
			}
		}
		row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",") + "),"
		query := head + "VALUES " + strings.TrimSuffix(strings.Repeat(row, last-first), ",") + " " + tail
		some, err := t.runConverted(ctx, query, args, scan)
		if err != nil {
			return affected, err
		}
		affected += some
	}
	return affected, nil
}
