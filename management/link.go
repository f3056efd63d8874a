package management

import (
	"cmp"
	"context"
	"crypto/subtle"
	"time"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	signInLife = 24 * time.Hour // of a sign-in link
	resetLife  = time.Hour      // of a link for another password
)

var errLink = invalid("token", "invalid_token", "This link is invalid or has expired.")

// newLink makes a link for a user in place of an earlier one of the kind.
func (w *work) newLink(ctx context.Context, u *storage.User, kind storage.LinkKind, life time.Duration) (token string, l *storage.Link, err error) {
	now := w.now()
	l = &storage.Link{User: u.ID, Kind: kind, Target: u.Email, Created: now, Expires: now.Add(life)}
	token, l.Hash = newToken()
	return token, l, storeError(w.store.Links().Set(ctx, l))
}

// linkUser returns the user of a link that can be used.
func (w *work) linkUser(ctx context.Context, kind storage.LinkKind, token string) (*storage.User, error) {
	if token == "" || len(token) > maxToken {
		return nil, errLink
	}
	hash := tokenHash(token)
	l, err := w.store.Links().Get(ctx, storage.LinkHash.Is(hash))
	if err != nil {
		return nil, goneError(err, errLink)
	}
	if subtle.ConstantTimeCompare(l.Hash, hash) != 1 || l.Kind != kind || !w.now().Before(l.Expires) {
		return nil, errLink
	}
	u, err := w.store.Users().Get(ctx, storage.UserID.Is(l.User))
	if err != nil {
		return nil, goneError(err, errLink)
	}
	if !u.Active || u.Email != l.Target {
		return nil, errLink
	}
	return u, nil
}

// chosenPassword checks a password that a user chooses with a link, and returns its hash.
// It takes long, so callers call it outside of a transaction.
func (s *Service) chosenPassword(ctx context.Context, u *storage.User, password *optional.Value[string]) (string, error) {
	if err := judgeError(cmp.Or(check.Required("password", password), check.PasswordText("password", password))); err != nil {
		return "", err
	}
	return s.newPassword(ctx, u, password.Value)
}

// setPassword gives a user another password, and takes away what the password before has
// opened: sessions, links, and keys if the Config wants that. The user gets a mail. The caller
// stores the user.
func (w *work) setPassword(ctx context.Context, u *storage.User, hash string) error {
	u.PasswordHash = hash
	w.send(w.accountMail(u, kindPasswordChanged))
	if _, err := w.endSessions(ctx, u); err != nil {
		return err
	}
	if _, err := w.store.Links().DeleteAll(ctx, storage.LinkUser.Is(u.ID)); err != nil || !w.c.RevokeKeysOnPasswordChange {
		return err
	}
	keys, err := w.store.Keys().List(ctx, storage.KeyUser.Is(u.ID))
	if err != nil {
		return err
	}
	for _, k := range keys {
		if w.by.Key != nil && w.by.Key.ID == k.ID {
			continue
		}
		if err := w.store.Keys().Delete(ctx, storage.KeyID.Is(k.ID)); err != nil {
			return err
		}
		if err := w.logKey(ctx, &k, "deleted", nil); err != nil {
			return err
		}
	}
	return nil
}

// A PasswordResetRequest asks for the message with the link that gives a user another
// password.
type PasswordResetRequest struct {
	Email optional.Value[string] `json:"email"`
}

// RequestPasswordReset sends a link to an address by which the user of the address chooses
// another password within an hour. The message goes out later, and the answer is the same
// for an address without a user. An address that is known not to be verified gets none: its
// reader may be somebody else. Six requests a day are allowed for an address.
func (s *Service) RequestPasswordReset(ctx context.Context, r PasswordResetRequest) error {
	if !s.MailAvailable() {
		return invalid("", "email_not_available", "Email is not available: no mail server is configured.")
	}
	if err := judgeError(cmp.Or(check.Required("email", &r.Email), check.Email("email", &r.Email))); err != nil {
		return err
	}
	if err := s.throttle(ctx, "password-reset:"+storage.HashKey(r.Email.Value), passwordResets); err != nil {
		return err
	}
	s.mail.request(requestedMail{kindPasswordReset, func(ctx context.Context) error { return s.sendReset(ctx, r.Email.Value) }})
	return nil
}

