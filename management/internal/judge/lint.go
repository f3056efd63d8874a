package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// The engine has the last word: what its linter calls an error is refused, and so
// are values that their operator cannot parse.

const (
	// subjectKey is a key that no stored flag can have.
	subjectKey = "the flag"

	// mostProblems is how many problems the engine reports at most.
	mostProblems = 10_000
)

// lintFlag judges normalized filters.
func (w *World) lintFlag(f *filters, out json.RawMessage) error {
	d := newDocument(out)
	var cohorts []int64
	for i := range f.Groups {
		for j := range f.Groups[i].Properties {
			p := &f.Groups[i].Properties[j]
			d.watch(fmt.Sprintf("/filters/groups/%d/properties/%d", i, j), p)
			if p.Type == "cohort" {
				cohorts = append(cohorts, p.id)
			}
		}
	}
	// Of the flags that this one depends on it matters only that they are there:
	// they were judged before, and form no circle.
	for _, target := range f.dependencies {
		d.Flags = append(d.Flags, documentFlag{ID: target.ID, Key: target.Key, Active: true})
	}
	d.addCohorts(w, cohorts)
	_, own, err := w.lint(d, "/filters/")
	if own == nil || err != nil {
		return err
	}
	return within(strings.TrimPrefix(own.Path, "/filters/"), refuse("%v: %s", own.Err, own.Value))
}

// lintCohort judges normalized filters of a cohort, by a flag that uses them.
func (w *World) lintCohort(root *node, out json.RawMessage, id int64) error {
	if id == 0 {
		id = math.MinInt64
	}
	d := newDocument(fmt.Appendf(nil, `{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}]}]}`, id))
	d.Cohorts[id] = documentCohort{Filters: out}
	here := fmt.Sprintf("/cohorts/%d/", id)
	var cohorts []int64
	d.watchTree(here[:len(here)-1], root, func(id int64) { cohorts = append(cohorts, id) })
	d.addCohorts(w, cohorts)
	first, own, err := w.lint(d, here)
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

// A document is a definitions document with what the engine has to see, the flag
// that is to be judged first.
type document struct {
	Flags      []documentFlag           `json:"flags"`
	Cohorts    map[int64]documentCohort `json:"cohorts,omitempty"`
	GroupTypes map[int]string           `json:"group_type_mapping,omitempty"`

	// Properties whose values the engine parses, and their numbers by path.
	watched []*property
	numbers map[string]int
}

type documentFlag struct {
	ID      int64           `json:"id"`
	Key     string          `json:"key"`
	Active  bool            `json:"active"`
	Filters json.RawMessage `json:"filters,omitempty"`
}

type documentCohort struct {
	Static  bool            `json:"is_static"`
	Filters json.RawMessage `json:"filters,omitempty"`
}

func newDocument(filters json.RawMessage) *document {
	return &document{
		Flags:   []documentFlag{{ID: math.MinInt64, Key: subjectKey, Active: true, Filters: filters}},
		Cohorts: make(map[int64]documentCohort),
		numbers: make(map[string]int),
	}
}

// watch has lint refuse a property if the engine cannot parse its value.
func (d *document) watch(path string, p *property) {
	if operators[p.Operator].parsed() {
		d.numbers[path+"/value"] = len(d.watched)
		d.watched = append(d.watched, p)
	}
}

// watchTree watches the leaves of a tree, and calls uses for each cohort in it.
func (d *document) watchTree(path string, n *node, uses func(int64)) {
	if n.kind == "" {
		if n.leaf.Type == "cohort" {
			uses(n.leaf.id)
		}
		d.watch(path, &n.leaf)
	}
	for i := range n.values {
		d.watchTree(fmt.Sprintf("%s/values/%d", path, i), &n.values[i], uses)
	}
}

// addCohorts adds cohorts and all that they use.
func (d *document) addCohorts(w *World, ids []int64) {
	for len(ids) > 0 {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		c, ok := w.cohort(id)
		if _, done := d.Cohorts[id]; done || !ok {
			continue
		}
		if c.Static {
			d.Cohorts[id] = documentCohort{Static: true}
			continue
		}
		d.Cohorts[id] = documentCohort{Filters: orEmpty(c.Filters)}
		ids = append(ids, CohortReferences(c.Filters)...)
	}
}

// lint returns the first error of a document, and the first one of its first flag.
// Errors of cohorts alone are of those who saved them. What is watched is refused
// under its path without the prefix.
func (w *World) lint(d *document, prefix string) (first, own *flags.DefinitionError, err error) {
	d.GroupTypes = w.project.GroupTypes
	raw, err := encode(d)
	if err != nil {
		return nil, nil, err
	}
	definitions, err := flags.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("judge: %w", err)
	}
	s, err := flags.Compile(definitions, flags.CompileOptions{TimeZone: w.project.TimeZone})
	if err != nil {
		return nil, nil, fmt.Errorf("judge: %w", err)
	}
	problems := s.Problems()
	if len(problems) >= mostProblems {
		return nil, nil, refuse("must be simpler: the engine finds %d doubtful things in it and in the cohorts that it uses, and stops there", mostProblems)
	}
	unparsed := len(d.watched)
	var why *flags.DefinitionError
	for _, p := range problems {
		if n, ok := d.numbers[p.Path]; ok && n < unparsed && p.Severity >= flags.Warning {
			unparsed, why = n, p.DefinitionError
		}
		if p.Severity == flags.Error && first == nil {
			first = p.DefinitionError
		}
		if p.Severity == flags.Error && own == nil && p.Flag == subjectKey {
			own = p.DefinitionError
		}
	}
	if why != nil {
		return nil, nil, within(strings.TrimPrefix(why.Path, prefix), d.watched[unparsed].unparsed(why.Err))
	}
	return first, own, nil
}

// unparsed refuses a value that the engine cannot parse.
func (p *property) unparsed(why error) error {
	if operators[p.Operator] == pattern {
		return refuse("must be %s, not %s: %v", wants[pattern], shorten(p.Value), why)
	}
	return unfitFor(p.Operator, jsonscan.Value(p.Value))
}
