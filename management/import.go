package management

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/internal/parallel"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/subjects"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An ImportReport tells what an import has made, and what it could not.
type ImportReport struct {
	Flags     []string      `json:"flags"`     // keys of the flags that were made
	Active    []string      `json:"active"`    // of them: those that are on from the beginning
	Cohorts   []string      `json:"cohorts"`   // names of the cohorts that were made
	Unchanged []string      `json:"unchanged"` // keys and names of what the project has already, as in the file
	Left      []NotImported `json:"left_out"`  // what was left out
	Notes     []string      `json:"notes"`     // what somebody has to know

	// StaticCohorts are the static cohorts of the file that the project has now. The
	// file does not have their members.
	StaticCohorts []StaticCohort `json:"static_cohorts"`

	// Parity is for how many subjects each of these flags has the same value as in
	// the file.
	Parity int `json:"parity"`

	// FlagIDs and CohortIDs are the IDs of the flags and cohorts that were made, for [Service.UndoImport].
	FlagIDs   []int64 `json:"-"`
	CohortIDs []int64 `json:"-"`
}

// NotImported is a flag or a cohort that was left out, and why.
type NotImported struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// An StaticCohort is a cohort of a file.
type StaticCohort struct {
	IDInFile int64  `json:"id_in_file"`
	ID       int64  `json:"id"` // in the project; 0 if nothing was stored and the project does not have it yet
	Name     string `json:"name"`
	Made     bool   `json:"made"` // by this import, so that it has no members yet
}

// ImportOptions say how to import.
type ImportOptions struct {
	// DryRun stores nothing: the report tells what an import would do.
	DryRun bool

	// Progress, unless it is nil, is told how far the import is: with how many of the
	// document's "cohorts" or "flags" it is done, or for how many "subjects" it has tried
	// the new flags. One goroutine at a time calls it, from the beginning again if a
	// transaction is repeated. It must not block.
	Progress func(what string, done, total int)
}

// errDryRun ends the transaction of an import that shall store nothing.
var errDryRun = errors.New("management: dry run")

// An import is tried for paritySubjects, or for fewer if they would come to more than
// maxParityValues.
const (
	paritySubjects  = 1000
	maxParityValues = 500_000
)

// An importer is an import that is under way.
type importer struct {
	*work
	file   *importFile
	report *ImportReport
	set    *definitionSet // of the project, with what was made
	tell   func(what string, done, total int)
	apply  *applying // nil: what the project has stays as it is

	groups  map[int]int              // indexes of the file to indexes of the project
	there   map[string]*storage.Flag // flags that the project had, by key
	seen    map[string]bool          // keys of flags of the file, of which the first flag counts
	ids     map[string]int64         // of the flags of earlier stages that the project has as in the file, by key
	stage   []*storage.Flag          // the same flags of this stage, while ids is read by others
	cohorts map[int64]int64          // IDs of the file to IDs of the project
}

// Import makes the flags and cohorts of a file in a project: definitions as the
// definitions endpoint has them, or lists of flags and cohorts as the management
// API has them, of this or of the public system. It is for programs on the machine
// of the server; [Service.ImportDefinitions] is for users.
//
// The document may be several JSON values one after the other, such as a list of
// flags and a list of cohorts. A list that goes on elsewhere (the member next of a page)
// is refused.
//
// What cannot be converted is left out, and so is what depends on it. What the project
// has already stays: flags by their keys, and cohorts by their names and criteria. To
// import a file again changes nothing.
//
// Before it is stored, the imported flags are evaluated for a thousand random subjects
// with what was made and with the file; if one value differs, nothing is stored, and
// the error says which. With more than five hundred flags there are fewer subjects, see
// [ImportReport]. Static cohorts come without their members.
func (s *Service) Import(ctx context.Context, project int64, document []byte, o ImportOptions) (*ImportReport, error) {
	i, err := s.importDocument(ctx, nil, document, o, nil, s.enterHere(ctx, project))
	if err != nil {
		return nil, err
	}
	return i.report, nil
}

// importScopes are the scopes of a key that imports.
var importScopes = []Scope{"feature_flag:write", "cohort:write"}

// ImportDefinitions is [Service.Import] for a user, into the project that a path names
// (management.md §13.19). It needs scopes feature_flag:write and cohort:write.
func (s *Service) ImportDefinitions(ctx context.Context, p *Principal, ref string, document []byte, o ImportOptions) (*ImportReport, error) {
	if _, err := s.beginAt(ctx, p, ref, importScopes...); err != nil {
		return nil, err
	}
	i, err := s.importDocument(ctx, p, document, o, nil, func(w *work) error { return w.enter(ctx, ref, importScopes...) })
	if err != nil {
		return nil, err
	}
	return i.report, nil
}

