package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// First says what [Bootstrap] creates. Empty fields have defaults.
type First struct {
	Organization string // name; default "Default organization"
	Project      string // name; default "Default project"
	APIKey       string // project API key; default a random one
	SecretKey    string // project secret key; default a random one

	// Owner is the e-mail address of the first user, who owns the organization
	// and is staff; default admin@localhost. PersonalKey is their personal API
	// key, with all scopes; default a random one.
	Owner       string
	PersonalKey string
}

// Created is what [Bootstrap] created. The secret keys are in no other place.
type Created struct {
	// Organization, Project and SecretKey are empty if the store had an
	// organization, but no user.
	Organization storage.Organization
	Project      storage.Project
	SecretKey    string

	Owner       storage.User
	PersonalKey string
}

// Bootstrap makes a store usable. A store without an organization gets one, with a
// project. A store without an active user gets a user who owns the first organization, so
// that no operator is ever locked out. Bootstrap returns nil if there was nothing to do.
// If several processes start on one store at once, one of them creates and the others
// get nil.
func Bootstrap(ctx context.Context, s storage.Store, f First) (*Created, error) {
	owner, err := blankUser(NewUser{Email: cmp.Or(f.Owner, "admin@localhost"), Staff: true})
	if err != nil {
		return nil, fmt.Errorf("owner %q: %w", f.Owner, err)
	}
	var created *Created
	err = s.Atomic(ctx, func(s storage.Store) error {
		created = nil
		_, users, err := s.Users().Page(ctx, 1, 0, storage.UserFilter{}.Where()...)
		if err != nil || users > 0 {
			return err
		}
		c := &Created{Owner: *owner, PersonalKey: cmp.Or(f.PersonalKey, storage.NewPersonalKey())}
		organizations, err := s.Organizations().List(ctx)
		if err != nil {
			return err
		}
		if len(organizations) == 0 {
			if err := c.createOrganization(ctx, s, f); err != nil {
				return err
			}
			organizations = append(organizations, c.Organization)
		}
		if err := c.createOwner(ctx, s, &organizations[0]); err != nil {
			return err
		}
		created = c
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

func (c *Created) createOrganization(ctx context.Context, s storage.Store, f First) error {
	o := storage.NewOrganization(cmp.Or(f.Organization, "Default organization"))
	p := storage.NewProject(o, cmp.Or(f.Project, "Default project"))
	c.SecretKey = cmp.Or(f.SecretKey, storage.NewSecretKey())
	p.APIKey, p.SecretHash = cmp.Or(f.APIKey, p.APIKey), storage.HashKey(c.SecretKey)
	if err := s.Organizations().Create(ctx, o); err != nil {
		return err
	}
	if err := s.Projects().Create(ctx, p); err != nil {
		return err
	}
	c.Organization, c.Project = *o, *p
	return nil
}

func (c *Created) createOwner(ctx context.Context, s storage.Store, o *storage.Organization) error {
	u := &c.Owner
	switch old, err := s.Users().Get(ctx, storage.UserEmail.Is(u.Email)); {
	case err == nil: // the user exists and is not active
		*u = *old
		u.Active, u.Staff = true, true
	case !errors.Is(err, ErrNotFound):
		return err
	default:
		if err := s.Users().Create(ctx, u); err != nil {
			return err
		}
	}
	m := &storage.Membership{ID: storage.NewID(), Organization: o.ID, User: u.ID, Level: storage.LevelOwner, Joined: u.Joined, Updated: u.Joined}
	switch old, err := s.Memberships().Get(ctx, storage.MembershipOrganization.Is(o.ID), storage.MembershipUser.Is(u.ID)); {
	case err == nil:
		old.Level = storage.LevelOwner
		err = s.Memberships().Update(ctx, old)
		if err != nil {
			return err
		}
	case !errors.Is(err, ErrNotFound):
		return err
	default:
		if err := s.Memberships().Create(ctx, m); err != nil {
			return err
		}
	}
	if err := resettleUser(ctx, s, u); err != nil {
		return err
	}
	k := &storage.PersonalKey{
		ID: storage.RandomToken(32), User: u.ID, Label: "first start", Mask: maskOf(c.PersonalKey), Hash: storage.HashKey(c.PersonalKey),
		Scopes: []string{"*"}, Created: storage.Now(),
	}
	switch old, err := s.Keys().Get(ctx, storage.KeyHash.Is(k.Hash)); {
	case err == nil && old.User == u.ID: // an earlier start made the key
		return nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	return s.Keys().Create(ctx, k)
}
