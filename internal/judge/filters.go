package judge

import (
	"cmp"
	"maps"
	"math"
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

	// Stored is the rule set that the flag has: its patterns are not judged again.
	Stored *flags.RuleSet

	// Sent says that somebody has written the filters anew.
	Sent bool
}

// Judge judges the filters of a flag by the rules of management.md §13.5, and brings
// what they refer to into the form in which it is stored. To do so again changes
// nothing. It changes the condition sets of f in place: see [flags.Filters.Clone].
// Payloads must be readable: encrypt them afterwards.
//
// Errors are of type *[Error], or failures of the engine.
func Judge(f *flags.Filters, s Subject, refs *References) error {
	return JudgeAll([]Case{{f, s}}, refs)[0]
}

// A Case is filters that are judged for the flag that they are for.
type Case struct {
	Filters *flags.Filters
	Subject Subject
}

// JudgeAll is [Judge] for the filters of several flags, none of which refers to another
// one, and returns the error of each. It takes less time than to judge each by itself.
func JudgeAll(list []Case, refs *References) []error {
	errs := make([]error, len(list))
	var sound []verdict
	for i, c := range list {
		dependencies, err := refs.judge(c.Filters, c.Subject)
		if errs[i] = err; err == nil {
			sound = append(sound, verdict{c.Filters, c.Subject.Stored, dependencies, &errs[i]})
		}
	}
	refs.lintFlags(sound)
	for i := range errs {
		errs[i] = about("filters", errs[i])
	}
	return errs
}

// A verdict is filters that are sound by themselves, the flags that they depend on, and
// where what the linter says of them belongs.
type verdict struct {
	filters      *flags.Filters
	stored       *flags.RuleSet
	dependencies []*flags.Flag
	err          *error
}

// judge judges all that the linter does not. It returns the flags that the filters depend
// on.
func (refs *References) judge(f *flags.Filters, s Subject) ([]*flags.Flag, error) {
	if err := languageFault(f); err != nil {
		return nil, err
	}
	if fault := unreadable(f); fault != nil {
		return nil, FromEngine(fault, "filters")
	}
	if f.RuleSet != nil {
		return refs.judgeRuleSet(f, s)
	}
	f.ReadLegacy(s.Key)
	if h := f.Holdout; h != nil && f.Has("holdout_groups") {
		h.ExclusionPercentage = min(max(h.ExclusionPercentage, 0), 100) // which says the same
	}
	_ = eachPart(f, keepKnown) // which has no errors
	variants, err := checkVariants(f.Multivariate)
	if err != nil {
		return nil, within("multivariate", within("variants", err))
	}
	if err := checkGroups(f, variants); err != nil {
		return nil, within("groups", err)
	}
	if f.Holdout != nil {
		if err := checkPercentage(&f.Holdout.ExclusionPercentage); err != nil {
			return nil, within("holdout", within("exclusion_percentage", err))
		}
	}
	if err := checkPayloads(f, variants); err != nil {
		return nil, within("payloads", err)
	}
	if s.RemoteConfig {
		forceRollout(f)
	}
	if err := checkGroupTypes(f, refs.definitions.GroupTypes); err != nil {
		return nil, err
	}
	dependencies, err := refs.checkDependencies(f, s)
	if err != nil {
		return nil, err
	}
	if err := refs.checkCohorts(f); err != nil {
		return nil, err
	}
	out, err := f.Encode()
	if err != nil {
		return nil, err
	}
	return dependencies, checkSize(out)
}

// Limits of the filters of one flag or cohort, as they are stored (management.md §15.2), and
// of the JSON of a payload.
const (
	maxBytes = 256 << 10 // bytes
	maxDepth = 64        // levels of nesting of JSON
)

func checkSize(stored []byte) error {
	if n := len(stored); n > maxBytes {
		return refuse("must have at most %d bytes, not %d", maxBytes, n)
	}
	if _, err := jsonscan.Parse(stored, maxDepth); err != nil {
		return refuse("must be JSON of at most %d levels", maxDepth)
	}
	return nil
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
		return about("filters", FromEngine(fault, "filters"))
	}
	return nil
}

