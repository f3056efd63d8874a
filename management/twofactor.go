package management

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The parameters of authenticators (management.md §5.1). All apps support these.
const (
	totpStep     = 30 // seconds
	totpDigits   = 6
	totpSecret   = 20 // bytes
	totpLife     = 10 * time.Minute
	totpAttempts = 5
	maxDrift     = 10 // steps that a clock may be wrong
	backupCodes  = 10
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// hasTwoFactor reports whether a user has two-factor authentication.
func hasTwoFactor(ctx context.Context, store storage.Store, user int64) (bool, error) {
	_, err := store.TOTPs().Get(ctx, storage.TOTPUser.Is(user))
	return err == nil, goneError(err, nil)
}

// withTwoFactor returns which of some users have two-factor authentication, by ascending ID.
func (w *work) withTwoFactor(ctx context.Context, users []int64) ([]int64, error) {
	list, err := w.store.TOTPs().List(ctx, storage.TOTPUser.In(users))
	return each(list, func(t *storage.TOTP) int64 { return t.User }), err
}

// dropPendingTOTP deletes the authenticator that a user has not confirmed, if there is one.
func (w *work) dropPendingTOTP(ctx context.Context, user int64) error {
	_, err := w.store.PendingTOTPs().DeleteAll(ctx, storage.PendingTOTPUser.Is(user))
	return err
}

// A TwoFactorSetup is what a user enters into an authenticator.
type TwoFactorSetup struct {
	Success    bool   `json:"success"`
	Secret     string `json:"secret"`
	OTPAuthURL string `json:"otpauth_url"`
}

// QRCode returns the OTPAuthURL as a picture for the camera of a phone, with one pixel for
// each module of the code and no margin.
func (t *TwoFactorSetup) QRCode() (image.Image, error) {
	key, err := otp.NewKeyFromURL(t.OTPAuthURL)
	if err != nil {
		return nil, fmt.Errorf("management: make a QR code: %w", err)
	}
	const smallest, largest, step = 21, 177, 4 // modules of a side
	for side := smallest; ; side += step {
		// It fails while the side is too small.
		picture, err := key.Image(side, side)
		if err == nil {
			return picture, nil
		}
		if side >= largest {
			return nil, fmt.Errorf("management: make a QR code: %w", err)
		}
	}
}

// A TwoFactorPatch confirms an authenticator.
type TwoFactorPatch struct {
	Token optional.Value[json.RawMessage] `json:"token"` // a string or a number
}

// A TwoFactorStatus is the two-factor status of a user (management.md §5.4).
type TwoFactorStatus struct {
	IsEnabled            bool     `json:"is_enabled"`
	BackupCodes          []string `json:"backup_codes"`
	BackupCodesRemaining int      `json:"backup_codes_remaining"`
	Method               *string  `json:"method"`
	HasPasskeys          bool     `json:"has_passkeys"`
	HasTOTP              bool     `json:"has_totp"`
	PasskeysFor2FA       bool     `json:"passkeys_enabled_for_2fa"`
}

var errTwoFactorUnavailable = invalid("", "2fa_not_available", "Two-factor authentication is not available: the server has no key to keep its secrets with.")

func totpContext(user int64) string   { return fmt.Sprintf("totp:%d", user) }
func backupContext(user int64) string { return fmt.Sprintf("backup:%d", user) }

// StartTwoFactor makes a secret for an authenticator. [Service.ConfirmTwoFactor] puts it
// in force within ten minutes (management.md §5.2); until then an authenticator before it
// stays in force. Users can do it for themselves only. It needs scope user:write, although
// it is a GET: the secret is all that an authenticator needs.
func (s *Service) StartTwoFactor(ctx context.Context, p *Principal, ref string) (*TwoFactorSetup, error) {
	if err := p.changesUsers(); err != nil {
		return nil, err
	}
	u, err := s.begin(p).ownUser(ctx, ref)
	if err != nil {
		return nil, err
	}
	// No proof is demanded: nothing changes yet, and a GET cannot carry a password.
	if s.c.Mutations == MutationsOff && p.Key != nil {
		return nil, errNoKeys
	}
	if s.box == nil {
		return nil, errTwoFactorUnavailable
	}
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: s.c.AppName, AccountName: u.Email, Period: totpStep, SecretSize: totpSecret, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
	})
	if err != nil {
		return nil, fmt.Errorf("management: make a secret: %w", err)
	}
	pending := &storage.PendingTOTP{User: u.ID, Secret: s.box.Seal([]byte(key.Secret()), totpContext(u.ID)), Expires: s.now().Add(totpLife)}
	if err := s.c.Store.PendingTOTPs().Set(ctx, pending); err != nil {
		return nil, storeError(err)
	}
	return &TwoFactorSetup{true, key.Secret(), authenticatorURL(s.c.AppName, u.Email, key.Secret())}, nil
}

