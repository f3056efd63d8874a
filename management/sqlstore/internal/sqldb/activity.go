package sqldb

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

var activities = newTable(table[management.Activity]{
	name: "activity_log", noun: "activity", key: 1,
	fields: func(d *Dialect, a *management.Activity) []field {
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
			{"created_at", stamp{d, &a.Created}},
		}
	},
})

// AddActivity implements [management.ActivityStore].
func (a *accounts) AddActivity(ctx context.Context, entries ...*management.Activity) error {
	return activities.insertAll(ctx, a, entries, "", nil)
}

// Activities implements [management.ActivityStore].
func (a *accounts) Activities(ctx context.Context, f management.ActivityFilter, limit, offset int) ([]management.Activity, int, error) {
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
	where := ""
	if len(conditions) > 0 {
		where = "WHERE " + strings.Join(conditions, " AND ")
	}
	total, err := a.count(ctx, "SELECT count(*) FROM activity_log "+where, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count activity: %w", err)
	}
	if offset >= total {
		return nil, total, nil
	}
	if f.Before != uuid.Nil {
		where += " AND "
		if len(conditions) == 0 {
			where = "WHERE "
		}
		where, args = where+"(created_at, number) < (SELECT created_at, number FROM activity_log WHERE id = ?)", append(args, f.Before.String())
	}
	list, err := activities.list(ctx, a, where+" ORDER BY created_at DESC, number DESC LIMIT ? OFFSET ?", append(args, limit, offset)...)
	return list, total, err
}
