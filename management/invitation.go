package management

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	invitationLife = 72 * time.Hour
	maxInvitations = 1000 // of an organization
)

// An InvitationView is an invitation as the API shows it to the administrators of the
// organization. It has nothing of an account that the address may have.
type InvitationView struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"target_email"`
	FirstName string    `json:"first_name"`
	Mailed    bool      `json:"emailing_attempt_made"`
	Level     int       `json:"level"`
	Expired   bool      `json:"is_expired"`
	CreatedBy *Author   `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Link is the page that accepts, only in the answer that makes the invitation, if
	// [InvitationPatch.ShowLink] asks for it.
	Link string `json:"link,omitempty"`
}

// An InvitationPatch makes an invitation.
type InvitationPatch struct {
	Email     optional.Value[string] `json:"target_email"`
	FirstName optional.Value[string] `json:"first_name"`
	Level     optional.Value[int]    `json:"level"`

	// ShowLink asks for the link. There need be no mail then.
	ShowLink optional.Value[bool] `json:"show_link"`
}

var errNoInvitations = invalid("", "email_not_available", "Email is not available: without it only staff can add members, or others invite with show_link.")

// invitationViews shows invitations.
func (w *work) invitationViews(ctx context.Context, list []storage.Invitation) ([]*InvitationView, error) {
	authors, err := w.authors(ctx, each(list, func(v *storage.Invitation) *int64 { return &v.CreatedBy })...)
	return each(list, func(v *storage.Invitation) *InvitationView {
		return &InvitationView{
			ID: v.ID, Email: v.Email, FirstName: v.FirstName, Mailed: w.MailAvailable(), Level: v.Level, Expired: !w.now().Before(v.Expires),
			CreatedBy: basicUser(authors, &v.CreatedBy), CreatedAt: v.Created, UpdatedAt: v.Created,
		}
	}), err
}

// ListInvitations returns a page of the invitations of an organization that nobody has
// accepted, newest first. It needs scope organization_member:read and the level of an
// administrator.
func (s *Service) ListInvitations(ctx context.Context, p *Principal, ref string, limit, offset int) (*Page[*InvitationView], error) {
	w := s.begin(p)
	return listOf(ctx, w, ref, storage.LevelAdmin, w.store.Invitations(), storage.InvitationOrganization, w.invitationViews, limit, offset)
}

// Invite invites the reader of an e-mail address to an organization, and sends the link
// that accepts. An earlier invitation of the address becomes invalid. The answer does not
// tell whether the address has an account; it has another link if the patch asks for that,
// which does not prove the address. It needs mail or [InvitationPatch.ShowLink], scope
// organization_member:write, and the level of an administrator.
func (s *Service) Invite(ctx context.Context, p *Principal, ref string, patch InvitationPatch) (*InvitationView, error) {
	// The transaction asks again. Whatever is refused here costs no attempt.
	o, own, err := s.begin(p).organizationByRef(ctx, ref, storage.LevelAdmin, "organization_member:write")
	if err != nil {
		return nil, err
	}
	if err := judgeError(check.Bool("show_link", &patch.ShowLink)); err != nil {
		return nil, err
	}
	if !s.MailAvailable() && !patch.ShowLink.Value {
		return nil, errNoInvitations
	}
	err = judgeError(cmp.Or(
		check.Required("target_email", &patch.Email), check.Email("target_email", &patch.Email), check.Name("first_name", &patch.FirstName),
	))
	if err != nil {
		return nil, err
	}
	level, err := givenLevel(&patch.Level, own, storage.LevelMember)
	if err != nil {
		return nil, err
	}
	if err := s.countMail(ctx, o, patch.Email.Value); err != nil {
		return nil, err
	}
	mailed, _ := newToken()
	shown := shownToken(mailed)
	return answerIn(ctx, s, p, ref, storage.LevelAdmin, "organization_member:write", func(w *work, o *storage.Organization, own int) (*InvitationView, error) {
		if level > own { // it was lowered meanwhile
			return nil, plainForbidden
		}
		v := &storage.Invitation{
			ID: storage.NewID(), Organization: o.ID, Email: patch.Email.Value, FirstName: patch.FirstName.Value, Level: level,
			Hash: tokenHash(shown), CreatedBy: p.User.ID, Created: s.now(), Expires: s.now().Add(invitationLife),
		}
		if err := w.invite(ctx, v); err != nil {
			return nil, err
		}
		view, err := single(w.invitationViews(ctx, []storage.Invitation{*v}))
		if err == nil && patch.ShowLink.Value {
			view.Link = s.invitationLink(shown)
		}
		w.send(s.invitationMail(v, o, p.User, mailed))
		return view, err
	})
}

