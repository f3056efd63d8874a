package management

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

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

// organizationByRef returns the organization that a path names by its ID or as @current, and
// the level of the Principal's user in it. Organizations of others do not exist.
func (s *Service) organizationByRef(ctx context.Context, p *Principal, ref string, need int, scopes ...Scope) (*Organization, int, error) {
	if err := cmp.Or(p.everywhere(), p.Require(scopes...)); err != nil {
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
		return nil, 0, storeError(err)
	}
	if err := p.in(o, m.Level); err != nil {
		return nil, 0, err
	}
	if m.Level < need {
		return nil, 0, errForbidden
	}
	return o, m.Level, nil
}

// admittingOrganizations returns the organizations of the Principal's user that admit the
// Principal, in order of creation, and the user's levels.
func (s *Service) admittingOrganizations(ctx context.Context, p *Principal) ([]Organization, map[uuid.UUID]int, error) {
	memberships, err := s.store.MembershipsOf(ctx, []int64{p.User.ID})
	if err != nil {
		return nil, nil, err
	}
	levels := make(map[uuid.UUID]int)
	var ids []uuid.UUID
	for _, m := range memberships {
		levels[m.Organization] = m.Level
		ids = append(ids, m.Organization)
	}
	all, err := s.store.OrganizationsByID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(all, func(o Organization) bool { return p.in(&o, levels[o.ID]) != nil }), levels, nil
}

// inProject runs f in a transaction for the project that a path names, if the
// Principal may use it for what the scopes allow, and tells of the change.
func (s *Service) inProject(ctx context.Context, p *Principal, ref string, scopes []Scope, f func(store Store, a *ProjectAccess) error) error {
	var project int64
	err := s.store.Atomic(ctx, func(store Store) error {
		within := *s
		within.store = store
		a, err := within.Access(ctx, p, ref, scopes...)
		if err != nil {
			return err
		}
		project = a.Project.ID
		return f(store, a)
	})
	if err != nil {
		return err
	}
	s.c.OnChange(ctx, project)
	return nil
}

// inOrganization runs f in a transaction with an organization in which the
// Principal's user has a level.
func (s *Service) inOrganization(ctx context.Context, p *Principal, ref string, need int, scope Scope, f func(store Store, o *Organization, level int) error) error {
	return s.store.Atomic(ctx, func(store Store) error {
		within := *s
		within.store = store
		o, level, err := within.organizationByRef(ctx, p, ref, need, scope)
		if err != nil {
			return err
		}
		return f(store, o, level)
	})
}

// capturedProject is Access to what was captured in a project.
func (s *Service) capturedProject(ctx context.Context, p *Principal, ref string, scopes ...Scope) (*Project, error) {
	a, err := s.Access(ctx, p, ref, scopes...)
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	return a.Project, nil
}

// userByRef returns the user that a path names by a UUID or as @me, if the
// Principal may touch it (management.md §1.6).
func (s *Service) userByRef(ctx context.Context, store Store, p *Principal, ref string) (*User, error) {
	id := p.User.UUID
	if ref != "@me" {
		var err error
		id, err = parseID(ref)
		switch {
		case err == nil && id == p.User.UUID:
		case !p.User.Staff:
			return nil, errForbidden
		case err != nil:
			return nil, errNotFound
		}
	}
	u, err := store.UserByUUID(ctx, id)
	if err != nil {
		return nil, storeError(err)
	}
	if !u.Active {
		return nil, errNotFound
	}
	return u, nil
}

// ownUser is userByRef for what only the user may do, and staff may not.
func (s *Service) ownUser(ctx context.Context, store Store, p *Principal, ref string) (*User, error) {
	u, err := s.userByRef(ctx, store, p, ref)
	if err == nil && u.ID != p.User.ID {
		return nil, errForbidden
	}
	return u, err
}

// activeUser returns the current state of a user in a transaction.
func activeUser(ctx context.Context, store Store, id int64) (*User, error) {
	u, err := store.User(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, errNotFound
	}
	return u, err
}

// DefinitionsAccess is who may read the definitions of a project.
type DefinitionsAccess struct {
	Project *Project

	// Principal is nil if the key is the project's secret key.
	Principal *Principal
}

// DefinitionsAccess returns the project whose definitions a key opens: the
// project's secret key, or a personal API key with scope feature_flag:read
// (wire.md §5.1). The project is the one that ref names, as [Service.Access] has
// it, or else the one with the API key, or else the key's own; what is empty names
// none.
func (s *Service) DefinitionsAccess(ctx context.Context, key, ref, apiKey string) (*DefinitionsAccess, error) {
	if key == "" {
		return nil, errNotAuthenticated
	}
	if strings.HasPrefix(key, secretKeyPrefix) {
		p, err := s.projectBySecret(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case !namesProject(p, ref, apiKey):
			return nil, forbidden("The secret API token is that of another project.")
		}
		return &DefinitionsAccess{Project: p}, nil
	}
	principal, err := s.Authenticate(ctx, key, InHeader)
	if errors.Is(err, ErrUnauthenticated) {
		return nil, &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Personal API key is invalid."}
	}
	if err != nil {
		return nil, err
	}
	if ref == "" || ref == "@current" && apiKey != "" {
		if ref, err = s.projectRef(ctx, apiKey); err != nil {
			return nil, err
		}
	}
	a, err := s.Access(ctx, principal, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	return &DefinitionsAccess{Project: a.Project, Principal: principal}, nil
}

// namesProject reports whether a project is the one that ref or else an API key names.
func namesProject(p *Project, ref, apiKey string) bool {
	if ref == "" || ref == "@current" {
		return apiKey == "" || apiKey == p.APIKey
	}
	return ref == strconv.FormatInt(p.ID, 10)
}

// projectRef names the project with an API key for Access; without a key the current
// one.
func (s *Service) projectRef(ctx context.Context, apiKey string) (string, error) {
	if apiKey == "" {
		return "@current", nil
	}
	p, err := s.store.ProjectByKey(ctx, apiKey)
	if errors.Is(err, ErrNotFound) {
		return "", forbidden("You don't have access to the project.")
	}
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(p.ID, 10), nil
}

// projectBySecret returns the project with a secret key.
func (s *Service) projectBySecret(ctx context.Context, key string) (*Project, error) {
	const longest = 100
	wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Secret API token is invalid."}
	if len(key) > longest {
		return nil, wrong
	}
	p, err := s.store.ProjectBySecret(ctx, HashKey(key))
	if errors.Is(err, ErrNotFound) {
		return nil, wrong
	}
	return p, err
}
