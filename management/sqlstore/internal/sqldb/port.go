package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A port is a table as a [storage.Table].
type port[T any] struct {
	*table[T]
	a *accounts
}

// of returns the table as accounts have it.
func (tab *table[T]) of(a *accounts) port[T] { return port[T]{tab, a} }

// Get implements [storage.Table], as do the methods below.
func (p port[T]) Get(ctx context.Context, where ...storage.Where[T]) (*T, error) {
	query, args := selecting(p.read, where, "")
	var got struct {
		row   T
		found bool
	}
	err := p.a.read(ctx, query, args, func(r *sql.Rows) error {
		if got.found {
			return nil
		}
		got.found = true
		return r.Scan(collect(p.fields(&got.row), func(f *field) any { return f.at })...)
	})
	if err == nil && !got.found {
		err = storage.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.noun, err)
	}
	return &got.row, nil
}

func (p port[T]) List(ctx context.Context, where ...storage.Where[T]) ([]T, error) {
	tail, args := selecting("", where, p.order)
	return p.list(ctx, p.a, tail, args...)
}

func (p port[T]) Page(ctx context.Context, limit, offset int, where ...storage.Where[T]) ([]T, int, error) {
	tail, args := selecting("", where, "")
	return paged(ctx, p.a, p.noun, "SELECT count(*) FROM "+p.name+" "+tail, args, offset, func() ([]T, error) {
		return p.list(ctx, p.a, tail+" ORDER BY "+p.order+" LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}

func (p port[T]) Create(ctx context.Context, list ...*T) error {
	return p.each(ctx, list, func(a *accounts, v *T) error {
		if p.given {
			if err := p.keepIDs(ctx, a, p.fields(v)[0].at.(*int64)); err != nil {
				return err
			}
		}
		return p.insert(ctx, a, v)
	})
}

func (p port[T]) Update(ctx context.Context, list ...*T) error {
	return p.each(ctx, list, func(a *accounts, v *T) error { return p.update(ctx, a, v) })
}

func (p port[T]) Set(ctx context.Context, list ...*T) error { return p.set(ctx, p.a, list...) }

// Touch does not wait for transactions that change accounts, unless these write what it does:
// keys and sessions are used all the time, and no decision depends on when they were used last.
func (p port[T]) Touch(ctx context.Context, v *T) error {
	query, args := p.setting(v, func(column string) bool { return slices.Contains(p.touches, column) })
	run := func(t *tx) error {
		_, err := t.exec(ctx, query, args...)
		return err
	}
	if p.a.t != nil || p.project != nil {
		return wrap("note the use of "+p.noun, p.a.change(ctx, run))
	}
	return wrap("note the use of "+p.noun, p.a.db.fail(p.a.db.atomic(ctx, run)))
}

func (p port[T]) Delete(ctx context.Context, where ...storage.Where[T]) error {
	n, err := p.DeleteAll(ctx, where...)
	if err == nil && n == 0 {
		err = fmt.Errorf("delete %s: %w", p.noun, storage.ErrNotFound)
	}
	return err
}

func (p port[T]) DeleteAll(ctx context.Context, where ...storage.Where[T]) (n int, err error) {
	if len(where) == 0 {
		return 0, fmt.Errorf("delete %s: no condition says which", p.noun)
	}
	if p.project == nil && p.deleting == nil {
		return p.remove(ctx, p.a, where)
	}
	err = p.a.atOnce(ctx, func(a *accounts) error {
		list, err := p.of(a).List(ctx, where...)
		if err != nil {
			return err
		}
		for i := range list {
			if p.deleting != nil {
				err = p.deleting(ctx, a, &list[i])
			}
			if err == nil && p.project != nil {
				err = a.Changed(ctx, p.project(&list[i]))
			}
			if err != nil {
				return err
			}
		}
		n, err = p.remove(ctx, a, where)
		return err
	})
	return n, err
}

// each calls write for each row, and lets the versions of projects grow.
func (p port[T]) each(ctx context.Context, list []*T, write func(*accounts, *T) error) error {
	if len(list) == 0 {
		return nil
	}
	return p.a.atOnce(ctx, func(a *accounts) error {
		for _, v := range list {
			err := error(nil)
			if p.writing != nil {
				err = p.writing(ctx, a, v)
			}
			if err == nil {
				err = write(a, v)
			}
			if err == nil && p.project != nil {
				err = a.Changed(ctx, p.project(v))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// remove deletes the rows that conditions select.
func (p port[T]) remove(ctx context.Context, a *accounts, where []storage.Where[T]) (int, error) {
	query, args := selecting("DELETE FROM "+p.name+" ", where, "")
	n, err := a.exec(ctx, query, args...)
	return int(n), wrap("delete "+p.noun, err)
}

// selecting returns a statement with conditions, and their arguments.
func selecting[T any](statement string, where []storage.Where[T], order string) (string, []any) {
	b := append(make([]byte, 0, 1<<10), statement...)
	args := make([]any, 0, len(where)+2)
	for i := range where {
		if i == 0 {
			b = append(b, "WHERE "...)
		} else {
			b = append(b, " AND "...)
		}
		b, args = appendCondition(b, args, &where[i])
	}
	if order != "" {
		b = append(append(b, " ORDER BY "...), order...)
	}
	return string(b), args
}

// appendCondition appends a condition and its argument. Values that partial indexes name are
// written out, since the databases compare these conditions as text.
func appendCondition[T any](b []byte, args []any, w *storage.Where[T]) ([]byte, []any) {
	value, operand := w.Value, "?"
	switch v := value.(type) {
	case bool:
		value, operand = nil, strconv.FormatBool(v)
	case storage.FlagKind:
		value, operand = nil, strconv.Itoa(int(v))
	case uuid.UUID:
		value = v.String()
	case []int64:
		operand = "(?)"
	case []uuid.UUID:
		value, operand = idsOf(v), "(?)"
	}
	if value != nil {
		args = append(args, value)
	}
	if w.Op == "<" {
		b = append(append(append(append(b, '('), w.Field...), " IS NULL OR "...), w.Field...)
		return append(b, " < ?)"...), args
	}
	b = append(append(append(b, w.Field...), ' '), w.Op...)
	return append(append(b, ' '), operand...), args
}
