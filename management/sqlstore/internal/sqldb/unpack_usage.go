package sqldb

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pressly/goose/v3"
)

// Until version 19 of the schema, the calls of flags were counted in blobs: one for each flag and
// 32 days in flag_usage, and one for each batch of events that was not added up yet in
// flag_usage_part. Version 20 has a row for each count.

// errUsage says that counts cannot be read.
var errUsage = errors.New("sqlstore: counts of flags are damaged")

func unpackUsage(d *Dialect) *goose.Migration {
	number, blob, end := "integer", "blob", ") WITHOUT ROWID"
	if d.Postgres {
		number, blob, end = "bigint", "bytea", ")"
	}
	run := func(ctx context.Context, tx *sql.Tx, statements ...string) error {
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	up := func(ctx context.Context, tx *sql.Tx) error {
		err := run(ctx, tx, fmt.Sprintf(`CREATE TABLE flag_call (project_id %s NOT NULL, flag_key text NOT NULL, day %[1]s NOT NULL,
			value text NOT NULL, sdk text NOT NULL, calls %[1]s NOT NULL, PRIMARY KEY (project_id, flag_key, day, value, sdk)%s`, number, end))
		if err != nil {
			return err
		}
		counts := make(map[usageOf]int64)
		rows, err := tx.QueryContext(ctx, "SELECT project_id, flag_key, counts FROM flag_usage UNION ALL SELECT project_id, '', counts FROM flag_usage_part")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var project int64
			var of string // the key of all counts, "" if each has its own
			var b []byte
			if err := rows.Scan(&project, &of, &b); err != nil {
				return err
			}
			err := unpack(b, func(key string, day int64, value, sdk string, calls int64) {
				counts[usageOf{project, of + key, day, value, sdk}] += calls
			})
			if err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, d.bind("INSERT INTO flag_call (project_id, flag_key, day, value, sdk, calls) VALUES (?, ?, ?, ?, ?, ?)"))
		if err != nil {
			return err
		}
		defer insert.Close()
		for u, calls := range counts {
			if _, err := insert.ExecContext(ctx, u.project, u.key, u.day, u.value, u.sdk, calls); err != nil {
				return err
			}
		}
		return run(ctx, tx, "DROP TABLE flag_usage_part", "DROP TABLE flag_usage")
	}
	down := func(ctx context.Context, tx *sql.Tx) error {
		return run(ctx, tx, "DROP TABLE flag_call",
			fmt.Sprintf("CREATE TABLE flag_usage (project_id %s NOT NULL, flag_key text NOT NULL, period %[1]s NOT NULL, counts %s NOT NULL, PRIMARY KEY (project_id, flag_key, period)%s", number, blob, end),
			fmt.Sprintf("CREATE TABLE flag_usage_part (project_id %s NOT NULL, part %[1]s NOT NULL, counts %s NOT NULL, PRIMARY KEY (project_id, part)%s", number, blob, end))
	}
	m := goose.NewGoMigration(20, &goose.GoFunc{RunTx: up}, &goose.GoFunc{RunTx: down})
	m.Source = "0020_unpack_usage.go"
	return m
}

// unpack calls add with the counts that b encodes: a day, the texts, and for each count the
// numbers of its key, value and SDK among the texts, the days after that day, and the count.
func unpack(b []byte, add func(key string, day int64, value, sdk string, calls int64)) error {
	r := bytes.NewReader(b)
	bad := false
	number := func() uint64 {
		x, err := binary.ReadUvarint(r)
		bad = bad || err != nil
		return x
	}
	signed := func() int64 {
		x, err := binary.ReadVarint(r)
		bad = bad || err != nil
		return x
	}
	first, many := signed(), number()
	if bad || many > uint64(r.Len()) {
		return errUsage
	}
	texts := make([]string, many)
	for i := range texts {
		size := number()
		if bad || size > uint64(r.Len()) {
			return errUsage
		}
		text := make([]byte, size)
		_, _ = io.ReadFull(r, text) // which has as much
		texts[i] = string(text)
	}
	for r.Len() > 0 {
		key, value, sdk, day, count := number(), number(), number(), signed(), number()
		if bad || max(key, value, sdk) >= many {
			return errUsage
		}
		add(texts[key], first+day, texts[value], texts[sdk], int64(count))
	}
	return nil
}
