package flags

import (
	"fmt"
	"iter"
	"time"

	"github.com/flagstaff-go/flagstaff/runtime"
)

// A Snapshot is a compiled, immutable set of flags. All methods are safe for
// concurrent use and do no I/O. Equal definitions and equal requests give equal
// answers on every machine.
type Snapshot struct {
	flags []compiledFlag   // in program order: each after those that it depends on
	order []int32          // places in flags, in the order of the document
	index map[string]int32 // places in flags, by key

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
	groupIndex    map[string]int32 // ordinals by name
	storedCohorts map[int64]int32

	// Slots of properties that evaluation itself reads, or -1.
	idSlot, createdSlot, deviceSlot, anonymousSlot int32

	continuityFlags []string // keys
	longestPrefix   int      // of compiledFlag.prefix
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
	common   uint64 // digest of everything but the flags
	minimal  bool
}

// A state says whether the condition sets of a flag decide it at all.
type state uint8

const (
	normal  state = iota
	dormant       // inactive or with encrypted payloads: never in results, false for dependents
	missing       // depends on a flag that does not exist
	faulty        // could not be understood
	cyclic        // depends on itself, or on a flag that does
)

// A compiledFlag is what a Flag is compiled to. Its values lie next to each other
// in Snapshot.values: off, on, the variants, and what else its definition needs.
// Fields that every evaluation reads come first.
type compiledFlag struct {
	fixed        decision // the decision that no request can change; value -1: none
	conditions   []compiledCondition
	offValue     int32
	failedValue  int32
	enrollment   int32 // slot of $feature_enrollment/<key>, or -1
	holdoutValue int32 // or -1
	continuity   int32 // number among the continuity flags, or -1
	state        state
	hash         hashKind
	byDevice     bool // the device ID is the subject
	earlyExit    bool
	quickKnows   bool   // decideQuickly may know it
	otherSubject bool   // a person's subject may be another than the distinct ID
	prefix       string // key and dot, with which every hashed text starts
	variants     []variantBound

	key         string
	valueCount  int32
	optOutValue int32 // of an early access opt-out
	aggregation int32 // of the flag: a group type's ordinal, or an owner constant
	holdoutAll  bool
	holdoutAt   float64
	direct      []int32 // flags that it depends on, all earlier unless it is cyclic
	needs       []int32 // slots that it looks at
	requirement runtime.Requirement
	tags        []string

	survey       bool
	encrypted    bool
	form         form
	readsCohorts bool // stored cohorts
	readsHash    bool // a stored hash key can change the decision

	id            int64
	version       int
	hasExperiment bool
	digest        uint64 // of its definition, without dependencies and cohorts
}

func (f *compiledFlag) onValue() int32 { return f.offValue + 1 }

// A variantBound is a variant with the end of its share (evaluation.md §2.3).
type variantBound struct {
	below float64
	value int32
}

// A compiledCondition is what a Condition is compiled to.
type compiledCondition struct {
	checks      []uint32 // of its filters, in effective order (evaluation.md §3.5)
	threshold   float64  // rollout percentage / 100
	everyone    bool     // the rollout percentage is 100, so nothing is hashed
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

// Flag answers for one flag. It does not look at the request's Keys. The error is
// ErrUnknownFlag if there is no such flag, and ErrFiltered if the request's Filter
// or an encrypted payload hides it. An inactive flag is disabled with reason
// flag_disabled, and a flag that a dependency cycle removes is a failed result
// with reason dependency_cycle_flag (evaluation.md §11.7).
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

// whyHidden says why a request may not see a flag. It is nil for an inactive
// flag, which is an answer.
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

// resultOrDisabled is result for callers that want an answer for flags without a
// result as well.
func (s *Snapshot) resultOrDisabled(i int32, d decision) Result {
	switch d.value {
	case valueHidden:
		return s.result(i, decision{s.flags[i].offValue, reasonDisabled})
	case valueOmitted:
		r := s.result(i, decision{s.flags[i].offValue, reasonDisabled})
		r.Failed = true
		r.Reason = Reason{ErrorFlagCycle, -1, "Flag dependency cycle detected"}
		return r
	}
	return s.result(i, d)
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

// Problems returns what is wrong or doubtful in the definitions, errors first, and
// at most [MaxProblems].
// The slice must not be changed.
func (s *Snapshot) Problems() []Problem { return s.problems }

// Reads reports whether some flag looks at the person property with that name.
func (s *Snapshot) Reads(property string) bool { return s.personTable.slotOf([]byte(property)) >= 0 }

// ETag identifies the content, as plain hexadecimal text. It depends on the
// definitions and on the compile options that change answers, and not on the
// process or the machine.
func (s *Snapshot) ETag() string { return s.etag }

// ContinuityFlags returns the keys of the flags with experience continuity, whose
// hash keys are to be stored when a person identifies (evaluation.md §12). The
// slice must not be changed.
func (s *Snapshot) ContinuityFlags() []string { return s.continuityFlags }

// MinimalFlagCalledEvents returns what the definitions say under that name, which
// clients are told.
func (s *Snapshot) MinimalFlagCalledEvents() bool { return s.minimal }
