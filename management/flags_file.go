package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// checkChangeable returns an error if the flags of the project come from a file, so that
// the next change of the file would undo what people do.
func (w *work) checkChangeable() error {
	if f := w.at.Project.FlagsFile; f != nil {
		return conflict("The flags of this project come from the file %s, so that they cannot be changed here: change them there.", f.Name)
	}
	return nil
}

// definitionScopes are the scopes of changes of flags and of what belongs to them.
var definitionScopes = []Scope{"feature_flag:write", "early_access_feature:write"}

// ImportFile makes the flags and cohorts of a project what definitions from a file say, as
// they are: a flag that cannot be understood is stored with its error. From then on nobody
// else can change them. They keep their IDs, unless flags or cohorts of other projects have
// these. What the definitions do not have is deleted, unless people have made it, which is
// [ErrConflict]. To import the same again changes nothing.
func (s *Service) ImportFile(ctx context.Context, project int64, name string, d *flags.Definitions) error {
	file := &storage.FlagsFile{
		Name: name, GroupTypes: d.GroupTypes,
		PropertyMatchingVersion: d.PropertyMatchingVersion, MinimalFlagCalledEvents: d.MinimalFlagCalledEvents,
	}
	return s.atomic(ctx, nil, func(w *work) error {
		p, err := w.store.Projects().Get(ctx, storage.ProjectID.Is(project))
		if err != nil {
			return storeError(err)
		}
		w.changed = append(w.changed, project)
		return w.store.AtOnce(ctx, func(store storage.Store) error {
			i := fileImport{
				store: store, project: p, index: flags.NewIndex(d.Flags), hash: d.BucketingHash,
				flags: make(map[*flags.Flag]int64), cohorts: make(map[int64]int64), taken: make(map[int64]bool),
			}
			if err := i.importCohorts(ctx, d.Cohorts); err != nil {
				return err
			}
			if err := i.importFlags(ctx); err != nil || reflect.DeepEqual(p.FlagsFile, file) {
				return err
			}
			p.FlagsFile = file
			return store.Projects().Update(ctx, p)
		})
	})
}

// ReleaseFiles lets people change the flags of all projects again whose flags come from files.
func (s *Service) ReleaseFiles(ctx context.Context) error {
	return s.atomic(ctx, nil, func(w *work) error {
		projects, err := w.store.Projects().List(ctx)
		for _, p := range projects {
			if err != nil || p.FlagsFile == nil {
				continue
			}
			s.c.Log.WarnContext(ctx, "the flags of a project came from a file, and can be changed from now on", "project", p.ID, "file", p.FlagsFile.Name)
			p.FlagsFile = nil
			err = w.store.Projects().Update(ctx, &p)
			w.changed = append(w.changed, p.ID)
		}
		return err
	})
}

// A fileImport is an import of a file that is under way.
type fileImport struct {
	store   storage.Store
	project *storage.Project
	index   *flags.Index // of the flags of the file
	hash    string       // of flags that name none

	flags   map[*flags.Flag]int64 // IDs in the project
	cohorts map[int64]int64       // by their IDs in the file
	taken   map[int64]bool        // IDs of flags of the project
}

