package management

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A CohortPreviewPatch is a change of a cohort that is not made.
type CohortPreviewPatch struct {
	CohortPatch

	// ID is the cohort that would change. Without it, it would be made.
	ID optional.Value[int64] `json:"id"`

	// Limit is as in a PreviewPatch.
	Limit optional.Value[int] `json:"limit"`
}

// A CohortPreview is what a change of a cohort would do.
type CohortPreview struct {
	Subjects int `json:"subjects"` // distinct IDs
	Members  int `json:"members"`  // of them: those who would be members
	Joining  int `json:"joining"`  // of those: the ones who are not now
	Leaving  int `json:"leaving"`  // members now, who would be none

	// Changes are the first 100 distinct IDs that join or leave, the newest first.
	Changes []MemberChange `json:"changes"`

	// Flags are the active flags that would have another value for somebody.
	Flags []ChangedFlag `json:"flags"`
}

// A MemberChange is somebody who would join a cohort, or leave it.
type MemberChange struct {
	DistinctID string `json:"distinct_id"`
	Member     bool   `json:"member"` // after the change
}

// PreviewCohort tells what CreateCohort or UpdateCohort would do with a patch, which it
// judges as they do, for the persons of the newest events, as PreviewFlag does for flags.
// Nothing is changed or logged. It needs scopes cohort:read and person:read.
func (s *Service) PreviewCohort(ctx context.Context, p *Principal, ref string, patch CohortPreviewPatch) (*CohortPreview, error) {
	w, set, limit, err := s.beginPreview(ctx, p, ref, "cohort:read", &patch.Limit)
	if err != nil {
		return nil, err
	}
	before, after, err := w.changedCohort(ctx, set, &patch)
	if err != nil {
		return nil, err
	}
	c, err := newCohortComparison(set, before, after)
	if err != nil {
		return nil, err
	}
	if _, err := w.compareRecent(ctx, c, limit); err != nil {
		return nil, err
	}
	return c.cohortPreview(), nil
}

// PreviewCohortIDs tells what AddCohortIDs would do with a list, for the persons of the newest
// events. It reads the list to its end, and returns its error. Nothing is changed. It needs
// scopes cohort:read and person:read.
func (s *Service) PreviewCohortIDs(
	ctx context.Context, p *Principal, ref, cohort string, distinctIDs iter.Seq2[string, error],
) (*CohortPreview, error) {
	before, err := s.staticCohort(ctx, p, ref, cohort, "cohort:read")
	if err != nil {
		return nil, err
	}
	w, set, limit, err := s.beginPreview(ctx, p, ref, "cohort:read", new(optional.Value[int]))
	if err != nil {
		return nil, err
	}
	after := *before
	c, err := newCohortComparison(set, before, &after)
	if err != nil {
		return nil, err
	}
	recent, _, err := s.c.Data.RecentDistinctIDs(ctx, w.at.Project.ID, limit)
	if err != nil {
		return nil, err
	}
	c.cohort = before.ID
	if c.joining, err = s.joining(ctx, w.at.Project.ID, recent, distinctIDs); err != nil {
		return nil, err
	}
	for _, id := range recent {
		if err := s.comparePerson(ctx, w.at.Project.ID, c, id); err != nil {
			return nil, err
		}
	}
	return c.cohortPreview(), nil
}

