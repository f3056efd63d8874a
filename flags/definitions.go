package flags

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Definitions is the mutable model of one project's flags: what a definitions
// document (evaluation.md §1.1) says, before it is compiled. Build it in Go or
// read it with [Decode]; hand it to [Compile]. It is not safe for concurrent
// use while it is being changed, and Compile keeps no reference to it.
type Definitions struct {
	// Flags in document order, inactive ones included. Keys are unique.
	Flags []Flag `json:"flags"`

	// GroupTypes maps a group type's index to its name.
	GroupTypes map[int]string `json:"group_type_mapping,omitempty"`

	// Cohorts by id. A cohort that no entry describes does not exist.
	Cohorts map[int64]Cohort `json:"cohorts,omitempty"`

	// PropertyMatchingVersion selects the rules of exact and is_not
	// (evaluation.md §4.4). 2 selects version 2, anything else version 1.
	PropertyMatchingVersion int `json:"property_matching_version,omitempty"`

	// TimeZone is the name of the zone of dates that have none, such as
	// "Europe/Berlin" (evaluation.md §4.9). Empty means UTC. A zone in the
	// [CompileOptions] comes first.
	TimeZone string `json:"timezone,omitempty"`

	// MinimalFlagCalledEvents is passed on to clients; it changes no value.
	MinimalFlagCalledEvents bool `json:"minimal_flag_called_events,omitempty"`

	// BucketingHash is the hash of flags that name none: "" or "sha1", or
	// "xxhash64".
	BucketingHash string `json:"bucketing_hash,omitempty"`

	// notes are the findings of Decode, which Compile passes on as Problems.
	notes []Problem
}

// Filters is what decides a flag (evaluation.md §1.3).
type Filters struct {
	// Groups are the condition sets, in the order in which they are tried.
	// The JSON name has nothing to do with group types.
	Groups []Condition `json:"groups"`

	Multivariate *Multivariate `json:"multivariate,omitempty"`

	// AggregationGroupTypeIndex is the flag's aggregation; Inherited means [ByPerson].
	AggregationGroupTypeIndex Aggregation `json:"aggregation_group_type_index,omitzero"`

	// Payloads by variant key, or "true" for a flag without variant.
	Payloads map[string]json.RawMessage `json:"payloads,omitempty"`

	// EarlyExit stops at the first condition set whose filters match and whose
	// rollout does not admit the subject. Nil means false.
	EarlyExit *bool `json:"early_exit,omitempty"`

	// FeatureEnrollment lets $feature_enrollment/<key> decide first. Nil means
	// false.
	FeatureEnrollment *bool `json:"feature_enrollment,omitempty"`

	Holdout *Holdout `json:"holdout,omitempty"`

	// Version of the configuration language: 0 and 1 are condition sets, 2 is a RuleSet.
	Version int `json:"version,omitempty"`

	// RuleSet decides, in place of all the fields above, if the Version is 2.
	RuleSet *RuleSet `json:"-"`

	// Extra has what JSON has beside the fields, as an object: members that evaluation
	// does not know, and members of the fields that say nothing, such as null, so that
	// filters can be shown as somebody has sent them. The parts of Filters have it, too.
	// Nil if there is nothing, and always in what [Decode] returns.
	Extra json.RawMessage `json:"-"`

	// fault is the reason why the filters could not be understood. A flag with
	// such filters fails.
	fault *DefinitionError

	// source is the JSON of filters that could not be understood, of which the fields have
	// only a part.
	source []byte
}

// Err returns why [Decode] or [DecodeFilters] could not understand the filters, or
// nil. A filter of a condition set has an error of its own.
func (f *Filters) Err() error { return asError(f.fault) }

// Clone returns a copy whose condition sets, filters and payloads can be replaced
// without a change of f.
func (f *Filters) Clone() Filters {
	c := *f
	c.Groups = slices.Clone(f.Groups)
	for i := range c.Groups {
		c.Groups[i].Properties = slices.Clone(c.Groups[i].Properties)
	}
	c.Payloads = maps.Clone(f.Payloads)
	c.RuleSet = f.RuleSet.clone()
	return c
}

// Payload returns the payload of a variant, or of a flag without variants if the
// key is "true", as text: the stored string, or the JSON that is stored as another
// value without white space between its tokens (evaluation.md §3.8). ok is false if
// there is none, or null, or what is not JSON.
func (f *Filters) Payload(key string) (payload string, ok bool) {
	return payloadText(f.Payloads[key])
}

