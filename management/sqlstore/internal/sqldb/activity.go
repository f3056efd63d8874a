package sqldb

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

var activities = newTable(table[storage.Activity]{
	name: "activity_log", noun: "activity", key: 1,
	fields: func(a *storage.Activity) []field {
		return []field{
			{"id", &a.ID},
			{"project_id", &a.Project},
			{"organization_id", maybeID{&a.Organization}},
			{"user_id", &a.User},
			{"is_system", &a.System},
			{"was_impersonated", &a.Impersonated},
			{"activity", &a.Activity},
			{"scope", &a.Scope},
			{"item_id", &a.ItemID},
			{"detail", document{&a.Detail}},
			{"created_at", moment{&a.Created}},
		}
	},
})

// AddActivity implements [storage.Store].
func (a *accounts) AddActivity(ctx context.Context, entries ...*storage.Activity) error {
	return activities.insertAll(ctx, a, entries, "", nil)
}

// detailText is the detail of an entry without the names of its members, which nobody looks
// for.
var detailText = func() string {
	text := "detail"
	for _, name := range []string{"changes", "trigger", "name", "short_id", "type", "action", "field", "before", "after"} {
		text = `replace(` + text + `, '"` + name + `":', '')`
	}
	return text
}()

// Activities implements [storage.Store].
func (a *accounts) Activities(ctx context.Context, f storage.ActivityFilter, limit, offset int) ([]storage.Activity, int, error) {
	var conditions []string
	var args []any
	is := func(column string, value any) {
		conditions, args = append(conditions, column+" = ?"), append(args, value)
	}
	if f.Project != nil {
		is("project_id", *f.Project)
	}
	if f.Organization != nil {
		is("organization_id", f.Organization.String())
	}
	if f.Scope != "" {
		is("scope", f.Scope)
	}
	if f.ItemID != "" {
		is("item_id", f.ItemID)
	}
	if f.User != nil {
		is("user_id", *f.User)
	}
	if f.System {
		is("is_system", true)
	}
	if !storable(f.Name, f.Text) {
		return nil, 0, nil
	}
	has := func(text, part string) {
		condition, pattern := a.db.d.within(text, part)
		conditions, args = append(conditions, condition), append(args, pattern)
	}
	if f.From != nil {
		conditions, args = append(conditions, "created_at >= ?"), append(args, *f.From)
	}
	if f.To != nil {
		conditions, args = append(conditions, "created_at <= ?"), append(args, *f.To)
	}
	if f.Name != "" {
		name := "detail ->> '$.name'"
		if a.db.d.Postgres {
			// PostgreSQL fails for NUL, which texts cannot have.
			name = `CASE WHEN position('\u0000' IN detail) = 0 THEN detail::json ->> 'name' END`
		}
		has("("+name+")", f.Name)
	}
	if f.Text != "" {
		quoted := string(rawjson.Must(f.Text))
		has(detailText, quoted[1:len(quoted)-1])
	}
	where := ""
	if len(conditions) > 0 {
		where = "WHERE " + strings.Join(conditions, " AND ")
	}
	return paged(ctx, a, "activity", "SELECT count(*) FROM activity_log "+where, args, offset, func() ([]storage.Activity, error) {
		if f.Before != uuid.Nil {
			where += " AND "
			if len(conditions) == 0 {
				where = "WHERE "
			}
			where, args = where+"(created_at, number) < (SELECT created_at, number FROM activity_log WHERE id = ?)", append(args, f.Before.String())
		}
		return activities.list(ctx, a, where+" ORDER BY created_at DESC, number DESC LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}
