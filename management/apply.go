package management

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/internal/parallel"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ApplyOptions say how a document is applied.
type ApplyOptions struct {
	// Prune archives the flags and deletes the cohorts that the document does not have.
	Prune bool

	// DryRun stores nothing: the report, or the error, is the one of a real run.
	DryRun bool

	// IfMatch applies the document only to the flags and cohorts with this
	// [ApplyReport.ETag]; others are [ErrPrecondition]. Nil: to any.
	IfMatch *string

	// From says that the document is another product's, and how it becomes definitions. Flags
	// that cannot be kept are left out then, and a flag of the project that comes from
	// elsewhere is not changed; nothing is pruned. Nil: it is a definitions document.
	From *foreign.Options
}

// An ApplyReport tells what a document has changed in a project.
type ApplyReport struct {
	Changes   []DefinitionChange `json:"changes"` // of cohorts, then of flags, by name
	Unchanged int                `json:"unchanged"`
	Notes     []string           `json:"notes"` // what somebody has to know

	// StaticCohorts are the static cohorts of the document. It does not have their members.
	StaticCohorts []StaticCohort `json:"static_cohorts"`

	// Parity is for how many subjects each flag that was made or changed has the same value
	// as in the document.
	Parity int `json:"parity"`

	// ETag names the flags and cohorts that the project had before.
	ETag string `json:"etag"`

	// Report is what an import from another product could not keep. Nil: it is from none.
	*foreign.Report
}

// A DefinitionChange is what a document has changed of one flag or cohort.
type DefinitionChange struct {
	Kind    string `json:"kind"`    // flag or cohort
	Name    string `json:"name"`    // key of the flag, name of the cohort
	Action  string `json:"action"`  // created, changed, archived or deleted
	Version int    `json:"version"` // that the flag has then; 0 for cohorts

	// Changes are the differences in full, in which filters name flags by their keys and
	// cohorts by their names. They are empty for what was created, of which the document
	// says everything.
	Changes []FlagChange `json:"changes"`
}

// A DefinitionProblem is a reason why a document cannot be applied.
type DefinitionProblem struct {
	What   string `json:"what"`   // the flag or the cohort
	Place  string `json:"place"`  // in the document, as a JSON pointer; "" for what it does not have
	Reason string `json:"reason"` // for people
}

// ApplyDefinitions makes the flags and cohorts of the project that a path names what a
// document says (management.md §13.23): flags by their keys and cohorts by their names. It
// takes the documents of [Service.ImportDefinitions], as one JSON value. What the document
// does not have stays as it is, unless it is pruned. Everything happens in one transaction:
// if something is refused, nothing is changed, and the [Error] has all problems. It needs
// scopes feature_flag:write and cohort:write.
func (s *Service) ApplyDefinitions(ctx context.Context, p *Principal, ref string, document []byte, o ApplyOptions) (*ApplyReport, error) {
	if _, err := s.beginAt(ctx, p, ref, importScopes...); err != nil {
		return nil, err
	}
	return s.apply(ctx, p, document, o, func(w *work) error { return w.enter(ctx, ref, importScopes...) })
}

// Apply is [Service.ApplyDefinitions] for programs on the machine of the server.
func (s *Service) Apply(ctx context.Context, project int64, document []byte, o ApplyOptions) (*ApplyReport, error) {
	return s.apply(ctx, nil, document, o, s.enterHere(ctx, project))
}

func (s *Service) apply(ctx context.Context, p *Principal, document []byte, o ApplyOptions, enter func(*work) error) (*ApplyReport, error) {
	if o.From != nil {
		return s.applyForeign(ctx, p, document, o, enter)
	}
	i, err := s.importDocument(ctx, p, document, ImportOptions{DryRun: o.DryRun}, &o, enter)
	if err != nil {
		return nil, err
	}
	report := i.applied()
	return &report, nil
}

// applied returns the report of an importer that has applied its file.
func (i *importer) applied() ApplyReport {
	return ApplyReport{
		Changes: i.apply.changes, Unchanged: len(i.report.Unchanged), Notes: i.report.Notes,
		StaticCohorts: i.report.StaticCohorts, Parity: i.report.Parity, ETag: i.apply.etag,
	}
}

// An applying is what an importer keeps besides if it applies the file.
type applying struct {
	ApplyOptions
	importID string
	etag     string
	changes  []DefinitionChange
	flags    []appliedFlag
	problems []DefinitionProblem
	faulty   map[string]bool // keys of flags of the file that have a problem

	at       map[string]int // index in set.flags of the flags that the project had, by key
	features map[int64]storage.EarlyAccessFeature
	cohorts  int            // how many the project had: the first ones of set.cohorts
	taken    map[int64]bool // IDs of cohorts of the project that the file has
}

