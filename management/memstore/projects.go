package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

// Project implements [management.OrganizationStore].
func (a *accounts) Project(ctx context.Context, id int64) (*management.Project, error) {
	return one(ctx, a.tables().projects, "project", isProject(id))
}

// ProjectByKey implements [management.OrganizationStore].
func (a *accounts) ProjectByKey(ctx context.Context, apiKey string) (*management.Project, error) {
	return one(ctx, a.tables().projects, "project", func(p *management.Project) bool { return p.APIKey == apiKey })
}

// ProjectBySecret implements [management.OrganizationStore].
func (a *accounts) ProjectBySecret(ctx context.Context, hash string) (*management.Project, error) {
	return one(ctx, a.tables().projects, "project", func(p *management.Project) bool {
		return hash != "" && (p.SecretHash == hash || p.SecretPrevHash == hash)
	})
}

// ProjectsOf implements [management.OrganizationStore].
func (a *accounts) ProjectsOf(ctx context.Context, organizations []uuid.UUID) ([]management.Project, error) {
	return all(ctx, a.tables().projects, func(p *management.Project) bool { return slices.Contains(organizations, p.Organization) })
}

// Projects implements [management.OrganizationStore].
func (a *accounts) Projects(ctx context.Context) ([]management.Project, error) {
	return all(ctx, a.tables().projects, func(*management.Project) bool { return true })
}

// CreateProject implements [management.OrganizationStore].
func (a *accounts) CreateProject(ctx context.Context, p *management.Project) error {
	return a.change(ctx, func(t *tables) error {
		row := *p
		row.ID, row.IngestedEvent = t.lastProject+1, false
		if err := t.admitProject(&row); err != nil {
			return err
		}
		t.projects.add(row)
		t.bump(0)
		t.lastProject, p.ID = row.ID, row.ID
		return nil
	})
}

// UpdateProject implements [management.OrganizationStore].
func (a *accounts) UpdateProject(ctx context.Context, p *management.Project) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitProject(p); err != nil {
			return err
		}
		changed := t.projects.edit(isProject(p.ID), func(row *management.Project) {
			ingested := row.IngestedEvent
			*row = *p
			row.IngestedEvent = ingested
		})
		if changed == 0 {
			return missing("project")
		}
		t.bump(0)
		return nil
	})
}

// admitProject returns an error if a project cannot be among the others.
func (t *tables) admitProject(p *management.Project) error {
	clash := func(other *management.Project) bool {
		return other.ID != p.ID && (other.UUID == p.UUID || other.APIKey == p.APIKey || p.SecretHash != "" && other.SecretHash == p.SecretHash)
	}
	switch {
	case t.projects.has(clash):
		return taken("project with this UUID or key")
	case !t.organizations.has(isOrganization(p.Organization)):
		return missing("organization")
	}
	return nil
}

// DeleteProject implements [management.OrganizationStore].
func (a *accounts) DeleteProject(ctx context.Context, id int64) error {
	return a.change(ctx, func(t *tables) error {
		if t.deleteProjects(isProject(id)) == 0 {
			return missing("project")
		}
		return nil
	})
}

func (t *tables) deleteProjects(selected func(*management.Project) bool) int {
	gone := make(map[int64]bool)
	for _, p := range t.projects {
		if selected(p) {
			gone[p.ID] = true
			t.deleted.add(deletion{p.ID, time.Now()})
		}
	}
	if len(gone) == 0 {
		return 0
	}
	t.bump(0)
	t.flags.remove(func(f *management.FeatureFlag) bool { return gone[f.Project] })
	t.cohorts.remove(func(c *management.Cohort) bool { return gone[c.Project] })
	t.earlyAccess.remove(func(f *management.EarlyAccessFeature) bool { return gone[f.Project] })
	t.surveys.remove(func(s *management.Survey) bool { return gone[s.Project] })
	t.archived.remove(func(a *archived) bool { return gone[a.project] })
	t.scenes.remove(func(s *management.Scene) bool { return gone[s.Project] })
	t.users.edit(
		func(u *management.User) bool { return u.CurrentProject != nil && gone[*u.CurrentProject] },
		func(u *management.User) { u.CurrentProject = nil },
	)
	return t.projects.remove(selected)
}

func isProject(id int64) func(*management.Project) bool {
	return func(p *management.Project) bool { return p.ID == id }
}

// noteEvents notes that there are events of projects, and when they say that flags
// were called; newTypes are projects that have new group types.
func (a *accounts) noteEvents(ctx context.Context, events []capture.Event, newTypes map[int64]bool) error {
	projects := make(map[int64]bool)
	for i := range events {
		projects[events[i].Project] = true
	}
	calls := management.FlagCalls(events)
	first := func(p *management.Project) bool { return projects[p.ID] && !p.IngestedEvent }
	called := func(f *management.FeatureFlag) bool { return lastCall(f, calls) != nil }
	now := a.tables()
	if len(newTypes) == 0 && !now.projects.has(first) && !(len(calls) > 0 && now.flags.has(called)) {
		return nil
	}
	return a.change(ctx, func(t *tables) error {
		t.projects.edit(first, func(p *management.Project) { p.IngestedEvent = true })
		t.flags.edit(called, func(f *management.FeatureFlag) { f.LastCalled = lastCall(f, calls) })
		for project := range newTypes {
			t.bump(project)
		}
		return nil
	})
}
