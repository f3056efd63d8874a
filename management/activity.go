package management

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/field"
	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
)

// addActivity adds an entry about something.
func (w *work) addActivity(ctx context.Context, a Activity, d field.Detail) error {
	a.Detail = rawjson.Must(d)
	return w.record(ctx, a)
}

// record is addActivity for entries that have their detail.
func (w *work) record(ctx context.Context, list ...Activity) error {
	entries := make([]*Activity, len(list))
	for i := range list {
		a := &list[i]
		a.ID, a.Created = newID(), w.now()
		if w.by == nil || w.by.User == nil {
			a.System = true
		} else {
			a.User = &w.by.User.ID
		}
		entries[i] = a
	}
	return w.store.AddActivity(ctx, entries...)
}

// An Activity is an entry of the activity log: who changed what.
type Activity struct {
	ID           uuid.UUID
	Project      *int64
	Organization *uuid.UUID
	User         *int64 // who did it; nil: the system, or a user that is gone
	System       bool
	Impersonated bool
	Activity     string // created, updated, deleted and so on
	Scope        string // the kind of thing, as User
	ItemID       string
	Detail       json.RawMessage // never with a secret
	Created      time.Time
}

// addProjectActivity adds an entry about something of a project.
func (w *work) addProjectActivity(ctx context.Context, project int64, activity, scope, item string, d field.Detail) error {
	return w.addActivity(ctx, Activity{Project: &project, Activity: activity, Scope: scope, ItemID: item}, d)
}