// A appliedFlag is a flag before and after it was made, changed or archived.
type appliedFlag struct {
	before *storage.Flag // nil if it was made
	after  *storage.Flag
	action string
}

// by returns what the activity log says of the import that a change of a flag, or of a cohort for
// nil, belongs to; nil for a document of definitions.
func (a *applying) by(f *storage.Flag) *field.Import {
	switch {
	case a == nil || a.From == nil:
		return nil
	case f == nil:
		return &field.Import{ID: a.importID}
	}
	return &field.Import{ID: a.importID, Version: f.Version}
}

// startApplying begins to apply a file to a project that has a set of definitions.
func (w *work) startApplying(ctx context.Context, set *definitionSet, o ApplyOptions) (*applying, error) {
	a := &applying{
		ApplyOptions: o, importID: storage.NewID().String(), etag: set.etag(), changes: []DefinitionChange{}, faulty: make(map[string]bool),
		at: make(map[string]int), features: make(map[int64]storage.EarlyAccessFeature), cohorts: len(set.cohorts), taken: make(map[int64]bool),
	}
	if o.IfMatch != nil && *o.IfMatch != a.etag {
		return nil, &Error{
			Kind: ErrPrecondition, Code: "precondition_failed",
			Detail: "The flags and cohorts of the project were changed in the meantime: look again at what the document would change.",
		}
	}
	for n := range set.flags {
		a.at[set.flags[n].Key] = n
	}
	features, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(w.at.Project.ID))
	for _, f := range features {
		a.features[f.Flag] = f
	}
	return a, err
}

