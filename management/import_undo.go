package management

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// ImportedIDs are the IDs of the flags and cohorts that an import has made.
type ImportedIDs struct{ Flags, Cohorts []int64 }

// An ImportPreview is what an import would do, and who would get its flags.
type ImportPreview struct {
	*ImportReport

	// Subjects is for how many of the newest distinct IDs the new flags that are on were
	// tried: a thousand, or fewer if there are many flags. Since is when the one was seen
	// that was seen least lately, nil if there are none.
	Subjects int
	Since    *time.Time

	// Changed is how many of them would get at least one of the new flags, and ByFlag how
	// many would get each, the one of the most first.
	Changed int
	ByFlag  []ChangedFlag
}

// PreviewImport tells what [Service.ImportDefinitions] would do, and for the persons of the
// newest events who would get the new flags, as [Service.PreviewFlag] does for one. Nothing
// is changed. It needs scopes feature_flag:write and person:read.
func (s *Service) PreviewImport(ctx context.Context, p *Principal, ref string, document []byte) (*ImportPreview, error) {
	scopes := []Scope{"feature_flag:write", "person:read"}
	w, err := s.beginAt(ctx, p, ref, scopes...)
	if err != nil {
		return nil, err
	}
	i, err := s.importDocument(ctx, p, document, ImportOptions{DryRun: true}, nil, func(w *work) error { return w.enter(ctx, ref, scopes...) })
	if err != nil {
		return nil, err
	}
	v := &ImportPreview{ImportReport: i.report, ByFlag: []ChangedFlag{}}
	if len(i.report.Active) == 0 {
		return v, nil
	}
	c := &comparison{others: i.report.Active, transitions: make(map[[2]any]int), changedKeys: make(map[string]int)}
	if c.before, err = i.set.recompile(nil, nil); err != nil {
		return nil, err
	}
	_, with := i.needed(i.report.Active)
	if c.after, err = flags.Compile(with, flags.CompileOptions{TimeZone: i.set.zone}); err != nil {
		return nil, fmt.Errorf("management: definitions: %w", err)
	}
	ids, since, err := s.c.Data.RecentDistinctIDs(ctx, w.at.Project.ID, min(paritySubjects, max(maxParityValues/len(i.report.Active), 1)))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := s.comparePerson(ctx, w.at.Project.ID, c, id); err != nil {
			return nil, err
		}
	}
	v.Subjects, v.Changed, v.ByFlag = c.subjects, c.concerned, c.preview().OtherFlags
	if len(ids) > 0 {
		v.Since = &since
	}
	return v, nil
}

// UndoImport deletes the flags and cohorts that an import has made, all of them or none
// (management.md §13.19). It is refused if somebody has changed or deleted one of them
// since, or if something else uses one by now. It needs the scopes of an import.
func (s *Service) UndoImport(ctx context.Context, p *Principal, ref string, made ImportedIDs) error {
	return s.atomicAt(ctx, p, ref, importScopes, func(w *work) error {
		if err := w.checkServed(); err != nil {
			return err
		}
		set, err := w.definitionSet(ctx)
		if err != nil {
			return err
		}
		list, cohorts, err := w.untouched(ctx, set, made)
		if err != nil {
			return err
		}
		world := set.world() // of what stays
		for n := range list {
			if err := cmp.Or(w.checkUnused(ctx, &list[n], world), w.deleteImported(ctx, &list[n])); err != nil {
				return err
			}
		}
		for n := range cohorts {
			before := cohorts[n]
			cohorts[n].Deleted = true
			if err := checkCohortUnused(&before, &cohorts[n], set, world); err != nil {
				return err
			}
			if err := w.saveCohort(ctx, &before, &cohorts[n]); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteImported deletes a flag that nothing uses.
func (w *work) deleteImported(ctx context.Context, before *FeatureFlag) error {
	f := *before
	f.Deleted = true
	return w.saveFlag(ctx, before, &f)
}

// untouched takes what an import has made out of a set, and returns it. The error names what
// was changed since.
func (w *work) untouched(ctx context.Context, set *definitionSet, made ImportedIDs) (list []FeatureFlag, cohorts []Cohort, err error) {
	wanted := idSet(made.Flags)
	set.flags = partition(set.flags, func(f *FeatureFlag) bool { return wanted[f.ID] }, &list)
	if len(list) != len(wanted) {
		return nil, nil, conflict("Flags that the import has made are deleted already.")
	}
	for n := range list {
		if f := &list[n]; f.Kind != FlagOrdinary || !f.Updated.Equal(f.Created) {
			return nil, nil, conflict("The flag %s was changed after the import.", f.Key)
		}
	}
	wanted = idSet(made.Cohorts)
	set.cohorts = partition(set.cohorts, func(c *Cohort) bool { return wanted[c.ID] }, &cohorts)
	if len(cohorts) != len(wanted) {
		return nil, nil, conflict("Cohorts that the import has made are deleted already.")
	}
	for n := range cohorts {
		filter := ActivityFilter{Project: &w.at.Project.ID, Scope: "Cohort", ItemID: strconv.FormatInt(cohorts[n].ID, 10)}
		log, _, err := w.store.Activities(ctx, filter, 1, 0)
		if err != nil {
			return nil, nil, err
		}
		if len(log) > 0 && log[0].Activity != "created" {
			return nil, nil, conflict("The cohort %q, or who is in it, was changed after the import.", cohorts[n].Name)
		}
	}
	return list, cohorts, nil
}

func idSet(ids []int64) map[int64]bool {
	set := make(map[int64]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// partition returns the elements of a list for which take is false, and gives out the others.
func partition[T any](list []T, take func(*T) bool, out *[]T) (rest []T) {
	for n := range list {
		if take(&list[n]) {
			*out = append(*out, list[n])
		} else {
			rest = append(rest, list[n])
		}
	}
	return rest
}
