package judge_test

import (
	"encoding/json"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
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
func worldOf(p storedProject) *judge.World {
	d := &flags.Definitions{Cohorts: make(map[int64]flags.Cohort), GroupTypes: p.GroupTypes}
	for _, f := range p.Flags {
		d.Flags = append(d.Flags, flags.Flag{ID: f.ID, Key: f.Key, Active: f.Active, Filters: *stored(f.Filters)})
	}
	for _, c := range p.Cohorts {
		d.Cohorts[c.ID] = flags.Cohort{Stored: c.Static, Properties: storedTree(c.Filters)}
	}
	return judge.NewWorld(d, p.TimeZone)
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

// readAndJudge returns filters that a client sent as they are to be stored.
func readAndJudge(raw []byte, s judge.Subject, w *judge.World) (json.RawMessage, error) {
	f, _, err := read(nil, raw, s.Key)
	if err != nil {
		return nil, err
	}
	if err := judge.Judge(&f, s, w); err != nil {
		return nil, err
	}
	return flags.AppendFilters(nil, &f)
}

// read returns filters after a change, and their text. What nothing knows is dropped.
func read(before, change []byte, key string) (f flags.Filters, text json.RawMessage, err error) {
	var there *flags.Filters
	if len(before) > 0 {
		there = stored(before)
	}
	if text, err = judge.Merge(before, there, change, judge.Lenient); err == nil {
		f, err = judge.Read(text, key)
	}
	return f, text, err
}

// readAndJudgeCohort returns the filters of a cohort that a client sent as they are
// to be stored.
func readAndJudgeCohort(raw []byte, id int64, w *judge.World) (json.RawMessage, error) {
	tree, err := judge.ReadCohort(raw, judge.Lenient)
	if err != nil {
		return nil, err
	}
	if err := judge.JudgeCohort(tree, id, w); err != nil {
		return nil, err
	}
	return flags.AppendCohort(nil, tree)
}
