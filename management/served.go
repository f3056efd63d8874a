package management

import (
	"context"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// checkServed returns an error if the flags of the project do not come from the Store,
// so that a change of them would change nothing for clients.
func (w *work) checkServed() error {
	if served, origin := w.c.Pinned(w.at.Project.ID); served != nil {
		return conflict("The flags of this project are served from %s, so that they cannot be changed here: change them there.", origin)
	}
	return nil
}

// definitionScopes are the scopes of changes of flags and of what belongs to them.
var definitionScopes = []Scope{"feature_flag:write", "early_access_feature:write"}

// serve makes the work read the flags that are served for its project.
func (w *work) serve(scopes []Scope) error {
	served, _ := w.c.Pinned(w.at.Project.ID)
	if served == nil {
		return nil
	}
	if slices.ContainsFunc(scopes, func(s Scope) bool { return slices.Contains(definitionScopes, s) }) {
		return w.checkServed()
	}
	w.store = newPinnedStore(w.store, w.at.Project, served)
	return nil
}

// A pinnedStore is a Store that reads the flags and cohorts of a project from
// definitions. It does not change them.
type pinnedStore struct {
	storage.Store
	project *storage.Project
	flags   []storage.Flag
	cohorts []storage.Cohort
	types   map[int]string
}

func newPinnedStore(store storage.Store, p *storage.Project, d *flags.Definitions) *pinnedStore {
	s := &pinnedStore{Store: store, project: p, types: d.GroupTypes}
	for i := range d.Flags {
		f := &d.Flags[i]
		if f.Deleted {
			continue
		}
		s.flags = append(s.flags, *storage.FlagOf(p.ID, p.Created, f))
	}
	for id, c := range d.Cohorts {
		s.cohorts = append(s.cohorts, storage.Cohort{ID: id, Project: p.ID, Static: c.Stored, Criteria: c.Properties, Created: p.Created})
	}
	slices.SortFunc(s.cohorts, func(a, b storage.Cohort) int { return int(a.ID - b.ID) })
	return s
}

func (s *pinnedStore) Flag(_ context.Context, _, id int64) (*storage.Flag, error) {
	return find(s.flags, func(f *storage.Flag) bool { return f.ID == id })
}

func (s *pinnedStore) FlagByKey(_ context.Context, _ int64, key string) (*storage.Flag, error) {
	return find(s.flags, func(f *storage.Flag) bool { return f.Key == key })
}

func (s *pinnedStore) Flags(context.Context, int64) ([]storage.Flag, error) {
	return slices.Clone(s.flags), nil
}

func (s *pinnedStore) FlagDefinitions(ctx context.Context, project int64) ([]storage.Flag, error) {
	return s.Flags(ctx, project)
}

func (s *pinnedStore) FindFlags(_ context.Context, _ int64, filter storage.FlagFilter, limit, offset int) ([]storage.Flag, int, error) {
	list := slices.DeleteFunc(slices.Clone(s.flags), func(f storage.Flag) bool {
		return filter.Active != nil && f.Active != *filter.Active || filter.Archived != nil && f.Archived != *filter.Archived ||
			filter.Key != "" && !strings.EqualFold(f.Key, filter.Key)
	})
	slices.Reverse(list)
	return pageOf(list, limit, offset), len(list), nil
}

// FlagVersion and FlagVersions know the version that is served.
func (s *pinnedStore) FlagVersion(_ context.Context, _, id int64, version int) (*storage.Flag, error) {
	return find(s.flags, func(f *storage.Flag) bool { return f.ID == id && f.Version == version })
}

func (s *pinnedStore) FlagVersions(ctx context.Context, project, id int64, limit, offset int) ([]storage.Flag, int, error) {
	f, err := s.Flag(ctx, project, id)
	if err != nil {
		return nil, 0, nil
	}
	return pageOf([]storage.Flag{*f}, limit, offset), 1, nil
}

func (s *pinnedStore) Cohort(_ context.Context, _, id int64) (*storage.Cohort, error) {
	return find(s.cohorts, func(c *storage.Cohort) bool { return c.ID == id })
}

func (s *pinnedStore) Cohorts(context.Context, int64) ([]storage.Cohort, error) {
	return slices.Clone(s.cohorts), nil
}

func (s *pinnedStore) GroupTypes(context.Context, int64) (map[int]string, error) { return s.types, nil }

// find returns a copy of the first element that is wanted, or ErrNotFound.
func find[T any](list []T, wanted func(*T) bool) (*T, error) {
	for i := range list {
		if wanted(&list[i]) {
			return new(list[i]), nil
		}
	}
	return nil, ErrNotFound
}
