package flags

import (
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// The parts of a snapshot: what definitions are compiled to, and what evaluation
// reads.

// A Snapshot is a compiled, immutable set of flags. All methods are safe for
// concurrent use and do no I/O. Equal definitions and equal requests give equal
// answers on every machine.
type Snapshot struct {
	// self is the Snapshot. What keeps a Snapshot keeps this one: then the compiler knows
	// that a method keeps nothing of what the caller has beside it, such as a Request.
	self *Snapshot

	flags []compiledFlag // in program order: each after the flags that it depends on
	order []int32        // places in flags, in the order of the document
	index keyIndex

	places []int32 // places in flags by the number of a Ref, or -1

	values   []value
	typed    []ruleValue // values of rule sets; the first one is none
	payloads []payload   // the first one is none
	edges    []edges     // of values: what AppendFlags copies before and after the reason
	reasons  []Reason
	rendered []span // of reasons
	arena    []byte // all rendered bytes

	memos *atomic.Pointer[memo] // of AppendRendered, the latest first

	timeouts *patternTimeouts // shared with the Snapshots that this one was compiled from

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
	maxPrefix       int      // of compiledFlag.prefix
	cyclic          bool     // some flag is on a dependency cycle
	someRemote      bool     // some flag is remote

	// Sets of flags, without dormant ones: the flags that each runtime.Kind may
	// see, those without evaluation contexts, and those for surveys.
	admits   [4]flagSet
	needed   [4]neededSet // what the flags in admits look at
	untagged flagSet
	surveys  flagSet

	// The evaluation contexts that flags have, by number: the flags that need one of
	// their contexts, and the numbers that each of the other flags needs.
	tagNumbers map[string]int32
	tagged     [][]int32
	allTagged  []allTagged

	read     []bool // slots that some flag looks at
	problems []Problem
	found    findings
	etag     string
	common   digest // of everything but the flags
	minimal  bool
}

// findings are what a later Snapshot needs of this one's compilation, if most of its
// flags are the same, see patch.
type findings struct {
	order      []Problem           // of what flags depend on
	flags      map[int32][]Problem // of flags, by program order
	outside    bool                // of a cohort, which the first flag that needs it reports, or of a flag that is left out
	cohorts    map[int64]*cohortBuild
	conditions int          // the most that a flag has
	regexps    regexpBudget // what they need together
	patched    int          // flags that were compiled since all were
	room       *atomic.Bool // whether another Snapshot uses what is behind values, payloads, edges, checks, cohorts and arena
}

// A state says whether the condition sets of a flag decide its value at all.
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
	ruled        bool // a rule set decides
	byDevice     bool // the device ID is the subject
	earlyExit    bool
	quickKnows   bool   // decideQuickly may know it
	quickParses  bool   // decideParsing may know it
	unreadable   bool   // dormant, and an error for the flags that depend on it
	otherSubject bool   // a person's subject may be another than the distinct ID
	prefix       string // key and dot, with which every hashed text starts
	variants     []variantBound

	valueCount  int32
	optOutValue int32 // of an early access opt-out
	aggregation int32 // of the flag: a group type's ordinal, or an owner constant
	holdoutAll  bool
	needs       []int32 // slots that it looks at
	requirement runtime.Requirement
	tagMatch    runtime.TagMatch
	rare        *rareParts // nil if it has none of them

	survey       bool
	encrypted    bool
	form         form
	matchBasis   basis // of a value that a condition set gives, or basisVaries
	readsCohorts bool  // stored cohorts
	readsHash    bool  // a stored hash key can change the decision
	remote       bool  // it looks at something that only a server knows, see NeedsOf

	id            int64
	version       int
	hasExperiment bool
	place         int32  // in Snapshot.order
	digest        digest // of its definition, without dependencies and cohorts
}

// rareParts are what few flags have.
type rareParts struct {
	tags      []string // evaluation contexts
	direct    []int32  // flags that it depends on, all earlier unless it is cyclic
	holdoutAt float64  // share of a holdout
	holdout   point    // where it ends
	rules     *compiledRules
}

func (f *compiledFlag) makeRare() *rareParts {
	if f.rare == nil {
		f.rare = new(rareParts)
	}
	return f.rare
}

func (f *compiledFlag) key() string { return f.prefix[:len(f.prefix)-1] }

func (f *compiledFlag) tags() []string {
	if f.rare == nil {
		return nil
	}
	return f.rare.tags
}

func (f *compiledFlag) direct() []int32 {
	if f.rare == nil {
		return nil
	}
	return f.rare.direct
}

