package management

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// How often it is looked whether cohorts are to be counted, and how long a count
// is good.
const (
	cohortsEvery = time.Minute
	countLasts   = time.Hour
)

// keepCohorts counts cohorts until ctx ends. Of several processes one at a time
// does.
func (s *Service) keepCohorts(ctx context.Context) {
	if s.c.Data == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.uncounted:
		case <-timer.C:
		}
		if err := s.lead(ctx, "cohorts", s.CountCohorts); err != nil && ctx.Err() == nil {
			s.c.Log.ErrorContext(ctx, "cohorts are not counted", "error", err)
		}
		timer.Reset(cohortsEvery)
	}
}

// countSoon makes Run count a cohort soon, if that is to be done.
func (s *Service) countSoon(c *CohortView) {
	if !c.IsCalculating {
		return
	}
	select {
	case s.uncounted <- struct{}{}:
	default: // it will look anyway
	}
}

// CountCohorts counts the members of the cohorts of all projects that were not
// counted within the last hour, or not since their criteria have changed. For
// dynamic ones it evaluates all persons of the project, once for all of its cohorts,
// while nobody waits for it. Run calls it.
func (s *Service) CountCohorts(ctx context.Context) error {
	if s.c.Data == nil {
		return nil
	}
	due, err := s.c.Store.Cohorts().List(ctx, storage.CohortDeleted.Is(false), storage.CohortCalculated.Before(s.now().Add(-countLasts)))
	if err != nil {
		return err
	}
	var errs []error
	for len(due) > 0 {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		n := slices.IndexFunc(due, func(c storage.Cohort) bool { return c.Project != due[0].Project })
		if n < 0 {
			n = len(due)
		}
		if err := s.countProject(ctx, due[:n]); err != nil {
			errs = append(errs, fmt.Errorf("management: cohorts of project %d: %w", due[0].Project, err))
		}
		due = due[n:]
	}
	return errors.Join(errs...)
}

// countProject counts cohorts of one project.
func (s *Service) countProject(ctx context.Context, list []storage.Cohort) error {
	w := s.begin(nil)
	project, err := w.store.Projects().Get(ctx, storage.ProjectID.Is(list[0].Project))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w.at = &ProjectAccess{Project: project}
	at := s.now()
	counts := make([]*int, len(list))
	for i := range list {
		if c := &list[i]; c.Static {
			n, err := s.c.Data.CountCohort(ctx, c.Project, c.ID)
			if err != nil {
				return err
			}
			counts[i] = &n
		}
	}
	m, err := w.cohortMembership(ctx, list)
	if err != nil {
		return err
	}
	if len(m.keys) > 0 {
		for key := range m.keys {
			counts[m.keys[key]] = new(0)
		}
		if err := s.eachMember(ctx, m, func(_ *storage.Person, i int) { *counts[i]++ }); err != nil {
			return err
		}
	}
	for i := range list {
		if err := s.storeCount(ctx, &list[i], counts[i], at); err != nil {
			return err
		}
	}
	return nil
}

// storeCount stores a count, unless what was counted has changed meanwhile.
func (s *Service) storeCount(ctx context.Context, counted *storage.Cohort, count *int, at time.Time) error {
	return s.atomic(ctx, nil, func(w *work) error {
		c, err := w.store.Cohorts().Get(ctx, storage.CohortProject.Is(counted.Project), storage.CohortID.Is(counted.ID))
		if errors.Is(err, ErrNotFound) || err == nil && (c.Deleted || !normal.SameCriteria(c.Criteria, counted.Criteria)) {
			return nil
		}
		if err != nil {
			return err
		}
		return w.store.Cohorts().Touch(ctx, &storage.Cohort{Project: c.Project, ID: c.ID, Count: count, Calculated: new(at)})
	})
}

// A memberFinder tells which persons are members of dynamic cohorts of a project.
type memberFinder struct {
	project  int64
	snapshot *flags.Snapshot
	keys     map[string]int // of flags that members have, to numbers of cohorts
}

// cohortMembership compiles the dynamic ones of some cohorts of a project. It
// leaves out cohorts that no flag could use, such as behavioral ones, because their
// members are unknown here.
func (w *work) cohortMembership(ctx context.Context, list []storage.Cohort) (*memberFinder, error) {
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	m := &memberFinder{project: w.at.Project.ID, keys: make(map[string]int)}
	var members []storage.Flag
	refs := set.references()
	for i := range list {
		if list[i].Static {
			continue
		}
		key := "members of cohort " + strconv.FormatInt(list[i].ID, 10)
		filters := judge.InCohort(list[i].ID)
		if err := judge.Judge(&filters, judge.Subject{Key: key}, refs); err != nil {
			if judgeError(err) == err {
				return nil, err
			}
			continue
		}
		m.keys[key] = i
		members = append(members, audienceFlag(int64(i)+1, key, filters))
	}
	m.snapshot, err = set.compile(members)
	return m, err
}

// eachMember calls visit for each person and each cohort, by its number, that it is
// a member of.
func (s *Service) eachMember(ctx context.Context, m *memberFinder, visit func(p *storage.Person, cohort int)) error {
	return s.eachPerson(ctx, m.project, m.snapshot, slices.Collect(maps.Keys(m.keys)), func(p *storage.Person, results *flags.Results) {
		for key, i := range m.keys {
			if flagValue(results, key) == true {
				visit(p, i)
			}
		}
	})
}