// importDocument imports a document, or applies it if apply is not nil. enter gives the
// work of the transaction access to the project.
func (s *Service) importDocument(
	ctx context.Context, by *Principal, document []byte, o ImportOptions, apply *ApplyOptions, enter func(*work) error,
) (*importer, error) {
	file, err := readImport(bytes.TrimPrefix(document, []byte("\ufeff"))) // the mark of some editors
	switch {
	case err != nil:
		return nil, err
	case apply != nil && file.values > 1:
		const several = "The document is %d JSON values one after the other; want one, with flags and cohorts."
		return nil, invalid("", "invalid_input", several, file.values)
	case s.c.Data == nil:
		return nil, errNoData
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	var i *importer
	err = s.atomic(ctx, by, func(w *work) error {
		if err := enter(w); err != nil {
			return err
		}
		if err := w.store.AddGroupTypes(ctx, w.at.Project.ID, file.groupNames()); err != nil {
			return err
		}
		set, err := w.definitionSet(ctx)
		if err != nil {
			return err
		}
		i = &importer{
			work: w, file: file, set: set, report: newImportReport(), tell: o.Progress,
			groups: make(map[int]int), cohorts: make(map[int64]int64), seen: make(map[string]bool), ids: make(map[string]int64),
			there: byKey(slices.Clone(set.flags), func(f *storage.Flag) string { return f.Key }),
		}
		if apply != nil {
			if i.apply, err = w.startApplying(ctx, set, *apply); err != nil {
				return err
			}
		}
		w.changed = append(w.changed, w.at.Project.ID)
		err = w.store.AtOnce(ctx, func(store storage.Store) error {
			w.store = store
			return i.run(ctx)
		})
		if err == nil && o.DryRun {
			return errDryRun
		}
		return err
	})
	switch {
	case errors.Is(err, errDryRun):
		for n := range i.report.StaticCohorts {
			if c := &i.report.StaticCohorts[n]; c.Made {
				c.ID = 0 // which nothing has
			}
		}
	case err != nil:
		return nil, err
	}
	return i, nil
}

// newImportReport returns a report of nothing, whose lists are not null in JSON.
func newImportReport() *ImportReport {
	return &ImportReport{
		Flags: []string{}, Active: []string{}, Cohorts: []string{}, Unchanged: []string{}, Left: []NotImported{}, Notes: []string{}, StaticCohorts: []StaticCohort{},
	}
}

// An importFile is a file that was read.
type importFile struct {
	definitions *flags.Definitions
	index       *flags.Index // of the definitions
	flags       []importedFlag
	cohorts     []importedCohort
	groupTypes  map[int]string
	values      int // JSON values, one after the other

	// The errors that "flagstaff check" reports, by key and by ID.
	faults       map[string]*flags.DefinitionError
	cohortFaults map[int64]*flags.DefinitionError
}

// An importedFlag is a flag of a file: its definition, and what only a file says.
type importedFlag struct {
	*flags.Flag `json:"-"` // nil if it has no key, or is deleted
	at          string     // where it stands in its JSON value

	unread error // why it, or a part of it, could not be read

	Key           string            `json:"key"`
	Deleted       bool              `json:"deleted"`
	Filters       json.RawMessage   `json:"filters"`
	Archived      bool              `json:"archived"`
	Tags          []string          `json:"tags"`
	HasExperiment *bool             `json:"has_experiment"`
	ExperimentSet []json.RawMessage `json:"experiment_set"` // of the management API
}

// experiment reports whether a flag belongs to an experiment, which a file says: a project
// without experiments has none, whatever definitions mean by saying nothing (evaluation.md
// §1.2).
func (f *importedFlag) experiment() bool {
	if f.HasExperiment != nil {
		return *f.HasExperiment
	}
	return len(f.ExperimentSet) > 0
}

type importedCohort struct {
	at string // where it stands in its JSON value

	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Static      bool            `json:"is_static"`
	Deleted     bool            `json:"deleted"`
	Filters     json.RawMessage `json:"filters"`
	Groups      json.RawMessage `json:"groups"`
}

// An importDocument is one JSON value of a file.
type importDocument struct {
	Flags      json.RawMessage   `json:"flags"`
	Results    json.RawMessage   `json:"results"`
	Cohorts    json.RawMessage   `json:"cohorts"`
	GroupTypes map[string]string `json:"group_type_mapping"`

	// What decides how flags are evaluated. Projects have no versions of matching.
	Matching json.RawMessage `json:"property_matching_version"`
	Hash     json.RawMessage `json:"bucketing_hash"`
	Zone     json.RawMessage `json:"timezone"`

	Static []int64 `json:"static_cohorts"`
}

// An element is an element of a list, and its place as a JSON pointer.
type element struct {
	raw json.RawMessage
	at  string
}

// An importReader collects what the values of a file have.
type importReader struct {
	flags   []element
	cohorts []element                  // as records
	trees   map[string]json.RawMessage // or as trees by ID
	file    *importFile
	static  []int64                    // IDs of static cohorts
	options map[string]json.RawMessage // members of the document that decide something
	found   bool                       // a list of flags or of cohorts
}

// readImport reads a file in any of its forms.
func readImport(document []byte) (*importFile, error) {
	if err := checkForeign(document); err != nil {
		return nil, err
	}
	r := &importReader{file: &importFile{groupTypes: make(map[int]string)}, options: make(map[string]json.RawMessage)}
	d := json.NewDecoder(bytes.NewReader(document))
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			return nil, invalid("", "invalid_input", "The file is not a JSON object of definitions, and no list of flags: %s.", err)
		}
		if err := r.document(raw); err != nil {
			return nil, err
		}
		r.file.values++
	}
	if !r.found {
		return nil, invalid("flags", "invalid_input", "The file has no list of flags: want the member flags or results.")
	}
	return r.finish()
}

