package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A field is a column and the place of its value: a pointer into a struct, or a
// wrapper of such a pointer that can be written and read.
type field struct {
	column string
	at     any
}

// A table stores values of one type, each in a row.
type table[T any] struct {
	name    string
	noun    string // for errors, with its article
	fields  func(*T) []field
	key     int            // the number of fields, from the first, that are the key
	serial  bool           // the database makes the key
	given   bool           // unless a new row has one, see keepIDs
	keeps   string         // column that updates do not change; "" for none
	touches []string       // columns that Touch changes
	order   string         // of lists: columns of ORDER BY
	project func(*T) int64 // the project whose version a write of the row increments; nil for none
	columns string         // the columns of fields
	read    string         // SELECT of these, up to the conditions

	// writing is called before a row is created or updated, and deleting before it is deleted,
	// in the same transaction. Nil does nothing.
	writing, deleting func(context.Context, *accounts, *T) error
}

// newTable completes a table.
func newTable[T any](t table[T]) *table[T] {
	columns := collect(t.fields(new(T)), func(f *field) string { return f.column })
	t.columns = strings.Join(columns, ", ")
	t.read = "SELECT " + t.columns + " FROM " + t.name + " "
	return &t
}

// list returns the rows that the end of a SELECT selects.
func (tab *table[T]) list(ctx context.Context, a *accounts, tail string, args ...any) ([]T, error) {
	var list []T
	var row T
	values := collect(tab.fields(&row), func(f *field) any { return f.at }) // scanning replaces all values and does not change the data behind their pointers
	err := a.read(ctx, tab.read+tail, args, func(r *sql.Rows) error {
		err := r.Scan(values...)
		list = append(list, row)
		return err
	})
	return list, wrap("read "+tab.noun, err)
}

// insert inserts a row, and sets the key if the database makes it.
func (tab *table[T]) insert(ctx context.Context, a *accounts, v *T) error {
	if !tab.serial {
		return tab.insertAll(ctx, a, []*T{v}, "", nil)
	}
	key := tab.fields(v)[0]
	return tab.insertAll(ctx, a, []*T{v}, " RETURNING "+key.column, scanTo(key.at))
}

// insertAll inserts rows, without their keys if the database makes them. The tail follows
// the rows; scan gets what it returns, in any order.
func (tab *table[T]) insertAll(ctx context.Context, a *accounts, list []*T, tail string, scan func(*sql.Rows) error) error {
	return tab.put(ctx, a, "create", list, tail, scan)
}

// set inserts rows or replaces the rows with their keys.
func (tab *table[T]) set(ctx context.Context, a *accounts, list ...*T) error {
	return tab.put(ctx, a, "store", list, tab.replacing(), nil)
}

// setFrom is set for the rows that a SELECT without its columns selects of another table.
// columns are its columns for the ones of this table.
func (tab *table[T]) setFrom(ctx context.Context, a *accounts, columns, tail string, args ...any) error {
	_, err := a.exec(ctx, "INSERT INTO "+tab.name+" ("+tab.columns+") SELECT "+columns+" "+tail+tab.replacing(), args...)
	return wrap("store "+tab.noun, err)
}

