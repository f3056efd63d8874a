package management

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	maxOrganizationName = 64
	maxProjectName      = 200
	maxReason           = 200
)

// An OrganizationPatch makes or changes an organization.
type OrganizationPatch struct {
	Name                  optional.Value[string] `json:"name"`
	MemberJoinEmail       optional.Value[bool]   `json:"is_member_join_email_enabled"`
	Enforce2FA            optional.Value[bool]   `json:"enforce_2fa"`
	MembersCanInvite      optional.Value[bool]   `json:"members_can_invite"`
	MembersCanUseKeys     optional.Value[bool]   `json:"members_can_use_personal_api_keys"`
	PublicSharing         optional.Value[bool]   `json:"allow_publicly_shared_resources"`
	AIApproved            optional.Value[bool]   `json:"is_ai_data_processing_approved"`
	ExperimentStatsMethod optional.Value[string] `json:"default_experiment_stats_method"`
	DefaultAnonymizeIPs   optional.Value[bool]   `json:"default_anonymize_ips"`
}

var statsMethods = []string{"bayesian", "frequentist"}

// organizationFields is the table of the fields of an organization, which needs a name. The
// patch is nil if the table is only for the log.
func organizationFields(o *storage.Organization, patch *OrganizationPatch) field.Table {
	patch = cmp.Or(patch, new(OrganizationPatch))
	return field.Table{
		field.Plain("name", &patch.Name, &o.Name, check.RequiredIf(o.Name == "", check.UpTo(check.GroupName, maxOrganizationName))),
		field.Plain("is_member_join_email_enabled", &patch.MemberJoinEmail, &o.MemberJoinEmail, check.Bool),
		field.Nullable("enforce_2fa", &patch.Enforce2FA, &o.Enforce2FA, check.BoolOrNull),
		field.Nullable("members_can_invite", &patch.MembersCanInvite, &o.MembersCanInvite, check.BoolOrNull),
		field.Plain("members_can_use_personal_api_keys", &patch.MembersCanUseKeys, &o.MembersCanUseKeys, check.Bool),
		field.Plain("allow_publicly_shared_resources", &patch.PublicSharing, &o.PublicSharing, check.Bool),
		field.Nullable("is_ai_data_processing_approved", &patch.AIApproved, &o.AIProcessingApproved, check.BoolOrNull),
		field.Nullable("default_experiment_stats_method", &patch.ExperimentStatsMethod, &o.ExperimentStatsMethod, check.OneOfOrNull(statsMethods)),
		field.Plain("default_anonymize_ips", &patch.DefaultAnonymizeIPs, &o.AnonymizeIPs, check.Bool),
	}
}

// showOrganization shows an organization to a member.
func (w *work) showOrganization(ctx context.Context, o *storage.Organization, level int) (*OrganizationView, error) {
	projects, err := w.store.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{o.ID}))
	if err != nil {
		return nil, err
	}
	members, err := w.store.CountMembers(ctx, []uuid.UUID{o.ID})
	if err != nil {
		return nil, err
	}
	return w.organizationView(o, &level, members[o.ID], projects), nil
}

// ListOrganizations returns a page of the organizations of which the Principal's
// user is a member, in order of creation. It needs scope organization:read.
func (s *Service) ListOrganizations(ctx context.Context, p *Principal, limit, offset int) (*Page[*OrganizationView], error) {
	if err := cmp.Or(p.everywhere(), p.Require("organization:read")); err != nil {
		return nil, err
	}
	w := s.begin(p)
	all, levels, err := w.admittingOrganizations(ctx)
	if err != nil {
		return nil, err
	}
	shown := pageOf(all, limit, offset)
	ids := each(shown, func(o *storage.Organization) uuid.UUID { return o.ID })
	projects, err := w.store.Projects().List(ctx, storage.ProjectOrganization.In(ids))
	if err != nil {
		return nil, err
	}
	members, err := w.store.CountMembers(ctx, ids)
	if err != nil {
		return nil, err
	}
	return &Page[*OrganizationView]{len(all), each(shown, func(o *storage.Organization) *OrganizationView {
		return s.organizationView(o, new(levels[o.ID]), members[o.ID], projects)
	})}, nil
}

