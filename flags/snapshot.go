package flags

import (
	"fmt"
	"iter"
	"time"

	"github.com/flagstaff-go/flagstaff/runtime"
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

	// Sets of flags, without dormant ones: those that each runtime.Kind may see,
	// those without evaluation contexts, and those for surveys.
	admits   [4]flagSet
	needed   [4]neededSet // what the flags in admits look at
	untagged flagSet
	surveys  flagSet
	tagged   map[string][]int32 // by evaluation context

	problems []Problem
	etag     string
	common   uint64 // digest of what is not of one flag
	minimal  bool
}

// A state says whether a flag is evaluated by its conditions at all.
type state uint8

const (
	normal  state = iota
	dormant       // inactive or with encrypted payloads: false for dependents, never in results
	missing       // depends on a flag that does not exist
	faulty        // could not be understood
	cyclic        // depends on itself, or on a flag that does
)

// A compiledFlag is a compiled flag. Its values are a run in Snapshot.values: off, on,
// then the variants and what else its definition needs. What every evaluation
// reads comes first.
type compiledFlag struct {
	fixed        decision // outcome that no request can change; value -1: none
	conditions   []compiledCondition
	offValue     int32 // value; on is the next one
	failedValue  int32 // value
	enrollment   int32 // slot of $feature_enrollment/<key>, or -1
	holdoutValue int32 // value, or -1
	continuity   int32 // number among the continuity flags, or -1
	state        state
	hash         hashKind
	device       bool // bucketed by device
	earlyExit    bool
	quickKnows   bool   // quick may know it
	special      bool   // a person's subject may be other than the distinct ID
	prefix       string // key and dot: how every hashed text starts
	variants     []variantBound

	key         string
	valueCount  int32 // number of values, from off
	optOutValue int32 // value of an early access opt-out
	aggregation int32 // flag-level: a group type's ordinal, or an owner constant
	holdoutAll  bool
	holdoutAt   float64
	direct      []int32 // flags it depends on, all earlier in program order
	needs       []int32 // slots that the flag looks at
	requirement runtime.Requirement
	tags        []string

	survey       bool
	encrypted    bool
	form         form
	readsCohorts bool // stored cohorts
	readsHash    bool // continuity can change the outcome

	id            int64
	version       int
	hasExperiment bool
	digest        uint64 // of its definition, dependencies and cohorts not included
}

func (f *compiledFlag) onValue() int32 { return f.offValue + 1 }

// A variantBound is a variant with the end of its share (evaluation.md §2.3).
type variantBound struct {
	below float64
	value int32
}

// A compiledCondition is a compiled condition set.
type compiledCondition struct {
	steps       []uint32 // checks, in effective order (evaluation.md §3.5)
	threshold   float64  // rollout percentage / 100
	everyone    bool     // the percentage is 100: no hash
	hashMatters bool     // evaluation.md §2.6
	aggregation int32
	pinned      int32 // value, or -1
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
