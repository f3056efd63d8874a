package flags

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Snapshot is a compiled, immutable set of flags. All methods are safe for
// concurrent use and do no I/O; equal definitions and equal requests give equal
// answers on every machine.
type Snapshot struct {
	flags []flag           // in program order: after what they depend on
	order []int32          // program order of each flag, in document order
	index map[string]int32 // program order by key

	values   []value
	edges    []edges // of values: what AppendFlags copies before and after the reason
	reasons  []Reason
	rendered []span // of reasons
	arena    []byte // all rendered bytes

	checks  []check
	cohorts []cohort
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

// A cohort is a compiled cohort.
type cohort struct {
	root       node
	stored     int32 // number among the stored cohorts, or -1
	behavioral bool
}

// Evaluate answers for all flags that the request may see. It allocates only
// the Results.
func (s *Snapshot) Evaluate(r *Request) *Results {
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	results := s.EvaluateInput(in)
	release(in)
	return results
}

// EvaluateInput is Evaluate for an [Input]. As with all methods that take one,
// the snapshot that the Input was Reset with is what answers.
func (s *Snapshot) EvaluateInput(in *Input) *Results {
	s = in.snap
	n, partial := in.all()
	results := &Results{Partial: partial, snap: s, n: n, outcomes: make([]outcome, len(s.flags))}
	for i := range results.outcomes {
		results.outcomes[i].value = valueHidden
		if in.ran[i] == in.run {
			results.outcomes[i] = in.outcomes[i]
		}
	}
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
	if err := s.hidden(i, r); err != nil {
		return Result{}, err
	}
	return s.single(i, s.one(i, r)), nil
}

// FlagInput is Flag for an [Input], of which it does not look at the keys and at
// SurveysOnly. Of a flag that the Input's filter hides it says ErrFiltered even if
// the flag is inactive.
func (s *Snapshot) FlagInput(key string, in *Input) (Result, error) {
	s = in.snap
	i, ok := s.index[key]
	switch {
	case !ok:
		return Result{}, fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	case !in.sees(&s.flags[i]):
		return Result{}, fmt.Errorf("%w: %q", ErrFiltered, key)
	case s.flags[i].state == dormant:
		return s.single(i, outcome{value: valueHidden}), nil
	}
	return s.single(i, in.single(i)), nil
}

// FlagsInput evaluates all flags that the request may see and iterates over what
// FlagInput answers for each, in the order of the definitions. Unlike
// EvaluateInput it has inactive flags and those that a dependency cycle removes.
// Flags that others depend on come with those that the Input's keys name. It does
// not allocate. The Input must not be used before the iteration ends.
func (s *Snapshot) FlagsInput(in *Input) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		s := in.snap
		in.all()
		for _, i := range s.order {
			f, out := &s.flags[i], outcome{value: valueHidden}
			switch {
			case in.ran[i] == in.run:
				out = in.outcomes[i]
			case f.state != dormant || !in.sees(f) || in.SurveysOnly && !f.survey || in.someKeys && !slices.Contains(in.keys, f.key):
				continue
			}
			if !yield(s.single(i, out)) {
				return
			}
		}
	}
}

// sees reports whether the Input's filter admits a flag that results may show.
func (in *Input) sees(f *flag) bool {
	return !f.encrypted && in.filter.Admits(f.requirement, f.tags)
}

// hidden says why a request may not see a flag.
func (s *Snapshot) hidden(i int32, r *Request) error {
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

// single is result for callers that want an answer for hidden flags as well.
func (s *Snapshot) single(i int32, out outcome) Result {
	switch out.value {
	case valueHidden:
		return s.result(i, outcome{s.flags[i].off, reasonDisabled})
	case valueOmitted:
		r := s.result(i, outcome{s.flags[i].off, reasonDisabled})
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

// Needs says what stored data can change the answer to a request.
type Needs struct {
	// Person and Groups: stored properties of the person, and of the groups of
	// these types.
	Person bool
	Groups []string

	// PersonCreated: when the person was created, see
	// [Input.SetPersonCreated].
	PersonCreated bool

	// Geo: the $geoip_* properties of the client's address.
	Geo bool

	// Cohorts: memberships in stored cohorts.
	Cohorts bool

	// Overrides: stored hash keys of experience continuity.
	Overrides bool
}

// Needs looks at what the flags that the request may see refer to and the
// request does not carry. What it does not name cannot change the answer. Call
// it when everything of the request has been added to the Input. Groups is
// valid until the Input's next use.
func (s *Snapshot) Needs(in *Input) Needs {
	s = in.snap
	n := Needs{Groups: in.needs[:0]}
	if len(in.filter.Tags) == 0 && !in.SurveysOnly && !in.someKeys {
		set := &s.needed[in.filter.Kind]
		n.Cohorts, n.Overrides = set.cohorts, set.overrides
		in.addNeeds(&n, set.slots)
	} else {
		for w, word := range in.admit() {
			for ; word != 0; word &= word - 1 {
				f := &s.flags[w<<6+bits.TrailingZeros64(word)]
				n.Cohorts = n.Cohorts || f.readsCohorts
				n.Overrides = n.Overrides || f.readsHash
				in.addNeeds(&n, f.needs)
			}
		}
	}
	in.needs = n.Groups
	return n
}

func (in *Input) addNeeds(n *Needs, slots []int32) {
	for _, i := range slots {
		def, p := &in.snap.slots[i], in.own(i)
		if p != nil && p.origin < fromGeo && i != in.snap.idSlot {
			p = nil // stored, by an earlier call
		}
		if def.geo && (p == nil || p.kind == jsonscan.Null) {
			n.Geo = true
		}
		if p != nil || i == in.snap.idSlot {
			continue
		}
		if i == in.snap.createdSlot {
			n.PersonCreated = true
			continue
		}
		if def.owner < 0 {
			n.Person = true
			continue
		}
		// Without a group key there is nothing to look up.
		name := in.snap.groupNames[def.owner]
		if def.name != groupKeyName && in.hasGroup(def.owner, name) && !slices.Contains(n.Groups, name) {
			n.Groups = append(n.Groups, name)
		}
	}
}

func (in *Input) hasGroup(ord int, name string) bool {
	if in.lazy {
		return in.requestGroups[name] != ""
	}
	g := &in.groups[ord]
	return g.gen == in.gen && g.usable
}

// An Outcome sums up what AppendFlags wrote.
type Outcome struct {
	Flags   int  // number of results
	Partial bool // as in Results
}

// AppendFlags evaluates all flags that the request may see and appends the JSON
// object "flags" of POST /flags?v=2: what json.Marshal writes for each Result,
// by key, in the order of the definitions. It does not allocate if dst is large
// enough.
func (s *Snapshot) AppendFlags(dst []byte, in *Input) ([]byte, Outcome) {
	s = in.snap
	n, partial := in.all()
	start := len(dst)
	for _, i := range s.order {
		if in.ran[i] != in.run {
			continue
		}
		out := in.outcomes[i]
		if out.value < 0 {
			continue
		}
		e, r := &s.edges[out.value], s.rendered[out.reason]
		dst = append(dst, s.arena[e.head.off:][:e.head.len]...)
		dst = append(dst, s.arena[r.off:][:r.len]...)
		dst = append(dst, s.arena[e.tail.off:][:e.tail.len]...)
	}
	if len(dst) == start {
		return append(dst, "{}"...), Outcome{n, partial}
	}
	dst[start] = '{' // in place of the comma of the first head
	return append(dst, '}'), Outcome{n, partial}
}
