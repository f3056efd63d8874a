package judge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// The engine has the last word: what its linter calls an error is refused, and so are
// values that their operator cannot parse.

// subjectKey is a key that no stored flag can have.
const subjectKey = "the flag"

// A trial has what the engine must see to judge one flag, the first of definitions.
type trial struct {
	definitions flags.Definitions

	// Properties whose values the engine parses, and their numbers by path.
	watched []*flags.Filter
	numbers map[string]int
}

func (refs *References) newTrial(f *flags.Filters) *trial {
	t := &trial{
		definitions: flags.Definitions{
			Flags:      []flags.Flag{{ID: math.MinInt64, Key: subjectKey, Active: true, Filters: *f}},
			Cohorts:    make(map[int64]flags.Cohort),
			GroupTypes: refs.definitions.GroupTypes,
		},
		numbers: make(map[string]int),
	}
	t.suppose(f, refs.definitions.GroupTypes)
	return t
}

// suppose adds the group types that filters name, if it is not known which ones exist.
func (t *trial) suppose(f *flags.Filters, known map[int]string) {
	if known != nil {
		return
	}
	if t.definitions.GroupTypes == nil {
		t.definitions.GroupTypes = make(map[int]string)
	}
	add := func(index int) { t.definitions.GroupTypes[index] = strconv.Itoa(index) }
	for i := range f.Groups {
		if index, ok := f.Groups[i].AggregationGroupTypeIndex.Index(); ok {
			add(index)
		}
	}
	if index, ok := f.AggregationGroupTypeIndex.Index(); ok {
		add(index)
	}
	if f.RuleSet != nil {
		if index, ok := f.RuleSet.Aggregation.Index(); ok {
			add(index)
		}
		for split := range f.RuleSet.Splits() {
			if split.Group != nil {
				add(*split.Group)
			}
		}
	}
	for _, fl := range f.All() {
		if fl.GroupTypeIndex != nil {
			add(*fl.GroupTypeIndex)
		}
	}
}

// lintFlags judges normalized filters and what they refer to. The engine looks at all of
// them at once first. A flag in which it finds anything is then looked at by itself.
func (refs *References) lintFlags(list []verdict) {
	if len(list) > 1 {
		list = refs.doubtful(list)
	}
	for _, v := range list {
		if v.filters.RuleSet != nil {
			*v.err = refs.lintRuleSet(v.filters, v.stored, v.dependencies)
		} else {
			*v.err = refs.lintFlag(v.filters, v.dependencies)
		}
	}
}

// doubtful returns the filters of which the engine finds anything. What it finds of one
// does not depend on the others, up to the number of findings where it stops.
func (refs *References) doubtful(list []verdict) []verdict {
	t := refs.newTrial(list[0].filters)
	numbers := map[string]int{subjectKey: 0}
	for i, v := range list[1:] {
		key := subjectKey + " " + strconv.Itoa(i)
		numbers[key] = i + 1
		t.definitions.Flags = append(t.definitions.Flags, flags.Flag{ID: math.MinInt64 + int64(i) + 1, Key: key, Active: true, Filters: *v.filters})
		t.suppose(v.filters, refs.definitions.GroupTypes)
	}
	seen := make(map[*flags.Flag]bool)
	var cohorts []int64
	for _, v := range list {
		for _, f := range v.dependencies {
			if !seen[f] {
				seen[f] = true
				t.addFlag(f)
			}
		}
		cohorts = slices.AppendSeq(cohorts, v.filters.CohortIDs())
	}
	refs.addCohorts(t, cohorts)
	s, err := flags.Compile(&t.definitions, flags.CompileOptions{TimeZone: refs.zone})
	if err != nil || len(s.Problems()) >= served.MaxProblems {
		return list
	}
	found := make([]bool, len(list))
	for _, p := range s.Problems() {
		if i, ok := numbers[p.Flag]; ok {
			found[i] = true
		}
	}
	var doubtful []verdict
	for i, v := range list {
		if found[i] {
			doubtful = append(doubtful, v)
		}
	}
	return doubtful
}

// addFlag adds a flag that others depend on. Of these it matters only that they are
// there: they were judged before, and form no circle.
func (t *trial) addFlag(f *flags.Flag) {
	t.definitions.Flags = append(t.definitions.Flags, flags.Flag{ID: f.ID, Key: f.Key, Active: true})
}

// lintFlag judges normalized filters and what they refer to.
func (refs *References) lintFlag(f *flags.Filters, dependencies []*flags.Flag) error {
	t := refs.newTrial(f)
	for at, p := range f.All() {
		t.watch(fmt.Sprintf("/filters/groups/%d/properties/%d", at.Group, at.Property), p)
	}
	for _, f := range dependencies {
		t.addFlag(f)
	}
	refs.addCohorts(t, slices.Collect(f.CohortIDs()))
	_, own, err := refs.lint(t, "/filters/")
	if own == nil || err != nil {
		return err
	}
	return FromEngine(own, "filters")
}