// GetOrganization returns an organization of the Principal's user. It needs scope
// organization:read.
func (s *Service) GetOrganization(ctx context.Context, p *Principal, ref string) (*OrganizationView, error) {
	w := s.begin(p)
	o, level, err := w.organizationByRef(ctx, ref, storage.LevelMember, "organization:read")
	if err != nil {
		return nil, err
	}
	return w.showOrganization(ctx, o, level)
}

// CreateOrganization makes an organization whose owner is the Principal's user.
// It needs scope organization:write.
func (s *Service) CreateOrganization(ctx context.Context, p *Principal, patch OrganizationPatch) (*OrganizationView, error) {
	if err := cmp.Or(p.everywhere(), p.Require("organization:write")); err != nil {
		return nil, err
	}
	if p.Key != nil && len(p.Key.Organizations) > 0 {
		return nil, forbidden("API key is restricted to organizations and cannot make others.")
	}
	o := storage.NewOrganization("")
	if err := applyTable(organizationFields(o, &patch)); err != nil {
		return nil, err
	}
	o.Slug, o.Created, o.Updated = storage.SlugOf(o.Name), s.now(), s.now()
	return answer(ctx, s, p, func(w *work) (*OrganizationView, error) {
		if err := w.createOrganization(ctx, o); err != nil {
			return nil, err
		}
		if err := w.store.Memberships().Create(ctx, s.newMembership(o.ID, p.User.ID, storage.LevelOwner)); err != nil {
			return nil, err
		}
		if err := w.logOrganization(ctx, o.ID, "created", nil); err != nil {
			return nil, err
		}
		return w.showOrganization(ctx, o, storage.LevelOwner)
	})
}

// createOrganization stores an organization. If another organization has its slug, it
// gets another one.
func (w *work) createOrganization(ctx context.Context, o *storage.Organization) error {
	all, err := w.store.Organizations().List(ctx)
	if err != nil {
		return err
	}
	for slices.ContainsFunc(all, func(other storage.Organization) bool { return other.Slug == o.Slug }) {
		o.Slug = storage.OtherSlug(o.Name)
	}
	return w.store.Organizations().Create(ctx, o)
}

// newMembership makes a membership.
func (s *Service) newMembership(organization uuid.UUID, user int64, level int) *storage.Membership {
	now := s.now()
	return &storage.Membership{ID: storage.NewID(), Organization: organization, User: user, Level: level, Joined: now, Updated: now}
}

// UpdateOrganization changes an organization. It needs scope organization:write
// and the level of an administrator.
func (s *Service) UpdateOrganization(ctx context.Context, p *Principal, ref string, patch OrganizationPatch) (*OrganizationView, error) {
	return answerIn(ctx, s, p, ref, storage.LevelAdmin, "organization:write", func(w *work, o *storage.Organization, level int) (*OrganizationView, error) {
		before := *o
		if err := applyTable(organizationFields(o, &patch)); err != nil {
			return nil, err
		}
		o.Updated = s.now()
		if err := w.store.Organizations().Update(ctx, o); err != nil {
			return nil, storeError(err)
		}
		changes := field.Differences("Organization", organizationFields(&before, nil), organizationFields(o, nil))
		if len(changes) > 0 {
			if err := w.logOrganization(ctx, o.ID, "updated", changes); err != nil {
				return nil, err
			}
		}
		return w.showOrganization(ctx, o, level)
	})
}

// DeleteOrganization deletes an organization with its projects and everything in them. It
// needs scope organization:write and the level of an owner.
func (s *Service) DeleteOrganization(ctx context.Context, p *Principal, ref string) error {
	return s.atomicIn(ctx, p, ref, storage.LevelOwner, "organization:write", func(w *work, o *storage.Organization, _ int) error {
		w.changed = append(w.changed, 0)
		if err := w.logOrganization(ctx, o.ID, "deleted", nil); err != nil {
			return err
		}
		return storeError(w.store.Organizations().Delete(ctx, storage.OrganizationID.Is(o.ID)))
	})
}

