package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// DefinitionsOptions configure [AppendDefinitions].
type DefinitionsOptions struct {
	// Project is the team_id of each flag.
	Project int64

	// InlineCohorts makes the document that the older endpoint gives without
	// send_cohorts: "cohorts" is empty, and instead of a cohort that consists of
	// filters on the person alone a condition set has these filters. A cohort
	// that is an OR makes a condition set of each of its branches, up to 50
	// condition sets per flag; a condition set gets up to 1,000 filters. Other
	// cohort filters stay, for which SDKs ask the server.
	InlineCohorts bool

	// RuleSets says that the reader knows rule sets (rules.md §5). Otherwise a flag with a rule
	// set is written with condition sets that give everybody the same value, or left out.
	RuleSets bool

	// Hide says which flags are not sent, such as flags that only surveys use. Nil:
	// none.
	Hide func(*flags.Flag) bool
}

// AppendDefinitions appends the document that SDKs poll for local evaluation
// (wire.md §5.2). Equal definitions give equal bytes, whatever order their flags
// have.
//
// Flags are ordered by key. The document leaves out flags that are deleted, hidden,
// without a key, or have encrypted payloads, and of several with one key all but
// the first. Flag dependencies have the key of their target and a dependency_chain:
// the flags to evaluate in their order, the target last. It is empty, so that SDKs
// ask the server, if there is a cycle, or if a flag of the chain does not exist or
// is left out. Cohorts are sent if a flag needs them; of those that are stored, only
// the ids, in a member of their own, because SDKs take a cohort without a tree for
// everybody.
//
// SDKs are told to ask the server, by ensure_experience_continuity, for an active
// flag that hashes with xxHash64 (evaluation.md §14), that has an unknown
// configuration language, or that [flags.Decode] did not understand.
// evaluate_remotely goes with it unless the flag has continuity in fact, and
// undoes it for Decode. A flag that was not understood has filters of version -1,
// a configuration language that does not exist: it fails wherever it is evaluated.
//
// Decode makes of the document flags that evaluate like the flags of d, except
// where they need what is left out. Payloads come out as the text of their JSON,
// which is the form that SDKs expect.
//
// The error is not nil if d is nil, or if the document has more than the 64 MiB
// that Decode reads ([flags.ErrTooLarge]). dst is then returned as it was.
func AppendDefinitions(dst []byte, d *flags.Definitions, o DefinitionsOptions) ([]byte, error) {
	if d == nil {
		return dst, errors.New("wire: AppendDefinitions: definitions are nil")
	}
	w := document{
		dst: dst, limit: len(dst) + flags.MaxDocument,
		d: d, o: o, index: flags.NewIndex(d.Flags),
		sent: make(map[*flags.Flag]bool), chains: make(map[*flags.Flag][]*flags.Flag),
		branches: make(map[int64][][]flags.Filter),
	}
	for f := range w.index.Flags() {
		w.sent[f] = !f.HasEncryptedPayloads && (o.Hide == nil || !o.Hide(f)) && w.readable(f)
	}
	w.write()
	if w.full() {
		return dst, fmt.Errorf("%w: the document has more than %d bytes", flags.ErrTooLarge, flags.MaxDocument)
	}
	return w.dst, nil
}

// readable reports whether the reader understands the language of a flag.
func (w *document) readable(f *flags.Flag) bool {
	if f.Filters.RuleSet == nil || w.o.RuleSets {
		return true
	}
	_, ok := f.Filters.RuleSet.Conditions(f.Key)
	return ok
}

// DefinitionsETag returns the entity tag of a document. It depends on nothing
// but the bytes of the document.
func DefinitionsETag(document []byte) string {
	const digits = "0123456789abcdef"
	tag := [...]byte{'W', '/', '"', 3 + 16: '"'}
	for i, sum := 3+15, xxhash.Sum64(document); i >= 3; i, sum = i-1, sum>>4 {
		tag[i] = digits[sum&15]
	}
	return string(tag[:])
}

// A document is a definitions document that is being written.
type document struct {
	dst   []byte
	limit int // of the length of dst
	d     *flags.Definitions
	o     DefinitionsOptions

	index    *flags.Index
	sent     map[*flags.Flag]bool
	chains   map[*flags.Flag][]*flags.Flag // see chain
	branches map[int64][][]flags.Filter    // of cohorts, see split
	static   []int64                       // stored cohorts, see cohorts
}

// full reports whether the document is too large already.
func (w *document) full() bool { return len(w.dst) > w.limit }

func (w *document) raw(s string)    { w.dst = append(w.dst, s...) }
func (w *document) text(s string)   { w.dst = text.AppendQuoted(w.dst, s) }
func (w *document) bool(b bool)     { w.dst = strconv.AppendBool(w.dst, b) }
func (w *document) integer(n int64) { w.dst = strconv.AppendInt(w.dst, n, 10) }

// comma separates what follows from an element or a member before it.
func (w *document) comma() {
	if c := w.dst[len(w.dst)-1]; c != '[' && c != '{' {
		w.raw(",")
	}
}

