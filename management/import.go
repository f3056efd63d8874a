package management

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/parity"
	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// An ImportReport tells what an import has made, and what it could not.
type ImportReport struct {
	Flags   []string      // keys of the flags that were made
	Cohorts []string      // names of the cohorts that were made
	Left    []NotImported // what was left out
	Notes   []string      // what somebody has to do or to know
	Parity  int           // subjects for whom all flags were evaluated as in the file
}

// NotImported is a flag or a cohort that was left out, and why.
type NotImported struct {
	What   string
	Reason string
}

// paritySubjects is for how many subjects an import is tried.
const paritySubjects = 1000

// An importer is an import that is under way.
type importer struct {
	*work
	file   *importFile
	report *ImportReport

	groupTypes map[int]string // of the project
	groups     map[int]int    // indexes of the file to indexes of the project
	cohorts    map[int64]int64
}

// Import makes the flags and cohorts of a file in a project: definitions as the
// definitions endpoint has them, or lists of flags and cohorts as the management
// API has them, of this or of the public system. It is for programs on the machine
// of the server.
//
// What cannot be converted is left out, and so is what depends on it. Before it is
// stored, the imported flags are evaluated for a thousand random subjects with what
// was made and with the file; if one value differs, nothing is stored, and the error
// says which. Static cohorts come without their members.
func (s *Service) Import(ctx context.Context, project int64, document []byte) (*ImportReport, error) {
	file, err := readImport(document)
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	known, err := s.c.Data.AddGroupTypes(ctx, project, file.groupNames())
	if err != nil {
		return nil, err
	}
	var report *ImportReport
	err = s.atomic(ctx, nil, func(w *work) error {
		p, err := w.store.Project(ctx, project)
		if err != nil {
			return storeError(err)
		}
		w.at = &ProjectAccess{Project: p}
		i := &importer{
			work: w, file: file, report: new(ImportReport), groupTypes: known,
			groups: make(map[int]int), cohorts: make(map[int64]int64),
		}
		w.changed = append(w.changed, project)
		report = i.report
		return i.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// An importFile is a file that was read.
type importFile struct {
	definitions *flags.Definitions
	index       *flags.Index // of the definitions
	flags       []importedFlag
	cohorts     []importedCohort
	groupTypes  map[int]string
}

// An importedFlag is a flag of a file: its definition, and what only a file says.
type importedFlag struct {
	*flags.Flag `json:"-"` // nil if it has no key, or is deleted

	Key           string            `json:"key"`
	Deleted       bool              `json:"deleted"`
	Filters       json.RawMessage   `json:"filters"`
	Archived      bool              `json:"archived"`
	Tags          []string          `json:"tags"`
	HasExperiment *bool             `json:"has_experiment"`
	ExperimentSet []json.RawMessage `json:"experiment_set"` // of the management API
}

// experiment reports whether a flag belongs to an experiment. Definitions say so if
// it does not (evaluation.md §1.2).
func (f *importedFlag) experiment() bool {
	if f.HasExperiment != nil {
		return *f.HasExperiment
	}
	return f.ExperimentSet == nil || len(f.ExperimentSet) > 0
}

type importedCohort struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Static      bool            `json:"is_static"`
	Deleted     bool            `json:"deleted"`
	Filters     json.RawMessage `json:"filters"`
	Groups      json.RawMessage `json:"groups"`
}

// readImport reads a file in any of its forms.
func readImport(document []byte) (*importFile, error) {
	var whole struct {
		Flags      json.RawMessage   `json:"flags"`
		Results    json.RawMessage   `json:"results"`
		Cohorts    json.RawMessage   `json:"cohorts"`
		GroupTypes map[string]string `json:"group_type_mapping"`
	}
	document = bytes.TrimSpace(document)
	if len(document) > 0 && document[0] == '[' {
		whole.Flags = document
	} else if err := json.Unmarshal(document, &whole); err != nil {
		return nil, invalid("", "invalid_input", "The file is no JSON object of definitions, and no list of flags: %s.", err)
	}
	if whole.Flags == nil {
		whole.Flags = whole.Results
	}
	list, err := listElements(whole.Flags)
	if err != nil || whole.Flags == nil {
		return nil, invalid("flags", "invalid_input", "The file has no list of flags: want the member flags or results.")
	}
	file := &importFile{groupTypes: make(map[int]string)}
	for index, name := range whole.GroupTypes {
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 {
			return nil, invalid("group_type_mapping", "invalid_input", "The index %q is no number.", check.Excerpt(index))
		}
		file.groupTypes[i] = name
	}
	for n, raw := range list {
		var f importedFlag
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, invalid("flags", "invalid_input", "Flag %d cannot be read: %s.", n+1, err)
		}
		file.flags = append(file.flags, f)
	}
	cohorts := whole.Cohorts
	if file.cohorts, err = readCohorts(cohorts); err != nil {
		return nil, err
	}
	if len(cohorts) > 0 && cohorts[0] == '{' {
		if page, err := listElements(cohorts); err == nil {
			cohorts = rawjson.Must(page)
		}
	}
	body := rawjson.Must(map[string]any{"flags": list, "cohorts": rawjson.Or(cohorts, "{}"), "group_type_mapping": file.groupTypes})
	if file.definitions, err = flags.Decode(bytes.NewReader(body)); err != nil {
		return nil, invalid("", "invalid_input", "The definitions cannot be read: %s.", err)
	}
	file.index = flags.NewIndex(file.definitions.Flags)
	for n := range file.flags {
		f := &file.flags[n]
		f.Flag = file.index.Find(flags.FlagReference{Name: f.Key, IsKey: true})
	}
	return file, nil
}

// listElements returns the elements of a list, or of a page of one.
func listElements(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(rawjson.Or(raw, "[]"), &list); err == nil {
		return list, nil
	}
	var page struct {
		Results *[]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, err
	}
	if page.Results == nil {
		return nil, errors.New("management: no list")
	}
	return *page.Results, nil
}

// readCohorts reads a list of cohorts, or a map of trees by ID.
func readCohorts(raw json.RawMessage) ([]importedCohort, error) {
	var cohorts []importedCohort
	if list, err := listElements(raw); err == nil {
		for n, raw := range list {
			var c importedCohort
			if err := json.Unmarshal(raw, &c); err != nil {
				return nil, invalid("cohorts", "invalid_input", "Cohort %d cannot be read: %s.", n+1, err)
			}
			cohorts = append(cohorts, c)
		}
		return cohorts, nil
	}
	trees, ok := rawjson.Object(raw)
	if !ok {
		return nil, invalid("cohorts", "invalid_input", "Want a list of cohorts, or an object of them by ID.")
	}
	for _, text := range slices.Sorted(maps.Keys(trees)) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, invalid("cohorts", "invalid_input", "The ID %q is no number.", check.Excerpt(text))
		}
		c := importedCohort{ID: id, Name: "Imported cohort " + text}
		if record, ok := rawjson.Object(trees[text]); ok && record["is_static"] != nil {
			if err := json.Unmarshal(trees[text], &c); err != nil {
				return nil, invalid("cohorts", "invalid_input", "Cohort %d cannot be read: %s.", id, err)
			}
			c.ID = id
		} else {
			c.Filters = rawjson.Must(map[string]any{"properties": trees[text]})
		}
		cohorts = append(cohorts, c)
	}
	return cohorts, nil
}

