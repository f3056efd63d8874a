package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testInvitations(t *testing.T, s *suite) {
	ctx := t.Context()
	acme, other, empty := s.organization(t, "acme"), s.organization(t, "other"), s.organization(t, "empty")
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	invitation := func(o *storage.Organization, by *storage.User, email, hash string, at int) *storage.Invitation {
		return &storage.Invitation{
			ID: uuid.New(), Organization: o.ID, Email: email, Level: storage.LevelMember, Hash: append([]byte(hash), binary...), CreatedBy: by.ID,
			Created: s.now.Add(time.Duration(at) * time.Microsecond), Expires: s.now.Add(time.Hour),
		}
	}
	create := func(o *storage.Organization, by *storage.User, email, hash string, at int) *storage.Invitation {
		t.Helper()
		v := invitation(o, by, email, hash, at)
		v.FirstName = "Zoë"
		must(t, s.Invitations().Create(ctx, v))
		return v
	}
	first, last := create(acme, ann, "zoë@example.com", "1", 1), create(acme, bob, "fay@example.com", "2", 3)
	middle, elsewhere := create(acme, ann, "bob@example.com", "3", 2), create(other, ann, "zoë@example.com", "4", 0)
	wantAllSet(t, *first)
	type list = []storage.Invitation
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, v := range []*storage.Invitation{first, last, middle, elsewhere} {
				want(t, "Invitation", v)(store.Invitations().Get(ctx, storage.InvitationOrganization.Is(v.Organization), storage.InvitationID.Is(v.ID)))
				want(t, "Invitations.Get", v)(store.Invitations().Get(ctx, storage.InvitationHash.Is(v.Hash)))
			}
			want(t, "Invitations", list{*last, *middle, *first})(store.Invitations().List(ctx, storage.InvitationOrganization.Is(acme.ID)))
			want(t, "Invitations elsewhere", list{*elsewhere})(store.Invitations().List(ctx, storage.InvitationOrganization.Is(other.ID)))
		}
	}
	check()
	want(t, "Invitations of none", list(nil))(s.Invitations().List(ctx, storage.InvitationOrganization.Is(empty.ID)))
	want(t, "Invitations of no organization", list(nil))(s.Invitations().List(ctx, storage.InvitationOrganization.Is(uuid.New())))
	wantErr(t, "Invitation of another organization", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationOrganization.Is(other.ID), storage.InvitationID.Is(first.ID)))
	wantErr(t, "Invitation that does not exist", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationOrganization.Is(acme.ID), storage.InvitationID.Is(uuid.New())))
	wantErr(t, "Invitations.Get of none", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationHash.Is([]byte("1"))))
	wantErr(t, "Invitations.Get of nothing", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationHash.Is(nil)))

	again, taken := invitation(acme, bob, "new@example.com", "5", 9), invitation(acme, bob, "new@example.com", "5", 9)
	again.ID, taken.Hash = first.ID, first.Hash
	nobody, nowhere := invitation(acme, ann, "new@example.com", "6", 9), invitation(acme, ann, "new@example.com", "7", 9)
	nobody.CreatedBy, nowhere.Organization = 99, uuid.New()
	for _, tt := range []struct {
		call string
		err  error
		want error
	}{
		{"Invitations.Create of an address that has one", s.Invitations().Create(ctx, invitation(acme, bob, first.Email, "8", 9)), storage.ErrConflict},
		{"Invitations.Create with an ID that is taken", s.Invitations().Create(ctx, again), storage.ErrConflict},
		{"Invitations.Create with a token that is taken", s.Invitations().Create(ctx, taken), storage.ErrConflict},
		{"Invitations.Create by nobody", s.Invitations().Create(ctx, nobody), storage.ErrNotFound},
		{"Invitations.Create to no organization", s.Invitations().Create(ctx, nowhere), storage.ErrNotFound},
		{"Invitations.Delete of another organization", s.Invitations().Delete(ctx, storage.InvitationOrganization.Is(other.ID), storage.InvitationID.Is(first.ID)), storage.ErrNotFound},
		{"Invitations.Delete that does not exist", s.Invitations().Delete(ctx, storage.InvitationOrganization.Is(acme.ID), storage.InvitationID.Is(uuid.New())), storage.ErrNotFound},
	} {
		wantError(t, tt.call, tt.want, tt.err)
	}
	check()

	must(t, s.Invitations().Delete(ctx, storage.InvitationOrganization.Is(acme.ID), storage.InvitationID.Is(middle.ID)))
	wantErr(t, "Invitation that is deleted", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationOrganization.Is(acme.ID), storage.InvitationID.Is(middle.ID)))
	wantErr(t, "Invitations.Get that is deleted", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationHash.Is(middle.Hash)))
	wantError(t, "Invitations.Delete again", storage.ErrNotFound, s.Invitations().Delete(ctx, storage.InvitationOrganization.Is(acme.ID), storage.InvitationID.Is(middle.ID)))
	middle = create(acme, ann, middle.Email, "9", 2)
	check()

	// They end with the user and with the organization.
	must(t, s.Users().Delete(ctx, storage.UserID.Is(bob.ID)))
	want(t, "Invitations without a user", list{*middle, *first})(s.Invitations().List(ctx, storage.InvitationOrganization.Is(acme.ID)))
	must(t, s.Organizations().Delete(ctx, storage.OrganizationID.Is(acme.ID)))
	want(t, "Invitations of a deleted organization", list(nil))(s.Invitations().List(ctx, storage.InvitationOrganization.Is(acme.ID)))
	wantErr(t, "Invitations.Get of a deleted organization", storage.ErrNotFound)(s.Invitations().Get(ctx, storage.InvitationHash.Is(first.Hash)))
	want(t, "Invitations elsewhere", list{*elsewhere})(s.Invitations().List(ctx, storage.InvitationOrganization.Is(other.ID)))
}