// SetPayload stores a payload as a string, which is the form that SDKs expect. It
// need not be JSON: payloads that are encrypted are none. It changes the map that
// copies of f share.
func (f *Filters) SetPayload(key, payload string) {
	if f.Payloads == nil {
		f.Payloads = make(map[string]json.RawMessage)
	}
	f.Payloads[key] = text.AppendQuoted(nil, payload)
}

// payloadText returns a payload as text, see [Filters.Payload].
func payloadText(payload []byte) (string, bool) {
	if len(payload) == 0 {
		return "", false
	}
	v, err := jsonscan.Parse(payload, jsonscan.MaxDepth)
	if err != nil || v.Kind() == jsonscan.Null {
		return "", false
	}
	if v.Kind() == jsonscan.String {
		b, _ := v.AppendString(nil)
		return string(b), true
	}
	var b bytes.Buffer
	_ = json.Compact(&b, bytes.ToValidUTF8(v, []byte("\uFFFD"))) // Parse has accepted it
	return b.String(), true
}

// Multivariate holds the variants of a flag.
type Multivariate struct {
	Variants []Variant       `json:"variants"`
	Extra    json.RawMessage `json:"-"`
}

// A Variant is a named outcome with its share in percent.
type Variant struct {
	Key               string          `json:"key"`
	Name              *string         `json:"name,omitempty"` // what people see
	RolloutPercentage float64         `json:"rollout_percentage"`
	Extra             json.RawMessage `json:"-"`
}

// A Holdout keeps a share of subjects, in percent, out of an experiment.
type Holdout struct {
	ID                  int64           `json:"id"`
	ExclusionPercentage float64         `json:"exclusion_percentage"`
	Extra               json.RawMessage `json:"-"`
}

// A Condition is one condition set (evaluation.md §1.4).
type Condition struct {
	// Properties are the filters; all must match.
	Properties []Filter `json:"properties"`

	// RolloutPercentage in percent, fractions allowed. Nil means 100.
	RolloutPercentage *float64 `json:"rollout_percentage,omitempty"`

	// Variant pins a variant key. Nil, or a key that does not exist: drawn.
	Variant *string `json:"variant,omitempty"`

	// AggregationGroupTypeIndex overrides the flag's aggregation.
	AggregationGroupTypeIndex Aggregation `json:"aggregation_group_type_index,omitzero"`

	// Description and SortKey are what people see. Evaluation does not use
	// them: SortKey orders nothing.
	Description string `json:"description,omitempty"`
	SortKey     string `json:"sort_key,omitempty"`

	Extra json.RawMessage `json:"-"`
}

// A Filter is one comparison: a filter of a condition set or a leaf of a
// cohort's tree (evaluation.md §1.5).
type Filter struct {
	// Key is the property's name; the ID or key of a flag for type "flag".
	Key string `json:"key"`

	// Value is the JSON to compare with. Nil counts as null.
	Value json.RawMessage `json:"value"`

	// Operator is a constant such as [operator.Exact]. "" means operator.Exact, or
	// [operator.In] for type "cohort".
	Operator string `json:"operator,omitempty"`

	// Type is "person", "person_metadata", "group", "cohort" or "flag".
	// "" means "person".
	Type string `json:"type,omitempty"`

	// GroupTypeIndex is the group whose properties a filter of type "group"
	// reads. Nil means the condition set's aggregation.
	GroupTypeIndex *int `json:"group_type_index,omitempty"`

	// Negation inverts a leaf of a cohort. It is ignored in condition sets.
	Negation bool `json:"negation,omitempty"`

	// Comparison is how a filter of a rule, or of a cohort, compares.
	Comparison Comparison `json:"-"`

	// Filters are those of which one must hold for type "any", and each one for type "all",
	// which only rules have (rules.md §9.3).
	Filters []Filter `json:"-"`

	// Split is what a filter of type "split" draws, which only rules have. Its values are
	// true and false.
	Split *RuleSplit `json:"-"`

	// DependencyChain, when present, says that Key is a flag key and not an
	// ID. Its content is not used.
	DependencyChain *[]string `json:"dependency_chain,omitempty"`

	// CohortName is the name of the cohort, in filters that are made for people
	// to see: the normal form does not have it, since it is the cohort that has a name.
	CohortName string `json:"cohort_name,omitempty"`

	// Extra is as in [Filters]. The criterion of an [operators.UnknownFilter] always has it.
	Extra json.RawMessage `json:"-"`

	// fault is the reason why Decode could not understand the filter. A flag
	// that reaches such a filter fails.
	fault *DefinitionError
}

