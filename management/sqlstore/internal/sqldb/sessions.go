package sqldb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var sessions = newTable(table[storage.Session]{
	name: "user_session", noun: "a session", key: 2,
	fields: func(d *Dialect, s *storage.Session) []field {
		return []field{
			{"id", &s.ID},
			{"user_id", &s.User},
			{"token_hash", &s.Hash},
			{"pending", &s.Pending},
			{"address", &s.Address},
			{"browser", &s.Browser},
			{"created_at", stamp{d, &s.Created}},
			{"last_seen_at", stamp{d, &s.Seen}},
		}
	},
})

// SessionByHash implements [storage.Sessions], as do the methods below.
func (a *accounts) SessionByHash(ctx context.Context, hash []byte) (*storage.Session, error) {
	return sessions.one(ctx, a, "WHERE token_hash = ?", hash)
}

func (a *accounts) Sessions(ctx context.Context, user int64) ([]storage.Session, error) {
	return sessions.list(ctx, a, "WHERE user_id = ? ORDER BY last_seen_at DESC, id DESC", user)
}

func (a *accounts) CreateSession(ctx context.Context, s *storage.Session) error {
	return sessions.insert(ctx, a, s)
}

func (a *accounts) UpdateSession(ctx context.Context, s *storage.Session) error {
	return sessions.update(ctx, a, s)
}

// TouchSession does not wait for transactions that change accounts, as TouchKey.
func (a *accounts) TouchSession(ctx context.Context, s *storage.Session) error {
	err := a.touch(ctx, "UPDATE user_session SET last_seen_at = ?, address = ?, browser = ? WHERE id = ?", a.db.d.time(s.Seen), s.Address, s.Browser, s.ID.String())
	return wrap("note the use of a session", err)
}

func (a *accounts) DeleteSession(ctx context.Context, user int64, id uuid.UUID) error {
	return sessions.removeOne(ctx, a, "user_id = ? AND id = ?", user, id.String())
}

func (a *accounts) DeleteSessions(ctx context.Context, user int64, except uuid.UUID) (int, error) {
	n, err := sessions.remove(ctx, a, "user_id = ? AND id <> ?", user, except.String())
	return int(n), err
}

func (a *accounts) DeleteOldSessions(ctx context.Context, seen, created time.Time) error {
	_, err := sessions.remove(ctx, a, "last_seen_at < ? OR created_at < ?", a.db.d.time(seen), a.db.d.time(created))
	return err
}

var links = newTable(table[storage.Link]{
	name: "user_link", noun: "a link", key: 2,
	fields: func(d *Dialect, l *storage.Link) []field {
		return []field{
			{"user_id", &l.User},
			{"kind", &l.Kind},
			{"token_hash", &l.Hash},
			{"target_email", &l.Target},
			{"created_at", stamp{d, &l.Created}},
			{"expires_at", stamp{d, &l.Expires}},
		}
	},
})

// Link implements [storage.Links], as do the methods below.
func (a *accounts) Link(ctx context.Context, hash []byte) (*storage.Link, error) {
	return links.one(ctx, a, "WHERE token_hash = ?", hash)
}

func (a *accounts) SetLink(ctx context.Context, l *storage.Link) error {
	return links.set(ctx, a, l)
}

func (a *accounts) DeleteLinks(ctx context.Context, user int64) error {
	_, err := links.remove(ctx, a, "user_id = ?", user)
	return err
}
