package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// MaxActivities is how many entries a page of the activity log has.
const MaxActivities = 100

// An ActivityQuery selects entries of a project's activity log.
type ActivityQuery struct {
	Scope  string // the kind of thing that entries are about, such as Survey; "": any
	ItemID string // ID of the thing, or the key of a storage.Flag; "": any
	User   string // the ID of the user who did it, or "system"; "": anybody
	Since  string // a time, or a day in the time zone of the project, which belongs to the list; "": from the beginning
	Until  string // in the same way; "": up to now
	Name   string // a part of the name of the thing; "": any
	Search string // a part of the name of the thing, or of what has changed and its values; "": any
	Page   int    // from 1
	Before string // only entries older than the one with this ID, whatever Page is; "": all
	Limit  int    // on a page, 1 to 100
}

// An ActivityView is an entry of the activity log as the API shows it
// (management.md §11.7).
type ActivityView struct {
	ID        uuid.UUID      `json:"id"`
	User      ActivityUser   `json:"user"`
	Activity  string         `json:"activity"`
	Scope     string         `json:"scope"`
	ItemID    string         `json:"item_id"`
	Detail    ActivityDetail `json:"detail"`
	CreatedAt time.Time      `json:"created_at"`
}

// An ActivityUser is the user of an entry.
type ActivityUser struct {
	FirstName string  `json:"first_name"`
	Email     *string `json:"email"`
	System    bool    `json:"is_system,omitempty"`
}

// An ActivityDetail says what was done. Changes are empty if only the activity itself is
// known.
type ActivityDetail struct {
	Changes []ActivityChange `json:"changes"`
	Trigger *string          `json:"trigger"`
	Name    string           `json:"name"`
	ShortID *string          `json:"short_id"`
	Type    *string          `json:"type"`
}

// An ActivityChange is a field that has changed. It was created if it was empty before,
// and deleted if it is empty now.
type ActivityChange struct {
	Type   string          `json:"type"`
	Action string          `json:"action"`
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// FieldChanges returns the changes of an entry with their places within fields that are
// JSON, such as the filters of a flag, as [FlagVersion] has them: at most maxFlagChanges, and
// how many are left out. What may not be shown has neither Before nor After.
func (v *ActivityView) FieldChanges() (list []FlagChange, more int) {
	d := newFlagDiffer()
	for _, c := range v.Detail.Changes {
		d.field(c.Field, c.Before, c.After)
	}
	return d.list, d.more
}

// ListActivity returns a page of the activity log of a project, newest first. It needs
// scope activity_log:read. The error is ErrNotFound for a page behind the last one, and
// for a thing that never existed. The first page always exists.
func (s *Service) ListActivity(ctx context.Context, p *Principal, ref string, q ActivityQuery) (*Page[ActivityView], error) {
	w, err := s.beginAt(ctx, p, ref, "activity_log:read")
	if err != nil {
		return nil, err
	}
	switch {
	case q.Page < 1:
		return nil, invalid("page", "invalid_input", "A valid page number is required.")
	case q.Limit < 1:
		return nil, invalid("limit", "invalid_input", "A valid page size is required.")
	}
	if q.Scope == "FeatureFlag" && q.ItemID != "" {
		switch f, err := w.flagByRef(ctx, q.ItemID); {
		case err == nil:
			q.ItemID = strconv.FormatInt(f.ID, 10)
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	f := storage.ActivityFilter{Project: &w.at.Project.ID, Scope: q.Scope, ItemID: q.ItemID, System: q.User == "system", Name: q.Name, Text: q.Search}
	zone, err := time.LoadLocation(w.at.Project.Timezone)
	if err != nil { // of what was checked when it was set
		return nil, err
	}
	f.From, f.To, err = check.Window(zone, "since", q.Since, "until", q.Until)
	if err := judgeError(cmp.Or(err, check.SearchBy("name", q.Name), check.Search(q.Search))); err != nil {
		return nil, err
	}
	if q.User != "" && !f.System {
		user, err := strconv.ParseInt(q.User, 10, 64)
		if err != nil {
			return nil, invalid("user", "invalid_input", "A valid integer is required.")
		}
		f.User = &user
	}
	limit := min(q.Limit, MaxActivities)
	page := min(q.Page, math.MaxInt32/MaxActivities)
	if q.Before != "" {
		if f.Before, err = check.ParseID(q.Before); err != nil {
			return nil, invalid("before", "invalid_input", "%q is not an ID of an entry.", check.Excerpt(q.Before))
		}
		page = 1
	}
	list, total, err := w.store.Activities(ctx, f, limit, (page-1)*limit)
	if err != nil {
		return nil, err
	}
	switch {
	case total == 0 && q.ItemID != "" && q.User+q.Since+q.Until+q.Name+q.Search == "":
		return nil, plainNotFound // every thing that ever existed has an entry
	case len(list) == 0 && page > 1:
		return nil, notFound("Invalid page.")
	}
	views, err := w.activityViews(ctx, list)
	return &Page[ActivityView]{total, views}, err
}

func (w *work) activityViews(ctx context.Context, list []storage.Activity) ([]ActivityView, error) {
	users, err := w.authors(ctx, each(list, func(a *storage.Activity) *int64 { return a.User })...)
	if err != nil {
		return nil, err
	}
	views := make([]ActivityView, len(list))
	for i := range list {
		a := &list[i]
		v := ActivityView{ID: a.ID, Activity: a.Activity, Scope: a.Scope, ItemID: a.ItemID, CreatedAt: a.Created}
		switch {
		case a.System:
			v.User = ActivityUser{FirstName: "System", System: true}
		case a.User != nil && users[*a.User] != nil:
			u := users[*a.User]
			v.User = ActivityUser{FirstName: u.FirstName, Email: &u.Email}
		}
		if err := json.Unmarshal(a.Detail, &v.Detail); err != nil {
			return nil, err
		}
		if v.Detail.Changes == nil {
			v.Detail.Changes = []ActivityChange{}
		}
		views[i] = v
	}
	return views, nil
}