// authenticatorURL returns the address that authenticators scan. They do not read a plus
// sign as a blank, so a blank must be %20.
func authenticatorURL(issuer, account, secret string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	query := url.Values{
		"secret": {secret}, "issuer": {issuer}, "algorithm": {"SHA1"}, "digits": {strconv.Itoa(totpDigits)}, "period": {strconv.Itoa(totpStep)},
	}
	return "otpauth://totp/" + escape(issuer) + ":" + strings.ReplaceAll(escape(account), "%40", "@") +
		"?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// ConfirmTwoFactor turns two-factor authentication on with a code of the new
// authenticator (management.md §5.3). The user's other sessions end. It needs scope
// user:write.
func (s *Service) ConfirmTwoFactor(ctx context.Context, p *Principal, ref string, patch TwoFactorPatch) error {
	if err := s.stepUpFor(ctx, p, ref, (*work).ownUser); err != nil {
		return err
	}
	if !patch.Token.Set || patch.Token.Null {
		return invalid("token", "required", "This field is required.")
	}
	code, isCode := codeDigits(rawjson.Text(patch.Token.Value))
	var refused error // kept apart: the transaction still stores the attempt
	err := s.atomic(ctx, p, func(w *work) error {
		refused = nil
		u, err := w.ownUser(ctx, ref)
		if err != nil {
			return err
		}
		now := s.now()
		pending, err := w.store.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(u.ID))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err != nil || !now.Before(pending.Expires) {
			refused = invalid("", "setup_expired", "The setup has expired. Start again.")
			return w.dropPendingTOTP(ctx, p.User.ID)
		}
		secret, err := s.openTOTP(pending.Secret, u.ID)
		if err != nil {
			return err
		}
		step, ok := int64(0), false
		if isCode {
			step, ok = matchTOTP(secret, code, now, 0, -1)
		}
		if !ok {
			refused = invalid("", "token_invalid", "Token is not valid")
			if pending.Attempts++; pending.Attempts >= totpAttempts {
				return w.dropPendingTOTP(ctx, u.ID)
			}
			return w.store.PendingTOTPs().Set(ctx, pending)
		}
		device := &storage.TOTP{User: u.ID, Secret: pending.Secret, Drift: int(step - now.Unix()/totpStep), LastStep: step, Created: now}
		if err := w.store.TOTPs().Set(ctx, device); err != nil {
			return err
		}
		if err := w.dropPendingTOTP(ctx, u.ID); err != nil {
			return err
		}
		if _, err := w.endSessions(ctx, u); err != nil {
			return err
		}
		w.send(s.accountMail(u, kindTwoFactorOn))
		return w.logSecurity(ctx, u, "two_factor_enabled")
	})
	return cmp.Or(err, refused)
}

// openTOTP returns the secret of an authenticator.
func (s *Service) openTOTP(sealed []byte, user int64) (string, error) {
	if s.box == nil {
		return "", errTwoFactorUnavailable
	}
	secret, err := s.box.Open(sealed, totpContext(user))
	if err != nil {
		return "", fmt.Errorf("management: the secret of an authenticator cannot be read, was it sealed with another key? %w", err)
	}
	return string(secret), nil
}

// codeDigits reads a code: up to six digits. It ignores blanks.
func codeDigits(text string) (code string, ok bool) {
	text = strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	if text == "" || len(text) > totpDigits || strings.Trim(text, "0123456789") != "" {
		return "", false
	}
	return strings.Repeat("0", totpDigits-len(text)) + text, true
}

