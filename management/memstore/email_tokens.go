package memstore

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management"
)

// EmailToken implements [management.EmailTokenStore].
func (a *accounts) EmailToken(ctx context.Context, user int64) (*management.EmailToken, error) {
	return one(ctx, a.tables().emailTokens, "token", emailTokenOf(user))
}

// SetEmailToken implements [management.EmailTokenStore].
func (a *accounts) SetEmailToken(ctx context.Context, token *management.EmailToken) error {
	return a.change(ctx, func(t *tables) error {
		t.emailTokens.put(*token, emailTokenOf(token.User))
		return t.needUser(token.User)
	})
}

// DeleteEmailToken implements [management.EmailTokenStore].
func (a *accounts) DeleteEmailToken(ctx context.Context, user int64) (deleted bool, err error) {
	err = a.change(ctx, func(t *tables) error {
		deleted = t.emailTokens.remove(emailTokenOf(user)) > 0
		return nil
	})
	return deleted, err
}

func emailTokenOf(user int64) func(*management.EmailToken) bool {
	return func(t *management.EmailToken) bool { return t.User == user }
}
