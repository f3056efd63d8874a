package management

import (
	"context"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An Author is a user as the author of something.
type Author struct {
	MemberUser
	HedgehogConfig json.RawMessage `json:"hedgehog_config"`
	Role           *string         `json:"role_at_organization"`
}

// basicUser returns the author with an ID, nil if the user was deleted.
func basicUser(users map[int64]*storage.User, id *int64) *Author {
	if id == nil || users[*id] == nil {
		return nil
	}
	u := users[*id]
	return &Author{newMemberUser(u), u.HedgehogConfig, u.Role}
}

// usersByID returns users by their IDs.
func (w *work) usersByID(ctx context.Context, ids []int64) (map[int64]*storage.User, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := w.store.Users().List(ctx, storage.UserID.In(ids))
	return byKey(list, func(u *storage.User) int64 { return u.ID }), err
}

// authors returns the users with the given IDs, by ID. IDs may be nil.
func (w *work) authors(ctx context.Context, ids ...*int64) (map[int64]*storage.User, error) {
	var known []int64
	for _, id := range ids {
		if id != nil {
			known = append(known, *id)
		}
	}
	return w.usersByID(ctx, known)
}