// document reads one JSON value of the file.
func (r *importReader) document(raw json.RawMessage) error {
	var whole importDocument
	if raw[0] == '[' {
		whole.Results = raw
	} else if err := json.Unmarshal(raw, &whole); err != nil {
		return invalid("", "invalid_input", "The file is not a JSON object of definitions, and no list of flags: %s.", err)
	} else if err := judge.Lenient.CheckMembers(members.Document, raw); err != nil {
		return judgeError(err)
	}
	for name, v := range map[string]json.RawMessage{"property_matching_version": whole.Matching, "bucketing_hash": whole.Hash, "timezone": whole.Zone} {
		if v != nil {
			r.options[name] = v
		}
	}
	for index, name := range whole.GroupTypes {
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 {
			return invalid("group_type_mapping", "invalid_input", "The index %q is not a number.", check.Excerpt(index))
		}
		r.file.groupTypes[i] = name
	}
	r.static = append(r.static, whole.Static...)
	if whole.Results != nil { // a page, or a list
		list, err := elements("", raw)
		if err == nil {
			r.add(list)
		}
		return err
	}
	if whole.Flags != nil {
		list, err := elements("/flags", whole.Flags)
		if err != nil {
			return err
		}
		r.found, r.flags = true, append(r.flags, list...)
	}
	if len(whole.Cohorts) == 0 || string(whole.Cohorts) == "null" {
		return nil
	}
	if trees, ok := rawjson.Object(whole.Cohorts); ok && trees["results"] == nil {
		r.trees = trees
		return nil
	}
	list, err := elements("/cohorts", whole.Cohorts)
	r.found, r.cohorts = true, append(r.cohorts, list...)
	return err
}

// add adds the elements of a list, which are flags unless they look like cohorts.
func (r *importReader) add(list []element) {
	r.found = true
	for _, e := range list {
		o, _ := rawjson.Object(e.raw)
		filters, _ := rawjson.Object(o["filters"])
		if o["key"] == nil && (o["is_static"] != nil || filters["properties"] != nil) {
			r.cohorts = append(r.cohorts, e)
		} else {
			r.flags = append(r.flags, e)
		}
	}
}

// elements returns the elements of a list, or of the only page of one, which stands at a
// place.
func elements(at string, raw json.RawMessage) ([]element, error) {
	placed := func(list []json.RawMessage, at string) ([]element, error) {
		out := make([]element, len(list))
		for n, raw := range list {
			out[n] = element{raw, at + "/" + strconv.Itoa(n)}
		}
		return out, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return placed(list, at)
	}
	var page struct {
		Results *[]json.RawMessage `json:"results"`
		Next    string             `json:"next"`
	}
	if err := json.Unmarshal(raw, &page); err != nil || page.Results == nil {
		attr := cmp.Or(strings.TrimPrefix(at, "/"), "results")
		return nil, invalid(attr, "invalid_input", "Want a list, or a page of one with the member results.")
	}
	if page.Next != "" {
		return nil, invalid("next", "incomplete", "The file has only a page of a list, which goes on at %s. Save all pages one after the other in the file, each with next as null, or let \"flagstaff import -from\" fetch them.", check.Excerpt(page.Next))
	}
	return placed(*page.Results, at+"/results")
}

// finish makes the file of what was collected.
func (r *importReader) finish() (*importFile, error) {
	file := r.file
	file.flags = make([]importedFlag, len(r.flags))
	errs := make([]error, len(r.flags))
	var undecoded error
	err := parallel.Each(1+len(r.flags), func(n int) {
		if n == 0 {
			file.definitions, undecoded = flags.Decode(bytes.NewReader(r.definitions()))
		} else {
			errs[n-1] = json.Unmarshal(r.flags[n-1].raw, &file.flags[n-1])
			file.flags[n-1].at = r.flags[n-1].at
		}
	})
	if err != nil {
		return nil, err
	}
	for n, err := range errs {
		if err != nil && r.flags[n].raw[0] != '{' {
			return nil, invalid("flags", "invalid_input", "Flag %d cannot be read: %s.", n+1, err)
		}
		file.flags[n].unread = err // a part of it
	}
	for n, e := range r.cohorts {
		c := importedCohort{at: e.at}
		if err := json.Unmarshal(e.raw, &c); err != nil {
			return nil, invalid("cohorts", "invalid_input", "Cohort %d cannot be read: %s.", n+1, err)
		}
		file.cohorts = append(file.cohorts, c)
	}
	if err := r.readTrees(); err != nil {
		return nil, err
	}
	if undecoded != nil {
		return nil, invalid("", "invalid_input", "The definitions cannot be read: %s.", undecoded)
	}
	for _, id := range r.static {
		if !slices.ContainsFunc(file.cohorts, func(c importedCohort) bool { return c.ID == id }) {
			file.cohorts = append(file.cohorts, importedCohort{ID: id, Static: true, at: "/static_cohorts"})
		}
	}
	if err := file.findFaults(r.cohorts == nil); err != nil {
		return nil, err
	}
	file.index = flags.NewIndex(file.definitions.Flags)
	for n := range file.flags {
		f := &file.flags[n]
		f.Flag = file.index.Find(flags.FlagReference{Name: f.Key, IsKey: true})
	}
	return file, nil
}

