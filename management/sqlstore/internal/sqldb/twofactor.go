package sqldb

import "github.com/flagstaff-go/flagstaff/management/storage"

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

// TOTPs implements [storage.Store], as do the accessors below.
func (a *accounts) TOTPs() storage.Table[storage.TOTP] { return port[storage.TOTP]{totps, a} }

func (a *accounts) PendingTOTPs() storage.Table[storage.PendingTOTP] {
	return port[storage.PendingTOTP]{pendingTOTPs, a}
}

func (a *accounts) BackupCodes() storage.Table[storage.BackupCode] {
	return port[storage.BackupCode]{backupCodes, a}
}

func (a *accounts) EmailTokens() storage.Table[storage.EmailToken] {
	return port[storage.EmailToken]{emailTokens, a}
}
