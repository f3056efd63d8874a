package management

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// UpdateUser changes a user (management.md §4.3 to §4.6). It needs scope user:write. To
// change a user's password, staff need the user's current password, too.
func (s *Service) UpdateUser(ctx context.Context, p *Principal, ref string, patch UserPatch) (*UserView, error) {
	if err := p.changesUsers(); err != nil {
		return nil, err
	}
	var hash, oldHash string
	if patch.CurrentPassword.Set || patch.Email.Set || patch.Password.Set {
		var err error
		if hash, oldHash, err = s.prepareUser(ctx, p, ref, &patch); err != nil {
			return nil, err
		}
	}
	return answer(ctx, s, p, func(w *work) (*UserView, error) {
		c := &userChange{work: w, patch: &patch, hash: hash, oldHash: oldHash}
		user, err := w.userByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		if err := patch.checkStaff(p); err != nil {
			return nil, err
		}
		before := *user
		if err := c.apply(ctx, user); err != nil {
			return nil, err
		}
		if err := w.store.Users().Update(ctx, user); err != nil {
			if errors.Is(err, ErrConflict) {
				return nil, errEmailTaken
			}
			return nil, storeError(err)
		}
		if err := w.logUser(ctx, &before, user); err != nil {
			return nil, err
		}
		return w.showUser(ctx, user)
	})
}

// prepareUser does what a change of the address or the password needs before its
// transaction, because it takes too long to do it inside: it counts attempts, demands a
// proof, and checks and hashes passwords. It returns the hash of the new password, "" if
// there is none, and the hash that the current password was compared with.
func (s *Service) prepareUser(ctx context.Context, p *Principal, ref string, patch *UserPatch) (hash, oldHash string, err error) {
	u, err := s.begin(p).userByRef(ctx, ref)
	if err != nil {
		return "", "", err
	}
	if patch.CurrentPassword.Set {
		p.Proof.Password = patch.CurrentPassword.Value
	}
	if patch.CurrentPassword.Set || patch.Email.Set {
		if err := s.countAttempt(ctx, p); err != nil {
			return "", "", err
		}
	}
	if err := patch.checkStaff(p); err != nil {
		return "", "", err
	}
	if patch.Email.Set || patch.Password.Set {
		if err := s.stepUp(ctx, p); err != nil {
			return "", "", err
		}
	}
	if err := judgeError(s.userFields(u, patch).Check()); err != nil {
		return "", "", err
	}
	readdressed := patch.Email.Set && patch.Email.Value != u.Email && p.Session != nil && u.ID == p.User.ID
	if patch.Password.Set || readdressed {
		if err := s.provePassword(ctx, u, patch); err != nil {
			return "", "", err
		}
	}
	if patch.Password.Set {
		if hash, err = s.newPassword(ctx, u, patch.Password.Value); err != nil {
			return "", "", err
		}
	}
	if patch.Email.Set && patch.Email.Value != u.Email && s.MailAvailable() {
		// The limit is per address: otherwise a caller could flood any mailbox.
		if err := s.throttle(ctx, mailTo(patch.Email.Value), addressMails); err != nil {
			return "", "", err
		}
	}
	return hash, u.PasswordHash, nil
}

// checkStaff returns an error if the patch changes the mark of staff and the Principal may
// not: only staff may, with a key that may do everything or without a key (management.md §4.5).
func (patch *UserPatch) checkStaff(p *Principal) error {
	switch {
	case !patch.IsStaff.Set:
		return nil
	case !p.User.Staff:
		return plainForbidden
	case !p.all():
		return forbidden("Only a personal API key with scope '*' and without restrictions can change is_staff.")
	}
	return nil
}

// A userChange applies a UserPatch in a transaction.
type userChange struct {
	*work
	patch   *UserPatch
	hash    string // of the new password
	oldHash string // current_password was compared with it
}

