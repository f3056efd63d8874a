package management

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// First says what [Bootstrap] creates. Empty fields have defaults.
type First struct {
	Organization string // name; default "Default organization"
	Project      string // name; default "Default project"
	APIKey       string // project API key; default a random one
	SecretKey    string // project secret key; default a random one
}

// Created is what [Bootstrap] created. The secret key is nowhere else.
type Created struct {
	Organization Organization
	Project      Project
	SecretKey    string
}

// Bootstrap creates an organization and a project with its keys if the store has
// no organization. It returns nil if it has one. If several processes start on
// one empty store, one of them creates and the others get nil.
func Bootstrap(ctx context.Context, s OrganizationStore, f First) (*Created, error) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	secret := cmp.Or(f.SecretKey, NewSecretKey())
	c := &Created{
		Organization: Organization{
			ID: newID(), Name: cmp.Or(f.Organization, "Default organization"), Slug: "default", Created: now, Updated: now,
		},
		SecretKey: secret,
	}
	c.Project = Project{
		UUID: newID(), Organization: c.Organization.ID, Name: cmp.Or(f.Project, "Default project"),
		APIKey: cmp.Or(f.APIKey, NewProjectKey()), SecretHash: HashKey(secret), Timezone: "UTC", Created: now, Updated: now,
	}
	created, err := s.CreateFirst(ctx, &c.Organization, &c.Project)
	if err != nil || !created {
		return nil, err
	}
	return c, nil
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
