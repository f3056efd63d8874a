package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
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
	since, err := w.compareRecent(ctx, c, min(paritySubjects, max(maxParityValues/len(i.report.Active), 1)))
	if err != nil {
		return nil, nil, err
	}
	v := c.preview()
	v.Changed, v.Since = c.concerned, since
	return i.report, v, nil
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
		return w.deleteMade(ctx, set, flagIDs, cohortIDs)
	})
}

// deleteMade deletes the flags and cohorts that an import has made.
func (w *work) deleteMade(ctx context.Context, set *definitionSet, flagIDs, cohortIDs []int64) error {
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
}

// UndoApply takes back what an import from another product has done ([foreign.Report.ImportID]),
// all of it or nothing: what it has made is deleted, and what it has changed is what it was
// before. It is refused if somebody has changed or deleted something of it since, or if
// something else uses what would go. It needs the scopes of an import.
func (s *Service) UndoApply(ctx context.Context, p *Principal, ref, importID string) error {
	return s.atomicAt(ctx, p, ref, importScopes, func(w *work) error { return w.undoApply(ctx, importID) })
}

// UndoApplyHere is [Service.UndoApply] for programs on the machine of the server.
func (s *Service) UndoApplyHere(ctx context.Context, project int64, importID string) error {
	enter := s.enterHere(ctx, project)
	return s.atomic(ctx, nil, func(w *work) error {
		if err := enter(w); err != nil {
			return err
		}
		w.changed = append(w.changed, project)
		return w.undoApply(ctx, importID)
	})
}

func (w *work) undoApply(ctx context.Context, importID string) error {
	if err := w.checkChangeable(); err != nil {
		return err
	}
	entries, err := w.importEntries(ctx, importID)
	if err != nil {
		return err
	}
	set, err := w.definitionSet(ctx)
	if err != nil {
		return err
	}
	var flagIDs, cohortIDs []int64 // that were made
	for _, e := range entries {
		made := e.Activity.Activity == "created"
		switch {
		case made && e.Scope == "FeatureFlag":
			flagIDs = append(flagIDs, e.id)
		case made:
			cohortIDs = append(cohortIDs, e.id)
		case e.Scope == "FeatureFlag":
			err = w.changeBack(ctx, set, &e)
		default:
			err = w.changeCohortBack(ctx, set, &e)
		}
		if err != nil {
			return err
		}
	}
	return w.deleteMade(ctx, set, flagIDs, cohortIDs)
}

// An importEntry is an entry of the activity log of an import.
type importEntry struct {
	storage.Activity
	id     int64 // of the flag or the cohort
	detail field.Detail
}

// importEntries returns the entries of an import, of which there are some.
func (w *work) importEntries(ctx context.Context, importID string) (entries []importEntry, err error) {
	if _, err := check.ParseID(importID); err != nil {
		return nil, invalid("import_id", "invalid_input", "%q is not the ID of an import.", check.Excerpt(importID))
	}
	f := storage.ActivityFilter{Project: &w.at.Project.ID, Text: importID}
	for offset := 0; ; offset += MaxActivities {
		list, _, err := w.store.Activities(ctx, f, MaxActivities, offset)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			e := importEntry{Activity: a}
			if json.Unmarshal(a.Detail, &e.detail) != nil || e.detail.Import == nil || e.detail.Import.ID != importID {
				continue
			}
			if e.id, err = strconv.ParseInt(a.ItemID, 10, 64); err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
		if len(list) < MaxActivities {
			break
		}
	}
	if len(entries) == 0 {
		return nil, invalid("import_id", "does_not_exist", "The project has no import %s that has changed anything.", importID)
	}
	return entries, nil
}

// changeBack gives a flag the content that it had before an import.
func (w *work) changeBack(ctx context.Context, set *definitionSet, e *importEntry) error {
	n := slices.IndexFunc(set.flags, func(f storage.Flag) bool { return f.ID == e.id })
	if n < 0 || set.flags[n].Version != e.detail.Import.Version {
		return conflict("The flag %s was changed or deleted after the import.", e.detail.Name)
	}
	before := set.flags[n]
	f := before
	version := before.Version - 1
	if err := w.takeBack(ctx, set, &f, "version", version); err != nil {
		return err
	}
	if err := w.saveAs(ctx, &before, &f, versionNote{revertedTo: &version}); err != nil {
		return err
	}
	set.flags[n] = f
	return nil
}

// changeCohortBack gives a cohort the description and the criteria that it had before an import.
func (w *work) changeCohortBack(ctx context.Context, set *definitionSet, e *importEntry) error {
	n := slices.IndexFunc(set.cohorts, func(c storage.Cohort) bool { return c.ID == e.id })
	latest, _, err := w.store.Activities(ctx, storage.ActivityFilter{Project: &w.at.Project.ID, Scope: "Cohort", ItemID: e.ItemID}, 1, 0)
	if err != nil {
		return err
	}
	if n < 0 || len(latest) != 1 || latest[0].ID != e.Activity.ID {
		return conflict("The cohort %q was changed or deleted after the import.", e.detail.Name)
	}
	before := set.cohorts[n]
	c := &set.cohorts[n]
	for _, change := range e.detail.Changes {
		was := rawjson.Must(change.Before)
		switch change.Field {
		case "description":
			c.Description = ""
			_ = json.Unmarshal(was, &c.Description) // null: none
		case "filters":
			if c.Criteria, err = flags.DecodeCohort(was, c.ID); err != nil {
				return fmt.Errorf("management: cohort %d: %w", c.ID, err)
			}
			c.Count, c.Calculated = nil, nil
		}
	}
	return w.saveCohort(ctx, &before, c)
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