// A MemberView is a member of an organization as the API shows it.
type MemberView struct {
	ID            uuid.UUID  `json:"id"`
	User          MemberUser `json:"user"`
	Level         int        `json:"level"`
	JoinedAt      time.Time  `json:"joined_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	Is2FAEnabled  bool       `json:"is_2fa_enabled"`
	HasSocialAuth bool       `json:"has_social_auth"`
}

// MemberUser is what the members of an organization see of each other.
type MemberUser struct {
	ID              int64     `json:"id"`
	UUID            uuid.UUID `json:"uuid"`
	DistinctID      string    `json:"distinct_id"`
	FirstName       string    `json:"first_name"`
	LastName        string    `json:"last_name"`
	Email           string    `json:"email"`
	IsEmailVerified *bool     `json:"is_email_verified"`
}

func newMemberUser(u *storage.User) MemberUser {
	return MemberUser{u.ID, u.UUID, u.DistinctID, u.FirstName, u.LastName, u.Email, u.EmailVerified}
}

// A MemberPatch adds or changes a member.
type MemberPatch struct {
	Email     optional.Value[string] `json:"email"` // only to add a member
	FirstName optional.Value[string] `json:"first_name"`
	LastName  optional.Value[string] `json:"last_name"`
	Level     optional.Value[int]    `json:"level"`
}

// givenLevel checks the level that a change gives to a member. Callers cannot give a
// higher level than their own.
func givenLevel(o *optional.Value[int], own, otherwise int) (int, error) {
	switch {
	case o.Undecoded() != nil:
		return 0, invalid("level", "invalid_input", "A valid integer is required.")
	case o.Null:
		return 0, invalid("level", "null", "This field may not be null.")
	case !o.Set:
		return otherwise, nil
	case o.Value != storage.LevelMember && o.Value != storage.LevelAdmin && o.Value != storage.LevelOwner:
		return 0, invalid("level", "invalid_choice", "\"%d\" is not a valid choice.", o.Value)
	case o.Value > own:
		return 0, forbidden("You can only give levels up to your own.")
	}
	return o.Value, nil
}

// memberViews shows members.
func (w *work) memberViews(ctx context.Context, list []storage.Membership) ([]*MemberView, error) {
	ids := each(list, func(m *storage.Membership) int64 { return m.User })
	users, err := w.usersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	twoFactor, err := w.withTwoFactor(ctx, ids)
	if err != nil {
		return nil, err
	}
	views := []*MemberView{}
	for _, m := range list {
		u := users[m.User]
		if u == nil {
			continue
		}
		_, on := slices.BinarySearch(twoFactor, m.User)
		views = append(views, &MemberView{
			ID: m.ID, Level: m.Level, JoinedAt: m.Joined, UpdatedAt: m.Updated, Is2FAEnabled: on,
			User: newMemberUser(u),
		})
	}
	return views, nil
}

// ListMembers returns a page of the members of an organization, in order of
// joining. It needs scope organization_member:read.
func (s *Service) ListMembers(ctx context.Context, p *Principal, ref string, limit, offset int) (*Page[*MemberView], error) {
	w := s.begin(p)
	return listOf(ctx, w, ref, storage.LevelMember, w.store.Memberships(), storage.MembershipOrganization, w.memberViews, limit, offset)
}

// listOf returns a page of what all lists of an organization.
func listOf[R, V any](
	ctx context.Context, w *work, ref string, least int, all storage.Table[R], of storage.Field[R, uuid.UUID], views func(context.Context, []R) ([]V, error), limit, offset int,
) (*Page[V], error) {
	o, _, err := w.organizationByRef(ctx, ref, least, "organization_member:read")
	if err != nil {
		return nil, err
	}
	list, total, err := all.Page(ctx, max(limit, 0), max(offset, 0), of.Is(o.ID))
	if err != nil {
		return nil, err
	}
	shown, err := views(ctx, list)
	if err != nil {
		return nil, err
	}
	return &Page[V]{total, shown}, nil
}

// AddMember makes the user with an e-mail address a member of an organization, if the
// Principal has the rights of staff. If no user has the address, it makes an account
// without a password and keys. Other Principals invite the address instead, see
// [Service.Invite]. One of the two results is nil. AddMember needs scope
// organization_member:write and the level of an administrator.
func (s *Service) AddMember(ctx context.Context, p *Principal, ref string, patch MemberPatch) (*MemberView, *InvitationView, error) {
	if !p.staff() {
		invitation, err := s.Invite(ctx, p, ref, InvitationPatch{Email: patch.Email, FirstName: patch.FirstName, Level: patch.Level})
		return nil, invitation, renamed(err, "target_email", "email")
	}
	// The transaction asks again. Whatever is refused here costs no attempt.
	o, own, err := s.begin(p).organizationByRef(ctx, ref, storage.LevelAdmin, "organization_member:write")
	if err != nil {
		return nil, nil, err
	}
	err = judgeError(cmp.Or(
		check.Required("email", &patch.Email), check.Email("email", &patch.Email),
		check.Name("first_name", &patch.FirstName), check.Name("last_name", &patch.LastName),
	))
	if err != nil {
		return nil, nil, err
	}
	level, err := givenLevel(&patch.Level, own, storage.LevelMember)
	if err != nil {
		return nil, nil, err
	}
	mails := s.MailAvailable() && o.MemberJoinEmail
	if mails {
		if err := s.countMail(ctx, o, patch.Email.Value); err != nil {
			return nil, nil, err
		}
	}
	view, err := answerIn(ctx, s, p, ref, storage.LevelAdmin, "organization_member:write", func(w *work, o *storage.Organization, own int) (*MemberView, error) {
		if level > own { // it was lowered meanwhile
			return nil, plainForbidden
		}
		u, err := w.store.Users().Get(ctx, storage.UserEmail.Is(patch.Email.Value))
		switch {
		case errors.Is(err, ErrNotFound):
			if u, err = blankUser(NewUser{Email: patch.Email.Value, FirstName: patch.FirstName.Value, LastName: patch.LastName.Value}); err != nil {
				return nil, err
			}
			u.Joined = s.now()
			if err := w.store.Users().Create(ctx, u); err != nil {
				return nil, err
			}
			if err := w.logSecurity(ctx, u, "created"); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case !u.Active:
			return nil, invalid("email", "invalid_input", "The account with this address is not active.")
		}
		m := s.newMembership(o.ID, u.ID, level)
		if err := w.addMember(ctx, m, u); err != nil {
			return nil, err
		}
		if mails {
			w.send(s.newLetter(u, kindMemberAdded, "You are now a member of an organization",
				nameOf(p.User)+" has added you to the organization "+mailName(o.Name)+" in "+s.c.AppName+"."))
		}
		return single(w.memberViews(ctx, []storage.Membership{*m}))
	})
	return view, nil, err
}

// addMember stores and logs a membership, and makes the organization the user's current
// one if there is none.
func (w *work) addMember(ctx context.Context, m *storage.Membership, u *storage.User) error {
	if err := w.store.Memberships().Create(ctx, m); err != nil {
		if errors.Is(err, ErrConflict) {
			return errIsMember
		}
		return err
	}
	if u.CurrentOrganization == nil {
		if err := resettleUser(ctx, w.store, u); err != nil {
			return err
		}
	}
	return w.logMember(ctx, m, u, "created", nil)
}

// logMember logs a change of a membership.
func (w *work) logMember(ctx context.Context, m *storage.Membership, u *storage.User, activity string, changes []field.Change) error {
	return w.addActivity(ctx, storage.Activity{
		Organization: &m.Organization, Activity: activity, Scope: "OrganizationMembership", ItemID: m.ID.String(),
	}, field.Detail{Name: u.Email, Changes: append([]field.Change{}, changes...)})
}

// memberOf returns the member that a path names by the UUID of the user.
func (w *work) memberOf(ctx context.Context, o *storage.Organization, ref string) (*storage.Membership, *storage.User, error) {
	id, err := check.ParseID(ref)
	if ref == "@me" {
		id, err = w.by.User.UUID, nil
	}
	if err != nil {
		return nil, nil, plainNotFound
	}
	u, err := w.store.Users().Get(ctx, storage.UserUUID.Is(id))
	if err != nil {
		return nil, nil, storeError(err)
	}
	m, err := w.store.Memberships().Get(ctx, storage.MembershipOrganization.Is(o.ID), storage.MembershipUser.Is(u.ID))
	return m, u, storeError(err)
}

// keepOwner returns an error if a member is the only owner.
func (w *work) keepOwner(ctx context.Context, m *storage.Membership, detail string) error {
	if m.Level != storage.LevelOwner {
		return nil
	}
	members, err := w.store.Memberships().List(ctx, storage.MembershipOrganization.Is(m.Organization))
	if err != nil {
		return err
	}
	if countOwners(members) == 1 {
		return invalid("", "invalid_input", "%s", detail)
	}
	return nil
}

// UpdateMember changes the level of a member. It needs scope organization_member:write
// and the level of an administrator, which must not be below the member's own level.
func (s *Service) UpdateMember(ctx context.Context, p *Principal, ref, user string, patch MemberPatch) (*MemberView, error) {
	return answerIn(ctx, s, p, ref, storage.LevelAdmin, "organization_member:write", func(w *work, o *storage.Organization, own int) (*MemberView, error) {
		m, u, err := w.memberOf(ctx, o, user)
		if err != nil {
			return nil, err
		}
		if m.Level > own {
			return nil, forbidden("You cannot change members of a higher level than your own.")
		}
		level, err := givenLevel(&patch.Level, own, m.Level)
		if err != nil {
			return nil, err
		}
		if level != m.Level {
			if err := w.keepOwner(ctx, m, "An organization needs an owner."); err != nil {
				return nil, err
			}
			change := field.Change{Type: "OrganizationMembership", Field: "level", Before: m.Level, After: level, Action: "changed"}
			m.Level, m.Updated = level, s.now()
			if err := w.store.Memberships().Update(ctx, m); err != nil {
				return nil, storeError(err)
			}
			if err := w.logMember(ctx, m, u, "updated", []field.Change{change}); err != nil {
				return nil, err
			}
		}
		return single(w.memberViews(ctx, []storage.Membership{*m}))
	})
}

// RemoveMember ends a membership. Members can end their own; an administrator can end the
// membership of a member whose level is not higher. It needs scope
// organization_member:write.
func (s *Service) RemoveMember(ctx context.Context, p *Principal, ref, user string) error {
	return s.atomicIn(ctx, p, ref, storage.LevelMember, "organization_member:write", func(w *work, o *storage.Organization, own int) error {
		m, u, err := w.memberOf(ctx, o, user)
		if err != nil {
			return err
		}
		if u.ID != p.User.ID && (own < storage.LevelAdmin || m.Level > own) {
			return plainForbidden
		}
		if err := w.keepOwner(ctx, m, "Cannot leave the organization as its owner."); err != nil {
			return err
		}
		if err := w.store.Memberships().Delete(ctx, storage.MembershipOrganization.Is(o.ID), storage.MembershipUser.Is(u.ID)); err != nil {
			return storeError(err)
		}
		if err := resettleUser(ctx, w.store, u); err != nil {
			return err
		}
		return w.logMember(ctx, m, u, "deleted", nil)
	})
}

func (w *work) logOrganization(ctx context.Context, id uuid.UUID, activity string, changes []field.Change) error {
	o, err := w.store.Organizations().Get(ctx, storage.OrganizationID.Is(id))
	if err != nil {
		return storeError(err)
	}
	return w.addActivity(ctx, storage.Activity{
		Organization: &id, Activity: activity, Scope: "Organization", ItemID: id.String(),
	}, field.Detail{Name: o.Name, Changes: append([]field.Change{}, changes...)})
}

func countOwners(members []storage.Membership) int {
	n := 0
	for _, m := range members {
		if m.Level == storage.LevelOwner {
			n++
		}
	}
	return n
}