// definitions returns the document of definitions that has what was collected.
func (r *importReader) definitions() json.RawMessage {
	document := map[string]any{"group_type_mapping": r.file.groupTypes, "cohorts": r.trees}
	if r.cohorts != nil {
		document["cohorts"] = each(r.cohorts, func(e *element) json.RawMessage { return e.raw })
	}
	for name, v := range r.options {
		document[name] = v
	}
	if r.static != nil {
		document["static_cohorts"] = r.static
	}
	head := rawjson.Must(document)
	out := append(head[:len(head)-1], `,"flags":[`...)
	for n, e := range r.flags { // as they are: to encode them would cost as much as to read them
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, e.raw...)
	}
	return append(out, "]}"...)
}

// readTrees reads cohorts that are trees by ID.
func (r *importReader) readTrees() error {
	if r.cohorts != nil && r.trees != nil {
		return invalid("cohorts", "invalid_input", "The file has cohorts twice, as a list and by ID; leave one of them out.")
	}
	for _, text := range slices.Sorted(maps.Keys(r.trees)) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return invalid("cohorts", "invalid_input", "The ID %q is not a number.", check.Excerpt(text))
		}
		c := importedCohort{ID: id, Name: "Imported cohort " + text, at: "/cohorts/" + text}
		if record, ok := rawjson.Object(r.trees[text]); ok && record["is_static"] != nil {
			if err := json.Unmarshal(r.trees[text], &c); err != nil {
				return invalid("cohorts", "invalid_input", "Cohort %d cannot be read: %s.", id, err)
			}
			c.ID = id
		} else {
			c.Filters = rawjson.Must(map[string]any{"properties": r.trees[text]})
		}
		r.file.cohorts = append(r.file.cohorts, c)
	}
	return nil
}

// groupNames returns the group types of the file by ascending index.
func (f *importFile) groupNames() []string {
	return each(slices.Sorted(maps.Keys(f.groupTypes)), func(i *int) string { return f.groupTypes[*i] })
}

// run imports everything.
func (i *importer) run(ctx context.Context) error {
	for index, name := range i.file.groupTypes {
		for own, known := range i.set.groupTypes {
			if known == name {
				i.groups[index] = own
			}
		}
		if _, ok := i.groups[index]; !ok {
			i.report.Notes = append(i.report.Notes, fmt.Sprintf("The project has no room for the group type %q.", name))
		}
	}
	if zone := i.file.definitions.TimeZone; zone != "" && zone != i.at.Project.Timezone {
		i.report.Notes = append(i.report.Notes, fmt.Sprintf("Dates without a zone are in %s in the file, and in %s in the project.", zone, i.at.Project.Timezone))
	}
	if i.file.definitions.PropertyMatchingVersion == 2 {
		i.report.Notes = append(i.report.Notes, "The file compares properties by property_matching_version 2, and projects by version 1; what was imported has the same values all the same.")
	}
	if err := i.importCohorts(ctx); err != nil {
		return err
	}
	if err := i.importFlags(ctx); err != nil {
		return err
	}
	if i.apply != nil {
		if err := i.finishApplying(ctx); err != nil {
			return err
		}
	}
	return i.prove(ctx)
}

// String names the flag with the ID that it has in the file.
func (f *importedFlag) String() string {
	if f.Flag == nil || f.Flag.ID == 0 {
		return "flag " + f.Key
	}
	return fmt.Sprintf("flag %s (id %d)", f.Key, f.Flag.ID)
}

// String names the cohort with the ID that it has in the file.
func (c *importedCohort) String() string { return fmt.Sprintf("cohort %s (id %d)", c.name(), c.ID) }

func (c *importedCohort) name() string {
	return cmp.Or(c.Name, "Imported cohort "+strconv.FormatInt(c.ID, 10))
}

func (f *importedFlag) place() string { return f.at }

func (c *importedCohort) place() string { return c.at }

// A placed is a flag or a cohort with its place in the file, a JSON pointer.
type placed interface {
	fmt.Stringer
	place() string
}

// leave leaves a flag or a cohort out. A document that is to be applied is refused then.
func (i *importer) leave(thing placed, err error) { i.leaveAt(thing, "", err) }

