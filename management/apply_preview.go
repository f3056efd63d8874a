package management

import (
	"context"
	"iter"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// PreviewApply tells what [Service.ApplyDefinitions] would do, and for the persons of the newest
// events whose values would change, as [Service.PreviewImport] does: OtherFlags of the preview are
// the flags that change for somebody, those included that depend on what the document changes. The
// preview is nil if no flag that is or was on can change. Nothing is changed. It needs scopes
// feature_flag:write and person:read.
func (s *Service) PreviewApply(ctx context.Context, p *Principal, ref string, document []byte, o ApplyOptions) (*ApplyReport, *FlagPreview, error) {
	scopes := []Scope{"feature_flag:write", "person:read"}
	w, err := s.beginAt(ctx, p, ref, scopes...)
	if err != nil {
		return nil, nil, err
	}
	o.DryRun = true
	i, report, err := s.apply(ctx, p, document, o, func(w *work) error { return w.enter(ctx, ref, scopes...) })
	if err != nil {
		return nil, nil, err
	}
	c := &comparison{others: i.concerned(), transitions: make(map[[2]any]int), changedKeys: make(map[string]int)}
	if len(c.others) == 0 {
		return report, nil, nil
	}
	before := &i.apply.before
	if c.before, err = before.compile(before.flags); err != nil {
		return nil, nil, err
	}
	if c.after, err = i.set.recompile(i.set.flags, c.before); err != nil {
		return nil, nil, err
	}
	v, err := w.previewRecent(ctx, c)
	return report, v, err
}

// previewRecent counts for whom of the distinct IDs of the newest events one of the other flags of
// a comparison changes, for a thousand or, if there are many flags, fewer.
func (w *work) previewRecent(ctx context.Context, c *comparison) (*FlagPreview, error) {
	since, err := w.compareRecent(ctx, c, min(paritySubjects, max(maxParityValues/len(c.others), 1)))
	if err != nil {
		return nil, err
	}
	v := c.preview()
	v.Changed, v.Since = c.concerned, since
	return v, nil
}

// concerned returns the keys of the flags that were or are in force, and whose values can follow
// from what was applied.
func (i *importer) concerned() (keys []string) {
	moved, cohorts := make(map[int64]bool), make(map[int64]bool)
	for _, f := range i.apply.flags {
		moved[f.after.ID] = true
	}
	criteria := make(map[int64]*storage.Cohort)
	for n := range i.apply.before.cohorts {
		criteria[i.apply.before.cohorts[n].ID] = &i.apply.before.cohorts[n]
	}
	for n := range i.set.cohorts {
		c := &i.set.cohorts[n]
		if was := criteria[c.ID]; was != nil && !normal.SameCriteria(was.Criteria, c.Criteria) {
			cohorts[c.ID] = true
		}
	}
	spread(i.set.cohorts, cohorts, func(c *storage.Cohort) (int64, bool) { return c.ID, anyOf(c.Criteria.CohortIDs(), cohorts) })
	refs := i.set.references()
	spread(i.set.flags, moved, func(f *storage.Flag) (int64, bool) {
		if anyOf(f.Filters.CohortIDs(), cohorts) {
			return f.ID, true
		}
		for _, needed := range judge.Dependencies(refs, &f.Filters) {
			if moved[needed.ID] {
				return f.ID, true
			}
		}
		return f.ID, false
	})
	for n := range i.set.flags {
		f := &i.set.flags[n]
		was := i.there[f.Key]
		if moved[f.ID] && f.Kind == storage.FlagOrdinary && (f.InForce() || was != nil && was.InForce()) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// spread adds to a set of IDs those of the things that follow from one in it, until there are no
// more.
func spread[T any](list []T, set map[int64]bool, follows func(*T) (id int64, ok bool)) {
	for before := -1; before != len(set); {
		before = len(set)
		for n := range list {
			if id, ok := follows(&list[n]); ok {
				set[id] = true
			}
		}
	}
}

func anyOf(ids iter.Seq[int64], set map[int64]bool) bool {
	for id := range ids {
		if set[id] {
			return true
		}
	}
	return false
}
