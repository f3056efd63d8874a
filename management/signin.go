package management

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// CreateUser makes an account, for host applications and programs on the machine of the
// server. The error is ErrConflict if another account has the address.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (*storage.User, error) {
	u, err := blankUser(n)
	if err != nil {
		return nil, err
	}
	u.Joined = s.now()
	if n.Password != "" {
		password := optional.Of(n.Password)
		if err := judgeError(check.PasswordText("password", &password)); err != nil {
			return nil, err
		}
		if u.PasswordHash, err = s.newPassword(ctx, u, n.Password); err != nil {
			return nil, err
		}
	}
	err = s.atomic(ctx, nil, func(w *work) error {
		if err := w.store.Users().Create(ctx, u); err != nil {
			return err
		}
		return w.addActivity(ctx, storage.Activity{Activity: "created", Scope: "User", ItemID: u.UUID.String()}, field.Detail{Name: u.Email, Changes: []field.Change{}})
	})
	if errors.Is(err, ErrConflict) {
		return nil, &Error{Kind: ErrConflict, Code: "unique", Attr: "email", Detail: errEmailTaken.Detail}
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

var errInvalidCredentials = &Error{Kind: ErrUnauthenticated, Code: "invalid_credentials", Detail: "Invalid email or password."}

// SignIn returns the user with an e-mail address and a password, for host applications.
// The error is ErrUnauthenticated if no active user has both, whatever the reason, and it
// takes as long as success does. After too many attempts for an address the error is
// ErrThrottled with code too_many_failed_attempts. [Service.NeedsSecondFactor] says
// whether the user must present a second factor, too. Where the attempts come from is not
// known here: programs with an address of the client use [Service.OpenSession], or limit
// clients themselves.
func (s *Service) SignIn(ctx context.Context, email, password string) (*storage.User, error) {
	return s.signIn(ctx, email, password, Client{})
}

// countSignIn counts an attempt to sign in with an address. A browser that has signed in
// with it before has attempts of its own.
func (s *Service) countSignIn(ctx context.Context, email string, from Client) error {
	buckets := []string{"sign-in:" + storage.HashKey(email)}
	limits := []storage.Limit{signIns}
	if network := from.network(); network != "" {
		buckets, limits = append(buckets, "sign-in:client:"+network), append(limits, clientSignIns)
	}
	if from.Device != "" {
		u, err := s.c.Store.Users().Get(ctx, storage.UserEmail.Is(email))
		switch {
		case err == nil && knowsDevice(u, from.Device):
			buckets = []string{"sign-in:device:" + storage.HashKey(from.Device)}
		case err != nil && !errors.Is(err, ErrNotFound):
			return err
		}
	}
	for i, bucket := range buckets {
		err := s.throttle(ctx, bucket, limits[i])
		if e, ok := errors.AsType[*Error](err); ok {
			return &Error{Kind: ErrThrottled, Code: "too_many_failed_attempts", Detail: e.Detail, RetryAfter: e.RetryAfter}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// signIn is SignIn for a client.
func (s *Service) signIn(ctx context.Context, email, password string, from Client) (*storage.User, error) {
	email = check.NormalEmail(email)
	if err := s.countSignIn(ctx, email, from); err != nil {
		return nil, err
	}
	u, err := s.c.Store.Users().Get(ctx, storage.UserEmail.Is(email))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	hash := ""
	if err == nil && u.Active {
		hash = u.PasswordHash
	}
	ok, outdated, err := s.passwords.Verify(ctx, hash, password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errInvalidCredentials
	}
	if !outdated {
		return u, nil
	}
	// The parameters are stronger now than when the password was set.
	if fresh, err := s.passwords.Hash(ctx, password); err == nil {
		stored, err := answer(ctx, s, nil, func(w *work) (*storage.User, error) {
			current, err := w.store.Users().Get(ctx, storage.UserID.Is(u.ID))
			if err != nil || current.PasswordHash != hash {
				return nil, err
			}
			current.PasswordHash = fresh
			return current, w.store.Users().Update(ctx, current)
		})
		switch {
		case err != nil:
			s.c.Log.WarnContext(ctx, "a password keeps its old hash", "error", err)
		case stored != nil:
			u = stored
		}
	}
	return u, nil
}

// NeedsSecondFactor reports whether a user has two-factor authentication.
func (s *Service) NeedsSecondFactor(ctx context.Context, user uuid.UUID) (bool, error) {
	u, err := s.c.Store.Users().Get(ctx, storage.UserUUID.Is(user))
	if err != nil {
		return false, storeError(err)
	}
	return hasTwoFactor(ctx, s.c.Store, u.ID)
}
