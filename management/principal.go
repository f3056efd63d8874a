package management

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Principal is who asks, and is for one request.
type Principal struct {
	User *User

	// Key is the personal API key that was presented. Nil: the host
	// application knows the user, and the Principal may do whatever the user
	// may.
	Key *PersonalKey

	// Proof is what was presented besides, for [MutationsStepUp].
	Proof Proof

	counted bool // as an attempt to guess
}

// A Proof shows that who asks is the user and not just somebody with a key.
type Proof struct {
	Password string // the current one
	Code     string // of the authenticator, or a backup code
}

// Credential is where a key was found, for the answer to a wrong one.
type Credential string

const (
	InHeader Credential = "the Authorization header"
	InBody   Credential = "the request body"
	InQuery  Credential = "the query string"
)

var errNotAuthenticated = &Error{
	Kind: ErrUnauthenticated, Code: "not_authenticated", Detail: "Authentication credentials were not provided.",
}

// Authenticate returns who has a personal API key. Every error that is no failure
// of the storage is ErrUnauthenticated.
func (s *Service) Authenticate(ctx context.Context, key string, from Credential) (*Principal, error) {
	if key == "" {
		return nil, errNotAuthenticated
	}
	wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "The personal API key in " + string(from) + " is not valid."}
	const longest = 100
	if !strings.HasPrefix(key, personalPrefix) || len(key) > longest {
		return nil, wrong
	}
	hash := HashKey(key)
	k, err := s.store.KeyByHash(ctx, hash)
	if errors.Is(err, ErrNotFound) {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hash)) != 1 {
		return nil, wrong
	}
	u, err := s.store.User(ctx, k.User)
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	now := s.now()
	if k.LastUsed == nil || now.Sub(*k.LastUsed) >= time.Hour {
		if err := s.store.TouchKey(ctx, k.ID, now); err != nil {
			s.c.Log.WarnContext(ctx, "last use of a personal API key is not written", "key", k.Mask, "error", err)
		}
	}
	return &Principal{User: u, Key: k}, nil
}

// PrincipalOf returns a Principal for a user that the host application has
// authenticated. The error is ErrUnauthenticated if there is no active user with
// that UUID.
func (s *Service) PrincipalOf(ctx context.Context, user uuid.UUID) (*Principal, error) {
	u, err := s.store.UserByUUID(ctx, user)
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, errNotAuthenticated
	}
	if err != nil {
		return nil, err
	}
	return &Principal{User: u}, nil
}

// Require returns nil if the Principal has all of the scopes, and an ErrForbidden
// that names the first it lacks otherwise.
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

// all reports whether the Principal may do everything: it is no key, or one
// without restrictions.
func (p *Principal) all() bool {
	k := p.Key
	return k == nil || !k.restricted() && (len(k.Scopes) == 0 || slices.Contains(k.Scopes, "*"))
}

func (k *PersonalKey) restricted() bool { return len(k.Projects)+len(k.Organizations) > 0 }

// everywhere returns an error if the Principal is a key that is restricted to
// projects: such a key cannot be used for what belongs to none (management.md
// §1.5).
func (p *Principal) everywhere() error {
	if p.Key != nil && len(p.Key.Projects) > 0 {
		return forbidden("API key is restricted to projects and cannot be used here.")
	}
	return nil
}

// in returns an error if the Principal is a key that an organization does not
// admit, by its own restriction or by the organization's.
func (p *Principal) in(o *Organization, level int) error {
	if p.Key == nil {
		return nil
	}
	if len(p.Key.Organizations) > 0 && !slices.Contains(p.Key.Organizations, o.ID) {
		return forbidden("API key does not have access to organization %s.", o.ID)
	}
	if !o.MembersCanUseKeys && level < LevelAdmin {
		return forbidden("Organization %s does not allow its members to use personal API keys.", o.ID)
	}
	return nil
}

var errNoKeys = forbidden("This action does not support personal API keys.")

// stepUp returns nil if a Principal may change its account with what it has
// presented.
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

// checkProof verifies a Proof. A user who has a password and an authenticator
// may present either; one who has neither has nothing to present.
func (s *Service) checkProof(ctx context.Context, p *Principal) error {
	_, err := s.store.TOTP(ctx, p.User.ID)
	twoFactor := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if !twoFactor && !p.User.hasPassword() {
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
	} else if p.User.hasPassword() && p.Proof.Password != "" {
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

// A ProjectAccess is a project that a Principal may use.
type ProjectAccess struct {
	Project      *Project
	Organization *Organization
	Level        int // of the user in the organization
}

// Access returns the project that a path names by its ID or as @current, if the
// Principal may use it for what the scopes allow (management.md §1.5).
func (s *Service) Access(ctx context.Context, p *Principal, ref string, scopes ...Scope) (*ProjectAccess, error) {
	missing := notFound("Project not found.")
	var id int64
	if ref == "@current" {
		if p.User.CurrentProject == nil {
			return nil, missing
		}
		id = *p.User.CurrentProject
	} else {
		var err error
		if id, err = strconv.ParseInt(ref, 10, 64); err != nil || id <= 0 || strconv.FormatInt(id, 10) != ref {
			return nil, missing
		}
	}
	project, err := s.store.Project(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	organization, err := s.store.Organization(ctx, project.Organization)
	if errors.Is(err, ErrNotFound) { // deleted just now
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	level := 0
	switch m, err := s.store.Membership(ctx, organization.ID, p.User.ID); {
	case err == nil:
		level = m.Level
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	if level == 0 && s.c.HideForeignProjects {
		return nil, missing
	}
	if p.Key != nil && len(p.Key.Projects) > 0 && !slices.Contains(p.Key.Projects, id) {
		return nil, forbidden("API key does not have access to project %d.", id)
	}
	if err := p.in(organization, level); err != nil {
		switch {
		case level > 0:
			return nil, err
		case len(p.Key.Organizations) > 0: // whose project it is, is nobody's business
			return nil, forbidden("API key does not have access to project %d.", id)
		}
	}
	if err := p.Require(scopes...); err != nil {
		return nil, err
	}
	if level == 0 {
		return nil, forbidden("You don't have access to the project.")
	}
	return &ProjectAccess{project, organization, level}, nil
}

// organization returns the organization that a path names by its ID or as @current, and
// the level of the Principal's user in it. Organizations of others do not exist.
func (s *Service) organization(ctx context.Context, p *Principal, ref string, need int, scopes ...Scope) (*Organization, int, error) {
	if err := firstOf(p.everywhere(), p.Require(scopes...)); err != nil {
		return nil, 0, err
	}
	missing := notFound("Organization not found.")
	var id uuid.UUID
	if ref == "@current" {
		if p.User.CurrentOrganization == nil {
			return nil, 0, missing
		}
		id = *p.User.CurrentOrganization
	} else {
		var err error
		if id, err = parseID(ref); err != nil {
			return nil, 0, missing
		}
	}
	m, err := s.store.Membership(ctx, id, p.User.ID)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, missing
	}
	if err != nil {
		return nil, 0, err
	}
	o, err := s.store.Organization(ctx, id)
	if err != nil {
		return nil, 0, shown(err)
	}
	if err := p.in(o, m.Level); err != nil {
		return nil, 0, err
	}
	if m.Level < need {
		return nil, 0, errForbidden
	}
	return o, m.Level, nil
}