// member begins a member of an object, whose value comes next.
func (w *document) member(name string) *document {
	w.comma()
	w.raw(`"`)
	w.raw(name)
	w.raw(`":`)
	return w
}

func (w *document) texts(list []string) {
	w.raw("[")
	for _, s := range list {
		w.comma()
		w.text(s)
	}
	w.raw("]")
}

// number writes a percentage. JSON has no infinities, so they become the numbers
// that come closest. NaN becomes the lowest number: no hash is below either.
func (w *document) number(x float64) {
	switch {
	case math.IsNaN(x):
		x = -math.MaxFloat64
	case math.IsInf(x, 0):
		x = math.Copysign(math.MaxFloat64, x)
	}
	format := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.dst = strconv.AppendFloat(w.dst, x, format, -1, 64)
}

// value writes the value of a filter in the compact form of package text, which
// means the same to every operator and has no escapes or bytes that a strict parser
// refuses. It writes null for a value that is not JSON.
func (w *document) value(v json.RawMessage) {
	out, ok := text.AppendJSON(w.dst, v)
	if !ok {
		out = append(w.dst, "null"...)
	}
	w.dst = out
}

func (w *document) write() {
	w.raw(`{"flags":[`)
	byKey := func(a, b *flags.Flag) int { return strings.Compare(a.Key, b.Key) }
	for _, f := range slices.SortedFunc(w.index.Flags(), byKey) {
		if w.sent[f] && !w.full() {
			w.comma()
			w.flag(f)
		}
	}
	w.raw(`],"group_type_mapping":{`)
	for _, i := range slices.Sorted(maps.Keys(w.d.GroupTypes)) {
		w.member(strconv.Itoa(i)).text(w.d.GroupTypes[i])
	}
	w.raw(`},"cohorts":{`)
	if !w.o.InlineCohorts {
		w.cohorts()
	}
	w.raw("}")
	if !w.o.InlineCohorts {
		w.staticCohorts()
	}
	if w.d.TimeZone != "" && w.d.TimeZone != "UTC" {
		w.member("timezone").text(w.d.TimeZone)
	}
	if version := w.d.PropertyMatchingVersion; version == 2 {
		w.member("property_matching_version").integer(2)
	} else if version != 0 {
		w.member("property_matching_version").integer(1)
	}
	if w.d.MinimalFlagCalledEvents {
		w.raw(`,"minimal_flag_called_events":true`)
	}
	w.raw("}")
}

// usesXXHash reports whether a flag hashes with xxHash64. The document has no
// hash of its own, so that every flag without one uses SHA-1.
func (w *document) usesXXHash(f *flags.Flag) bool {
	return cmp.Or(f.BucketingHash, w.d.BucketingHash) == "xxhash64"
}

func (w *document) flag(f *flags.Flag) {
	if set := f.Filters.RuleSet; set != nil && !w.o.RuleSets {
		older := *f
		older.Filters, _ = set.Conditions(f.Key)
		older.BucketingHash, older.BucketingIdentifier, older.EnsureExperienceContinuity = "sha1", "", false
		older.HasExperiment = new(f.InExperiment())
		f = &older
	}
	xx := w.usesXXHash(f) && f.Filters.RuleSet == nil
	// An inactive flag is false for everyone, whatever it hashes with.
	remote := f.Active && (xx || f.Unusable() != nil)
	w.raw("{")
	w.member("id").integer(f.ID)
	w.member("team_id").integer(w.o.Project)
	w.member("name").text(f.Name)
	w.member("key").text(f.Key)
	w.raw(`,"filters":`)
	if f.Err() != nil {
		w.raw(`{"groups":[],"multivariate":null,"payloads":{},"version":-1}`)
	} else {
		w.filters(f)
	}
	w.member("deleted").bool(false)
	w.member("active").bool(f.Active)
	w.member("ensure_experience_continuity").bool(f.EnsureExperienceContinuity || remote)
	w.member("has_experiment").bool(f.InExperiment())
	w.member("version").integer(int64(f.Version))
	w.member("evaluation_runtime").text(runtime.ParseRequirement(f.EvaluationRuntime).String())
	bucketing := "distinct_id"
	if f.BucketingIdentifier == "device_id" {
		bucketing = f.BucketingIdentifier
	}
	w.member("bucketing_identifier").text(bucketing)
	w.member("evaluation_contexts").texts(f.EvaluationContexts)
	if m := f.EvaluationContextsMatchMode; m != "" && m != runtime.AnyTag.String() {
		w.member("evaluation_contexts_match_mode").text(m)
	}
	if f.IsRemoteConfiguration {
		w.raw(`,"is_remote_configuration":true`)
	}
	if xx {
		w.raw(`,"bucketing_hash":"xxhash64"`)
	}
	if remote && !f.EnsureExperienceContinuity {
		w.raw(`,"evaluate_remotely":true`)
	}
	w.raw("}")
}