// groupNames returns the group types of the file by ascending index.
func (f *importFile) groupNames() []string {
	var names []string
	for _, i := range slices.Sorted(maps.Keys(f.groupTypes)) {
		names = append(names, f.groupTypes[i])
	}
	return names
}

// run imports everything.
func (i *importer) run(ctx context.Context) error {
	for index, name := range i.file.groupTypes {
		for own, known := range i.groupTypes {
			if known == name {
				i.groups[index] = own
			}
		}
		if _, ok := i.groups[index]; !ok {
			i.report.Notes = append(i.report.Notes, fmt.Sprintf("The project has no room for the group type %q.", name))
		}
	}
	if err := i.importCohorts(ctx); err != nil {
		return err
	}
	if err := i.importFlags(ctx); err != nil {
		return err
	}
	return i.prove(ctx)
}

func (i *importer) leave(what string, err error) {
	reason := err.Error()
	if e, ok := errors.AsType[*Error](err); ok {
		reason = e.Detail
	}
	i.report.Left = append(i.report.Left, NotImported{what, reason})
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
	circular, err := i.inStages(ctx, len(waiting), needs, func(n int, world *judge.World) error {
		return i.importCohort(ctx, &waiting[n], world)
	})
	for _, n := range circular {
		i.leave("cohort "+waiting[n].Name, errors.New("its cohorts refer to each other in a circle"))
	}
	return err
}