// shownToken returns the token of the link that the inviter sees. The mail has the token that
// it is made of, so that whoever has that one has read the mail.
func shownToken(mailed string) string {
	return base64.RawURLEncoding.EncodeToString(tokenHash("shown:" + mailed))
}

func (s *Service) invitationLink(token string) string { return s.c.AppURL + "/signup/" + token }

// invite stores and logs an invitation in place of an earlier one of the address. A
// member is not invited.
func (w *work) invite(ctx context.Context, v *storage.Invitation) error {
	all, err := w.store.Invitations().List(ctx, storage.InvitationOrganization.Is(v.Organization))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(old storage.Invitation) bool { return old.Email == v.Email })
	switch {
	case i >= 0:
		if err := w.store.Invitations().Delete(ctx, storage.InvitationOrganization.Is(v.Organization), storage.InvitationID.Is(all[i].ID)); err != nil {
			return err
		}
	case len(all) >= maxInvitations:
		return invalid("", "invalid_input", "An organization can have at most %d invitations. Withdraw one.", maxInvitations)
	}
	switch u, err := w.store.Users().Get(ctx, storage.UserEmail.Is(v.Email)); {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	default:
		switch _, err := w.store.Memberships().Get(ctx, storage.MembershipOrganization.Is(v.Organization), storage.MembershipUser.Is(u.ID)); {
		case err == nil:
			return errIsMember // members see each other
		case !errors.Is(err, ErrNotFound):
			return err
		}
	}
	if err := w.store.Invitations().Create(ctx, v); err != nil {
		return storeError(err)
	}
	return w.logInvitation(ctx, v, "created")
}

var errIsMember = conflict("The user is a member already.")

// invitationMail returns the message with the link that accepts an invitation. What the
// inviter has written into the invitation is not in it.
func (s *Service) invitationMail(v *storage.Invitation, o *storage.Organization, by *storage.User, token string) Message {
	return s.newLetter(&storage.User{Email: v.Email}, kindInvitation, "You are invited to an organization",
		nameOf(by)+" invites you to the organization "+mailName(o.Name)+" in "+s.c.AppName+". To accept, open this page:", "",
		s.invitationLink(token), "",
		"The link is valid for three days, until "+v.Expires.Format("2 January 2006 at 15:04 UTC")+".", "",
		"If you do not expect this, do nothing: nobody becomes a member without it.",
	)
}

// WithdrawInvitation deletes an invitation, so that its link is invalid. It needs scope
// organization_member:write and the level of an administrator.
func (s *Service) WithdrawInvitation(ctx context.Context, p *Principal, ref, invitation string) error {
	return s.atomicIn(ctx, p, ref, storage.LevelAdmin, "organization_member:write", func(w *work, o *storage.Organization, _ int) error {
		id, err := check.ParseID(invitation)
		if err != nil {
			return plainNotFound
		}
		v, err := w.store.Invitations().Get(ctx, storage.InvitationOrganization.Is(o.ID), storage.InvitationID.Is(id))
		if err != nil {
			return storeError(err)
		}
		if err := w.store.Invitations().Delete(ctx, storage.InvitationOrganization.Is(o.ID), storage.InvitationID.Is(id)); err != nil {
			return storeError(err)
		}
		return w.logInvitation(ctx, v, "deleted")
	})
}

// logInvitation logs what has happened to an invitation.
func (w *work) logInvitation(ctx context.Context, v *storage.Invitation, activity string) error {
	changes := []field.Change{}
	if activity == "created" {
		changes = append(changes, field.Change{Type: "OrganizationInvite", Field: "level", Before: nil, After: v.Level, Action: "created"})
	}
	return w.addActivity(ctx, storage.Activity{
		Organization: &v.Organization, Activity: activity, Scope: "OrganizationInvite", ItemID: v.ID.String(),
	}, field.Detail{Name: v.Email, Changes: changes})
}

