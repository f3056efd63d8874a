package flags

import (
	"fmt"
	"iter"
	"time"
)

// A Snapshot is a compiled, immutable set of flags. All methods are safe for
// concurrent use and do no I/O; equal definitions and equal requests give equal
// answers on every machine.
type Snapshot struct {
	flags []compiledFlag   // in program order: after what they depend on
	order []int32          // program order of each flag, in document order
	index map[string]int32 // program order by key

	values   []value
	edges    []edges // of values: what AppendFlags copies before and after the reason
	reasons  []Reason
	rendered []span // of reasons
	arena    []byte // all rendered bytes

	checks  []check
	cohorts []compiledCohort
	zone    *time.Location

	slots         []slotDef
	personTable   nameTable
	groupTables   []nameTable
	groupKeySlots []int32
	groupNames    []string         // by ordinal
	groupIndex    map[string]int32 // ordinal by name
	storedCohorts map[int64]int32

	// Slots of properties that evaluation itself reads, or -1.
	idSlot, createdSlot, deviceSlot, anonymousSlot int32

	continuityFlags []string // keys
	longestPrefix   int      // of flag.prefix
	cyclic          bool     // some flag is on a dependency cycle

	// Sets of flags, 64 per word: those that each runtime.Kind may see, and of
	// them (whatever the Kind) those without evaluation contexts and those for
	// surveys. evaluable is all that are ever evaluated.
	admits    [4][]uint64
	needed    [4]neededSet // what the flags in admits look at
	evaluable []uint64
	untagged  []uint64
	surveys   []uint64
	tagged    map[string][]int32 // by evaluation context

	problems []Problem
	etag     string
	common   uint64 // digest of what is not of one flag
	minimal  bool
}

// A neededSet is what a set of flags looks at beyond the flags themselves.
type neededSet struct {
	slots     []int32
	cohorts   bool
	overrides bool
}

// A compiledCohort is a compiled cohort.
type compiledCohort struct {
	root       compiledNode
	stored     int32 // number among the stored cohorts, or -1
	behavioral bool
}

// Evaluate answers for all flags that the request may see. It allocates only
// the Results.
func (s *Snapshot) Evaluate(r *Request) *Results {
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	results := in.Evaluate()
	releaseInput(in)
	return results
}

// Flag answers for one flag and does not look at the request's Keys. It returns
// ErrUnknownFlag if there is no such flag and ErrFiltered if the request's
// Filter hides it; an inactive flag is disabled with reason flag_disabled. A
// flag that a dependency cycle removes is a failed result with reason
// dependency_cycle_flag.
func (s *Snapshot) Flag(key string, r *Request) (Result, error) {
	i, ok := s.index[key]
	if !ok {
		return Result{}, fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	if err := s.whyHidden(i, r); err != nil {
		return Result{}, err
	}
	return s.resultOrDisabled(i, s.decideFlag(i, r)), nil
}

// whyHidden says why a request may not see a flag.
func (s *Snapshot) whyHidden(i int32, r *Request) error {
	f := &s.flags[i]
	switch {
	case f.encrypted:
		return fmt.Errorf("%w: flag %q has an encrypted payload", ErrFiltered, f.key)
	case f.state == dormant || r.hidesNothing():
		return nil
	case !f.requirement.Admits(r.Filter.Kind):
		return fmt.Errorf("%w: flag %q is for runtime %v, the request is %v", ErrFiltered, f.key, f.requirement, r.Filter.Kind)
	case !r.Filter.Admits(f.requirement, f.tags):
		return fmt.Errorf("%w: flag %q has evaluation contexts %q, the request %q", ErrFiltered, f.key, f.tags, r.Filter.Tags)
	}
	return nil
}

// resultOrDisabled is result for callers that want an answer for hidden flags as well.
func (s *Snapshot) resultOrDisabled(i int32, out decision) Result {
	switch out.value {
	case valueHidden:
		return s.result(i, decision{s.flags[i].offValue, reasonDisabled})
	case valueOmitted:
		r := s.result(i, decision{s.flags[i].offValue, reasonDisabled})
		r.Failed = true
		r.Reason = Reason{ErrorFlagCycle, -1, "Flag dependency cycle detected"}
		return r
	}
	return s.result(i, out)
}

// Keys iterates over the keys of all flags, inactive ones included, in the order
// of the definitions.
func (s *Snapshot) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, i := range s.order {
			if !yield(s.flags[i].key) {
				return
			}
		}
	}
}

// Len returns the number of flags, inactive ones included.
func (s *Snapshot) Len() int { return len(s.flags) }

// Problems returns what is wrong or doubtful in the definitions, errors first.
// The slice must not be changed.
func (s *Snapshot) Problems() []Problem { return s.problems }

// Reads reports whether some flag looks at the person property of that name.
func (s *Snapshot) Reads(property string) bool { return s.personTable.find([]byte(property)) >= 0 }

// ETag identifies the content: it depends on the definitions and on the
// compile options that change answers, not on the process or the machine. It is
// plain hexadecimal text.
func (s *Snapshot) ETag() string { return s.etag }

// ContinuityFlags returns the keys of the flags with experience continuity: those
// whose hash key is to be stored when a person identifies (evaluation.md §12).
// The slice must not be changed.
func (s *Snapshot) ContinuityFlags() []string { return s.continuityFlags }

// MinimalFlagCalledEvents passes on the definitions' switch of the same name.
func (s *Snapshot) MinimalFlagCalledEvents() bool { return s.minimal }