// leaveAt is leave for an error at a place, "" for that of the error.
func (i *importer) leaveAt(thing placed, place string, err error) {
	reason := err.Error()
	if e, ok := errors.AsType[*Error](err); ok {
		path := e.Path
		if e.Attr != "" {
			path = append([]string{e.Attr}, path...)
		}
		if reason = e.Detail; len(path) > 0 {
			reason = strings.Join(path, "/") + ": " + reason
		}
		place = cmp.Or(place, pointer(path...))
	}
	if i.apply != nil {
		if f, ok := thing.(*importedFlag); ok {
			i.apply.faulty[f.Key] = true
		}
		i.apply.problems = append(i.apply.problems, DefinitionProblem{thing.String(), thing.place() + place, reason})
		return
	}
	i.report.Left = append(i.report.Left, NotImported{thing.String(), reason})
}

// importCohorts makes cohorts, those first that others refer to.
func (i *importer) importCohorts(ctx context.Context) error {
	waiting := slices.DeleteFunc(slices.Clone(i.file.cohorts), func(c importedCohort) bool { return c.Deleted })
	numbers := make(map[int64]int)
	for n := range waiting {
		numbers[waiting[n].ID] = n
	}
	needs := func(n int) iter.Seq[int] {
		return func(yield func(int) bool) {
			for id := range i.file.definitions.Cohorts[waiting[n].ID].Properties.CohortIDs() {
				if other, ok := numbers[id]; ok && id != waiting[n].ID && !yield(other) {
					return
				}
			}
		}
	}
	done := 0
	circular, err := i.inStages(ctx, len(waiting), needs, func(stage []int, refs *judge.References) error {
		for _, n := range stage {
			if err := i.importCohort(ctx, &waiting[n], refs); err != nil {
				return err
			}
			done++
			i.tell("cohorts", done, len(waiting))
		}
		return nil
	})
	for _, n := range circular {
		i.leave(&waiting[n], errors.New("its cohorts refer to each other in a circle"))
	}
	return err
}

// inStages calls make for the numbers below count: first for the ones that others
// need, and with the state after the earlier calls. It returns the numbers that
// need each other in a circle, and the numbers that need one of these.
func (i *importer) inStages(ctx context.Context, count int, needs func(int) iter.Seq[int], make func([]int, *judge.References) error) (circular []int, err error) {
	lists := [][]int{}
	for n := range count {
		lists = append(lists, uniqueValues(slices.Collect(needs(n))))
	}
	stages, circular := graph.Stages(lists)
	for _, stage := range stages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		refs := i.set.references()
		slices.Sort(stage) // as in the file
		if err := make(stage, refs); err != nil {
			return nil, err
		}
	}
	return circular, nil
}

func (i *importer) importCohort(ctx context.Context, c *importedCohort, refs *judge.References) error {
	made := &storage.Cohort{Project: i.at.Project.ID, Static: c.Static, Created: i.now()}
	patch := CohortPatch{Name: optional.Of(c.name()), Description: optional.Of(c.Description)}
	if err := patch.validate(made); err != nil {
		i.leave(c, err)
		return nil
	}
	cohortFields(made, &patch).Apply()
	if c.Static {
		made.Count, made.Calculated = new(0), &made.Created
	} else {
		tree, err := i.treeOf(c)
		if err == nil {
			err = i.translateTree(tree)
		}
		if err == nil {
			err = judge.JudgeCohort(tree, 0, refs)
		}
		if fault := i.file.cohortFaults[c.ID]; err == nil && fault != nil {
			err = invalid("", "invalid_input", "%s", fault)
		}
		if err != nil {
			i.leave(c, judgeError(err))
			return nil
		}
		made.Criteria = tree
	}
	there, err := i.cohortThere(made)
	switch {
	case err != nil:
		i.leave(c, err)
		return nil
	case there != nil:
		i.cohorts[c.ID] = there.ID
		i.noteStatic(c, there, false)
		if i.apply != nil {
			return i.changeCohort(ctx, there, made)
		}
		i.report.Unchanged = append(i.report.Unchanged, made.Name)
		return nil
	}
	if err := i.store.Cohorts().Create(ctx, made); err != nil {
		return storeError(err)
	}
	i.cohorts[c.ID], i.set.cohorts = made.ID, append(i.set.cohorts, *made)
	i.report.Cohorts = append(i.report.Cohorts, made.Name)
	i.report.CohortIDs = append(i.report.CohortIDs, made.ID)
	i.noteStatic(c, made, true)
	if i.apply != nil {
		i.apply.changes = append(i.apply.changes, DefinitionChange{Kind: "cohort", Name: made.Name, Action: "created", Changes: []FlagChange{}})
	}
	return i.logCohort(ctx, made, "created", nil, i.apply.by(nil))
}

// cohortThere returns the cohort of the project that a cohort of the file is, or nil. An
// import takes one with the same name and criteria for it.
func (i *importer) cohortThere(made *storage.Cohort) (*storage.Cohort, error) {
	for n := range i.set.cohorts {
		there := &i.set.cohorts[n]
		if there.Name == made.Name && there.Static == made.Static && (i.apply == nil || !i.apply.taken[there.ID]) &&
			normal.SameCriteria(there.Criteria, made.Criteria) {
			return there, nil
		}
	}
	if i.apply == nil {
		return nil, nil
	}
	return i.cohortNamed(made)
}

