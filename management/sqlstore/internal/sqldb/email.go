package sqldb

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var emailTokens = newTable(table[storage.EmailToken]{
	name: "email_token", noun: "an e-mail token", key: 1,
	fields: func(d *Dialect, t *storage.EmailToken) []field {
		return []field{
			{"user_id", &t.User},
			{"token_hash", &t.Hash},
			{"code_hmac", &t.CodeHash},
			{"target_email", &t.Target},
			{"attempts", &t.Attempts},
			{"created_at", stamp{d, &t.Created}},
			{"expires_at", stamp{d, &t.Expires}},
		}
	},
})

// EmailToken implements [storage.EmailTokens], as do the methods below.
func (a *accounts) EmailToken(ctx context.Context, user int64) (*storage.EmailToken, error) {
	return emailTokens.one(ctx, a, "WHERE user_id = ?", user)
}

func (a *accounts) SetEmailToken(ctx context.Context, t *storage.EmailToken) error {
	return emailTokens.set(ctx, a, t)
}

func (a *accounts) DeleteEmailToken(ctx context.Context, user int64) (bool, error) {
	n, err := emailTokens.remove(ctx, a, "user_id = ?", user)
	return n > 0, err
}
