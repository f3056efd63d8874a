package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A Subject is the flag that filters are for.
type Subject struct {
	// ID is 0 for a flag that is being created.
	ID  int64
	Key string

	// RemoteConfig forces the rollout that a flag for remote configuration has:
	// one condition set if there is none, and 100 % where there is no percentage
	// or 0 (management.md §13.3).
	RemoteConfig bool
}

// Judge judges the filters of a flag by the rules of management.md §13.5, and brings
// what they refer to into the form in which it is stored. To do so again changes
// nothing. It changes the condition sets of f in place: see [flags.Filters.Clone].
// Payloads must be readable: encrypt them afterwards.
//
// Errors are of type *[Error], or failures of the engine.
func Judge(f *flags.Filters, s Subject, w *World) error {
	return JudgeAll([]Case{{f, s}}, w)[0]
}

// A Case is filters that are judged for the flag that they are for.
type Case struct {
	Filters *flags.Filters
	Subject Subject
}

// JudgeAll is [Judge] for the filters of several flags, none of which refers to another
// one, and returns the error of each. It takes less time than to judge each by itself.
func JudgeAll(list []Case, w *World) []error {
	errs := make([]error, len(list))
	var sound []verdict
	for i, c := range list {
		dependencies, err := w.judge(c.Filters, c.Subject)
		if errs[i] = err; err == nil {
			sound = append(sound, verdict{c.Filters, dependencies, &errs[i]})
		}
	}
	w.lintFlags(sound)
	for i := range errs {
		errs[i] = about("filters", errs[i])
	}
	return errs
}

// A verdict is filters that are sound by themselves, the flags that they depend on, and
// where what the linter says of them belongs.
type verdict struct {
	filters      *flags.Filters
	dependencies []*flags.Flag
	err          *error
}

// judge judges all that the linter does not. It returns the flags that the filters depend
// on.
func (w *World) judge(f *flags.Filters, s Subject) ([]*flags.Flag, error) {
	if fault := unreadable(f); fault != nil {
		return nil, engineFault(fault)
	}
	if f.Version != 0 {
		return nil, within("version", errVersion())
	}
	variants, err := checkVariants(f.Multivariate)
	if err != nil {
		return nil, within("multivariate", within("variants", err))
	}
	for i := range f.Groups {
		if err := checkGroup(f, &f.Groups[i], variants); err != nil {
			return nil, within("groups", within(i, err))
		}
	}
	if err := checkPayloads(f, variants); err != nil {
		return nil, within("payloads", err)
	}
	if s.RemoteConfig {
		forceRollout(f)
	}
	if err := checkGroupTypes(f, w.definitions.GroupTypes); err != nil {
		return nil, err
	}
	dependencies, err := w.checkDependencies(f, s)
	if err != nil {
		return nil, err
	}
	if err := w.checkCohorts(f); err != nil {
		return nil, err
	}
	out, err := flags.AppendFilters(nil, f)
	if err != nil {
		return nil, err
	}
	// Nothing may be stored that could not be sent back.
	return dependencies, checkSize(len(out))
}

// unreadable returns why filters, or one filter of a condition set, cannot be
// understood, or nil.
func unreadable(f *flags.Filters) *flags.DefinitionError {
	fault, _ := f.Err().(*flags.DefinitionError)
	for _, fl := range f.All() {
		if fault == nil {
			fault, _ = fl.Err().(*flags.DefinitionError)
		}
	}
	return fault
}

// CheckReadable returns an [*Error] if filters, or a part of them, cannot be understood.
func CheckReadable(f *flags.Filters) error {
	if fault := unreadable(f); fault != nil {
		return about("filters", engineFault(fault))
	}
	return nil
}

// engineFault refuses what the engine cannot understand or evaluate.
func engineFault(e *flags.DefinitionError) error {
	err := refuse("%v", e.Err)
	if e.Value != "" {
		err = refuse("%v: %s", e.Err, e.Value)
	}
	_, at, _ := strings.Cut(e.Path, "/filters")
	if at != "" {
		return within(strings.TrimPrefix(at, "/"), err)
	}
	return err
}