func (f *compiledFlag) setDirect(list []int32) {
	if len(list) > 0 {
		f.makeRare().direct = list
	}
}

// onValue returns the place of the value that a condition set without a variant gives.
func (f *compiledFlag) onValue() int32 { return f.offValue + 1 }

// A variantBound is a variant with the end of its share (evaluation.md §2.3).
type variantBound struct {
	end   point
	value int32
	below float64 // the end as a share
}

// A compiledCondition is what a Condition is compiled to.
type compiledCondition struct {
	checks      []uint32 // of its filters, in effective order (evaluation.md §3.5)
	end         point    // the first that is outside of the rollout
	threshold   float64  // rollout percentage / 100, for Explain
	everyone    bool     // the rollout percentage is 100, so nothing is hashed
	hashMatters bool     // evaluation.md §2.6
	aggregation int32
	pinned      int32 // value, or -1
}

// A check is what a filter is compiled to. Equal filters of all flags are one
// check, which is evaluated at most once per run.
type check struct {
	op      operators.Op
	aspect  operators.Aspect // of op
	negated bool
	missing bool     // the result when the property is not set
	invert  bool     // the result is turned around at the end (rules.md §3.2)
	ruled   bool     // of a rule
	fail    failCode // of operators.OpFail; of operators.OpUseless in a rule set: a set property fails the flag
	slot    int32    // of the property; for operators.OpCohort a cohort, for operators.OpFlag a flag
	truthy  bool
	num     float64
	text    string
	more    *compiledOperand
	name    string // of the operator, for Explain
	value   string // JSON of the filter's value, shortened, for Explain
}

// A compiledOperand holds what only some operators need.
type compiledOperand struct {
	texts    []string            // operators.OpContainsAny; operators.OpTexts up to smallSet
	set      map[string]struct{} // operators.OpTexts beyond smallSet
	matcher  Matcher
	high     float64 // operators.OpBetween
	date     reldate.Date
	at       time.Time // date, if it is not relative
	version  semver.Version
	rng      semver.Range
	compared *comparedOperand // operators.OpCompared
	accepts  []bool           // operators.OpFlag: by the value of the flag, counted from its first
	checks   []uint32         // operators.OpAll and OpAny: those that it consists of
	split    *compiledSplit   // operators.OpSplit, whose values are 0 and 1
}

// A compiledCohort is what a Cohort is compiled to (evaluation.md §5).
type compiledCohort struct {
	root       compiledNode
	stored     int32 // number among the stored cohorts, or -1
	behavioral bool
}

// A compiledNode is a node of a cohort's tree.
type compiledNode struct {
	kind    nodeType
	negated bool
	id      uint32 // check or cohort
	nodes   []compiledNode
}

// isEmpty reports whether a node is a group of nothing.
func (n *compiledNode) isEmpty() bool {
	return (n.kind == nodeAll || n.kind == nodeAny) && len(n.nodes) == 0
}

// A nodeType says how a node combines its nodes, or what leaf it is.
type nodeType uint8

const (
	nodeNever nodeType = iota // a leaf that matches nobody
	nodeAll
	nodeAny
	nodeCheck
	nodeCohort
)

// A decision is what the evaluation of a flag comes to: two numbers, into
// Snapshot.values and Snapshot.reasons.
type decision struct {
	value  int32
	reason int32
}

// Values of decisions that have no result.
const (
	valueHidden  = -1 // the request may not see the flag, or it is never evaluated
	valueOmitted = -2 // a dependency cycle removes the flag
)

// A value is one value that a flag can have.
type value struct {
	variant    string
	payload    int32 // number in Snapshot.payloads
	typed      int32 // number in Snapshot.typed
	hasVariant bool
	enabled    bool
	failed     bool
}

// A payload is the payload of a value.
type payload struct {
	json span   // within the tail of the value; empty: none
	text string // as Metadata.Payload shows it
}

// edges are what a value is rendered to: what stands before the reason, and what
// stands behind it.
type edges struct{ head, tail span }

// A span is a piece of Snapshot.arena.
type span struct{ off, len uint32 }

// An allTagged is a flag that needs all of its evaluation contexts.
type allTagged struct {
	flag int32
	tags []int32 // numbers
}

// A flagSet is a set of flags by program order, 64 per word. All sets of a
// Snapshot and of the Inputs bound to it have one length.
type flagSet []uint64

// A neededSet is what the flags of a set look at.
type neededSet struct {
	slots     []int32
	cohorts   bool
	overrides bool
}

// A form says what kinds of values a flag has.
type form uint8

const (
	formMultivariate form = 1 << iota
	formRemoteConfiguration
)
