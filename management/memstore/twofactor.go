package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/flagstaff-go/flagstaff/management"
)

// TOTP implements [management.TwoFactorStore].
func (a *accounts) TOTP(ctx context.Context, user int64) (*management.TOTP, error) {
	return one(ctx, a.tables().totps, "authenticator", totpOf(user))
}

// WithTOTP implements [management.TwoFactorStore].
func (a *accounts) WithTOTP(ctx context.Context, users []int64) ([]int64, error) {
	list, err := all(ctx, a.tables().totps, func(d *management.TOTP) bool { return slices.Contains(users, d.User) })
	var with []int64
	for _, d := range list {
		with = append(with, d.User)
	}
	slices.Sort(with)
	return with, err
}

// SetTOTP implements [management.TwoFactorStore].
func (a *accounts) SetTOTP(ctx context.Context, d *management.TOTP) error {
	return a.change(ctx, func(t *tables) error {
		t.totps.put(*d, totpOf(d.User))
		return t.needUser(d.User)
	})
}

// DeleteTOTP implements [management.TwoFactorStore].
func (a *accounts) DeleteTOTP(ctx context.Context, user int64) error {
	return a.change(ctx, func(t *tables) error {
		t.totps.remove(totpOf(user))
		return nil
	})
}

func totpOf(user int64) func(*management.TOTP) bool {
	return func(d *management.TOTP) bool { return d.User == user }
}

// PendingTOTP implements [management.TwoFactorStore].
func (a *accounts) PendingTOTP(ctx context.Context, user int64) (*management.PendingTOTP, error) {
	return one(ctx, a.tables().pendingTOTPs, "pending authenticator", pendingTOTPOf(user))
}

// SetPendingTOTP implements [management.TwoFactorStore].
func (a *accounts) SetPendingTOTP(ctx context.Context, p *management.PendingTOTP) error {
	return a.change(ctx, func(t *tables) error {
		t.pendingTOTPs.put(*p, pendingTOTPOf(p.User))
		return t.needUser(p.User)
	})
}

// DeletePendingTOTP implements [management.TwoFactorStore].
func (a *accounts) DeletePendingTOTP(ctx context.Context, user int64) error {
	return a.change(ctx, func(t *tables) error {
		t.pendingTOTPs.remove(pendingTOTPOf(user))
		return nil
	})
}

func pendingTOTPOf(user int64) func(*management.PendingTOTP) bool {
	return func(p *management.PendingTOTP) bool { return p.User == user }
}

// BackupCodes implements [management.TwoFactorStore].
func (a *accounts) BackupCodes(ctx context.Context, user int64) ([]management.BackupCode, error) {
	return all(ctx, a.tables().backupCodes, func(c *management.BackupCode) bool { return c.User == user })
}

// SetBackupCodes implements [management.TwoFactorStore].
func (a *accounts) SetBackupCodes(ctx context.Context, user int64, codes []management.BackupCode) error {
	return a.change(ctx, func(t *tables) error {
		t.backupCodes.remove(func(c *management.BackupCode) bool { return c.User == user })
		for _, c := range codes {
			c.User = user
			if t.backupCodes.has(isBackupCode(user, c.Hash)) {
				return taken("backup code")
			}
			t.backupCodes.add(c)
		}
		return t.needUser(user)
	})
}

// UseBackupCode implements [management.TwoFactorStore].
func (a *accounts) UseBackupCode(ctx context.Context, user int64, hash []byte) (used bool, err error) {
	err = a.change(ctx, func(t *tables) error {
		used = t.backupCodes.remove(isBackupCode(user, hash)) > 0
		return nil
	})
	return used, err
}

func isBackupCode(user int64, hash []byte) func(*management.BackupCode) bool {
	return func(c *management.BackupCode) bool { return c.User == user && bytes.Equal(c.Hash, hash) }
}
