package management

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// PreviewImport tells what [Service.ImportDefinitions] would do, and for the persons of the
// newest events who would get the new flags that are on, as [Service.PreviewFlag] does for
// one: a thousand distinct IDs, or fewer if there are many flags. OtherFlags of the preview
// are the new flags, and Changed is how many distinct IDs would get at least one of them.
// Nothing is changed. It needs scopes feature_flag:write and person:read.
func (s *Service) PreviewImport(ctx context.Context, p *Principal, ref string, document []byte) (*ImportReport, *FlagPreview, error) {
	scopes := []Scope{"feature_flag:write", "person:read"}
	w, err := s.beginAt(ctx, p, ref, scopes...)
	if err != nil {
		return nil, nil, err
	}
	i, err := s.importDocument(ctx, p, document, ImportOptions{DryRun: true}, nil, func(w *work) error { return w.enter(ctx, ref, scopes...) })
	if err != nil {
		return nil, nil, err
	}
	c := &comparison{others: i.report.Active, transitions: make(map[[2]any]int), changedKeys: make(map[string]int)}
	if len(i.report.Active) == 0 {
		return i.report, c.preview(), nil
	}
	if c.before, err = i.set.recompile(nil, nil); err != nil {
		return nil, nil, err
	}
	_, with := i.needed(i.report.Active)
	if c.after, err = flags.Compile(with, flags.CompileOptions{TimeZone: i.set.zone}); err != nil {
		return nil, nil, fmt.Errorf("management: definitions: %w", err)
	}
	v, err := w.previewRecent(ctx, c)
	return i.report, v, err
}

// UndoImport deletes the flags and cohorts that an import has made, all of them or none
// (management.md §13.19). It is refused if somebody has changed or deleted one of them
// since, or if something else uses one by now. It needs the scopes of an import.
func (s *Service) UndoImport(ctx context.Context, p *Principal, ref string, flagIDs, cohortIDs []int64) error {
	return s.atomicAt(ctx, p, ref, importScopes, func(w *work) error {
		if err := w.checkChangeable(); err != nil {
			return err
		}
		set, err := w.definitionSet(ctx)
		if err != nil {
			return err
		}
		list, cohorts, err := w.untouched(ctx, set, flagIDs, cohortIDs)
		if err != nil {
			return err
		}
		refs := set.references() // of what stays
		for n := range list {
			if err := cmp.Or(w.checkUnused(ctx, &list[n], refs), w.deleteImported(ctx, &list[n])); err != nil {
				return err
			}
		}
		for n := range cohorts {
			before := cohorts[n]
			cohorts[n].Deleted = true
			if err := checkCohortUnused(&before, &cohorts[n], set, refs); err != nil {
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
func (w *work) deleteImported(ctx context.Context, before *storage.Flag) error {
	f := *before
	f.Deleted = true
	return w.saveFlag(ctx, before, &f)
}

// untouched takes what an import has made out of a set, and returns it. The error names what
// was changed since.
func (w *work) untouched(ctx context.Context, set *definitionSet, flagIDs, cohortIDs []int64) (list []storage.Flag, cohorts []storage.Cohort, err error) {
	wanted := idSet(flagIDs)
	set.flags = partition(set.flags, func(f *storage.Flag) bool { return wanted[f.ID] }, &list)
	if len(list) != len(wanted) {
		return nil, nil, conflict("Flags that the import has made are deleted already.")
	}
	for n := range list {
		if f := &list[n]; f.Kind != storage.FlagOrdinary || !f.Updated.Equal(f.Created) {
			return nil, nil, conflict("The flag %s was changed after the import.", f.Key)
		}
	}
	wanted = idSet(cohortIDs)
	set.cohorts = partition(set.cohorts, func(c *storage.Cohort) bool { return wanted[c.ID] }, &cohorts)
	if len(cohorts) != len(wanted) {
		return nil, nil, conflict("Cohorts that the import has made are deleted already.")
	}
	for n := range cohorts {
		filter := storage.ActivityFilter{Project: &w.at.Project.ID, Scope: "Cohort", ItemID: strconv.FormatInt(cohorts[n].ID, 10)}
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
