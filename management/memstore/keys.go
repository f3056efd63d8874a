package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// Key implements [management.KeyStore].
func (a *accounts) Key(ctx context.Context, id string) (*management.PersonalKey, error) {
	return one(ctx, a.tables().keys, "key", isKey(id))
}

// KeyByHash implements [management.KeyStore].
func (a *accounts) KeyByHash(ctx context.Context, hash string) (*management.PersonalKey, error) {
	return one(ctx, a.tables().keys, "key", func(k *management.PersonalKey) bool { return k.Hash == hash })
}

// Keys implements [management.KeyStore].
func (a *accounts) Keys(ctx context.Context, user int64) ([]management.PersonalKey, error) {
	list, err := all(ctx, a.tables().keys, func(k *management.PersonalKey) bool { return k.User == user })
	slices.SortFunc(list, func(a, b management.PersonalKey) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list, err
}

// CreateKey implements [management.KeyStore].
func (a *accounts) CreateKey(ctx context.Context, k *management.PersonalKey) error {
	return a.change(ctx, func(t *tables) error {
		if t.keys.has(func(other *management.PersonalKey) bool { return other.ID == k.ID || other.Hash == k.Hash }) {
			return taken("key with this ID or hash")
		}
		if err := t.needUser(k.User); err != nil {
			return err
		}
		t.keys.add(*k)
		return nil
	})
}

// UpdateKey implements [management.KeyStore].
func (a *accounts) UpdateKey(ctx context.Context, k *management.PersonalKey) error {
	return a.change(ctx, func(t *tables) error {
		if t.keys.has(func(other *management.PersonalKey) bool { return other.ID != k.ID && other.Hash == k.Hash }) {
			return taken("key with this hash")
		}
		if err := t.needUser(k.User); err != nil {
			return err
		}
		changed := t.keys.edit(isKey(k.ID), func(row *management.PersonalKey) {
			used := row.LastUsed
			*row = *k
			row.LastUsed = used
		})
		if changed == 0 {
			return missing("key")
		}
		return nil
	})
}

// DeleteKey implements [management.KeyStore].
func (a *accounts) DeleteKey(ctx context.Context, id string) error {
	return a.change(ctx, func(t *tables) error {
		if t.keys.remove(isKey(id)) == 0 {
			return missing("key")
		}
		return nil
	})
}

// TouchKey implements [management.KeyStore].
func (a *accounts) TouchKey(ctx context.Context, id string, at time.Time) error {
	return a.change(ctx, func(t *tables) error {
		t.keys.edit(isKey(id), func(k *management.PersonalKey) { k.LastUsed = &at })
		return nil
	})
}

func isKey(id string) func(*management.PersonalKey) bool {
	return func(k *management.PersonalKey) bool { return k.ID == id }
}