// lintCohort judges the tree of a cohort by a flag that uses it.
func (refs *References) lintCohort(tree *flags.CohortNode, id int64) error {
	id = cmp.Or(id, math.MinInt64)
	f := InCohort(id)
	t := refs.newTrial(&f)
	t.definitions.Cohorts[id] = flags.Cohort{Properties: tree}
	here := fmt.Sprintf("/cohorts/%d", id)
	t.watchTree(here, tree)
	refs.addCohorts(t, slices.Collect(tree.CohortIDs()))
	here += "/"
	first, own, err := refs.lint(t, here)
	if own == nil || err != nil {
		return within("properties", err)
	}
	// The fault may be in what the cohort uses.
	if other, ok := strings.CutPrefix(first.Path, "/cohorts/"); ok && !strings.HasPrefix(first.Path+"/", here) {
		other, _, _ = strings.Cut(other, "/")
		return within("properties", refuse("must be a tree that flags can evaluate: cohort %s: %v", other, first.Err))
	}
	return within("properties", refuse("must be a tree that flags can evaluate: %v", first.Err))
}

// InCohort returns the filters of a flag for the members of a cohort.
func InCohort(id int64) flags.Filters {
	member := flags.Filter{Key: "id", Type: "cohort", Value: strconv.AppendInt(nil, id, 10)}
	return flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{member}}}}
}

// watch has lint refuse a property if the engine cannot parse its value.
func (t *trial) watch(path string, p *flags.Filter) {
	if o, _ := operators.Named(p.Operator); isParsed(o.Operand) {
		t.numbers[path+"/value"] = len(t.watched)
		t.watched = append(t.watched, p)
	}
}

// watchTree watches the leaves of a tree.
func (t *trial) watchTree(path string, n *flags.CohortNode) {
	if n.Leaf != nil {
		t.watch(path, n.Leaf)
	}
	for i := range n.Values {
		t.watchTree(fmt.Sprintf("%s/values/%d", path, i), &n.Values[i])
	}
}

// addCohorts adds cohorts and all that they use.
func (refs *References) addCohorts(t *trial, ids []int64) {
	for step := range graph.Reach(slices.Values(ids), refs.cohortsOf) {
		c, ok := refs.definitions.Cohorts[step.Node]
		if _, done := t.definitions.Cohorts[step.Node]; ok && !done {
			t.definitions.Cohorts[step.Node] = c
		}
	}
}

// lint returns the first error of a trial, and the first one of its first flag.
// An error that only a cohort has is not the sender's. What is watched is refused
// under its path without the prefix.
func (refs *References) lint(t *trial, prefix string) (first, own *flags.DefinitionError, err error) {
	s, err := flags.Compile(&t.definitions, flags.CompileOptions{TimeZone: refs.zone})
	if err != nil {
		return nil, nil, fmt.Errorf("judge: %w", err)
	}
	problems := s.Problems()
	if len(problems) >= served.MaxProblems {
		return nil, nil, refuse("must be simpler: the engine finds %d doubtful things in it and in the cohorts that it uses, and stops there", served.MaxProblems)
	}
	unparsed := len(t.watched)
	var why *flags.DefinitionError
	for _, p := range problems {
		if errors.Is(p.Err, served.ErrBehavioral) {
			continue // a cohort may be so, and of flags it is judged before
		}
		if n, ok := t.numbers[p.Path]; ok && n < unparsed && p.Severity >= flags.SeverityWarning {
			unparsed, why = n, p.DefinitionError
		}
		if p.Severity == flags.SeverityError && first == nil {
			first = p.DefinitionError
		}
		if p.Severity == flags.SeverityError && own == nil && p.Flag == subjectKey {
			own = p.DefinitionError
		}
	}
	if why != nil {
		place := FromEngine(why, strings.Trim(prefix, "/")).Path
		err := unparsedValue(t.watched[unparsed], why.Err)
		for _, step := range slices.Backward(place) {
			err = within(step, err)
		}
		return nil, nil, err
	}
	return first, own, nil
}

// unparsedValue refuses a value that the engine cannot parse.
func unparsedValue(p *flags.Filter, why error) error {
	o := comparison(p)
	if o.Operand == operators.OperandPattern {
		return refuseAs(valueCode(o), "must be %s, not %s: %v", o.Operand, shorten(p.Value), why)
	}
	return unfitFor(o, jsonscan.Value(p.Value))
}
