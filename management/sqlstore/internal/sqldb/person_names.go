package sqldb

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/names"
)

// namesAtOnce is how many persons indexPersons reads at once.
const namesAtOnce = 500

// indexPersons gives names to persons that were stored by a release without them.
func (db *DB) indexPersons(ctx context.Context) (more bool, err error) {
	var project int64
	// Outside of the transaction first, so that nothing is locked when there is nothing to do.
	found, err := db.one(ctx, []any{&project}, "SELECT project_id FROM person WHERE names IS NULL LIMIT 1")
	if err != nil || !found {
		return false, wrap("index persons", err)
	}
	err = db.about(ctx, project, func(t *tx) error {
		type person struct {
			id         uuid.UUID
			properties string
		}
		var list []person
		const query = "SELECT id, properties FROM person WHERE project_id = ? AND names IS NULL LIMIT ?"
		_, err := t.run(ctx, query, []any{project, namesAtOnce}, rowsTo(&list, func(p *person) []any { return []any{&p.id, &p.properties} }))
		if err != nil {
			return err
		}
		for i := range list {
			p := &list[i]
			_, err := t.exec(ctx, "UPDATE person SET names = ? WHERE id = ?", names.Index(json.RawMessage(p.properties)), p.id)
			if err != nil {
				return err
			}
		}
		return nil
	}, func() {})
	return err == nil, wrap("index persons", err)
}

// within returns a condition that a part is in a text, whatever the case of English
// letters, and its parameter.
func (d *Dialect) within(text, part string) (condition, pattern string) {
	if d.Postgres { // LIKE of SQLite does that by itself
		text, part = `lower(`+text+` COLLATE "C")`, strings.Map(smallLetter, part)
	}
	return text + ` LIKE ? ESCAPE '\'`, "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part) + "%"
}

// smallLetter returns the small letter of an English one, and others as they are.
func smallLetter(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