// replacing is the end of an INSERT that replaces rows.
func (tab *table[T]) replacing() string {
	columns := strings.Split(tab.columns, ", ")
	key := strings.Join(columns[:tab.key], ", ")
	columns = columns[tab.key:]
	for i, c := range columns {
		columns[i] = c + " = excluded." + c
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(columns, ", ")
}

// keepIDs makes 0 of the IDs that new rows of the table cannot have: those that are out of
// range, that one of them has already, or that the table has.
func (tab *table[T]) keepIDs(ctx context.Context, a *accounts, ids ...*int64) error {
	kept := make(map[int64]*int64)
	for _, id := range ids {
		if *id <= 0 || *id > maxGivenID || kept[*id] != nil {
			*id = 0
			continue
		}
		kept[*id] = id
	}
	if len(kept) == 0 {
		return nil
	}
	list := slices.Sorted(maps.Keys(kept))
	err := a.read(ctx, "SELECT id FROM "+tab.name+" WHERE id IN (?)", []any{list}, eachValue(func(id int64) { *kept[id] = 0 }))
	if err == nil && a.db.d.Postgres { // what SQLite does by itself
		_, err = a.exec(ctx, "SELECT setval("+tab.sequence()+", greatest(?, nextval("+tab.sequence()+")))", list[len(list)-1])
	}
	return wrap("keep the IDs of "+tab.name, err)
}

// sequence makes the keys of a table in PostgreSQL.
func (tab *table[T]) sequence() string { return "pg_get_serial_sequence('" + tab.name + "', 'id')" }

// maxGivenID leaves room for more IDs that are exact as numbers of JSON.
const maxGivenID = 1 << 52

// put inserts rows by as few statements as there may be.
func (tab *table[T]) put(ctx context.Context, a *accounts, verb string, list []*T, tail string, scan func(*sql.Rows) error) error {
	columns, skipped, key := tab.columns, 0, "?"
	switch {
	case tab.given && a.db.d.Postgres: // SQLite does this for NULL
		key = "coalesce(?, nextval(" + tab.sequence() + "))"
	case tab.serial && !tab.given:
		_, columns, _ = strings.Cut(columns, ", ")
		skipped = 1
	}
	row := "(" + key + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
	err := a.change(ctx, func(t *tx) error {
		for rows := range slices.Chunk(list, rowsPerStatement) {
			values := make([]any, 0, len(rows)*(1+strings.Count(columns, ",")))
			for _, v := range rows {
				fields := tab.fields(v)
				if id, ok := fields[0].at.(*int64); ok && *id == 0 {
					fields[0].at = nil
				}
				for _, f := range fields[skipped:] {
					values = append(values, f.at)
				}
			}
			query := "INSERT INTO " + tab.name + " (" + columns + ") VALUES " + strings.Repeat(row+", ", len(rows)-1) + row + tail
			if _, err := t.run(ctx, query, values, scan); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(verb+" "+tab.noun, err)
}

// update changes the row with the key of v.
func (tab *table[T]) update(ctx context.Context, a *accounts, v *T) error {
	query, args := tab.setting(v, func(column string) bool { return column != tab.keeps })
	n, err := a.exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	return wrap("change "+tab.noun, err)
}

// setting returns an UPDATE of some columns of the row with the key of v.
func (tab *table[T]) setting(v *T, some func(column string) bool) (string, []any) {
	fields := tab.fields(v)
	var set, where []string
	var args []any
	for _, f := range fields[tab.key:] {
		if some(f.column) {
			set, args = append(set, f.column+" = ?"), append(args, f.at)
		}
	}
	for _, f := range fields[:tab.key] {
		where, args = append(where, f.column+" = ?"), append(args, f.at)
	}
	return "UPDATE " + tab.name + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(where, " AND "), args
}

// A maybeMoment is a time that can be missing.
type maybeMoment struct{ at **time.Time }

func (s maybeMoment) Scan(v any) error {
	*s.at = nil
	if v == nil {
		return nil
	}
	*s.at = new(time.Time)
	return moment{*s.at}.Scan(v)
}

// A maybeText is NULL if it is empty.
type maybeText struct{ at *string }

func (s maybeText) Scan(v any) error {
	var n sql.NullString
	err := n.Scan(v)
	*s.at = n.String
	return err
}

func (s maybeText) Value() (driver.Value, error) {
	return sql.NullString{String: *s.at, Valid: *s.at != ""}.Value()
}

// A document is JSON, or NULL if it is nil.
type document struct{ at *json.RawMessage }

func (d document) Scan(v any) error {
	var n sql.NullString
	if err := n.Scan(v); err != nil {
		return err
	}
	*d.at = nil
	if n.Valid {
		*d.at = json.RawMessage(n.String)
	}
	return nil
}

func (d document) Value() (driver.Value, error) {
	return sql.NullString{String: string(*d.at), Valid: *d.at != nil}.Value()
}

// An asJSON is a value as JSON, or NULL if it is nil.
type asJSON[T any] struct{ at *T }

func (v asJSON[T]) Scan(from any) error {
	var n sql.NullString
	if err := n.Scan(from); err != nil {
		return err
	}
	*v.at = *new(T)
	if !n.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(n.String), v.at); err != nil {
		return fmt.Errorf("sqlstore: a value is not stored as JSON: %w", err)
	}
	return nil
}

func (v asJSON[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(*v.at)
	if err != nil || string(b) == "null" {
		return nil, err
	}
	return string(b), nil
}

// Filters of flags and cohorts are stored with all that they have, and read whatever
// their form is. What cannot be understood is written back as it was read.

// A filters column has the filters of the flag with a key, which is scanned before.
type filters struct {
	at  *flags.Filters
	key *string
}

func (f filters) Scan(v any) error {
	var n sql.NullString
	if err := n.Scan(v); err != nil || !n.Valid {
		*f.at = flags.Filters{}
		return err
	}
	*f.at, _ = flags.DecodeFilters([]byte(n.String), *f.key) // it keeps its error
	return nil
}

func (f filters) Value() (driver.Value, error) {
	b, err := f.at.Encode()
	return string(b), err
}

// A criteria column has the tree of the cohort with an ID, which is scanned before.
// It is NULL if there is none.
type criteria struct {
	at **flags.CohortNode
	id *int64
}

func (c criteria) Scan(v any) error {
	var n sql.NullString
	if err := n.Scan(v); err != nil || !n.Valid {
		*c.at = nil
		return err
	}
	*c.at, _ = flags.DecodeCohort([]byte(n.String), *c.id) // it keeps its error
	return nil
}

func (c criteria) Value() (driver.Value, error) {
	if *c.at == nil {
		return nil, nil
	}
	b, err := (*c.at).Encode()
	return string(b), err
}