func (i *fileImport) importCohorts(ctx context.Context, list map[int64]flags.Cohort) error {
	there, err := i.store.Cohorts().List(ctx, storage.CohortProject.Is(i.project.ID), storage.CohortDeleted.Is(false))
	if err != nil {
		return err
	}
	gone := byKey(there, func(c *storage.Cohort) string { return c.Name })
	rows := make(map[int64]*storage.Cohort)
	for _, id := range slices.Sorted(maps.Keys(list)) {
		name := fmt.Sprint("Cohort ", id)
		row := gone[name]
		delete(gone, name)
		if row == nil {
			if row, err = i.store.Cohorts().Get(ctx, storage.CohortProject.Is(i.project.ID), storage.CohortID.Is(id)); err != nil || !row.Deleted {
				row = &storage.Cohort{ID: id, Project: i.project.ID, Created: storage.Now()}
				err = i.store.Cohorts().Create(ctx, row)
			}
			if err != nil {
				return err
			}
		}
		rows[id], i.cohorts[id] = row, row.ID
	}
	if err := i.mayDelete("cohorts", maps.Keys(gone)); err != nil {
		return err
	}
	for _, row := range gone {
		row.Deleted = true
		if err := i.store.Cohorts().Update(ctx, row); err != nil {
			return err
		}
	}
	for id, row := range rows {
		c, wanted := list[id], *row
		wanted.Name, wanted.Deleted, wanted.Static, wanted.Criteria = fmt.Sprint("Cohort ", id), false, c.Stored, i.criteria(id, &c)
		if same := row.Static == wanted.Static && normal.SameCriteria(row.Criteria, wanted.Criteria); !same {
			wanted.Count, wanted.Calculated = nil, nil
		} else if row.Name == wanted.Name && !row.Deleted {
			continue
		}
		if err := i.store.Cohorts().Update(ctx, &wanted); err != nil {
			return err
		}
	}
	return nil
}

func (i *fileImport) importFlags(ctx context.Context) error {
	there, err := i.store.FlagDefinitions(ctx, i.project.ID)
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(f storage.Flag) bool {
		i.taken[f.ID] = f.Kind != storage.FlagOrdinary
		return i.taken[f.ID]
	})
	gone := byKey(there, func(f *storage.Flag) string { return f.Key })
	rows := make(map[*flags.Flag]*storage.Flag)
	renamed := make(map[int64]bool)
	var deleted, created, changed []*storage.Flag
	for f := range i.index.Flags() {
		row := gone[f.Key]
		if row == nil && f.ID > 0 && i.project.FlagsFile != nil && !renamed[f.ID] {
			row, renamed[f.ID] = i.renamed(ctx, f.ID), true // the first one with the ID
		}
		if row == nil {
			now := storage.Now()
			row = i.wanted(f, &storage.Flag{ID: f.ID, Created: now, Updated: now})
			created = append(created, row)
		}
		if g := gone[row.Key]; g != nil && g.ID == row.ID {
			delete(gone, row.Key)
		}
		rows[f] = row
	}
	if err := i.mayDelete("flags", maps.Keys(gone)); err != nil {
		return err
	}
	for _, row := range gone {
		row.Deleted = true
		deleted = append(deleted, row)
	}
	if err := i.store.Flags().Update(ctx, deleted...); err != nil {
		return flagStoreError(err)
	}
	if err := i.store.Flags().Create(ctx, created...); err != nil {
		return flagStoreError(err)
	}
	for f, row := range rows {
		i.flags[f], i.taken[row.ID] = row.ID, true
	}
	for f := range i.index.Flags() {
		row := rows[f]
		wanted := i.wanted(f, row)
		if was := *row; normal.SameFilters(&was.Filters, &wanted.Filters) {
			was.Filters = wanted.Filters
			if reflect.DeepEqual(&was, wanted) {
				continue
			}
		}
		wanted.Updated = storage.Now()
		changed = append(changed, wanted)
	}
	return flagStoreError(i.store.Flags().Update(ctx, changed...))
}

// mayDelete returns an error if the project has flags or cohorts that people have made and
// that an import would delete.
func (i *fileImport) mayDelete(what string, names iter.Seq[string]) error {
	own := slices.Sorted(names)
	if i.project.FlagsFile != nil || len(own) == 0 {
		return nil
	}
	return conflict("The project %d has %s that the file does not have, and that an import would delete: %s. Add them to the file, delete them, or use another store.",
		i.project.ID, what, strings.Join(firstFew(own, func(name *string) string { return *name }), ", "))
}

// renamed returns the flag with an ID that an earlier import has made and that has another
// key in the file now, or is deleted; nil if there is none.
func (i *fileImport) renamed(ctx context.Context, id int64) *storage.Flag {
	row, err := i.store.Flags().Get(ctx, storage.FlagProject.Is(i.project.ID), storage.FlagID.Is(id))
	if err != nil || row.Kind != storage.FlagOrdinary || !row.Deleted && i.index.Find(flags.FlagReference{Name: row.Key, IsKey: true}) != nil {
		return nil // an error comes again when flags are stored
	}
	row.LastCalled = nil // as of the others
	return row
}