// inStages calls make for the numbers below count: first for the ones that others
// need, and with the state after the earlier calls. It returns the numbers that
// need each other in a circle, and the numbers that need one of these.
func (i *importer) inStages(ctx context.Context, count int, needs func(int) iter.Seq[int], make func(int, *judge.World) error) (circular []int, err error) {
	lists := [][]int{}
	for n := range count {
		lists = append(lists, uniqueValues(slices.Collect(needs(n))))
	}
	stages, circular := graph.Stages(lists)
	for _, stage := range stages {
		world, err := i.definitionWorld(ctx)
		if err != nil {
			return nil, err
		}
		slices.Sort(stage) // as in the file
		for _, n := range stage {
			if err := make(n, world); err != nil {
				return nil, err
			}
		}
	}
	return circular, nil
}

func (c *importedCohort) filters() json.RawMessage {
	if len(c.Filters) == 0 || string(c.Filters) == "null" || string(c.Filters) == "{}" {
		if converted, err := judge.CohortOfGroups(c.Groups); err == nil {
			return converted
		}
	}
	return c.Filters
}

func (i *importer) importCohort(ctx context.Context, c *importedCohort, world *judge.World) error {
	name := c.Name
	if name == "" {
		name = "Imported cohort " + strconv.FormatInt(c.ID, 10)
	}
	made := &Cohort{Project: i.at.Project.ID, Name: name, Description: c.Description, Static: c.Static, Created: i.now()}
	if c.Static {
		made.Count, made.Calculated = new(0), &made.Created
		i.report.Notes = append(i.report.Notes, fmt.Sprintf("The static cohort %q has no members yet: send them to its members endpoint.", name))
	} else {
		tree, err := judge.ReadCohort(rawjson.Or(c.filters(), "{}"))
		if err == nil {
			for leaf := range tree.Leaves() {
				i.translate(leaf)
			}
			err = judge.JudgeCohort(tree, 0, world)
		}
		if err != nil {
			i.leave("cohort "+name, judgeError(err))
			return nil
		}
		made.Criteria = tree
	}
	if err := i.store.CreateCohort(ctx, made); err != nil {
		return storeError(err)
	}
	i.cohorts[c.ID] = made.ID
	i.report.Cohorts = append(i.report.Cohorts, name)
	return i.logCohort(ctx, made, "created", nil)
}