// apply checks the patch and changes u, which the caller stores.
func (c *userChange) apply(ctx context.Context, u *storage.User) error {
	patch := c.patch
	if err := applyTable(c.userFields(u, patch)); err != nil {
		return err
	}
	if patch.Email.Set && patch.Email.Value != u.Email {
		if err := c.changeEmail(ctx, u); err != nil {
			return err
		}
	}
	if patch.NotificationSettings.Set {
		merged, err := c.mergeNotifications(u.Notifications, patch.NotificationSettings.Value)
		if err != nil {
			return err
		}
		u.Notifications = merged
	}
	if patch.IsStaff.Set && patch.IsStaff.Value != u.Staff {
		if !patch.IsStaff.Value {
			if err := c.keepStaff(ctx, u); err != nil {
				return err
			}
		}
		u.Staff = patch.IsStaff.Value
		c.send(c.accountMail(u, kindStaffChanged))
	}
	if err := c.switchTo(ctx, u); err != nil {
		return err
	}
	if patch.Password.Set {
		return c.changePassword(ctx, u)
	}
	return nil
}

// switchTo changes the current organization and project (management.md §4.3). It finds
// them with the rights of the Principal, also if the user is another one.
func (c *userChange) switchTo(ctx context.Context, u *storage.User) error {
	if !c.patch.SetCurrentOrganization.Set && !c.patch.SetCurrentTeam.Set {
		return nil
	}
	memberships, err := c.store.Memberships().List(ctx, storage.MembershipUser.In([]int64{c.by.User.ID}))
	if err != nil {
		return err
	}
	member := func(id uuid.UUID) bool {
		return slices.ContainsFunc(memberships, func(m storage.Membership) bool { return m.Organization == id })
	}
	var organization *uuid.UUID
	if o := &c.patch.SetCurrentOrganization; o.Set {
		text := rawjson.Text(o.Value)
		id, err := check.ParseID(text)
		if err != nil || !member(id) {
			return missingObject("set_current_organization", text)
		}
		organization = &id
	}
	if o := &c.patch.SetCurrentTeam; o.Set {
		text := rawjson.Text(o.Value)
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return missingObject("set_current_team", text)
		}
		project, err := c.store.Projects().Get(ctx, storage.ProjectID.Is(id))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err != nil || !member(project.Organization) {
			return missingObject("set_current_team", text)
		}
		if organization != nil && *organization != project.Organization {
			return invalid("set_current_team", "invalid_input", "The project does not belong to the organization.")
		}
		u.CurrentOrganization, u.CurrentProject = &project.Organization, &project.ID
		return nil
	}
	if organization != nil {
		u.CurrentOrganization, u.CurrentProject = organization, nil
		projects, err := c.store.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{*organization}))
		if err != nil {
			return err
		}
		if len(projects) > 0 {
			u.CurrentProject = &projects[0].ID
		}
	}
	return nil
}

// changeEmail makes a new address the pending one, or sets it at once if no Mailer can
// verify it (management.md §4.4).
func (c *userChange) changeEmail(ctx context.Context, u *storage.User) error {
	email := c.patch.Email.Value
	switch other, err := c.store.Users().Get(ctx, storage.UserEmail.Is(email)); {
	case err == nil && other.ID != u.ID:
		return errEmailTaken
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	if !c.MailAvailable() {
		u.Email, u.PendingEmail, u.EmailVerified = email, "", new(false)
		_, err := c.store.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(u.ID))
		return err
	}
	u.PendingEmail = email
	return c.sendEmailToken(ctx, u)
}

// provePassword checks the current password of a user who has one. It takes long, so callers
// call it outside of a transaction.
func (s *Service) provePassword(ctx context.Context, u *storage.User, patch *UserPatch) error {
	if !u.HasPassword() {
		return nil
	}
	if !patch.CurrentPassword.Set {
		return invalid("current_password", "required", "This field is required.")
	}
	ok, err := s.checkPassword(ctx, u, patch.CurrentPassword.Value)
	if err == nil && !ok {
		err = errWrongPassword
	}
	return err
}

// newPassword checks a new password and returns its hash. It takes long, so callers call it
// outside of a transaction.
func (s *Service) newPassword(ctx context.Context, u *storage.User, password string) (string, error) {
	if err := s.passwords.Check(password, u.Email, u.FirstName, u.LastName); err != nil {
		return "", invalid("password", "invalid_input", "%s", err)
	}
	return s.passwords.Hash(ctx, password)
}

func (c *userChange) changePassword(ctx context.Context, u *storage.User) error {
	if u.ID == c.by.User.ID && u.PasswordHash != c.oldHash {
		return errWrongPassword // it has changed since
	}
	return c.setPassword(ctx, u, c.hash)
}

var errEmailTaken = invalid("email", "unique", "There is already an account with this email address.")
