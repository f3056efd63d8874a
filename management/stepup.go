package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var errNoKeys = forbidden("This action does not support personal API keys.")

// stepUp returns nil if the key and the Proof of a Principal suffice to change its
// account.
func (s *Service) stepUp(ctx context.Context, p *Principal) error {
	if p.Key == nil {
		return nil
	}
	switch s.c.Mutations {
	case MutationsOff:
		return errNoKeys
	case MutationsStepUp:
		return s.checkProof(ctx, p)
	}
	return nil
}

// stepUpFor is stepUp for a change of the user that a path names, whom find looks up.
func (s *Service) stepUpFor(ctx context.Context, p *Principal, ref string, find func(*work, context.Context, string) (*storage.User, error)) error {
	if err := p.changesUsers(); err != nil {
		return err
	}
	if _, err := find(s.begin(p), ctx, ref); err != nil {
		return err
	}
	return s.stepUp(ctx, p)
}

// checkProof verifies a Proof. A user with a password and an authenticator may present
// either. A user with neither of them needs no Proof.
func (s *Service) checkProof(ctx context.Context, p *Principal) error {
	twoFactor, err := hasTwoFactor(ctx, s.c.Store, p.User.ID)
	if err != nil {
		return err
	}
	if !twoFactor && !p.User.HasPassword() {
		return nil
	}
	if twoFactor && p.Proof.Code != "" {
		v, err := s.VerifySecondFactor(ctx, p.User.UUID, p.Proof.Code)
		switch {
		case err != nil:
			return err
		case v.OK:
			return nil
		}
	} else if p.User.HasPassword() && p.Proof.Password != "" {
		if err := s.countAttempt(ctx, p); err != nil {
			return err
		}
		ok, err := s.checkPassword(ctx, p.User, p.Proof.Password)
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		}
	}
	return &Error{
		Kind: ErrForbidden, Code: "sensitive_action_required_reauth",
		Detail: "This action needs the current password, or a code of the authenticator in the header X-2FA-Token.",
	}
}

// countAttempt counts a request with a password or an address that may be a guess, once
// for each request.
func (s *Service) countAttempt(ctx context.Context, p *Principal) error {
	if p.counted {
		return nil
	}
	p.counted = true
	return s.throttle(ctx, "attempt:"+userBucket(p.User), userAttempts)
}

// checkPassword checks the current password of a user. Callers have counted the
// attempt.
func (s *Service) checkPassword(ctx context.Context, u *storage.User, password string) (bool, error) {
	ok, _, err := s.passwords.Verify(ctx, u.PasswordHash, password)
	return ok, err
}
