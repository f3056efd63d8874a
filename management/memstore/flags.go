package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// Flag implements [management.FlagStore].
func (a *accounts) Flag(ctx context.Context, project, id int64) (*management.FeatureFlag, error) {
	return one(ctx, a.tables().flags, "flag", isFlag(project, id))
}

// FlagByKey implements [management.FlagStore].
func (a *accounts) FlagByKey(ctx context.Context, project int64, key string) (*management.FeatureFlag, error) {
	return one(ctx, a.tables().flags, "flag", func(f *management.FeatureFlag) bool {
		return f.Project == project && f.Key == key && !f.Deleted
	})
}

// Flags implements [management.FlagStore].
func (a *accounts) Flags(ctx context.Context, project int64) ([]management.FeatureFlag, error) {
	return all(ctx, a.tables().flags, func(f *management.FeatureFlag) bool { return f.Project == project && !f.Deleted })
}

// FindFlags implements [management.FlagStore].
func (a *accounts) FindFlags(ctx context.Context, project int64, filter management.FlagFilter, limit, offset int) ([]management.FeatureFlag, int, error) {
	list, err := all(ctx, a.tables().flags, func(f *management.FeatureFlag) bool {
		return f.Project == project && !f.Deleted && f.Kind == management.FlagOrdinary &&
			(filter.Active == nil || *filter.Active == f.Active) &&
			(filter.Archived == nil || *filter.Archived == f.Archived) &&
			(filter.Key == "" || strings.EqualFold(filter.Key, f.Key))
	})
	slices.SortFunc(list, func(a, b management.FeatureFlag) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return int(b.ID - a.ID)
	})
	return page(list, limit, offset), len(list), err
}

// CreateFlag implements [management.FlagStore].
func (a *accounts) CreateFlag(ctx context.Context, f *management.FeatureFlag) error {
	return a.change(ctx, func(t *tables) error {
		row := *f
		row.ID, row.LastCalled = t.lastFlag+1, nil
		if err := t.admitFlag(&row); err != nil {
			return err
		}
		t.flags.add(row)
		t.lastFlag, f.ID = row.ID, row.ID
		t.bump(row.Project)
		return nil
	})
}

// UpdateFlag implements [management.FlagStore].
func (a *accounts) UpdateFlag(ctx context.Context, f *management.FeatureFlag) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitFlag(f); err != nil {
			return err
		}
		changed := t.flags.edit(isFlag(f.Project, f.ID), func(row *management.FeatureFlag) {
			called := row.LastCalled
			*row = *f
			row.LastCalled = called
		})
		if changed == 0 {
			return missing("flag")
		}
		t.bump(f.Project)
		return nil
	})
}

// admitFlag returns an error if a flag cannot be among the others.
func (t *tables) admitFlag(f *management.FeatureFlag) error {
	clash := func(other *management.FeatureFlag) bool {
		return other.ID != f.ID && other.Project == f.Project && other.Key == f.Key && !other.Deleted
	}
	switch {
	case !f.Deleted && t.flags.has(clash):
		return taken("flag with this key")
	case !t.projects.has(isProject(f.Project)):
		return missing("project")
	}
	return t.needAuthors(f.CreatedBy, f.ModifiedBy)
}

// DeleteFlag implements [management.FlagStore].
func (a *accounts) DeleteFlag(ctx context.Context, project, id int64) error {
	return a.change(ctx, func(t *tables) error {
		if t.flags.remove(isFlag(project, id)) == 0 {
			return missing("flag")
		}
		t.earlyAccess.remove(func(f *management.EarlyAccessFeature) bool { return f.Flag == id })
		for _, at := range []func(*management.Survey) **int64{
			func(s *management.Survey) **int64 { return &s.LinkedFlag },
			func(s *management.Survey) **int64 { return &s.TargetingFlag },
			func(s *management.Survey) **int64 { return &s.InternalFlag },
			func(s *management.Survey) **int64 { return &s.SamplingFlag },
		} {
			t.surveys.edit(
				func(s *management.Survey) bool { return *at(s) != nil && **at(s) == id },
				func(s *management.Survey) { *at(s) = nil },
			)
		}
		t.bump(project)
		return nil
	})
}

// lastCall returns when a flag was called if calls say something new of that.
func lastCall(f *management.FeatureFlag, calls []management.FlagCall) *time.Time {
	for _, c := range calls {
		if c.Project == f.Project && c.Key == f.Key && !f.Deleted && (f.LastCalled == nil || c.At.Sub(*f.LastCalled) > management.LastCalledStep) {
			return &c.At
		}
	}
	return nil
}

func isFlag(project, id int64) func(*management.FeatureFlag) bool {
	return func(f *management.FeatureFlag) bool { return f.Project == project && f.ID == id }
}

// needFlag returns an error if a project has no flag with an ID; nil is none.
func (t *tables) needFlag(project int64, id *int64) error {
	if id != nil && !t.flags.has(isFlag(project, *id)) {
		return missing("flag")
	}
	return nil
}

// needAuthors returns an error if one of the users does not exist; nil is nobody.
func (t *tables) needAuthors(ids ...*int64) error {
	for _, id := range ids {
		if id == nil {
			continue
		}
		if err := t.needUser(*id); err != nil {
			return err
		}
	}
	return nil
}

// forgetAuthor makes what a user has made made by nobody.
func (t *tables) forgetAuthor(id int64) {
	is := func(author *int64) bool { return author != nil && *author == id }
	t.flags.edit(
		func(f *management.FeatureFlag) bool { return is(f.CreatedBy) },
		func(f *management.FeatureFlag) { f.CreatedBy = nil },
	)
	t.flags.edit(
		func(f *management.FeatureFlag) bool { return is(f.ModifiedBy) },
		func(f *management.FeatureFlag) { f.ModifiedBy = nil },
	)
	t.cohorts.edit(
		func(c *management.Cohort) bool { return is(c.CreatedBy) },
		func(c *management.Cohort) { c.CreatedBy = nil },
	)
	t.surveys.edit(
		func(s *management.Survey) bool { return is(s.CreatedBy) },
		func(s *management.Survey) { s.CreatedBy = nil },
	)
}