// checkVariants checks the variants of a flag, and returns their keys; nil for a
// flag without variants.
func checkVariants(m *flags.Multivariate) (keys map[string]bool, err error) {
	if m == nil {
		return nil, nil
	}
	switch n := len(m.Variants); {
	case n == 0:
		return nil, refuse("must be a list of at least one variant")
	case n > served.MaxVariants:
		return nil, refuse("must have at most %d variants", served.MaxVariants)
	}
	keys = make(map[string]bool, len(m.Variants))
	sum := 0.0
	for i := range m.Variants {
		v := &m.Variants[i]
		if !served.IsVariantKey(v.Key) {
			return nil, within(i, within("key", refuse("must be 1 to %d letters, digits, underscores, dots, slashes and hyphens, not %s", served.MaxVariantKey, Quote(v.Key))))
		}
		if v.Name != nil {
			if err := checkText(*v.Name); err != nil {
				return nil, within(i, within("name", err))
			}
		}
		if err := checkPercentage(&v.RolloutPercentage); err != nil {
			return nil, within(i, within("rollout_percentage", err))
		}
		if keys[v.Key] {
			return nil, within(i, within("key", refuse("must be unique among the variants of the flag; %s is not", Quote(v.Key))))
		}
		keys[v.Key] = true
		sum += v.RolloutPercentage
	}
	if !served.SumsTo100(sum) {
		return nil, refuse("must have rollout percentages that sum to 100, not %v", sum)
	}
	return keys, nil
}

// checkPercentage checks a percentage, of which fractions are allowed.
func checkPercentage(p *float64) error {
	if !(*p >= 0 && *p <= 100) {
		return refuse("must be a number from 0 to 100, not %v", *p)
	}
	*p = math.Abs(*p) // for there is a negative zero
	return nil
}

// checkText refuses text that some databases cannot store.
func checkText(s string) error {
	if strings.Contains(s, "\x00") {
		return refuse("must not contain the character NUL")
	}
	return nil
}

// checkGroups checks the condition sets of a flag, whose variants have the given keys. A
// flag may begin without any.
func checkGroups(f *flags.Filters, variants map[string]bool) error {
	switch {
	case f.Groups == nil && f.Has("groups"):
		return refuse("must be a list of condition sets")
	case f.Groups == nil:
		f.Groups = []flags.Condition{}
	case len(f.Groups) > served.MaxGroups:
		return refuse("must have at most %d condition sets", served.MaxGroups)
	}
	for i := range f.Groups {
		if err := checkGroup(f, &f.Groups[i], variants); err != nil {
			return within(i, err)
		}
	}
	return nil
}

// checkGroup checks a condition set against the rest of the flag, whose variants have
// the given keys.
func checkGroup(f *flags.Filters, g *flags.Condition, variants map[string]bool) error {
	if len(g.Properties) > served.MaxProperties {
		return within("properties", refuse("must have at most %d properties", served.MaxProperties))
	}
	for i := range g.Properties {
		if err := checkProperty(&g.Properties[i], flagTypes); err != nil {
			return within("properties", within(i, err))
		}
	}
	if g.RolloutPercentage != nil {
		p := *g.RolloutPercentage // which may be shared
		if err := checkPercentage(&p); err != nil {
			return within("rollout_percentage", err)
		}
		g.RolloutPercentage = &p
	}
	if err := checkText(g.Description); err != nil {
		return within("description", err)
	}
	if err := checkText(g.SortKey); err != nil {
		return within("sort_key", err)
	}
	if g.Variant != nil && *g.Variant != "" && !variants[*g.Variant] { // "" pins none
		if variants == nil {
			return within("variant", refuse("must be null for a flag without variants, not %s", Quote(*g.Variant)))
		}
		return within("variant", refuse("must be the key of a variant of the flag, not %s", Quote(*g.Variant)))
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
	p.GroupTypeIndex = cmp.Or(p.GroupTypeIndex, &index)
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
			return refuse("%s, not %s", want, Quote(key))
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
		f.Groups = []flags.Condition{{Properties: []flags.Filter{}}}
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