// matchTOTP returns the step that a code is for. The step must be within one step of the
// authenticator's clock and after the last used one. All steps are tried, so that the
// time that it takes tells nothing.
func matchTOTP(secret, code string, now time.Time, drift int, last int64) (step int64, ok bool) {
	current := now.Unix()/totpStep + int64(drift)
	for at := current + 1; at >= current-1; at-- {
		want, err := totp.GenerateCodeCustom(secret, time.Unix(at*totpStep, 0), totp.ValidateOpts{
			Period: totpStep, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
		})
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && at > last {
			step, ok = at, true
		}
	}
	return step, ok
}

// TwoFactorStatus says whether two-factor authentication is on, and how many backup codes
// are left. It shows the codes to the user alone, and to keys only if they may change the
// user (management.md §5.4). It needs scope user:read.
func (s *Service) TwoFactorStatus(ctx context.Context, p *Principal, ref string) (*TwoFactorStatus, error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	u, err := s.begin(p).userByRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	status := &TwoFactorStatus{BackupCodes: []string{}}
	if on, err := hasTwoFactor(ctx, s.c.Store, u.ID); err != nil || !on {
		return status, err
	}
	status.IsEnabled, status.HasTOTP, status.Method = true, true, new("TOTP")
	codes, err := s.c.Store.BackupCodes().List(ctx, storage.BackupCodeUser.Is(u.ID))
	if err != nil {
		return nil, err
	}
	status.BackupCodesRemaining = len(codes)
	if s.c.HideBackupCodes || u.ID != p.User.ID || s.box == nil || p.changesUsers() != nil {
		return status, nil
	}
	for _, c := range codes {
		if c.Sealed == nil {
			continue
		}
		code, err := s.box.Open(c.Sealed, backupContext(u.ID))
		if err != nil {
			return nil, fmt.Errorf("management: a backup code cannot be read, was it sealed with another key? %w", err)
		}
		status.BackupCodes = append(status.BackupCodes, string(code))
	}
	return status, nil
}

