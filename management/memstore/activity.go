package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// AddActivity implements [management.ActivityStore].
func (a *accounts) AddActivity(ctx context.Context, activity *management.Activity) error {
	return a.change(ctx, func(t *tables) error {
		if t.activities.has(func(other *management.Activity) bool { return other.ID == activity.ID }) {
			return taken("activity")
		}
		t.activities.add(*activity)
		if activity.User == nil {
			return nil
		}
		return t.needUser(*activity.User)
	})
}

// Activities implements [management.ActivityStore].
func (a *accounts) Activities(ctx context.Context, f management.ActivityFilter, limit, offset int) ([]management.Activity, int, error) {
	list, err := all(ctx, a.tables().activities, func(a *management.Activity) bool {
		return (f.Project == nil || a.Project != nil && *a.Project == *f.Project) &&
			(f.Organization == nil || a.Organization != nil && *a.Organization == *f.Organization) &&
			(f.Scope == "" || a.Scope == f.Scope) && (f.ItemID == "" || a.ItemID == f.ItemID)
	})
	slices.SortFunc(list, func(a, b management.Activity) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID.String(), a.ID.String()))
	})
	return page(list, limit, offset), len(list), err
}