// An InvitationOffer is what the reader of the mail learns of an invitation.
type InvitationOffer struct {
	ID           uuid.UUID `json:"id"`
	Email        string    `json:"target_email"`
	FirstName    string    `json:"first_name"`
	Organization string    `json:"organization_name"`

	// HasAccount says that the address has an account, which becomes a member.
	// Otherwise to accept makes one.
	HasAccount bool `json:"has_account"`
}

// An Acceptance has the fields of the account that an invitation makes. An account that
// exists ignores them.
type Acceptance struct {
	FirstName optional.Value[string] `json:"first_name"` // default: the invitation's
	LastName  optional.Value[string] `json:"last_name"`
	Password  optional.Value[string] `json:"password"`
}

var errInvitation = invalid("token", "invalid_token", "This invitation is invalid or has expired.")

// maxToken is how long the token of a link may be, in bytes.
const maxToken = 100

// invited is an invitation that can be accepted.
type invited struct {
	*storage.Invitation
	organization *storage.Organization
	user         *storage.User // with the address; nil: there is none
	mailed       bool          // the token comes from the mail, and proves the address
}

// invitation returns the invitation with a token. The inviter must still be allowed to
// invite, so that no former administrator comes back.
func (w *work) invitation(ctx context.Context, token string) (*invited, error) {
	if len(token) > maxToken {
		return nil, errInvitation
	}
	// The index finds the hash and not the token, so the time tells nothing of tokens.
	v, err := w.store.Invitations().Get(ctx, storage.InvitationHash.Is(tokenHash(token)))
	mailed := errors.Is(err, ErrNotFound)
	if mailed {
		v, err = w.store.Invitations().Get(ctx, storage.InvitationHash.Is(tokenHash(shownToken(token))))
	}
	if err != nil {
		return nil, goneError(err, errInvitation)
	}
	if !w.now().Before(v.Expires) {
		return nil, errInvitation
	}
	by, err := w.store.Users().Get(ctx, storage.UserID.Is(v.CreatedBy))
	if err != nil {
		return nil, goneError(err, errInvitation)
	}
	m, err := w.store.Memberships().Get(ctx, storage.MembershipOrganization.Is(v.Organization), storage.MembershipUser.Is(by.ID))
	if err != nil {
		return nil, goneError(err, errInvitation)
	}
	if !by.Active || m.Level < max(storage.LevelAdmin, v.Level) {
		return nil, errInvitation
	}
	o, err := w.store.Organizations().Get(ctx, storage.OrganizationID.Is(v.Organization))
	if err != nil {
		return nil, goneError(err, errInvitation)
	}
	u, err := w.store.Users().Get(ctx, storage.UserEmail.Is(v.Email))
	switch {
	case errors.Is(err, ErrNotFound):
		u = nil
	case err != nil:
		return nil, err
	case !u.Active:
		return nil, errInvitation
	}
	return &invited{v, o, u, mailed}, nil
}

// goneError returns another error in place of ErrNotFound.
func goneError(err, gone error) error {
	if errors.Is(err, ErrNotFound) {
		return gone
	}
	return err
}

// OpenInvitation returns the invitation with a token, which stays valid.
func (s *Service) OpenInvitation(ctx context.Context, token string) (*InvitationOffer, error) {
	v, err := s.begin(nil).invitation(ctx, token)
	if err != nil {
		return nil, err
	}
	return &InvitationOffer{v.ID, v.Email, v.FirstName, v.organization.Name, v.user != nil}, nil
}