// checkVariants checks the variants of a flag, and returns their keys; nil for a
// flag without variants.
func checkVariants(m *flags.Multivariate) (keys map[string]bool, err error) {
	if m == nil {
		return nil, nil
	}
	keys = make(map[string]bool, len(m.Variants))
	sum := 0.0
	for i, v := range m.Variants {
		if keys[v.Key] {
			return nil, within(i, within("key", refuse("must be unique among the variants of the flag; %s is not", quote(v.Key))))
		}
		keys[v.Key] = true
		sum += v.RolloutPercentage
	}
	if !served.SumsTo100(sum) {
		return nil, refuse("must have rollout percentages that sum to 100, not %v", sum)
	}
	return keys, nil
}

// checkGroup checks a condition set against the rest of the flag, whose variants have
// the given keys.
func checkGroup(f *flags.Filters, g *flags.Condition, variants map[string]bool) error {
	if g.Variant != nil && *g.Variant != "" && !variants[*g.Variant] { // "" pins none
		if variants == nil {
			return within("variant", refuse("must be null for a flag without variants, not %s", quote(*g.Variant)))
		}
		return within("variant", refuse("must be the key of a variant of the flag, not %s", quote(*g.Variant)))
	}
	aggregation := g.AggregationGroupTypeIndex
	if aggregation == flags.Inherited {
		aggregation = f.AggregationGroupTypeIndex
	}
	for i := range g.Properties {
		if err := checkOwner(&g.Properties[i], aggregation); err != nil {
			return within("properties", within(i, err))
		}
	}
	return nil
}

// checkOwner checks that a property is one of whatever its condition set is about.
// Flags are of everybody (evaluation.md §7.1).
func checkOwner(p *flags.Filter, aggregation flags.Aggregation) error {
	index, grouped := aggregation.Index()
	switch {
	case p.Type == "flag" || grouped == (p.Type == "group"):
	case grouped:
		return within("type", refuse("must be group or flag in a condition set about groups, not %s", p.Type))
	default:
		return within("type", refuse("must be person, person_metadata, cohort or flag in a condition set about persons, not group"))
	}
	if p.Type != "group" {
		return nil
	}
	if p.GroupTypeIndex == nil {
		p.GroupTypeIndex = &index
	}
	if *p.GroupTypeIndex != index {
		return within("group_type_index", refuse("must be %d as in the condition set, not %d", index, *p.GroupTypeIndex))
	}
	return nil
}

// checkPayloads checks that payloads are JSON, which encrypted ones are not, and that
// the flag has the values that they are for.
func checkPayloads(f *flags.Filters, variants map[string]bool) error {
	want := "must have only keys of the flag's variants"
	if variants == nil {
		variants, want = map[string]bool{"true": true}, "must have only the key true for a flag without variants"
	}
	for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
		payload, ok := f.Payload(key)
		if !ok {
			continue // null
		}
		if !variants[key] {
			return refuse("%s, not %s", want, quote(key))
		}
		if _, err := jsonscan.Parse([]byte(payload), maxDepth); err != nil {
			return within(shorten(key), refuse("must be JSON, or text that contains JSON: text itself needs another pair of quotes"))
		}
	}
	return nil
}

// forceRollout gives everybody the value of a flag for remote configuration
// (management.md §13.3).
func forceRollout(f *flags.Filters) {
	if len(f.Groups) == 0 {
		f.Groups = []flags.Condition{{}}
	}
	for i := range f.Groups {
		if p := f.Groups[i].RolloutPercentage; p == nil || *p == 0 {
			f.Groups[i].RolloutPercentage = new(100.0)
		}
	}
}

// checkGroupTypes checks that the group types exist, if it is known which do.
func checkGroupTypes(f *flags.Filters, known map[int]string) error {
	if known == nil {
		return nil
	}
	check := func(a flags.Aggregation) error {
		index, ok := a.Index()
		if _, exists := known[index]; !ok || exists {
			return nil
		}
		return within("aggregation_group_type_index", refuse("must be the index of a group type of the project, one of %v, not %d", slices.Sorted(maps.Keys(known)), index))
	}
	if err := check(f.AggregationGroupTypeIndex); err != nil {
		return err
	}
	for i := range f.Groups {
		if err := check(f.Groups[i].AggregationGroupTypeIndex); err != nil {
			return within("groups", within(i, err))
		}
	}
	return nil
}
