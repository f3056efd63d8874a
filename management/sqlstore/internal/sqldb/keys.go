package sqldb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var keys = newTable(table[storage.PersonalKey]{
	name: "personal_api_key", noun: "a personal API key", key: 1,
	keeps: "last_used_at", // set by TouchKey, which does not wait for transactions that change keys
	fields: func(d *Dialect, k *storage.PersonalKey) []field {
		return []field{
			{"id", &k.ID},
			{"user_id", &k.User},
			{"label", &k.Label},
			{"mask_value", &k.Mask},
			{"secure_value", &k.Hash},
			{"scopes", jsonList[string]{&k.Scopes}},
			{"scoped_projects", jsonList[int64]{&k.Projects}},
			{"scoped_organizations", jsonList[uuid.UUID]{&k.Organizations}},
			{"created_at", stamp{d, &k.Created}},
			{"last_used_at", maybeStamp{d, &k.LastUsed}},
			{"last_rolled_at", maybeStamp{d, &k.LastRolled}},
		}
	},
})

// Key implements [storage.Keys], as do the methods below.
func (a *accounts) Key(ctx context.Context, id string) (*storage.PersonalKey, error) {
	return keys.one(ctx, a, "WHERE id = ?", id)
}

func (a *accounts) KeyByHash(ctx context.Context, hash string) (*storage.PersonalKey, error) {
	return keys.one(ctx, a, "WHERE secure_value = ?", hash)
}

func (a *accounts) Keys(ctx context.Context, user int64) ([]storage.PersonalKey, error) {
	return keys.list(ctx, a, "WHERE user_id = ? ORDER BY created_at DESC, number DESC", user)
}

func (a *accounts) CreateKey(ctx context.Context, k *storage.PersonalKey) error {
	return keys.insert(ctx, a, k)
}

func (a *accounts) UpdateKey(ctx context.Context, k *storage.PersonalKey) error {
	return keys.update(ctx, a, k)
}

func (a *accounts) DeleteKey(ctx context.Context, id string) error {
	return keys.removeOne(ctx, a, "id = ?", id)
}

// TouchKey does not wait for transactions that change accounts: keys are used
// all the time, and no decision depends on the time of the last use.
func (a *accounts) TouchKey(ctx context.Context, id string, at time.Time) error {
	err := a.touch(ctx, "UPDATE personal_api_key SET last_used_at = ? WHERE id = ?", a.db.d.time(at), id)
	return wrap("note the use of a personal API key", err)
}

// touch runs a statement that does not wait for transactions that change accounts.
func (a *accounts) touch(ctx context.Context, query string, args ...any) error {
	run := func(t *tx) error {
		_, err := t.exec(ctx, query, args...)
		return err
	}
	if a.t != nil {
		return a.change(ctx, run)
	}
	return a.db.fail(a.db.atomic(ctx, run))
}