// etag returns a text that changes with every version of a flag and every change of a
// cohort.
func (d *definitionSet) etag() string {
	h := sha256.New()
	for n := range d.flags {
		fmt.Fprintln(h, d.flags[n].ID, d.flags[n].Version)
	}
	for n := range d.cohorts {
		c := &d.cohorts[n]
		fmt.Fprintf(h, "%d %q %q %t %s\n", c.ID, c.Name, c.Description, c.Static, normal.Criteria(c.Criteria))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cohortNamed returns the cohort of the project with the name of one that was made of the
// file's, nil if there is none. The error says why that cannot be told.
func (i *importer) cohortNamed(made *storage.Cohort) (*storage.Cohort, error) {
	inFile := 0
	for n := range i.file.cohorts {
		if c := &i.file.cohorts[n]; !c.Deleted && c.name() == made.Name {
			inFile++
		}
	}
	var here []*storage.Cohort
	for n := range i.set.cohorts[:i.apply.cohorts] {
		if c := &i.set.cohorts[n]; c.Name == made.Name {
			here = append(here, c)
		}
	}
	switch {
	case len(here) == 0:
		return nil, nil
	case len(here) > 1 || inFile > 1:
		const unclear = "which cohort is meant cannot be told: the document has %d with this name and the project %d; rename them"
		return nil, missing(unclear, inFile, len(here))
	case here[0].Static != made.Static:
		return nil, missing("a cohort cannot become static or dynamic later; give it another name, or delete the one that the project has")
	}
	return here[0], nil
}

// changeCohort makes a cohort of the project what the file says.
func (i *importer) changeCohort(ctx context.Context, there, made *storage.Cohort) error {
	i.apply.taken[there.ID] = true
	before, is := *there, *there
	is.Description, is.Criteria = made.Description, made.Criteria
	if is.Description == before.Description && normal.SameCriteria(before.Criteria, is.Criteria) {
		i.report.Unchanged = append(i.report.Unchanged, made.Name)
		return nil
	}
	i.apply.cohortChanged(&before, &is, "changed")
	if !normal.SameCriteria(before.Criteria, is.Criteria) {
		is.Count, is.Calculated = nil, nil
	}
	*there = is
	return i.saveCohortBy(ctx, &before, there, i.apply.by(nil))
}

// cohortChanged notes a change of a cohort.
func (a *applying) cohortChanged(before, after *storage.Cohort, action string) {
	changes := field.Differences("Cohort", cohortFields(before, nil), cohortFields(after, nil))
	a.changes = append(a.changes, DefinitionChange{Kind: "cohort", Name: after.Name, Action: action, Changes: inFull(changes)})
}

// replace gives a flag that was made of the file's what the project's flag has and a file
// does not say. An early access feature decides whether its flag is open for enrolment.
func (i *importer) replace(there, made *storage.Flag, f *importedFlag) {
	made.ID, made.Kind, made.Version, made.EncryptedPayloads = there.ID, there.Kind, there.Version, there.EncryptedPayloads
	made.LastCalled, made.CreatedBy, made.Created = there.LastCalled, there.CreatedBy, there.Created
	if f.HasExperiment == nil && f.ExperimentSet == nil {
		made.HasExperiment = there.HasExperiment
	}
	if feature, ok := i.apply.features[there.ID]; ok {
		follow(made, isReleased(&feature))
		f.Flag.Filters.FeatureEnrollment = made.Filters.FeatureEnrollment // the proof is about the rest
	}
}

// mayApply returns an error if no document may change a flag, or not into the one that was made.
func mayApply(f, made *storage.Flag) error {
	switch {
	case f.Kind != storage.FlagOrdinary:
		return errSurveyFlag
	case f.EncryptedPayloads:
		return missing("the project keeps the payloads of this flag encrypted, which a document cannot do: leave the flag out of it")
	}
	return sameLanguage(&f.Filters, &made.Filters)
}

// isImported returns an error if a flag was not made by an earlier import of the one that was
// made: they have no rule in common.
func isImported(f, made *storage.Flag) error {
	for _, r := range made.Filters.RuleSet.Rules {
		if slices.ContainsFunc(f.Filters.RuleSet.Rules, func(there flags.Rule) bool { return there.ID == r.ID }) {
			return nil
		}
	}
	return missing("the project has another flag with this key, which was not imported from there: rename one of them")
}

// changeFlags stores flags in place of the ones that the project has, and logs that.
func (i *importer) changeFlags(ctx context.Context, action string, list []*storage.Flag) error {
	if len(list) == 0 {
		return nil
	}
	var log []storage.Activity
	for _, f := range list {
		before := i.there[f.Key]
		i.nextVersion(f, versionNote{})
		i.set.flags[i.apply.at[f.Key]] = *f
		i.stage = append(i.stage, f)
		i.apply.flags = append(i.apply.flags, appliedFlag{before, f, action})
		log = append(log, importActivity(f, "updated", i.flagChanges(before, f, false), i.apply.by(f)))
	}
	if err := i.store.Flags().Update(ctx, list...); err != nil {
		return flagStoreError(err)
	}
	return i.record(ctx, log...)
}

// finishApplying prunes what the file does not have, and returns an error that has all
// problems, if there are any.
func (i *importer) finishApplying(ctx context.Context) error {
	a := i.apply
	if a.Prune {
		if err := i.pruneFlags(ctx); err != nil {
			return err
		}
		if err := i.pruneCohorts(ctx); err != nil {
			return err
		}
	}
	i.checkDependents()
	if len(a.problems) > 0 {
		return refusedDocument(a.problems)
	}
	return i.describe()
}

// refusedDocument is the error for a document with problems.
func refusedDocument(problems []DefinitionProblem) error {
	shown := firstFew(problems, func(p *DefinitionProblem) string { return p.What + ": " + strings.TrimSuffix(p.Reason, ".") })
	err := invalid("", "invalid_document", "Nothing was applied: %s.", strings.Join(shown, "; "))
	err.Problems = problems
	return err
}

// describe says what has changed of flags, in the words of the project.
func (i *importer) describe() error {
	a := i.apply
	keys, cohorts := make(map[string]string), make(map[int64]string)
	for n := range i.set.flags {
		keys[strconv.FormatInt(i.set.flags[n].ID, 10)] = i.set.flags[n].Key
	}
	for n := range i.set.cohorts {
		cohorts[i.set.cohorts[n].ID] = i.set.cohorts[n].Name
	}
	named := func(f *storage.Flag) storage.Flag {
		out := *f
		for range f.Filters.All() {
			out.Filters = f.Filters.Clone()
			break
		}
		for _, p := range out.Filters.All() {
			if r, ok := p.Target(); ok {
				p.Key = cmp.Or(keys[r.Name], p.Key)
			}
			if id, ok := p.CohortID(); ok && cohorts[id] != "" {
				p.Value = rawjson.Must(cohorts[id])
			}
		}
		return out
	}
	changes := make([]DefinitionChange, len(a.flags))
	err := parallel.Each(len(a.flags), func(n int) {
		f := &a.flags[n]
		changes[n] = DefinitionChange{Kind: "flag", Name: f.after.Key, Action: f.action, Version: f.after.Version, Changes: []FlagChange{}}
		if f.before != nil {
			was, is := named(f.before), named(f.after)
			was.Filters, is.Filters = hideSeeds(was.Filters, is.Filters)
			changes[n].Changes = inFull(field.Differences("FeatureFlag", saidFields(&was), saidFields(&is)))
		}
	})
	a.changes = append(a.changes, changes...)
	slices.SortStableFunc(a.changes, func(x, y DefinitionChange) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	return err
}

// keysOf returns the keys of flags to which one of some things was done.
func (a *applying) keysOf(actions ...string) (keys []string) {
	for _, f := range a.flags {
		if slices.Contains(actions, f.action) {
			keys = append(keys, f.after.Key)
		}
	}
	return keys
}

// A pruned is a flag or cohort that the file does not have.
type pruned string

func (p pruned) String() string { return string(p) }

func (p pruned) place() string { return "" }

// pruneFlags archives the flags that the file does not have. A flag whose payloads are
// encrypted is in no document, and stays.
func (i *importer) pruneFlags(ctx context.Context) error {
	inFile := make(map[string]bool)
	for _, f := range i.file.flags {
		inFile[f.Key] = !f.Deleted
	}
	linked, err := i.c.FlagUsers.Linked(ctx, &UnitOfWork{i.work}, i.at.Project.ID)
	if err != nil {
		return err
	}
	var list []*storage.Flag
	for n := range i.set.flags {
		f := &i.set.flags[n]
		switch {
		case inFile[f.Key] || f.Kind != storage.FlagOrdinary || f.Archived:
			continue
		case f.EncryptedPayloads:
			i.report.Notes = append(i.report.Notes, fmt.Sprintf("The flag %s stays: its payloads are encrypted, so that no document has it.", f.Key))
			continue
		}
		var users []string
		if feature, ok := i.apply.features[f.ID]; ok {
			users = append(users, "the early access feature "+strconv.Quote(feature.Name))
		}
		for _, survey := range linked[f.ID] {
			users = append(users, "the survey "+strconv.Quote(survey.Name))
		}
		what := pruned("flag " + f.Key)
		if len(users) > 0 {
			i.leave(what, missing("the document does not have it, and it cannot be archived: it is used by %s", strings.Join(users, ", ")))
			continue
		}
		if err := i.c.FlagUsers.CheckUnused(ctx, &UnitOfWork{i.work}, f); err != nil {
			if !isRefusal(err) {
				return err
			}
			i.leave(what, err)
			continue
		}
		archived := *f
		archived.Active, archived.Archived = false, true
		list = append(list, &archived)
	}
	return i.changeFlags(ctx, "archived", list)
}

// pruneCohorts deletes the cohorts that the file does not have.
func (i *importer) pruneCohorts(ctx context.Context) error {
	var kept, gone []storage.Cohort
	for n, c := range i.set.cohorts {
		if n < i.apply.cohorts && !i.apply.taken[c.ID] {
			gone = append(gone, c)
		} else {
			kept = append(kept, c)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	i.set.cohorts = kept
	refs := i.set.references()
	for _, before := range gone {
		c := before
		c.Deleted = true
		if err := checkCohortUnused(&before, &c, i.set, refs); err != nil {
			i.leave(pruned("cohort "+strconv.Quote(c.Name)), err)
			continue
		}
		i.apply.cohortChanged(&before, &c, "deleted")
		if err := i.saveCohort(ctx, &before, &c); err != nil {
			return err
		}
	}
	return nil
}

// checkDependents refuses to switch off flags on which active flags depend in the end.
func (i *importer) checkDependents() {
	lost := make(map[int64][]*flags.Flag)
	for _, f := range i.apply.flags {
		if f.before != nil && f.before.InForce() && !f.after.InForce() {
			lost[f.after.ID] = nil
		}
	}
	if len(lost) == 0 {
		return
	}
	d := storage.FlagDefinitions(i.set.flags, nil, i.set.groupTypes)
	refs := judge.NewReferences(d, i.set.zone)
	for n := range d.Flags {
		f := &d.Flags[n]
		if !f.Active || i.apply.faulty[f.Key] {
			continue
		}
		for _, needed := range judge.Dependencies(refs, &f.Filters) {
			if list, ok := lost[needed.ID]; ok {
				lost[needed.ID] = append(list, f)
			}
		}
	}
	for _, f := range i.apply.flags {
		users := lost[f.after.ID]
		if len(users) == 0 {
			continue
		}
		what, err := pruned("flag "+f.after.Key), missing("it cannot be switched off: other active flags depend on it: %s", keysOf(users))
		n := slices.IndexFunc(i.file.flags, func(o importedFlag) bool { return o.Key == f.after.Key && !o.Deleted })
		if n < 0 {
			i.leave(what, err)
			continue
		}
		i.leave(&i.file.flags[n], err)
	}
}

// pointer returns the JSON pointer of a place, "" for the whole.
func pointer(steps ...string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
}
