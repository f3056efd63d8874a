package management

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/keykind"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A ProjectAccess is a project that a Principal may use.
type ProjectAccess struct {
	Project      *storage.Project
	Organization *storage.Organization
	Level        int // of the user in the organization
}

// Access returns the project that a path names by its ID or as @current, if the
// Principal may use it for what the scopes allow (management.md §1.5).
func (s *Service) Access(ctx context.Context, p *Principal, ref string, scopes ...Scope) (*ProjectAccess, error) {
	w, err := s.beginAt(ctx, p, ref, scopes...)
	return w.at, err
}

// enter makes the project that a path names the one that the work is about, or
// returns the error of [Service.Access].
func (w *work) enter(ctx context.Context, ref string, scopes ...Scope) error {
	p, missing := w.by, notFound("Project not found.")
	var id int64
	if ref == "@current" {
		if p.User.CurrentProject == nil {
			return missing
		}
		id = *p.User.CurrentProject
	} else {
		var err error
		if id, err = strconv.ParseInt(ref, 10, 64); err != nil || id <= 0 || strconv.FormatInt(id, 10) != ref {
			return missing
		}
	}
	project, err := w.store.Projects().Get(ctx, storage.ProjectID.Is(id))
	if err != nil {
		return goneError(err, missing)
	}
	organization, err := w.store.Organizations().Get(ctx, storage.OrganizationID.Is(project.Organization))
	if err != nil { // deleted just now
		return goneError(err, missing)
	}
	m, err := w.store.Memberships().Get(ctx, storage.MembershipOrganization.Is(organization.ID), storage.MembershipUser.Is(p.User.ID))
	if err != nil { // nobody learns which projects others have
		return goneError(err, missing)
	}
	if p.Key != nil && len(p.Key.Projects) > 0 && !slices.Contains(p.Key.Projects, id) {
		return forbidden("API key does not have access to project %d.", id)
	}
	if err := cmp.Or(p.in(organization, m.Level), p.Require(scopes...)); err != nil {
		return err
	}
	w.at = &ProjectAccess{project, organization, m.Level}
	if slices.ContainsFunc(scopes, func(s Scope) bool { return slices.Contains(definitionScopes, s) }) {
		return w.checkChangeable()
	}
	return nil
}

// capturedAt is beginAt for a method about captured data, which needs Config.Data.
func (s *Service) capturedAt(ctx context.Context, p *Principal, ref string, scopes ...Scope) (*work, error) {
	w, err := s.beginAt(ctx, p, ref, scopes...)
	if err == nil && s.c.Data == nil {
		err = errNoData
	}
	return w, err
}

// organizationByRef returns the organization that a path names by its ID or as
// @current, and the level of the Principal's user in it. An organization of which
// the user is not a member does not exist for the Principal.
func (w *work) organizationByRef(ctx context.Context, ref string, need int, scopes ...Scope) (*storage.Organization, int, error) {
	p := w.by
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
		if id, err = check.ParseID(ref); err != nil {
			return nil, 0, missing
		}
	}
	m, err := w.store.Memberships().Get(ctx, storage.MembershipOrganization.Is(id), storage.MembershipUser.Is(p.User.ID))
	if err != nil {
		return nil, 0, goneError(err, missing)
	}
	o, err := w.store.Organizations().Get(ctx, storage.OrganizationID.Is(id))
	if err != nil {
		return nil, 0, storeError(err)
	}
	if err := p.in(o, m.Level); err != nil {
		return nil, 0, err
	}
	if m.Level < need {
		return nil, 0, plainForbidden
	}
	return o, m.Level, nil
}

// admittingOrganizations returns the organizations of the Principal's user that
// admit the Principal, in order of creation, and the user's level in each.
func (w *work) admittingOrganizations(ctx context.Context) ([]storage.Organization, map[uuid.UUID]int, error) {
	memberships, err := w.store.Memberships().List(ctx, storage.MembershipUser.In([]int64{w.by.User.ID}))
	if err != nil {
		return nil, nil, err
	}
	levels := make(map[uuid.UUID]int)
	var ids []uuid.UUID
	for _, m := range memberships {
		levels[m.Organization] = m.Level
		ids = append(ids, m.Organization)
	}
	all, err := w.store.Organizations().List(ctx, storage.OrganizationID.In(ids))
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(all, func(o storage.Organization) bool { return w.by.in(&o, levels[o.ID]) != nil }), levels, nil
}

