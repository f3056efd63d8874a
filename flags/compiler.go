package flags

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A compiler has what only compilation needs.
type compiler struct {
	d        *Definitions
	o        CompileOptions
	s        *Snapshot
	problems []Problem
	maxBytes int64
	arena    []byte

	index   *Index          // the flags that exist; nil in a patch
	byID    map[int64]int32 // places of flags by ID, in a patch
	model   []*Flag         // the flags that exist by program order
	place   []int           // places of the same in d.Flags
	digests []modelDigest   // of d.Flags
	number  int32           // the continuity number to keep, or -1

	compiled []int32 // flags by program order, in a patch

	trial *compiler // of what nothing evaluates, nil until there is any
	tried *compiler // whose trial this is, or nil

	slotOf   map[slotKey]int32
	checkOf  map[checkKey]uint32
	cohortOf map[int64]*cohortBuild
	groupOf  map[int]int32 // ordinals by group type index
	regexps  regexpBuilder
	known    [][2]knownFilter

	// What flags are compiled to lies next to each other, in the order in which
	// evaluation walks over it.
	conditions slab[compiledCondition]
	checks     slab[uint32]
	variants   slab[variantBound]
	slots      slab[int32]

	// The flag that is being compiled: nil outside of flags.
	flag      *Flag
	read      []int32 // slots that it reads
	plainTail span    // its tail without payload
	plainHead span    // what the heads of all its values begin with
	payload   []byte  // memory for addValue
	steps     [5]path // see filterPlace

	ruled    bool // a rule of a rule set is being compiled
	inverted bool // and a filter of it that is negated
}

// problem records a finding about the current flag, or the document.
func (c *compiler) problem(s Severity, at *path, value []byte, hint string, format string, args ...any) {
	if len(c.problems) >= served.MaxProblems {
		return
	}
	e := &DefinitionError{Path: at.String(), Value: shorten(value), Err: fmt.Errorf(format, args...), Hint: hint}
	if c.flag != nil {
		e.Flag = c.flag.Key
	}
	c.add(s, e)
}

// add is problem for a finding in its final form.
func (c *compiler) add(s Severity, e *DefinitionError) {
	if len(c.problems) < served.MaxProblems {
		c.problems = append(c.problems, Problem{s, e})
	}
}

// conditionPath returns the path of condition set i.
func conditionPath(i int) *path {
	return &path{up: &path{up: &path{name: "filters"}, name: "groups"}, n: i}
}

// filterPath returns the path of filter j of condition set i.
func filterPath(i, j int) *path {
	return &path{up: &path{up: conditionPath(i), name: "properties"}, n: j}
}

// filterPlace is filterPath for code that rarely has anything to report: the next
// call uses the memory of the path again.
func (c *compiler) filterPlace(i, j int) *path {
	c.steps = [...]path{{name: "filters"}, {name: "groups"}, {n: i}, {name: "properties"}, {n: j}}
	for k := 1; k < len(c.steps); k++ {
		c.steps[k].up = &c.steps[k-1]
	}
	return &c.steps[len(c.steps)-1]
}

func quote(s string) []byte { return strconv.AppendQuote(nil, s) }

// recoverPanic runs a function that may panic, and returns the panic as an error.
func recoverPanic(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	f()
	return nil
}

// A checkKey identifies a check: equal filters have equal keys.
type checkKey struct {
	op      operators.Op
	negated bool
	slot    int32
	name    string // the operator, for ops that several share
	value   string

	ruled, inverted bool
	comparison      Comparison
}

// A knownFilter is a filter on a property that was compiled, and in which there was
// nothing to report.
type knownFilter struct {
	key, operator, value string
	owner, slot          int32
	check                uint32
	ok                   bool
}

const knownFilterPlaces = 256 // places for two filters

// knownFilters returns the two places that a filter can have among the known ones.
func (c *compiler) knownFilters(fl *Filter, owner int) *[2]knownFilter {
	if c.known == nil {
		c.known = make([][2]knownFilter, min(1<<bits.Len(uint(len(c.s.flags))), knownFilterPlaces))
	}
	h := hashName(fl.Key) ^ 31*hashName([]byte(fl.Value)) ^ uint32(owner)
	return &c.known[h&uint32(len(c.known)-1)]
}

// is reports whether a filter is the known one.
func (k *knownFilter) is(fl *Filter, owner int) bool {
	return k.ok && fl.fault == nil && k.owner == int32(owner) && k.key == fl.Key && k.operator == fl.Operator && k.value == string(fl.Value)
}

// A slotKey identifies a slot.
type slotKey struct {
	owner int
	name  string
}

// A cohortBuild is a cohort that was, or is being, compiled.
type cohortBuild struct {
	ord         int32    // place in Snapshot.cohorts
	code        failCode // why it cannot be resolved
	open        bool     // on the path that is being followed
	slots       []int32  // of all cohorts that it reaches
	readsStored bool
	behavioral  bool
	criteria    bool // a leaf asks what somebody did
}