// joining returns those of some distinct IDs whose persons have a distinct ID of a list.
func (s *Service) joining(ctx context.Context, project int64, some []string, list iter.Seq2[string, error]) (map[string]bool, error) {
	persons, err := s.c.Data.PersonIDs(ctx, project, some)
	if err != nil {
		return nil, err
	}
	byPerson := make(map[uuid.UUID][]string)
	for id, person := range persons {
		byPerson[person] = append(byPerson[person], id)
	}
	found := make(map[string]bool)
	part := make([]string, 0, uploadPart)
	flush := func() error {
		listed, err := s.c.Data.PersonIDs(ctx, project, part)
		for _, person := range listed {
			for _, id := range byPerson[person] {
				found[id] = true
			}
		}
		part = part[:0]
		return err
	}
	for id, err := range list {
		if err != nil {
			return nil, err
		}
		if part = append(part, text.Identifier(id, capture.MaxID)); len(part) == uploadPart {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return found, flush()
}

// changedCohort returns a cohort before a change, which is nil for a new one, and after it.
func (w *work) changedCohort(ctx context.Context, set *definitionSet, patch *CohortPreviewPatch) (before, after *storage.Cohort, err error) {
	c := &storage.Cohort{Project: w.at.Project.ID}
	switch id := &patch.ID; {
	case id.Undecoded() != nil:
		return nil, nil, invalid("id", "invalid_input", "A valid integer is required.")
	case id.Set && !id.Null:
		c, err = w.store.Cohorts().Get(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortID.Is(id.Value))
		if err != nil {
			return nil, nil, goneError(err, invalid("id", "does_not_exist", "Invalid pk \"%d\" - object does not exist.", id.Value))
		}
		if !c.Deleted {
			before = new(*c)
		}
	}
	if err := patch.validate(c); err != nil {
		return nil, nil, err
	}
	if err := patch.apply(c, set.references()); err != nil {
		return nil, nil, err
	}
	switch {
	case c.Static:
		return nil, nil, invalid("is_static", "invalid_input", "A static cohort is a list of persons: who is in it does not follow from a change of the cohort.")
	case c.Deleted:
		return nil, nil, invalid("deleted", "invalid_input", "A cohort that is deleted has no members.")
	}
	return before, c, nil
}

// newCohortComparison compiles a flag for the members of a cohort, and the flags that use
// the cohort, with the cohort before and after a change.
func newCohortComparison(set *definitionSet, before, after *storage.Cohort) (*comparison, error) {
	c := &comparison{transitions: make(map[[2]any]int), changes: []ValueChange{}, changedKeys: make(map[string]int), keyAfter: audienceKey}
	changed := *set
	changed.cohorts = slices.Clone(set.cohorts)
	var now, then []storage.Flag
	if before != nil {
		c.keyBefore = audienceKey
		changed.cohorts = slices.DeleteFunc(changed.cohorts, func(other storage.Cohort) bool { return other.ID == before.ID })
		refs := set.references()
		users := flagsByCohort(refs, before.ID)
		then = set.neededBy(refs, users)
		now = append(slices.Clone(then), audienceFlag(-1, audienceKey, judge.InCohort(before.ID)))
		changes := make(map[int64]bool)
		for _, f := range users {
			changes[f.ID] = true
		}
		for i := range then {
			if f := &then[i]; changes[f.ID] && f.Kind == storage.FlagOrdinary {
				c.others = append(c.others, f.Key)
			}
		}
	}
	if after.ID == 0 {
		for i := range set.cohorts {
			after.ID = max(after.ID, set.cohorts[i].ID)
		}
		after.ID++ // which no stored cohort has
	}
	changed.cohorts = append(changed.cohorts, *after)
	members := judge.InCohort(after.ID)
	if err := judge.Judge(&members, judge.Subject{Key: audienceKey}, changed.references()); err != nil {
		if judgeError(err) == err {
			return nil, err
		}
		return nil, errBehavioral
	}
	var err error
	if c.before, err = set.compile(now); err != nil {
		return nil, err
	}
	c.after, err = changed.compile(append(then, audienceFlag(-1, audienceKey, members)))
	return c, err
}

// flagsByCohort returns the active flags whose values can follow from a cohort. Some come
// more than once.
func flagsByCohort(refs *judge.References, id int64) []*flags.Flag {
	users, _ := judge.CohortUsers(refs, id)
	list := slices.Clone(users)
	for _, user := range users {
		list = append(list, dependentFlags(refs, &storage.Flag{ID: user.ID, Key: user.Key})...)
	}
	return list
}

func (c *comparison) cohortPreview() *CohortPreview {
	p := c.preview()
	v := &CohortPreview{Subjects: p.Subjects, Members: c.on, Changes: []MemberChange{}, Flags: p.OtherFlags}
	for values, n := range c.transitions {
		if values[1] == true {
			v.Joining += n
		} else if values[0] == true {
			v.Leaving += n
		}
	}
	for _, change := range p.Changes {
		if change.To == true || change.From == true {
			v.Changes = append(v.Changes, MemberChange{change.DistinctID, change.To == true})
		}
	}
	return v
}
