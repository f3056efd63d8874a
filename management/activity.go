package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// addActivity adds an entry about something.
func (w *work) addActivity(ctx context.Context, a storage.Activity, d field.Detail) error {
	a.Detail = rawjson.Must(d)
	return w.record(ctx, a)
}

// record is addActivity for entries that have their detail.
func (w *work) record(ctx context.Context, list ...storage.Activity) error {
	entries := make([]*storage.Activity, len(list))
	for i := range list {
		a := &list[i]
		a.ID, a.Created = storage.NewID(), w.now()
		if w.by == nil || w.by.User == nil {
			a.System = true
		} else {
			a.User = &w.by.User.ID
		}
		entries[i] = a
	}
	return w.store.AddActivity(ctx, entries...)
}

// addProjectActivity adds an entry about something of a project.
func (w *work) addProjectActivity(ctx context.Context, project int64, activity, scope, item string, d field.Detail) error {
	return w.addActivity(ctx, storage.Activity{Project: &project, Activity: activity, Scope: scope, ItemID: item}, d)
}
