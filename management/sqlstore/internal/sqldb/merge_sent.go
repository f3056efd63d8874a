package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Until version 18 of the schema, what clients have sent beside what filters say was in a
// column of its own, filters_sent. Version 19 moves it into the filters, which keep it now.

// sentTables have filters, and the columns that name a row.
var sentTables = []struct {
	name string
	key  []string
	move func(stored, sent []byte) ([]byte, error)
}{
	{"feature_flag", []string{"id"}, moveFilters},
	{"feature_flag_version", []string{"project_id", "flag_id", "version"}, moveFilters},
	{"cohort", []string{"id"}, moveCriteria},
}

// goMigrations returns the migrations that SQL cannot make.
func goMigrations(d *Dialect) []*goose.Migration {
	return []*goose.Migration{mergeSent(d), unpackUsage(d)}
}

func mergeSent(d *Dialect) *goose.Migration {
	up := func(ctx context.Context, tx *sql.Tx) error {
		for _, t := range sentTables {
			for more := true; more; {
				var err error
				if more, err = moveRows(ctx, d, tx, t.name, t.key, t.move); err != nil {
					return fmt.Errorf("move filters_sent of %s: %w", t.name, err)
				}
			}
			if _, err := tx.ExecContext(ctx, "ALTER TABLE "+t.name+" DROP COLUMN filters_sent"); err != nil {
				return err
			}
		}
		return nil
	}
	down := func(ctx context.Context, tx *sql.Tx) error {
		for _, t := range sentTables {
			if _, err := tx.ExecContext(ctx, "ALTER TABLE "+t.name+" ADD COLUMN filters_sent text"); err != nil {
				return err
			}
		}
		return nil
	}
	m := goose.NewGoMigration(19, &goose.GoFunc{RunTx: up}, &goose.GoFunc{RunTx: down})
	m.Source = "0019_merge_sent.go"
	return m
}

// moveRows moves what was sent of some rows, and reports whether there may be more.
func moveRows(ctx context.Context, d *Dialect, tx *sql.Tx, table string, key []string, move func(stored, sent []byte) ([]byte, error)) (more bool, err error) {
	const atOnce = 500 // rows
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %s, filters, filters_sent FROM %s WHERE filters_sent IS NOT NULL LIMIT %d", strings.Join(key, ", "), table, atOnce))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	type row struct {
		key          []any
		stored, sent sql.NullString
	}
	var list []row
	for rows.Next() {
		r := row{key: make([]any, len(key))}
		at := make([]any, 0, len(key)+2)
		for i := range r.key {
			at = append(at, &r.key[i])
		}
		if err := rows.Scan(append(at, &r.stored, &r.sent)...); err != nil {
			return false, err
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	rows.Close()
	where := strings.Join(key, " = ? AND ") + " = ?"
	for _, r := range list {
		filters, err := move([]byte(r.stored.String), []byte(r.sent.String))
		if err != nil {
			filters = []byte(r.stored.String) // which say all that evaluation looks at
		}
		args := append([]any{sql.NullString{String: string(filters), Valid: r.stored.Valid}}, r.key...)
		if _, err := tx.ExecContext(ctx, d.bind("UPDATE "+table+" SET filters = ?, filters_sent = NULL WHERE "+where), args...); err != nil {
			return false, err
		}
	}
	return len(list) == atOnce, nil
}

func moveFilters(stored, sent []byte) ([]byte, error) {
	f, err := flags.DecodeFilters(stored, "")
	if err != nil {
		return stored, nil
	}
	s, err := flags.DecodeFilters(sent, "")
	if err != nil {
		return stored, nil
	}
	f.Extra = s.Extra
	if f.AggregationGroupTypeIndex == flags.Inherited && s.AggregationGroupTypeIndex == flags.ByPerson {
		f.AggregationGroupTypeIndex = flags.ByPerson
	}
	for key, payload := range s.Payloads {
		was, _ := f.Payload(key)
		if is, ok := s.Payload(key); ok && is == was {
			f.Payloads[key] = payload
		}
	}
	if f.Payloads == nil && s.Payloads != nil {
		f.Payloads = make(map[string]json.RawMessage)
	}
	if len(f.Groups) == len(s.Groups) {
		for i := range f.Groups {
			moveCondition(&f.Groups[i], &s.Groups[i])
		}
	}
	if f.Multivariate != nil && s.Multivariate != nil && len(f.Multivariate.Variants) == len(s.Multivariate.Variants) {
		f.Multivariate.Extra = s.Multivariate.Extra
		for i := range f.Multivariate.Variants {
			f.Multivariate.Variants[i].Extra = s.Multivariate.Variants[i].Extra
		}
	}
	if f.Holdout != nil && s.Holdout != nil {
		f.Holdout.Extra = s.Holdout.Extra
	}
	return f.Encode()
}

func moveCondition(c, sent *flags.Condition) {
	c.Extra = sent.Extra
	switch {
	case len(c.Properties) != len(sent.Properties):
	case len(c.Properties) == 0:
		c.Properties = sent.Properties
	default:
		for i := range c.Properties {
			c.Properties[i].Extra = sent.Properties[i].Extra
		}
	}
}

func moveCriteria(stored, sent []byte) ([]byte, error) {
	tree, err := flags.DecodeCohort(stored, 0)
	if err != nil || tree == nil {
		return stored, nil
	}
	s, err := flags.DecodeCohort(sent, 0)
	if err != nil || s == nil {
		return stored, nil
	}
	moveNode(tree, s)
	return tree.Encode()
}

func moveNode(n, sent *flags.CohortNode) {
	switch {
	case n.Leaf != nil && sent.Leaf != nil:
		n.Leaf.Extra = sent.Leaf.Extra
	case n.Leaf == nil && sent.Leaf == nil && len(n.Values) == len(sent.Values):
		n.Extra = sent.Extra
		for i := range n.Values {
			moveNode(&n.Values[i], &sent.Values[i])
		}
	}
}
