package management

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
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
	groups     map[int]int    // indexes of the file to those of the project
	cohorts    map[int64]int64
	keys       map[int64]string // of the flags of the file
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
			groups: make(map[int]int), cohorts: make(map[int64]int64), keys: make(map[int64]string),
		}
		report = i.report
		return i.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	s.c.OnChange(ctx, project)
	return report, nil
}

// An importFile is a file that was read.
type importFile struct {
	definitions *flags.Definitions
	flags       []importedFlag
	cohorts     []importedCohort
	groupTypes  map[int]string
}

type importedFlag struct {
	flagDefinition
	Deleted     bool     `json:"deleted"`
	Archived    bool     `json:"archived"`
	Tags        []string `json:"tags"`
	OldContexts []string `json:"evaluation_tags"`
	Remotely    bool     `json:"evaluate_remotely"`

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
	return file, nil
}

// listElements returns those of a list, or of a page of one.
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
	for _, f := range i.file.flags {
		i.keys[f.ID] = f.Key
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
	for len(waiting) > 0 {
		world, err := i.definitionWorld(ctx)
		if err != nil {
			return err
		}
		var later []importedCohort
		before := len(waiting)
		for _, c := range waiting {
			refers := func(other importedCohort) bool {
				return other.ID != c.ID && slices.Contains(judge.CohortReferences(c.filters()), other.ID)
			}
			if slices.ContainsFunc(waiting, refers) {
				later = append(later, c)
				continue
			}
			if err := i.importCohort(ctx, &c, world); err != nil {
				return err
			}
		}
		if waiting = later; len(waiting) == before {
			for _, c := range waiting {
				i.leave("cohort "+c.Name, errors.New("its cohorts refer to each other in a circle"))
			}
			return nil
		}
	}
	return nil
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
		mapped := i.mapped(c.filters())
		filters, err := judge.CohortFilters(mapped, 0, world)
		if err != nil {
			i.leave("cohort "+name, judgeError(err))
			return nil
		}
		made.Filters = filters
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
	for _, f := range i.file.flags {
		switch {
		case f.Deleted:
		case f.EncryptedPayloads:
			i.leave("flag "+f.Key, errors.New("its payloads are encrypted: make it again by hand"))
		default:
			waiting = append(waiting, f)
		}
	}
	for len(waiting) > 0 {
		world, err := i.definitionWorld(ctx)
		if err != nil {
			return err
		}
		pending := make(map[string]bool, len(waiting))
		for _, f := range waiting {
			pending[f.Key] = true
		}
		var later []importedFlag
		before := len(waiting)
		for _, f := range waiting {
			mapped := i.mapped(f.Filters)
			_, keys, _ := judge.References(mapped)
			if slices.ContainsFunc(keys, func(key string) bool { return key != f.Key && pending[key] }) {
				later = append(later, f)
				continue
			}
			if err := i.importFlag(ctx, &f, mapped, world); err != nil {
				return err
			}
		}
		if waiting = later; len(waiting) == before {
			for _, f := range waiting {
				i.leave("flag "+f.Key, errors.New("its flags depend on each other in a circle"))
			}
			return nil
		}
	}
	return nil
}

func (i *importer) importFlag(ctx context.Context, f *importedFlag, mapped json.RawMessage, world *judge.World) error {
	patch := FlagPatch{
		Key: optional.Of(f.Key), Name: optional.Of(f.Name), Filters: optional.Of(mapped), Active: optional.Of(f.Active), Archived: optional.Of(f.Archived),
		Continuity: optional.Of(f.Continuity != nil && *f.Continuity && !f.Remotely), Runtime: optional.Of(f.Runtime), Bucketing: optional.Of(f.Bucketing),
		BucketingHash: optional.Of(f.BucketingHash), Contexts: optional.Of(rawjson.Must(append(append([]string{}, f.Contexts...), f.OldContexts...))),
		Tags: optional.Of(rawjson.Must(append([]string{}, f.Tags...))), RemoteConfig: optional.Of(f.RemoteConfig),
	}
	made := i.newFlag()
	made.HasExperiment, made.BucketingHash = f.experiment(), ""
	if f.Version > 0 {
		made.Version = f.Version
	}
	err := patch.validate(made)
	if err == nil {
		err = i.applyIn(world, made, &patch)
	}
	if err != nil {
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

// mapped returns filters, of a flag or a cohort, that refer to what the project
// has: flags by key, cohorts and group types by their numbers here. What was not
// imported gets a number that nothing has.
func (i *importer) mapped(filters json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(rawjson.Or(filters, "{}")))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return filters
	}
	i.mapValue(v)
	return rawjson.Must(v)
}

func (i *importer) mapValue(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			i.mapValue(one)
		}
	case map[string]any:
		for _, name := range []string{"aggregation_group_type_index", "group_type_index"} {
			if n, ok := v[name].(json.Number); ok {
				v[name] = i.groupIndex(n)
			}
		}
		switch v["type"] {
		case "cohort":
			v["value"] = i.cohortID(v["value"])
		case "flag":
			if _, byKey := v["dependency_chain"]; !byKey {
				if id, err := strconv.ParseInt(fmt.Sprint(v["key"]), 10, 64); err == nil && i.keys[id] != "" {
					v["key"] = i.keys[id]
				}
			}
		}
		for _, name := range []string{"groups", "properties", "values", "super_groups"} {
			i.mapValue(v[name])
		}
	}
}

func (i *importer) groupIndex(n json.Number) json.Number {
	if index, err := strconv.Atoi(n.String()); err == nil {
		if own, ok := i.groups[index]; ok {
			return json.Number(strconv.Itoa(own))
		}
	}
	return "99" // which no project has
}

func (i *importer) cohortID(v any) any {
	id, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return v
	}
	if own, ok := i.cohorts[id]; ok {
		return json.Number(strconv.FormatInt(own, 10))
	}
	return json.Number("0")
}

// prove evaluates the flags that were made, and those of the file, for random
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
	made, err := Definitions(list, cohorts, i.groupTypes)
	if err != nil {
		return err
	}
	before, err := flags.Compile(i.file.definitions, flags.CompileOptions{})
	if err != nil {
		return invalid("", "invalid_input", "The definitions of the file cannot be compiled: %s.", err)
	}
	after, err := flags.Compile(made, flags.CompileOptions{})
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