// noteStatic notes which static cohort of the project a cohort of the file is.
func (i *importer) noteStatic(c *importedCohort, there *storage.Cohort, made bool) {
	if there.Static {
		i.report.StaticCohorts = append(i.report.StaticCohorts, StaticCohort{IDInFile: c.ID, ID: there.ID, Name: there.Name, Made: made})
	}
}

// importFlags makes flags, those first that others depend on.
func (i *importer) importFlags(ctx context.Context) error {
	var waiting []importedFlag
	numbers := make(map[*flags.Flag]int)
	for _, f := range i.file.flags {
		switch {
		case f.Deleted:
		case f.unread != nil && f.Flag == nil:
			i.leave(&f, f.unread)
		case f.Flag == nil:
			i.leave(&f, errors.New("it has no key"))
		case i.seen[f.Key]:
			f.Flag = nil // that is the first one
			i.leave(&f, errors.New("the file has another flag with this key before, and only the first one counts"))
		case f.HasEncryptedPayloads:
			i.seen[f.Key] = true
			i.leave(&f, invalid("has_encrypted_payloads", "invalid_input", "its payloads are encrypted: make it again by hand"))
		default:
			i.seen[f.Key] = true
			numbers[f.Flag] = len(waiting)
			waiting = append(waiting, f)
		}
	}
	needs := func(n int) iter.Seq[int] {
		return func(yield func(int) bool) {
			list, _ := i.file.index.Dependencies(&waiting[n].Flag.Filters)
			for _, f := range list {
				if other, ok := numbers[f]; ok && f != waiting[n].Flag && !yield(other) {
					return
				}
			}
		}
	}
	done := 0
	circular, err := i.inStages(ctx, len(waiting), needs, func(stage []int, refs *judge.References) error {
		now := i.now() // for all, so that lists have them in the order of the file
		defer func() {
			for _, f := range i.stage {
				i.ids[f.Key] = f.ID
			}
			i.stage = nil
		}()
		return parallel.InTurns(slices.Collect(slices.Chunk(stage, importTurn)), func(part []int) ([]readFlag, error) {
			list := make([]readFlag, len(part))
			for n, number := range part {
				list[n].file = &waiting[number]
			}
			shares := slices.Collect(slices.Chunk(list, importShare))
			return list, parallel.Each(len(shares), func(n int) { i.readFlags(shares[n], refs) })
		}, func(list []readFlag) error {
			var fresh, changed []*storage.Flag
			for _, r := range list {
				r.made.Created, r.made.Updated = now, now
				switch wanted, err := i.wanted(r); {
				case err != nil:
					return err
				case wanted && r.made.ID == 0:
					fresh = append(fresh, r.made)
				case wanted:
					changed = append(changed, r.made)
				}
			}
			if err := i.createFlags(ctx, fresh); err != nil {
				return err
			}
			if err := i.changeFlags(ctx, "changed", changed); err != nil {
				return err
			}
			done += len(list)
			i.tell("flags", done, len(waiting))
			return nil
		})
	})
	for _, n := range circular {
		i.leave(&waiting[n], errors.New("its flags depend on each other in a circle"))
	}
	return err
}

// importTurn is how many flags are stored at once, while the next ones are read.
// importShare is how many of these one processor reads at once.
const importTurn, importShare = 1000, 125

// A readFlag is a flag of a file, and the flag that was made of it.
type readFlag struct {
	file *importedFlag
	made *storage.Flag

	err   error
	place string // of the error in the file's flag, a JSON pointer; "" for the error's
}

// readFlags makes the flags that a file describes. It changes nothing else.
func (i *importer) readFlags(list []readFlag, refs *judge.References) {
	type sound struct {
		*readFlag
		filters flags.Filters
	}
	sounds, cases := make([]sound, 0, len(list)), make([]judge.Case, 0, len(list))
	for n := range list {
		f := sound{readFlag: &list[n]}
		f.made = i.newFlag()
		f.made.HasExperiment, f.made.BucketingHash = f.file.experiment(), ""
		if f.file.Version > 0 {
			f.made.Version = f.file.Version
		}
		f.filters, f.err = i.fill(f.made, f.file, refs)
		subject := judge.Subject{Key: f.file.Key, RemoteConfig: f.made.RemoteConfig, Sent: true}
		there := i.there[f.file.Key]
		if there != nil {
			subject.ID = there.ID
		}
		switch {
		case f.err != nil:
		case f.file.Err() == nil && there != nil && sameRules(there, f.made, &f.filters):
			f.made.Filters = f.filters // they were judged when they were stored
		default:
			sounds = append(sounds, f)
			cases = append(cases, judge.Case{Filters: &sounds[len(sounds)-1].filters, Subject: subject})
		}
	}
	for n, err := range judge.JudgeAll(cases, refs) {
		f := &sounds[n]
		switch broken := i.file.faults[f.file.Key]; {
		case err != nil:
			f.err = judgeError(err)
		case broken != nil:
			f.err, f.place = invalid("", "invalid_input", "%s", broken), broken.Path
		case f.file.unread != nil:
			f.err = invalid("", "invalid_input", "%s", f.file.unread)
		default:
			f.made.Filters = f.filters
		}
	}
}

