package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var invitations = newTable(table[storage.Invitation]{
	name: "organization_invitation", noun: "an invitation", key: 1,
	fields: func(d *Dialect, v *storage.Invitation) []field {
		return []field{
			{"id", &v.ID},
			{"organization_id", &v.Organization},
			{"target_email", &v.Email},
			{"first_name", &v.FirstName},
			{"level", &v.Level},
			{"token_hash", &v.Hash},
			{"created_by_id", &v.CreatedBy},
			{"created_at", stamp{d, &v.Created}},
			{"expires_at", stamp{d, &v.Expires}},
		}
	},
})

// Invitation implements [storage.Invitations], as do the methods below.
func (a *accounts) Invitation(ctx context.Context, organization, id uuid.UUID) (*storage.Invitation, error) {
	return invitations.one(ctx, a, "WHERE organization_id = ? AND id = ?", organization.String(), id.String())
}

func (a *accounts) InvitationByToken(ctx context.Context, hash []byte) (*storage.Invitation, error) {
	return invitations.one(ctx, a, "WHERE token_hash = ?", hash)
}

func (a *accounts) Invitations(ctx context.Context, organization uuid.UUID) ([]storage.Invitation, error) {
	return invitations.list(ctx, a, "WHERE organization_id = ? ORDER BY created_at DESC, id DESC", organization.String())
}

func (a *accounts) CreateInvitation(ctx context.Context, v *storage.Invitation) error {
	return invitations.insert(ctx, a, v)
}

func (a *accounts) DeleteInvitation(ctx context.Context, organization, id uuid.UUID) error {
	return invitations.removeOne(ctx, a, "organization_id = ? AND id = ?", organization.String(), id.String())
}