// NewBackupCodes replaces the backup codes of a user (management.md §5.5). It
// needs scope user:write.
func (s *Service) NewBackupCodes(ctx context.Context, p *Principal, ref string) ([]string, error) {
	if err := s.stepUpFor(ctx, p, ref, (*work).ownUser); err != nil {
		return nil, err
	}
	var codes []string
	err := s.atomic(ctx, p, func(w *work) error {
		u, err := w.ownUser(ctx, ref)
		if err != nil {
			return err
		}
		if _, err := w.store.TOTPs().Get(ctx, storage.TOTPUser.Is(u.ID)); err != nil {
			return goneError(err, invalid("", "2fa_not_enabled", "Two-factor authentication is not on."))
		}
		if s.box == nil {
			return errTwoFactorUnavailable
		}
		codes = make([]string, backupCodes)
		list := make([]*storage.BackupCode, backupCodes)
		for i := range codes {
			b := make([]byte, 5)
			rand.Read(b) // never fails
			codes[i] = lowerBase32.EncodeToString(b)
			list[i] = &storage.BackupCode{User: u.ID, Hash: s.box.MAC([]byte(codes[i]), backupContext(u.ID)), Created: s.now()}
			if !s.c.HideBackupCodes {
				list[i].Sealed = s.box.Seal([]byte(codes[i]), backupContext(u.ID))
			}
		}
		if _, err := w.store.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(u.ID)); err != nil {
			return err
		}
		if err := w.store.BackupCodes().Create(ctx, list...); err != nil {
			return err
		}
		w.send(s.accountMail(u, kindBackupCodes))
		return w.logSecurity(ctx, u, "backup_codes_replaced")
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// DisableTwoFactor turns two-factor authentication off and deletes the authenticator and
// the backup codes (management.md §5.6). The user's other sessions end. It needs scope
// user:write.
func (s *Service) DisableTwoFactor(ctx context.Context, p *Principal, ref string) error {
	if err := s.stepUpFor(ctx, p, ref, (*work).ownUser); err != nil {
		return err
	}
	return s.atomic(ctx, p, func(w *work) error {
		u, err := w.ownUser(ctx, ref)
		if err != nil {
			return err
		}
		on, err := hasTwoFactor(ctx, w.store, u.ID)
		if err != nil {
			return err
		}
		_, err1 := w.store.TOTPs().DeleteAll(ctx, storage.TOTPUser.Is(u.ID))
		err2 := w.dropPendingTOTP(ctx, u.ID)
		_, err3 := w.store.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(u.ID))
		if err := cmp.Or(err1, err2, err3); err != nil || !on {
			return err
		}
		if _, err := w.endSessions(ctx, u); err != nil {
			return err
		}
		w.send(s.accountMail(u, kindTwoFactorOff))
		return w.logSecurity(ctx, u, "two_factor_disabled")
	})
}

// A SecondFactor is the result of [Service.VerifySecondFactor].
type SecondFactor struct {
	OK     bool
	Method string // totp or backup_code if OK is true
}

// VerifySecondFactor checks a code of a user's authenticator, or a backup code, which it
// uses up (management.md §5.7). It is for host applications that sign users in. The error
// is ErrThrottled after too many attempts, and ErrNotFound if the user does not have
// two-factor authentication.
func (s *Service) VerifySecondFactor(ctx context.Context, user uuid.UUID, code string) (SecondFactor, error) {
	tooMany := func(err error) error {
		if e, ok := errors.AsType[*Error](err); ok && e.Kind == ErrThrottled {
			return &Error{Kind: ErrThrottled, Code: "2fa_too_many_attempts", Detail: e.Detail, RetryAfter: e.RetryAfter}
		}
		return err
	}
	if err := s.throttle(ctx, "second-factor:"+user.String(), secondFactors); err != nil {
		return SecondFactor{}, tooMany(err)
	}
	var result SecondFactor
	var refused error
	err := s.atomic(ctx, nil, func(w *work) error {
		result, refused = SecondFactor{}, nil
		u, err := w.store.Users().Get(ctx, storage.UserUUID.Is(user))
		if err != nil || !u.Active {
			return storeError(cmp.Or(err, ErrNotFound))
		}
		device, err := w.store.TOTPs().Get(ctx, storage.TOTPUser.Is(u.ID))
		if err != nil {
			return storeError(err)
		}
		now := s.now()
		if wait := locked(device, now); wait > 0 {
			refused = tooMany(throttledError(wait))
			return nil
		}
		secret, err := s.openTOTP(device.Secret, u.ID)
		if err != nil {
			return err
		}
		if text, ok := codeDigits(code); ok {
			if step, ok := matchTOTP(secret, text, now, device.Drift, device.LastStep); ok {
				result = SecondFactor{true, "totp"}
				device.LastStep = step
				if s.box.Outdated(device.Secret) { // so that old keys can go
					device.Secret = s.box.Seal([]byte(secret), totpContext(u.ID))
				}
				device.Drift = max(-maxDrift, min(int(step-now.Unix()/totpStep), maxDrift))
			}
		} else if text := backupText(code); text != "" {
			for _, mac := range s.storedMACs([]byte(text), backupContext(u.ID)) {
				used, err := w.store.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(u.ID), storage.BackupCodeHash.Is(mac))
				if err != nil {
					return err
				}
				if used > 0 {
					result = SecondFactor{true, "backup_code"}
					w.send(s.accountMail(u, kindBackupCodeUsed))
					break
				}
			}
		}
		device.Failures, device.FailedAt = device.Failures+1, &now
		if result.OK {
			device.Failures, device.FailedAt = 0, nil
		}
		return w.store.TOTPs().Set(ctx, device)
	})
	if err = cmp.Or(err, refused); err != nil {
		return SecondFactor{}, err
	}
	return result, nil
}

// locked returns how long an authenticator accepts no code after failures: one second,
// then two, four and so on.
func locked(d *storage.TOTP, now time.Time) time.Duration {
	if d.Failures == 0 || d.FailedAt == nil {
		return 0
	}
	return d.FailedAt.Add(time.Second << min(d.Failures-1, 20)).Sub(now)
}

// backupText returns a backup code in the form in which it was shown, "" if the text
// cannot be a backup code.
func backupText(text string) string {
	text = strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(text))
	if len(text) != lowerBase32.EncodedLen(5) {
		return ""
	}
	return text
}
