package sqldb

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var (
	totps = newTable(table[storage.TOTP]{
		name: "user_totp", noun: "an authenticator", key: 1,
		fields: func(d *Dialect, t *storage.TOTP) []field {
			return []field{
				{"user_id", &t.User},
				{"secret", &t.Secret},
				{"drift", &t.Drift},
				{"last_step", &t.LastStep},
				{"failure_count", &t.Failures},
				{"failure_at", maybeStamp{d, &t.FailedAt}},
				{"created_at", stamp{d, &t.Created}},
			}
		},
	})
	pendingTOTPs = newTable(table[storage.PendingTOTP]{
		name: "user_totp_pending", noun: "a pending authenticator", key: 1,
		fields: func(d *Dialect, p *storage.PendingTOTP) []field {
			return []field{
				{"user_id", &p.User},
				{"secret", &p.Secret},
				{"attempts", &p.Attempts},
				{"expires_at", stamp{d, &p.Expires}},
			}
		},
	})
	backupCodes = newTable(table[storage.BackupCode]{
		name: "user_backup_code", noun: "a backup code", key: 2,
		fields: func(d *Dialect, c *storage.BackupCode) []field {
			return []field{
				{"user_id", &c.User},
				{"code_hmac", &c.Hash},
				{"code", &c.Sealed},
				{"created_at", stamp{d, &c.Created}},
			}
		},
	})
)

// TOTP implements [storage.TwoFactor], as do the methods below.
func (a *accounts) TOTP(ctx context.Context, user int64) (*storage.TOTP, error) {
	return totps.one(ctx, a, "WHERE user_id = ?", user)
}

func (a *accounts) WithTOTP(ctx context.Context, users []int64) ([]int64, error) {
	var list []int64
	err := a.read(ctx, "SELECT user_id FROM user_totp WHERE user_id IN (?) ORDER BY user_id", []any{slice[int64](users)}, appendTo(&list))
	return list, wrap("read who has an authenticator", err)
}

func (a *accounts) SetTOTP(ctx context.Context, t *storage.TOTP) error {
	return totps.set(ctx, a, t)
}

func (a *accounts) DeleteTOTP(ctx context.Context, user int64) error {
	_, err := totps.remove(ctx, a, "user_id = ?", user)
	return err
}

func (a *accounts) PendingTOTP(ctx context.Context, user int64) (*storage.PendingTOTP, error) {
	return pendingTOTPs.one(ctx, a, "WHERE user_id = ?", user)
}

func (a *accounts) SetPendingTOTP(ctx context.Context, p *storage.PendingTOTP) error {
	return pendingTOTPs.set(ctx, a, p)
}

func (a *accounts) DeletePendingTOTP(ctx context.Context, user int64) error {
	_, err := pendingTOTPs.remove(ctx, a, "user_id = ?", user)
	return err
}

func (a *accounts) BackupCodes(ctx context.Context, user int64) ([]storage.BackupCode, error) {
	return backupCodes.list(ctx, a, "WHERE user_id = ? ORDER BY number", user)
}

func (a *accounts) SetBackupCodes(ctx context.Context, user int64, codes []storage.BackupCode) error {
	return a.together(ctx, func(a *accounts) error {
		if _, err := backupCodes.remove(ctx, a, "user_id = ?", user); err != nil {
			return err
		}
		for _, c := range codes {
			c.User = user
			if err := backupCodes.insert(ctx, a, &c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *accounts) UseBackupCode(ctx context.Context, user int64, hash []byte) (bool, error) {
	n, err := backupCodes.remove(ctx, a, "user_id = ? AND code_hmac = ?", user, hash)
	return n > 0, err
}