func (w *document) filters(f *flags.Flag) {
	if f.Filters.RuleSet != nil {
		out, _ := f.Filters.Encode() // which has no errors: values and metadata are JSON
		w.raw(string(out))
		return
	}
	w.raw(`{"groups":[`)
	for c := range w.conditions(f) {
		if w.full() {
			return
		}
		w.comma()
		w.condition(c)
	}
	w.raw("]")
	optional(w.member("multivariate"), f.Filters.Multivariate, w.multivariate)
	w.raw(`,"payloads":{`)
	w.payloads(&f.Filters)
	w.raw("}")
	if i, ok := f.Filters.AggregationGroupTypeIndex.Index(); ok {
		w.member("aggregation_group_type_index").integer(int64(i))
	}
	if h := f.Filters.Holdout; h != nil {
		w.member("holdout").raw("{")
		w.member("id").integer(h.ID)
		w.member("exclusion_percentage").number(h.ExclusionPercentage)
		w.raw("}")
	}
	if b := f.Filters.EarlyExit; b != nil && *b {
		w.raw(`,"early_exit":true`)
	}
	if b := f.Filters.FeatureEnrollment; b != nil && *b {
		w.raw(`,"feature_enrollment":true`)
	}
	if v := f.Filters.Version; v != 0 && v != 1 {
		w.member("version").integer(int64(v))
	}
	w.raw("}")
}

func (w *document) condition(c *flags.Condition) {
	w.raw(`{"properties":[`)
	for i := range c.Properties {
		w.comma()
		w.filter(&c.Properties[i])
	}
	w.raw("]")
	optional(w.member("rollout_percentage"), c.RolloutPercentage, func(x *float64) { w.number(*x) })
	optional(w.member("variant"), c.Variant, func(key *string) { w.text(*key) })
	if c.AggregationGroupTypeIndex != flags.Inherited {
		w.member("aggregation_group_type_index")
		if i, ok := c.AggregationGroupTypeIndex.Index(); ok {
			w.integer(int64(i))
		} else {
			w.raw("null")
		}
	}
	w.raw("}")
}

// optional writes a value, or null if there is none.
func optional[T any](w *document, value *T, write func(*T)) {
	if value == nil {
		w.raw("null")
	} else {
		write(value)
	}
}

func (w *document) multivariate(m *flags.Multivariate) {
	w.raw(`{"variants":[`)
	for _, v := range m.Variants {
		w.comma()
		w.raw("{")
		w.member("key").text(v.Key)
		name := ""
		if v.Name != nil {
			name = *v.Name
		}
		w.member("name").text(name)
		w.member("rollout_percentage").number(v.RolloutPercentage)
		w.raw("}")
	}
	w.raw("]}")
}

// payloads writes each payload as a string: the stored one, or the text of what
// is stored as another kind of JSON. That text is Metadata.Payload of a result.
func (w *document) payloads(f *flags.Filters) {
	if len(f.Payloads) == 0 {
		return // most have none, and to sort nothing allocates
	}
	for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
		payload, ok := f.Payload(key)
		if !ok || w.full() {
			continue
		}
		w.comma()
		w.text(key)
		w.raw(":")
		w.text(payload)
	}
}

// unsupported is an operator that does not exist, in place of what was not
// understood: a filter with it fails the flag that reaches it, a leaf makes the
// cohort malformed, and SDKs ask the server.
const (
	unsupported = "unsupported"
	unreadable  = `{"key":"","value":null,"operator":"` + unsupported + `","type":"person"}`
)

// filter writes a filter of a condition set.
func (w *document) filter(fl *flags.Filter) {
	if w.full() {
		return
	}
	kind, operator := cmp.Or(fl.Type, "person"), fl.Operator
	if fl.Err() != nil {
		operator = unsupported
	}
	key := fl.Key
	id, hasID := fl.CohortID()
	var target *flags.Flag
	switch operators.KindOf(fl.Type) {
	case operators.FlagFilter:
		if r, ok := fl.Target(); ok {
			target = w.index.Find(r)
		}
		if target != nil {
			key = target.Key
		}
	case operators.CohortFilter:
		key = "id"
	}
	w.raw("{")
	w.member("key").text(key)
	w.member("value")
	if hasID {
		w.integer(id)
	} else {
		w.value(fl.Value)
	}
	w.operator(operator)
	w.member("type").text(kind)
	if fl.GroupTypeIndex != nil {
		w.member("group_type_index").integer(int64(*fl.GroupTypeIndex))
	}
	if fl.Negation {
		w.raw(`,"negation":true`)
	}
	if operators.KindOf(fl.Type) == operators.FlagFilter {
		w.member("dependency_chain").raw("[")
		for _, f := range w.chain(target) {
			w.comma()
			w.text(f.Key)
		}
		w.raw("]")
	}
	w.raw("}")
}

// chain returns the flags to evaluate for a flag, in order, the flag itself last.
// It is empty if one of them cannot be evaluated or is not sent.
func (w *document) chain(target *flags.Flag) []*flags.Flag {
	chain, known := w.chains[target]
	if !known {
		chain, _ = w.index.Chain(target)
		if slices.ContainsFunc(chain, func(f *flags.Flag) bool { return !w.sent[f] }) {
			chain = nil
		}
		w.chains[target] = chain
	}
	return chain
}

func (w *document) operator(name string) {
	if name != "" {
		w.member("operator").text(name)
	}
}