// sendReset sends the message of RequestPasswordReset.
func (s *Service) sendReset(ctx context.Context, email string) error {
	find := func(store storage.Store) (*storage.User, error) {
		return store.Users().Get(ctx, storage.UserEmail.Is(email))
	}
	resettable := func(u *storage.User) bool { return u.Active && (u.EmailVerified == nil || *u.EmailVerified) }
	return s.sendToUser(ctx, find, resettable, func(*storage.User) string { return email }, func(w *work, u *storage.User) error {
		token, l, err := w.newLink(ctx, u, storage.LinkPasswordReset, resetLife)
		if err != nil {
			return err
		}
		w.send(s.newLetter(u, kindPasswordReset, "Choose another password",
			"Somebody has asked for another password for the account "+u.Email+" of "+s.c.AppName+". To choose one, open this page:", "",
			s.c.AppURL+"/reset_password/"+token, "",
			"The link is valid for an hour, until "+l.Expires.Format("2 January 2006 at 15:04 UTC")+", and once.", "",
			"If you did not ask for this, do nothing: the password stays as it is."))
		return nil
	})
}

// A LinkOffer is what the reader of a link learns of it.
type LinkOffer struct {
	Email       string `json:"email"`
	FirstName   string `json:"first_name"`
	HasPassword bool   `json:"has_password"`
}

// OpenLink returns the user of a link, which stays valid.
func (s *Service) OpenLink(ctx context.Context, kind storage.LinkKind, token string) (*LinkOffer, error) {
	u, err := s.begin(nil).linkUser(ctx, kind, token)
	if err != nil {
		return nil, err
	}
	return &LinkOffer{u.Email, u.FirstName, u.HasPassword()}, nil
}

// A ChosenPassword is the password that a user chooses with a link.
type ChosenPassword struct {
	Password optional.Value[string] `json:"password"`
}

// ResetPassword gives the user of a link for that another password, and uses the link up.
// All sessions of the user end. The link proves the address. Two-factor authentication
// stays on.
func (s *Service) ResetPassword(ctx context.Context, token string, chosen ChosenPassword) error {
	_, err := s.useLink(ctx, storage.LinkPasswordReset, token, &chosen, func(*work, *storage.User) error { return nil })
	return err
}

// useLink uses a link up in a transaction, with another password if one is chosen, and
// then runs f.
func (s *Service) useLink(ctx context.Context, kind storage.LinkKind, token string, chosen *ChosenPassword, f func(*work, *storage.User) error) (*storage.User, error) {
	u, err := s.begin(nil).linkUser(ctx, kind, token)
	if err != nil {
		return nil, err
	}
	hash := ""
	if chosen != nil {
		if hash, err = s.chosenPassword(ctx, u, &chosen.Password); err != nil {
			return nil, err
		}
	}
	err = s.atomic(ctx, nil, func(w *work) error {
		if u, err = w.linkUser(ctx, kind, token); err != nil {
			return err
		}
		w.by = &Principal{User: u}
		if _, err := w.store.Links().DeleteAll(ctx, storage.LinkUser.Is(u.ID)); err != nil {
			return err
		}
		if hash == "" {
			return f(w, u)
		}
		before := *u
		if err := w.setPassword(ctx, u, hash); err != nil {
			return err
		}
		if kind == storage.LinkPasswordReset {
			u.EmailVerified = new(true)
		}
		if err := w.store.Users().Update(ctx, u); err != nil {
			return storeError(err)
		}
		if err := w.logUser(ctx, &before, u); err != nil {
			return err
		}
		return f(w, u)
	})
	return u, err
}

// NewSignInLink returns the token of a link that signs the user of an address in, once and
// within a day, in place of an earlier one. It is for programs on the machine of the
// server, which show the link to the operator: it checks no rights. The error is
// ErrNotFound if no active user has the address.
func (s *Service) NewSignInLink(ctx context.Context, email string) (token string, err error) {
	err = s.atomic(ctx, nil, func(w *work) error {
		u, err := w.store.Users().Get(ctx, storage.UserEmail.Is(check.NormalEmail(email)))
		if err != nil || !u.Active {
			return storeError(cmp.Or(err, ErrNotFound))
		}
		if token, _, err = w.newLink(ctx, u, storage.LinkSignIn, signInLife); err != nil {
			return err
		}
		return w.logSecurity(ctx, u, "sign_in_link_created")
	})
	return token, err
}

// UseSignInLink signs the user of a sign-in link in, and uses the link up. If a password
// is chosen, the user has it from then on, and all other sessions end. A user with
// two-factor authentication has to confirm the session, see [Service.OpenSession].
func (s *Service) UseSignInLink(ctx context.Context, token string, chosen *ChosenPassword, from Client) (*OpenedSession, error) {
	var opened *OpenedSession
	_, err := s.useLink(ctx, storage.LinkSignIn, token, chosen, func(w *work, u *storage.User) error {
		var err error
		opened, err = w.openSession(ctx, u, from)
		return err
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}
