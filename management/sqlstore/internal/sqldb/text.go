package sqldb

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// storable reports whether texts can be stored. A search for other texts finds
// nothing on SQLite, and is refused by PostgreSQL.
func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "\x00") || !utf8.ValidString(s) })
}

// byBytes returns a column of text in the order of its bytes, which is the
// order of SQLite.
func (d *Dialect) byBytes(column string) string {
	if d.Postgres {
		return column + ` COLLATE "C"`
	}
	return column
}

// begins returns a condition that the text in a column begins with a prefix, in
// a form that can use an index.
func (d *Dialect) begins(column, prefix string) (condition string, args []any) {
	column = d.byBytes(column)
	if end := after(prefix); end != "" {
		return column + " >= ? AND " + column + " < ?", []any{prefix, end}
	}
	return column + " >= ?", []any{prefix}
}

// after returns the first text, in the order of bytes, after all texts that
// begin with a prefix, or "" if there is none.
func after(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		switch r := runes[i]; {
		case r == utf8.MaxRune:
			continue
		case r == 0xD7FF: // the code points after this one are not characters
			runes[i] = 0xE000
		default:
			runes[i]++
		}
		return string(runes[:i+1])
	}
	return ""
}

// days returns the expressions for the day in UTC of the times of events, which the index
// event_once contains, and of a parameter.
func (d *Dialect) days() (day, param string) {
	if d.Postgres {
		return "(ts AT TIME ZONE 'UTC')::date", "(?::timestamptz AT TIME ZONE 'UTC')::date"
	}
	return "ts / 86400000000", "? / 86400000000"
}

// within returns a condition that a part is in a text, whatever the case of English
// letters, and its parameter.
func (d *Dialect) within(text, part string) (condition string, pattern any) {
	condition = text + ` LIKE ?`
	if d.Postgres { // LIKE of SQLite does that by itself
		condition = `lower(` + text + ` COLLATE "C") LIKE lower(? COLLATE "C")`
	}
	return condition + ` ESCAPE '\'`, "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part) + "%"
}