// userByRef returns the user that a path names by a UUID or as @me, if the
// Principal may touch it (management.md §1.6).
func (w *work) userByRef(ctx context.Context, ref string) (*storage.User, error) {
	id := w.by.User.UUID
	if ref != "@me" {
		var err error
		id, err = check.ParseID(ref)
		switch {
		case err == nil && id == w.by.User.UUID:
		case !w.by.staff():
			return nil, plainForbidden
		case err != nil:
			return nil, plainNotFound
		}
	}
	u, err := w.store.Users().Get(ctx, storage.UserUUID.Is(id))
	if err != nil {
		return nil, storeError(err)
	}
	if !u.Active {
		return nil, plainNotFound
	}
	return u, nil
}

// ownUser is userByRef for what only the user may do, and staff may not.
func (w *work) ownUser(ctx context.Context, ref string) (*storage.User, error) {
	u, err := w.userByRef(ctx, ref)
	if err == nil && u.ID != w.by.User.ID {
		return nil, plainForbidden
	}
	return u, err
}

// activeUser returns the Principal's user as it is stored now.
func (w *work) activeUser(ctx context.Context) (*storage.User, error) {
	u, err := w.store.Users().Get(ctx, storage.UserID.Is(w.by.User.ID))
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, plainNotFound
	}
	return u, err
}

// DefinitionsAccess is a project whose definitions may be read, and by whom.
type DefinitionsAccess struct {
	Project *storage.Project

	// Principal is nil if the key is the project's secret key.
	Principal *Principal
}

// DefinitionsAccess returns the project whose definitions a key opens: the
// project's secret key, or a personal API key with scope feature_flag:read
// (wire.md §5.1). The project is the one that ref names, as [Service.Access] has
// it, or else the one with the API key, or else the key's own. An empty ref or
// API key names no project.
func (s *Service) DefinitionsAccess(ctx context.Context, key, ref, apiKey string) (*DefinitionsAccess, error) {
	if key == "" {
		return nil, errNotAuthenticated
	}
	if keykind.Of(key) == keykind.Secret {
		p, err := s.projectBySecret(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case !namesProject(p, ref, apiKey):
			return nil, forbidden("The secret API token is that of another project.")
		}
		return &DefinitionsAccess{Project: p}, nil
	}
	principal, err := s.Authenticate(ctx, key, "the Authorization header")
	if errors.Is(err, ErrUnauthenticated) {
		wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Personal API key is invalid."}
		if mistaken := keykind.Mistaken(key, "this route", keykind.Secret, keykind.Personal); mistaken != "" {
			wrong.Detail = "Personal API key is invalid: " + mistaken + "."
		}
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	if ref, err = s.ProjectRef(ctx, principal, ref, apiKey); err != nil {
		return nil, err
	}
	a, err := s.Access(ctx, principal, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	return &DefinitionsAccess{Project: a.Project, Principal: principal}, nil
}

// namesProject reports whether a project is the one that ref names, or else an API
// key.
func namesProject(p *storage.Project, ref, apiKey string) bool {
	if ref == "" || ref == "@current" {
		return apiKey == "" || apiKey == p.APIKey
	}
	return ref == strconv.FormatInt(p.ID, 10)
}

// ProjectRef returns the path element of the project that ref names, as
// [Service.DefinitionsAccess] has it: of the one with the API key where ref names none,
// and of the current project without a key. An API key of a project of others is like one
// of no project.
func (s *Service) ProjectRef(ctx context.Context, by *Principal, ref, apiKey string) (string, error) {
	switch {
	case ref != "" && ref != "@current":
		return ref, nil
	case apiKey == "":
		return "@current", nil
	}
	p, err := s.c.Store.Projects().Get(ctx, storage.ProjectKey.Is(apiKey))
	if err == nil {
		_, err = s.c.Store.Memberships().Get(ctx, storage.MembershipOrganization.Is(p.Organization), storage.MembershipUser.Is(by.User.ID))
	}
	if err != nil {
		return "", goneError(err, forbidden("You don't have access to the project."))
	}
	return strconv.FormatInt(p.ID, 10), nil
}

// projectBySecret returns the project with a secret key.
func (s *Service) projectBySecret(ctx context.Context, key string) (*storage.Project, error) {
	wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Secret API token is invalid."}
	if len(key) > maxKeyLength {
		return nil, wrong
	}
	p, err := storage.ProjectBySecret(ctx, s.c.Store, storage.HashKey(key))
	return p, goneError(err, wrong)
}