// importFlags makes flags, those first that others depend on.
func (i *importer) importFlags(ctx context.Context) error {
	var waiting []importedFlag
	numbers := make(map[*flags.Flag]int)
	for _, f := range i.file.flags {
		switch {
		case f.Deleted:
		case f.Flag == nil:
			i.leave("flag "+f.Key, errors.New("it has no key"))
		case f.HasEncryptedPayloads:
			i.leave("flag "+f.Key, errors.New("its payloads are encrypted: make it again by hand"))
		default:
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
	circular, err := i.inStages(ctx, len(waiting), needs, func(n int, world *judge.World) error {
		return i.importFlag(ctx, &waiting[n], world)
	})
	for _, n := range circular {
		i.leave("flag "+waiting[n].Key, errors.New("its flags depend on each other in a circle"))
	}
	return err
}

func (i *importer) importFlag(ctx context.Context, f *importedFlag, world *judge.World) error {
	made := i.newFlag()
	made.HasExperiment, made.BucketingHash = f.experiment(), ""
	if f.Version > 0 {
		made.Version = f.Version
	}
	if err := i.fill(made, f, world); err != nil {
		if _, ok := errors.AsType[*Error](err); !ok {
			return err
		}
		i.leave("flag "+f.Key, err)
		return nil
	}
	switch err := i.store.CreateFlag(ctx, made); {
	case errors.Is(err, ErrConflict):
		i.leave("flag "+f.Key, errors.New("the project has a flag with this key"))
		return nil
	case err != nil:
		return storeError(err)
	}
	i.report.Flags = append(i.report.Flags, made.Key)
	return i.logFlag(ctx, made, "created", nil)
}

// fill gives a new flag what a file says of it.
func (i *importer) fill(made *FeatureFlag, f *importedFlag, world *judge.World) error {
	patch := FlagPatch{
		Key: optional.Of(f.Key), Name: optional.Of(f.Name), Filters: optional.Of(rawjson.Or(f.Filters, "{}")), Active: optional.Of(f.Active), Archived: optional.Of(f.Archived),
		Continuity: optional.Of(f.EnsureExperienceContinuity), Runtime: optional.Of(f.EvaluationRuntime), Bucketing: optional.Of(f.BucketingIdentifier),
		BucketingHash: optional.Of(f.Flag.BucketingHash), Contexts: optional.Of(rawjson.Must(append([]string{}, f.EvaluationContexts...))),
		Tags: optional.Of(rawjson.Must(append([]string{}, f.Tags...))), RemoteConfig: optional.Of(f.IsRemoteConfiguration),
	}
	if err := patch.validate(made); err != nil {
		return err
	}
	if err := applyFields(made, &patch, world); err != nil {
		return err
	}
	err := judge.Read(patch.Filters.Value, f.Key, &made.Filters)
	if err == nil {
		i.translateFilters(&made.Filters)
		err = judge.Judge(&made.Filters, judge.Subject{Key: f.Key, Create: true, RemoteConfig: made.RemoteConfig}, world)
	}
	if err != nil {
		return judgeError(err)
	}
	if err := f.Err(); err != nil {
		return invalid("", "invalid_input", "%s", err)
	}
	return nil
}

// translateFilters makes filters refer to what the project has: flags by key, cohorts
// and group types by their numbers here. What was not imported gets a number that
// nothing has.
func (i *importer) translateFilters(f *flags.Filters) {
	f.AggregationGroupTypeIndex = i.aggregation(f.AggregationGroupTypeIndex)
	for n := range f.Groups {
		f.Groups[n].AggregationGroupTypeIndex = i.aggregation(f.Groups[n].AggregationGroupTypeIndex)
	}
	for _, filter := range f.All() {
		i.translate(filter)
	}
}

// translate is translateFilters for one filter, or the leaf of a cohort's tree.
func (i *importer) translate(f *flags.Filter) {
	if f.GroupTypeIndex != nil {
		f.GroupTypeIndex = new(i.groupIndex(*f.GroupTypeIndex))
	}
	if id, ok := f.CohortID(); ok {
		f.Value = strconv.AppendInt(nil, i.cohorts[id], 10)
	}
	if r, ok := f.Target(); ok {
		if target := i.file.index.Find(r); target != nil {
			f.Key, f.DependencyChain = target.Key, new([]string) // which says that it is a key
		}
	}
}

func (i *importer) aggregation(a flags.Aggregation) flags.Aggregation {
	if index, ok := a.Index(); ok {
		return flags.ByGroup(i.groupIndex(index))
	}
	return a
}

func (i *importer) groupIndex(index int) int {
	if own, ok := i.groups[index]; ok {
		return own
	}
	return 99 // which no project has
}

// prove evaluates the flags that were made, and the flags of the file, for random
// subjects.
func (i *importer) prove(ctx context.Context) error {
	list, err := i.store.Flags(ctx, i.at.Project.ID)
	if err != nil {
		return err
	}
	cohorts, err := i.store.Cohorts(ctx, i.at.Project.ID)
	if err != nil {
		return err
	}
	before, err := flags.Compile(i.file.definitions, flags.CompileOptions{})
	if err != nil {
		return invalid("", "invalid_input", "The definitions of the file cannot be compiled: %s.", err)
	}
	after, err := flags.Compile(Definitions(list, cohorts, i.groupTypes), flags.CompileOptions{})
	if err != nil {
		return err
	}
	seed := fnv.New64a()
	seed.Write([]byte(before.ETag()))
	subjects := parity.NewSubjects(i.file.definitions, i.now(), seed.Sum64())
	for range paritySubjects {
		if err := ctx.Err(); err != nil {
			return err
		}
		difference, err := parity.Compare(before, after, i.report.Flags, subjects.Next(), i.cohorts)
		if err != nil {
			return err
		}
		if difference != nil {
			return conflict("Nothing was imported: %s.", strings.TrimSuffix(difference.Error(), "."))
		}
		i.report.Parity++
	}
	return nil
}
