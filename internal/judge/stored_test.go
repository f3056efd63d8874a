package judge_test

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// A storedFlag is a flag with its filters as they are stored.
type storedFlag struct {
	ID      int64
	Key     string
	Active  bool
	Filters json.RawMessage
}

// A storedCohort is a cohort with its filters as they are stored.
type storedCohort struct {
	ID      int64
	Static  bool
	Filters json.RawMessage
}

// A storedProject is a project as it is stored.
type storedProject struct {
	Flags      []storedFlag
	Cohorts    []storedCohort
	GroupTypes map[int]string
	TimeZone   *time.Location
}

// worldOf returns the World of a project.
func worldOf(p storedProject) *judge.References {
	d := &flags.Definitions{Cohorts: make(map[int64]flags.Cohort), GroupTypes: p.GroupTypes}
	for _, f := range p.Flags {
		d.Flags = append(d.Flags, flags.Flag{ID: f.ID, Key: f.Key, Active: f.Active, Filters: *stored(f.Filters)})
	}
	for _, c := range p.Cohorts {
		d.Cohorts[c.ID] = flags.Cohort{Stored: c.Static, Properties: storedTree(c.Filters)}
	}
	return judge.NewReferences(d, p.TimeZone)
}

// stored reads stored filters.
func stored(raw json.RawMessage) *flags.Filters {
	if len(raw) == 0 {
		return new(flags.Filters)
	}
	f, _ := flags.DecodeFilters(raw, "new") // it may be anything
	return &f
}

func storedTree(raw json.RawMessage) *flags.CohortNode {
	if len(raw) == 0 {
		return nil
	}
	tree, _ := flags.DecodeCohort(raw, 1) // it may be anything
	return tree
}

// readAndJudge returns filters that a client sent, in their normal form.
func readAndJudge(raw []byte, s judge.Subject, w *judge.References) (json.RawMessage, error) {
	f, err := read(nil, raw)
	if err != nil {
		return nil, err
	}
	if err := judge.Judge(&f, s, w); err != nil {
		return nil, err
	}
	return f.Normal()
}

// read returns filters after a change. What nothing knows is taken.
func read(before, change []byte) (flags.Filters, error) {
	var sent flags.Filters
	if err := sent.UnmarshalJSON(change); err != nil {
		return sent, err
	}
	if len(before) == 0 {
		return sent, judge.Lenient.CheckFilters(&sent)
	}
	return stored(before).Merge(&sent), judge.Lenient.CheckFilters(&sent)
}

// readAndJudgeCohort returns the filters of a cohort that a client sent, in their normal
// form.
func readAndJudgeCohort(raw []byte, id int64, w *judge.References) (json.RawMessage, error) {
	tree, err := flags.DecodeCohort(raw, id)
	if e, ok := errors.AsType[*flags.DefinitionError](err); ok {
		refused := judge.FromEngine(e, "filters")
		refused.Attr = "filters"
		return nil, refused
	}
	if err := judge.JudgeCohort(tree, id, w); err != nil {
		return nil, err
	}
	return tree.Normal()
}
