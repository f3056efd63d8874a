package management

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/keykind"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Principal is the caller of one request.
type Principal struct {
	User *storage.User

	// Key is the personal API key that the caller has presented. Nil: the host
	// application knows the user, and the Principal may do whatever the user may.
	Key *storage.PersonalKey

	// Session is the session that the caller is signed in with, see
	// [Service.AuthenticateSession]. Nil: there is none, or the host application keeps
	// its own.
	Session *storage.Session

	// Proof is what the caller has presented besides the key, for [MutationsStepUp].
	Proof Proof

	counted bool // whether the request was counted as an attempt to guess
}

// A Proof shows that the caller is the user, and not only the owner of a key.
type Proof struct {
	Password string // the current one
	Code     string // from the authenticator, or a backup code
}

var errNotAuthenticated = &Error{
	Kind: ErrUnauthenticated, Code: "not_authenticated", Detail: "Authentication credentials were not provided.",
}

// Authenticate returns the Principal of a personal API key. Every error that is not a
// failure of the storage is ErrUnauthenticated. The answer to a wrong key names the place
// of the request that had it, such as "the Authorization header".
func (s *Service) Authenticate(ctx context.Context, key, place string) (*Principal, error) {
	if key == "" {
		return nil, errNotAuthenticated
	}
	wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "The personal API key in " + place + " is not valid."}
	if keykind.Of(key) != keykind.Personal || len(key) > maxKeyLength {
		if mistaken := keykind.Mistaken(key, "the API", keykind.Personal); mistaken != "" {
			wrong.Detail = strings.TrimSuffix(wrong.Detail, ".") + ": " + mistaken + "."
		}
		return nil, wrong
	}
	hash := storage.HashKey(key)
	k, err := s.c.Store.Keys().Get(ctx, storage.KeyHash.Is(hash))
	if err != nil {
		return nil, goneError(err, wrong)
	}
	if subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hash)) != 1 {
		return nil, wrong
	}
	u, err := s.c.Store.Users().Get(ctx, storage.UserID.Is(k.User))
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	now := s.now()
	if k.LastUsed == nil || now.Sub(*k.LastUsed) >= time.Hour {
		if err := s.c.Store.Keys().Touch(ctx, &storage.PersonalKey{ID: k.ID, LastUsed: new(now)}); err != nil {
			s.c.Log.WarnContext(ctx, "last use of a personal API key is not written", "key", k.Mask, "error", err)
		}
	}
	return &Principal{User: u, Key: k}, nil
}

// PrincipalOf returns a Principal for a user that the host application has
// authenticated. The error is ErrUnauthenticated if there is no active user with
// that UUID.
func (s *Service) PrincipalOf(ctx context.Context, user uuid.UUID) (*Principal, error) {
	u, err := s.c.Store.Users().Get(ctx, storage.UserUUID.Is(user))
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, errNotAuthenticated
	}
	if err != nil {
		return nil, err
	}
	return &Principal{User: u}, nil
}

// Require returns nil if the Principal has all of the scopes. Otherwise the error is an
// ErrForbidden that names the first missing scope.
func (p *Principal) Require(scopes ...Scope) error {
	if p.Key == nil || len(p.Key.Scopes) == 0 {
		return nil
	}
	for _, need := range scopes {
		if !slices.ContainsFunc(p.Key.Scopes, func(s string) bool { return Scope(s).grants(need) }) {
			return forbidden("API key missing required scope '%s'", need)
		}
	}
	return nil
}

// all reports whether the Principal may do everything: it has no key, or a key without
// restrictions.
func (p *Principal) all() bool {
	k := p.Key
	return k == nil || !k.Restricted() && (len(k.Scopes) == 0 || slices.Contains(k.Scopes, "*"))
}

// staff reports whether the Principal has the rights of staff. A restricted key has only
// the rights of its own user (management.md §1.5).
func (p *Principal) staff() bool {
	return p.User.Staff && (p.Key == nil || !p.Key.Restricted())
}

// changesUsers returns an error unless the Principal may change users. The holder of a
// restricted key could otherwise take over the account that has made it.
func (p *Principal) changesUsers() error {
	if err := p.Require("user:write"); err != nil {
		return err
	}
	if p.Key != nil && p.Key.Restricted() {
		return forbidden("API key is restricted to projects or organizations and cannot change users.")
	}
	return nil
}

// everywhere returns an error if the Principal's key is restricted to projects. A key
// with that restriction cannot be used for things outside of projects (management.md
// §1.5).
func (p *Principal) everywhere() error {
	if p.Key != nil && len(p.Key.Projects) > 0 {
		return forbidden("API key is restricted to projects and cannot be used here.")
	}
	return nil
}

// in returns an error if the key of the Principal cannot be used in an organization,
// because of the key's own restriction or of the organization's rule.
func (p *Principal) in(o *storage.Organization, level int) error {
	if p.Key == nil {
		return nil
	}
	if len(p.Key.Organizations) > 0 && !slices.Contains(p.Key.Organizations, o.ID) {
		return forbidden("API key does not have access to organization %s.", o.ID)
	}
	if !o.MembersCanUseKeys && level < storage.LevelAdmin {
		return forbidden("Organization %s does not allow its members to use personal API keys.", o.ID)
	}
	return nil
}
