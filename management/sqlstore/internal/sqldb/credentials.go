package sqldb

import (
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var keys = newTable(table[storage.PersonalKey]{
	name: "personal_api_key", noun: "a personal API key", key: 1,
	keeps: "last_used_at", touches: []string{"last_used_at"}, // Touch does not wait for transactions that change keys
	order: "created_at DESC, number DESC",
	fields: func(k *storage.PersonalKey) []field {
		return []field{
			{"id", &k.ID},
			{"user_id", &k.User},
			{"label", &k.Label},
			{"mask_value", &k.Mask},
			{"secure_value", &k.Hash},
			{"scopes", asJSON[[]string]{&k.Scopes}},
			{"scoped_projects", asJSON[[]int64]{&k.Projects}},
			{"scoped_organizations", asJSON[[]uuid.UUID]{&k.Organizations}},
			{"created_at", moment{&k.Created}},
			{"last_used_at", maybeMoment{&k.LastUsed}},
			{"last_rolled_at", maybeMoment{&k.LastRolled}},
		}
	},
})

// Keys implements [storage.Store], as do the accessors below.
func (a *accounts) Keys() storage.Table[storage.PersonalKey] { return keys.of(a) }

var sessions = newTable(table[storage.Session]{
	name: "user_session", noun: "a session", key: 2, order: "last_seen_at DESC, id DESC",
	touches: []string{"last_seen_at", "address", "browser"},
	fields: func(s *storage.Session) []field {
		return []field{
			{"id", &s.ID},
			{"user_id", &s.User},
			{"token_hash", &s.Hash},
			{"pending", &s.Pending},
			{"address", &s.Address},
			{"browser", &s.Browser},
			{"created_at", moment{&s.Created}},
			{"last_seen_at", moment{&s.Seen}},
		}
	},
})

func (a *accounts) Sessions() storage.Table[storage.Session] { return sessions.of(a) }

var links = newTable(table[storage.Link]{
	name: "user_link", noun: "a link", key: 2, order: "created_at",
	fields: func(l *storage.Link) []field {
		return []field{
			{"user_id", &l.User},
			{"kind", &l.Kind},
			{"token_hash", &l.Hash},
			{"target_email", &l.Target},
			{"created_at", moment{&l.Created}},
			{"expires_at", moment{&l.Expires}},
		}
	},
})

func (a *accounts) Links() storage.Table[storage.Link] { return links.of(a) }

var (
	totps = newTable(table[storage.TOTP]{
		name: "user_totp", noun: "an authenticator", key: 1, order: "user_id",
		fields: func(t *storage.TOTP) []field {
			return []field{
				{"user_id", &t.User},
				{"secret", &t.Secret},
				{"drift", &t.Drift},
				{"last_step", &t.LastStep},
				{"failure_count", &t.Failures},
				{"failure_at", maybeMoment{&t.FailedAt}},
				{"created_at", moment{&t.Created}},
			}
		},
	})
	pendingTOTPs = newTable(table[storage.PendingTOTP]{
		name: "user_totp_pending", noun: "a pending authenticator", key: 1, order: "user_id",
		fields: func(p *storage.PendingTOTP) []field {
			return []field{
				{"user_id", &p.User},
				{"secret", &p.Secret},
				{"attempts", &p.Attempts},
				{"expires_at", moment{&p.Expires}},
			}
		},
	})
	backupCodes = newTable(table[storage.BackupCode]{
		name: "user_backup_code", noun: "a backup code", key: 2, order: "number",
		fields: func(c *storage.BackupCode) []field {
			return []field{
				{"user_id", &c.User},
				{"code_hmac", &c.Hash},
				{"code", &c.Sealed},
				{"created_at", moment{&c.Created}},
			}
		},
	})
	emailTokens = newTable(table[storage.EmailToken]{
		name: "email_token", noun: "an e-mail token", key: 1, order: "user_id",
		fields: func(t *storage.EmailToken) []field {
			return []field{
				{"user_id", &t.User},
				{"token_hash", &t.Hash},
				{"code_hmac", &t.CodeHash},
				{"target_email", &t.Target},
				{"attempts", &t.Attempts},
				{"created_at", moment{&t.Created}},
				{"expires_at", moment{&t.Expires}},
			}
		},
	})
)

func (a *accounts) TOTPs() storage.Table[storage.TOTP] { return totps.of(a) }

func (a *accounts) PendingTOTPs() storage.Table[storage.PendingTOTP] { return pendingTOTPs.of(a) }

func (a *accounts) BackupCodes() storage.Table[storage.BackupCode] { return backupCodes.of(a) }

func (a *accounts) EmailTokens() storage.Table[storage.EmailToken] { return emailTokens.of(a) }
