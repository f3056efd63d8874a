package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// CohortUses is what refers to a cohort directly: flags, active or not, in the order of
// their keys, and cohorts in the order of their names.
type CohortUses struct {
	Flags   []CohortFlag `json:"flags"`
	Cohorts []CohortName `json:"cohorts"`
}

// A CohortFlag is a flag that refers to a cohort.
type CohortFlag struct {
	ID     int64  `json:"id"`
	Key    string `json:"key"`
	Active bool   `json:"active"`
	Survey bool   `json:"survey"` // it decides who gets a survey
}

// A CohortName names a cohort.
type CohortName struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// CohortUses returns what refers to each cohort of a project, by the IDs of those that
// something refers to. It needs scopes cohort:read and feature_flag:read.
func (s *Service) CohortUses(ctx context.Context, p *Principal, ref string) (map[int64]*CohortUses, error) {
	w, err := s.beginAt(ctx, p, ref, "cohort:read", "feature_flag:read")
	if err != nil {
		return nil, err
	}
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	uses := make(map[int64]*CohortUses)
	of := func(id int64) *CohortUses {
		if uses[id] == nil {
			uses[id] = &CohortUses{[]CohortFlag{}, []CohortName{}}
		}
		return uses[id]
	}
	for i := range set.flags {
		f := &set.flags[i]
		user := CohortFlag{f.ID, f.Key, f.Active && !f.Archived, f.Kind != storage.FlagOrdinary}
		for _, id := range uniqueValues(slices.Collect(f.Filters.CohortIDs())) {
			of(id).Flags = append(of(id).Flags, user)
		}
	}
	for i := range set.cohorts {
		c := &set.cohorts[i]
		if c.Static {
			continue
		}
		for _, id := range uniqueValues(slices.Collect(c.Criteria.CohortIDs())) {
			of(id).Cohorts = append(of(id).Cohorts, CohortName{c.ID, c.Name})
		}
	}
	for _, u := range uses {
		slices.SortFunc(u.Flags, func(a, b CohortFlag) int { return cmp.Compare(a.Key, b.Key) })
		slices.SortStableFunc(u.Cohorts, func(a, b CohortName) int { return cmp.Compare(a.Name, b.Name) })
	}
	return uses, nil
}
