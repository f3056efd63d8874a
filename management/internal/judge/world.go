package judge

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Flag is what is known of a stored flag.
type Flag struct {
	ID      int64
	Key     string
	Active  bool
	Filters json.RawMessage
}

// A Cohort is what is known of a stored cohort.
type Cohort struct {
	ID   int64
	Name string

	// Static says that members are listed, so that Filters do not count.
	Static bool

	// Filters are {"properties": …}, a tree of criteria.
	Filters json.RawMessage
}

// A Project is where filters are to be used. What is deleted, or of another
// project, is not in it.
type Project struct {
	Flags   []Flag
	Cohorts []Cohort

	// GroupTypes maps the indexes of group types to their names. Nil: it is not
	// known which there are, and filters may use any.
	GroupTypes map[int]string

	// TimeZone is where dates without a zone lie. Nil: UTC.
	TimeZone *time.Location

	// MaxBytes limits the filters of one flag or cohort. Zero: 256 KiB.
	MaxBytes int
}

const defaultMaxBytes = 256 << 10

// A World finds what filters refer to. It is safe for concurrent use.
type World struct {
	project Project
	byID    map[int64]int32
	byKey   map[string]int32
	cohorts map[int64]int32
}

// NewWorld returns a World. It keeps the slices and the map of p, which must not
// change any more. For [Filters] and [CohortFilters] p needs only what the filters
// reach; what is missing counts as deleted.
func NewWorld(p Project) *World {
	if p.MaxBytes == 0 {
		p.MaxBytes = defaultMaxBytes
	}
	w := &World{
		project: p,
		byID:    make(map[int64]int32, len(p.Flags)),
		byKey:   make(map[string]int32, len(p.Flags)),
		cohorts: make(map[int64]int32, len(p.Cohorts)),
	}
	for i := range p.Flags {
		w.byID[p.Flags[i].ID] = int32(i)
		w.byKey[p.Flags[i].Key] = int32(i)
	}
	for i := range p.Cohorts {
		w.cohorts[p.Cohorts[i].ID] = int32(i)
	}
	return w
}

func (w *World) cohort(id int64) (*Cohort, bool) {
	i, ok := w.cohorts[id]
	if !ok {
		return nil, false
	}
	return &w.project.Cohorts[i], true
}

// A reference is how a filter names a flag: by its id, or by its key. Only the
// flags that there are tell which, unless byKey does (evaluation.md §7.1).
type reference struct {
	text  string
	byKey bool
}

func (r reference) id() (int64, bool) {
	if r.byKey {
		return 0, false
	}
	id, err := strconv.ParseInt(r.text, 10, 64)
	return id, err == nil
}

func referenceOf(f *flags.Filter) reference { return reference{f.Key, f.DependencyChain != nil} }

// flag returns the flag that a reference means.
func (w *World) flag(r reference) (*Flag, bool) {
	if id, ok := r.id(); ok {
		if i, ok := w.byID[id]; ok {
			return &w.project.Flags[i], true
		}
	}
	i, ok := w.byKey[r.text]
	if !ok {
		return nil, false
	}
	return &w.project.Flags[i], true
}