// sameRules reports whether a flag of a file decides as the flag of the project does, so
// that a change of the one into the other is not judged, as in [Service.applyFilters].
func sameRules(there, made *storage.Flag, filters *flags.Filters) bool {
	return there.RemoteConfig == made.RemoteConfig && (there.InForce() || !made.InForce()) && normal.SameFilters(&there.Filters, filters)
}

// wanted reports whether the flag that was made of a file's is to be stored: as a new one
// or, if it has an ID then, in place of the one that the project has. It is left out if it
// could not be read.
func (i *importer) wanted(r readFlag) (bool, error) {
	f, made := r.file, r.made
	if r.err != nil {
		if _, ok := errors.AsType[*Error](r.err); !ok {
			return false, r.err
		}
		i.leaveAt(f, r.place, r.err)
		return false, nil
	}
	there := i.there[made.Key]
	if there == nil {
		return true, nil
	}
	if i.apply != nil {
		i.replace(there, made, f)
	}
	changes := field.Differences("FeatureFlag", saidFields(there), saidFields(made))
	if len(changes) == 0 {
		i.report.Unchanged = append(i.report.Unchanged, made.Key)
		i.stage = append(i.stage, there)
		return false, nil
	}
	if i.apply == nil {
		names := each(changes, func(c *field.Change) string { return c.Field })
		const differs = "the project has another flag with this key: they differ in %s; to change it, apply the document"
		i.leave(f, fmt.Errorf(differs, strings.Join(names, ", ")))
		return false, nil
	}
	err := mayApply(there, made)
	if err == nil && i.apply.From != nil {
		err = isImported(there, made)
	}
	if err != nil {
		i.leave(f, err)
		return false, nil
	}
	return true, nil
}

// createFlags stores new flags and logs that.
func (i *importer) createFlags(ctx context.Context, list []*storage.Flag) error {
	if err := i.store.Flags().Create(ctx, list...); err != nil {
		return storeError(err)
	}
	var log []storage.Activity
	for _, made := range list {
		i.set.flags = append(i.set.flags, *made)
		i.report.Flags = append(i.report.Flags, made.Key)
		i.report.FlagIDs = append(i.report.FlagIDs, made.ID)
		i.stage = append(i.stage, made)
		if made.Active {
			i.report.Active = append(i.report.Active, made.Key)
		}
		log = append(log, importActivity(made, "created", nil, i.apply.by(made)))
		if i.apply != nil {
			i.apply.flags = append(i.apply.flags, appliedFlag{nil, made, "created"})
		}
	}
	return i.record(ctx, log...)
}

// fill gives a new flag what a file says of it, but for its filters, which it returns with
// their text.
func (i *importer) fill(made *storage.Flag, f *importedFlag, refs *judge.References) (flags.Filters, error) {
	patch := patchOf(f, cmp.Or(f.Flag.BucketingHash, i.file.definitions.BucketingHash))
	foreign := i.apply != nil && i.apply.From != nil && foreignKeyForm.MatchString(f.Key) && len(f.Key) <= storage.MaxFlagKey
	if foreign { // it may have other characters than a new one
		patch.Key.Value = "-"
	}
	err := patch.validate(made)
	if err == nil {
		err = applyFields(made, &patch, refs)
	}
	if err != nil {
		return flags.Filters{}, err
	}
	if foreign {
		made.Key = f.Key
	}
	filters := f.wholeFilters()
	return filters, i.translateFilters(&filters)
}

// translateFilters makes filters refer to what the project has: flags by key, cohorts
// and group types by their numbers here. The error says what was not imported.
func (i *importer) translateFilters(f *flags.Filters) error {
	errs := []error{i.aggregate(&f.AggregationGroupTypeIndex)}
	if f.RuleSet != nil {
		errs = append(errs, i.aggregate(&f.RuleSet.Aggregation))
		for split := range f.RuleSet.Splits() {
			if split.Group != nil {
				own, err := i.groupIndex(*split.Group)
				errs = append(errs, err)
				split.Group = &own
			}
		}
	}
	for n := range f.Groups {
		errs = append(errs, i.aggregate(&f.Groups[n].AggregationGroupTypeIndex))
	}
	for _, filter := range f.All() {
		errs = append(errs, i.translate(filter))
	}
	return cmp.Or(errs...)
}

// translateTree is translateFilters for a cohort's tree.
func (i *importer) translateTree(tree *flags.CohortNode) error {
	for leaf := range tree.Leaves() {
		if err := i.translate(leaf); err != nil {
			return err
		}
	}
	return nil
}