// AcceptInvitation makes the account with the invited address a member, or a new account
// with that address (management.md §8.5), and uses the invitation up. The Principal is nil
// if the caller is not known. Otherwise it must be the account, with scope user:write. An
// account that has not verified its address accepts only as a Principal, since the reader
// of the mail may be somebody else; so does every account with a link that was shown.
func (s *Service) AcceptInvitation(ctx context.Context, p *Principal, token string, a Acceptance) (*MemberView, error) {
	if p != nil {
		if err := p.changesUsers(); err != nil {
			return nil, err
		}
	}
	v, err := s.begin(p).invitation(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := v.acceptableBy(p); err != nil {
		return nil, err
	}
	var created *storage.User
	if v.user == nil {
		if created, err = s.invitedUser(ctx, v, a); err != nil { // takes too long for a transaction
			return nil, err
		}
	}
	return answer(ctx, s, p, func(w *work) (*MemberView, error) {
		v, err := w.invitation(ctx, token)
		if err != nil {
			return nil, err
		}
		if err := v.acceptableBy(p); err != nil {
			return nil, err
		}
		u := v.user
		if u == nil {
			if created == nil { // the account was deleted meanwhile
				return nil, errInvitation
			}
			u = new(*created)
			if err := w.store.Users().Create(ctx, u); err != nil {
				return nil, err
			}
		}
		w.by = &Principal{User: u}
		if v.user == nil {
			if err := w.logSecurity(ctx, u, "created"); err != nil {
				return nil, err
			}
		}
		m := s.newMembership(v.Organization, u.ID, v.Level)
		if err := w.addMember(ctx, m, u); err != nil {
			return nil, err
		}
		if err := w.store.Invitations().Delete(ctx, storage.InvitationOrganization.Is(v.Organization), storage.InvitationID.Is(v.ID)); err != nil {
			return nil, err
		}
		if err := w.logInvitation(ctx, v.Invitation, "accepted"); err != nil {
			return nil, err
		}
		return single(w.memberViews(ctx, []storage.Membership{*m}))
	})
}

// acceptableBy returns an error if a caller cannot accept the invitation.
func (v *invited) acceptableBy(p *Principal) error {
	switch {
	case p != nil && (v.user == nil || v.user.ID != p.User.ID):
		return invalid("", "invalid_recipient", "This invitation is for another email address.")
	case p == nil && v.user != nil && !v.mailed:
		return invalid("", "not_verified", "There is an account with this address. Accept as its user.")
	case p == nil && v.user != nil && v.user.EmailVerified != nil && !*v.user.EmailVerified:
		return invalid("", "not_verified", "The account with this address has not verified it. Accept with a personal API key of the account.")
	}
	return nil
}

// invitedUser returns the account that an invitation makes, which is not stored yet. The
// token of a mail proves its address.
func (s *Service) invitedUser(ctx context.Context, v *invited, a Acceptance) (*storage.User, error) {
	if !a.FirstName.Set {
		a.FirstName = optional.Of(v.FirstName)
	}
	err := judgeError(cmp.Or(
		check.Name("first_name", &a.FirstName), check.Name("last_name", &a.LastName),
		check.Required("password", &a.Password), check.PasswordText("password", &a.Password),
	))
	if err != nil {
		return nil, err
	}
	u, err := blankUser(NewUser{Email: v.Email, FirstName: a.FirstName.Value, LastName: a.LastName.Value})
	if err != nil {
		return nil, err
	}
	if u.PasswordHash, err = s.newPassword(ctx, u, a.Password.Value); err != nil {
		return nil, err
	}
	u.Joined, u.EmailVerified = s.now(), &v.mailed
	return u, nil
}

// mailName returns a name for the text of a mail. Programs that show mail make links of
// domains, and none of a dot before a blank.
func mailName(name string) string {
	return strings.TrimSpace(strings.NewReplacer(". ", ". ", ".", ". ").Replace(name))
}

// countMail counts a mail to an address that a member of an organization causes.
func (s *Service) countMail(ctx context.Context, o *storage.Organization, address string) error {
	if err := s.throttle(ctx, mailFrom(o.ID), organizationMails); err != nil {
		return err
	}
	return s.throttle(ctx, mailTo(address), addressMails)
}

// mailTo and mailFrom are the buckets that count mail to an address, and mail that the
// members of an organization cause. Notices about an account to its own address are in
// none: six other mails could hide them.
func mailTo(address string) string           { return "mail:to:" + storage.HashKey(address) }
func mailFrom(organization uuid.UUID) string { return "mail:from:" + organization.String() }