// Err returns why [Decode] could not understand the filter, or nil. It does not
// judge filters that were made in Go; that is for [Compile].
func (f *Filter) Err() error { return asError(f.fault) }

// A Cohort is a set of persons (evaluation.md §5).
type Cohort struct {
	// Properties is the tree that decides membership. Nil: nobody.
	Properties *CohortNode `json:"properties,omitempty"`

	// Stored says that membership is not computed from Properties but given
	// with each request: static, behavioral and realtime cohorts.
	Stored bool `json:"stored,omitempty"`

	// Behavioral says that membership depends on what this library cannot
	// fully know; it changes the text of a reason only.
	Behavioral bool `json:"behavioral,omitempty"`

	// fault is the reason why Decode could not understand what is not in the
	// tree. A flag that reaches such a cohort fails.
	fault *DefinitionError

	place     int  // in the list of the document, counted from 1; 0 in an object
	inFilters bool // the tree is in the member filters of a record
}

// pathOfTree returns the place of the tree of the cohort with an ID in a document.
func (c *Cohort) pathOfTree(id int64) *path {
	if c.inFilters {
		return &path{up: &path{up: c.path(id), name: "filters"}, name: "properties"}
	}
	return c.path(id)
}

// path returns the place of the cohort with an ID in a document.
func (c *Cohort) path(id int64) *path {
	if c.place > 0 {
		id = int64(c.place) - 1
	}
	return &path{up: &path{name: "cohorts"}, name: strconv.FormatInt(id, 10)}
}

// Err returns why [Decode] could not understand the cohort, or nil. Leaves of its
// tree have errors of their own.
func (c *Cohort) Err() error { return asError(c.unreadable()) }

// unreadable returns the first fault of the cohort and its tree, or nil.
func (c *Cohort) unreadable() *DefinitionError {
	if c.fault == nil && c.Properties != nil {
		return c.Properties.fault
	}
	return c.fault
}

// isTrue reads a switch of which nil means false.
func isTrue(b *bool) bool { return b != nil && *b }

// asError keeps a nil fault from becoming an error that is not nil.
func asError(fault *DefinitionError) error {
	if fault == nil {
		return nil
	}
	return fault
}

// A CohortNode is a node of a cohort's tree (evaluation.md §5.1): a group of nodes,
// of which [CohortNode.AnyOf] tells how they decide, or, when Leaf is not nil, a
// single filter.
type CohortNode struct {
	Type   string // of a group
	Values []CohortNode
	Leaf   *Filter
	Extra  json.RawMessage // of a group, as in [Filters]

	// fault, at the root of a tree, is the reason why the tree could not be
	// understood, and source the JSON of the filters that DecodeCohort could not
	// understand.
	fault  *DefinitionError
	source []byte
}

// AnyOf tells the two kinds of groups apart (evaluation.md §5.1): a person belongs
// to a group of type "OR" if any of Values says so, and to one of type "AND" or
// "property" if all of them do, whatever the case of the letters. known is false
// for other types, which make the cohort malformed; a leaf has none.
func (n *CohortNode) AnyOf() (anyOf, known bool) {
	switch {
	case strings.EqualFold(n.Type, "OR"):
		return true, true
	case strings.EqualFold(n.Type, "AND"), strings.EqualFold(n.Type, "property"):
		return false, true
	}
	return false, false
}

// An Aggregation says whose bucket a condition set uses. The zero value
// inherits the flag's; in JSON it is an absent member, [ByPerson] is null and a
// group is its index (evaluation.md §1.4).
type Aggregation int

const (
	Inherited Aggregation = iota
	ByPerson
	byGroup0
)

// ByGroup returns the aggregation by the group type with the given index, from 0 to
// 1,048,576.
func ByGroup(index int) Aggregation { return byGroup0 + Aggregation(index) }

// Index returns the group type's index; ok is false for Inherited and [ByPerson].
func (a Aggregation) Index() (index int, ok bool) { return int(a - byGroup0), a >= byGroup0 }