// translate is translateFilters for one filter.
func (i *importer) translate(f *flags.Filter) error {
	if f.GroupTypeIndex != nil {
		own, err := i.groupIndex(*f.GroupTypeIndex)
		if err != nil {
			return err
		}
		f.GroupTypeIndex = &own
	}
	if id, ok := f.CohortID(); ok {
		own, made := i.cohorts[id]
		if !made {
			return missing("it needs the cohort with the id %d, which was not imported", id)
		}
		f.Value = strconv.AppendInt(nil, own, 10)
	}
	if r, ok := f.Target(); ok {
		target := i.file.index.Find(r)
		if target == nil {
			return missing("it depends on the flag %q, which the file does not have", check.Excerpt(r.Name))
		}
		id, made := i.ids[target.Key]
		if !made {
			return missing("it depends on the flag %s (id %d), which was not imported", target.Key, target.ID)
		}
		f.Key, f.DependencyChain = strconv.FormatInt(id, 10), nil
	}
	return nil
}

func missing(format string, args ...any) error {
	return invalid("", "invalid_input", format, args...)
}

func (i *importer) aggregate(a *flags.Aggregation) error {
	index, ok := a.Index()
	if !ok {
		return nil
	}
	own, err := i.groupIndex(index)
	*a = flags.ByGroup(own)
	return err
}

func (i *importer) groupIndex(index int) (int, error) {
	if own, ok := i.groups[index]; ok {
		return own, nil
	}
	return 0, missing("it is about the group type %d, which the file or the project does not have", index)
}

// prove evaluates the flags that were made or changed, and the flags of the file, for
// random subjects.
func (i *importer) prove(ctx context.Context) error {
	keys, done := i.report.Flags, "imported"
	if i.apply != nil {
		keys, done = i.apply.keysOf("created", "changed"), "applied"
	}
	if len(keys) == 0 {
		return nil
	}
	inFile, here := i.needed(keys)
	var options flags.CompileOptions
	if inFile.TimeZone == "" {
		options.TimeZone = i.set.zone // the file does not say, so that it is as here
	}
	var before, after *flags.Snapshot
	var errs [2]error
	err := parallel.Each(2, func(n int) {
		if n == 0 {
			before, errs[0] = flags.Compile(inFile, options)
		} else {
			after, errs[1] = flags.Compile(here, flags.CompileOptions{TimeZone: i.set.zone})
		}
	})
	switch {
	case err != nil:
		return err
	case errs[0] != nil:
		return invalid("", "invalid_input", "The definitions of the file cannot be compiled: %s.", errs[0])
	case errs[1] != nil:
		return errs[1]
	}
	seed := fnv.New64a()
	seed.Write([]byte(before.ETag()))
	known, random, now := subjects.Of(inFile), rand.New(rand.NewPCG(seed.Sum64(), 0)), i.now()
	var mu sync.Mutex // for random and tried
	tried, differences := 0, make([]*difference, min(paritySubjects, max(maxParityValues/len(keys), 1)))
	var stored []int64 // cohorts whose members only the store knows
	for _, id := range slices.Sorted(maps.Keys(inFile.Cohorts)) {
		if inFile.Cohorts[id].Stored {
			stored = append(stored, id)
		}
	}
	var differ atomic.Bool
	next := func() (int, *flags.Request) {
		mu.Lock()
		defer mu.Unlock()
		i.tell("subjects", tried, len(differences))
		tried++
		subject := known.Draw(random, tried, now)
		for _, id := range stored {
			if random.IntN(2) == 0 {
				subject.Cohorts = append(subject.Cohorts, id)
			}
		}
		return tried - 1, subject
	}
	err = parallel.Each(len(differences), func(int) {
		n, subject := next()
		if differ.Load() {
			return
		}
		if differences[n] = compareValues(before, after, keys, subject, i.cohorts); differences[n] != nil {
			differ.Store(true)
		}
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	for _, difference := range differences {
		if difference != nil {
			return conflict("Nothing was %s: %s.", done, strings.TrimSuffix(difference.Error(), "."))
		}
	}
	i.report.Parity = len(differences)
	i.tell("subjects", i.report.Parity, i.report.Parity)
	return nil
}

// needed returns flags and what they depend on, as the file and as the project has them.
func (i *importer) needed(keys []string) (inFile, here *flags.Definitions) {
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	var list []*flags.Flag
	for n := range i.file.definitions.Flags {
		if f := &i.file.definitions.Flags[n]; wanted[f.Key] {
			list = append(list, f)
		}
	}
	needs := func(f *flags.Flag) iter.Seq[*flags.Flag] {
		needed, _ := i.file.index.Dependencies(&f.Filters)
		return slices.Values(needed)
	}
	for step := range graph.Reach(slices.Values(list), needs) {
		wanted[step.Node.Key] = true
	}
	inFile = new(*i.file.definitions)
	inFile.Flags = slices.DeleteFunc(slices.Clone(inFile.Flags), func(f flags.Flag) bool { return !wanted[f.Key] })
	own := slices.DeleteFunc(slices.Clone(i.set.flags), func(f storage.Flag) bool { return !wanted[f.Key] })
	return inFile, storage.FlagDefinitions(own, i.set.cohorts, i.set.groupTypes)
}