// wanted returns the row of a flag of the file, with what the file does not say from a row.
func (i *fileImport) wanted(f *flags.Flag, row *storage.Flag) *storage.Flag {
	out := storage.FlagOf(i.project.ID, row.Created, f)
	out.ID, out.Updated, out.CreatedBy, out.ModifiedBy = row.ID, row.Updated, row.CreatedBy, row.ModifiedBy
	out.BucketingHash = cmp.Or(f.BucketingHash, i.hash)
	out.Filters = f.Filters.Clone()
	broken := f.Err()
	for _, filter := range out.Filters.All() {
		i.translate(filter)
		broken = cmp.Or(broken, filter.Err())
	}
	if broken = cmp.Or(broken, out.Filters.Err()); broken != nil {
		out.Filters = withFaults(&out.Filters, f.Err(), f.Key)
	}
	return out
}

// withFaults returns the filters of a flag in a form that keeps their faults when the store reads
// it, and the fault of the whole flag, if there is one: flags.DecodeFilters forgives what
// flags.Decode does not.
func withFaults(f *flags.Filters, all error, key string) flags.Filters {
	raw, _ := f.Encode()
	read := func() flags.Filters {
		out, _ := flags.DecodeFilters(raw, key)
		return out
	}
	var members map[string]json.RawMessage
	var groups []map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return read() // which fails
	}
	if json.Unmarshal(members["groups"], &groups) == nil && len(groups) == len(f.Groups) {
		for n, g := range groups {
			var properties []any
			for j := range f.Groups[n].Properties {
				filter := &f.Groups[n].Properties[j]
				if err := filter.Err(); err != nil {
					properties = append(properties, map[string]any{"key": err.Error(), "type": 0}) // no type
				} else {
					properties = append(properties, filter)
				}
			}
			if properties != nil {
				g["properties"] = rawjson.Must(properties)
			}
		}
		members["groups"] = rawjson.Must(groups)
	}
	raw = rawjson.Must(members)
	out := read()
	if all = cmp.Or(all, f.Err()); all != nil && out.Err() == nil {
		members["version"] = rawjson.Must(all.Error()) // no number
		raw = rawjson.Must(members)
		out = read()
	}
	return out
}

// criteria returns the row's form of the tree of a cohort.
func (i *fileImport) criteria(id int64, c *flags.Cohort) *flags.CohortNode {
	err := c.Err()
	for leaf := range c.Properties.Leaves() {
		err = cmp.Or(err, leaf.Err())
	}
	if c.Properties == nil && err == nil {
		return nil
	}
	raw, broken := c.Properties.Encode()
	if err = cmp.Or(err, broken); err != nil {
		raw = rawjson.Must(map[string]any{"properties": err.Error()}) // which fail and say it
	}
	tree, _ := flags.DecodeCohort(raw, id)
	for leaf := range tree.Leaves() {
		i.translate(leaf)
	}
	return tree
}

// noID is an ID that nothing gets.
const noID = math.MaxInt64

// translate makes a filter refer to what the project has by the IDs that it has there. What the
// file does not have does not become something else that has got its ID.
func (i *fileImport) translate(p *flags.Filter) {
	if id, ok := p.CohortID(); ok {
		switch row := i.cohorts[id]; {
		case row != 0:
			p.Value = strconv.AppendInt(nil, row, 10)
		case slices.Contains(slices.Collect(maps.Values(i.cohorts)), id):
			p.Value = strconv.AppendInt(nil, noID, 10)
		}
	}
	if r, ok := p.Target(); ok {
		if id := i.flags[i.index.Find(r)]; id != 0 {
			p.Key, p.DependencyChain = strconv.FormatInt(id, 10), nil
		} else if id, ok := r.ID(); ok && i.taken[id] && i.index.Find(r) == nil {
			p.Key = strconv.FormatInt(noID, 10)
		}
	}
}
