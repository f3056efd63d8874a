package sqldb

import (
	"context"

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
			{"organization_id", &a.Organization},
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
	where, args := "WHERE 1 = 1", []any(nil)
	and := func(condition string, value any) {
		where, args = where+" AND "+condition, append(args, value)
	}
	if f.Project != nil {
		and("project_id = ?", *f.Project)
	}
	if f.Organization != nil {
		and("organization_id = ?", f.Organization.String())
	}
	if f.Scope != "" {
		and("scope = ?", f.Scope)
	}
	if f.ItemID != "" {
		and("item_id = ?", f.ItemID)
	}
	if f.User != nil {
		and("user_id = ?", *f.User)
	}
	if f.System {
		and("is_system = ?", true)
	}
	if !storable(f.Name, f.Text) {
		return nil, 0, nil
	}
	has := func(text, part string) {
		and(a.db.d.within(text, part))
	}
	if f.From != nil {
		and("created_at >= ?", *f.From)
	}
	if f.To != nil {
		and("created_at <= ?", *f.To)
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
	return paged(ctx, a, "activity", "SELECT count(*) FROM activity_log "+where, args, offset, func() ([]storage.Activity, error) {
		if f.Before != uuid.Nil {
			and("(created_at, number) < (SELECT created_at, number FROM activity_log WHERE id = ?)", f.Before.String())
		}
		return activities.list(ctx, a, where+" ORDER BY created_at DESC, number DESC LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}
