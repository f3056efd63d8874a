package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/runtime"
)

// CompileOptions configure [Compile]. The zero value is ready.
type CompileOptions struct {
	// Strict makes any error-level Problem fail the whole set.
	Strict bool

	// TimeZone is where dates without a zone lie. Nil: UTC.
	TimeZone *time.Location

	// Regexp compiles the patterns of regex filters, as written. Nil: package
	// regexp, with Unicode \d, \w and \s, for patterns without look-around and
	// back-references (evaluation.md §4.6). An error makes the filter one that
	// never matches, and a Problem.
	Regexp func(pattern string) (Matcher, error)

	// MaxBytes limits the rendered size of all results. Zero: 256 MiB; at most
	// 4 GiB.
	MaxBytes int64
}

const (
	defaultMaxBytes = 256 << 20
	mostMaxBytes    = 1<<32 - 1
)

// Compile turns definitions into a Snapshot. It takes milliseconds for a
// thousand flags, has no side effects, and keeps no reference to d.
//
// What is wrong with one flag does not hurt the others: see
// [Snapshot.Problems]. The error is not nil only if d is nil, if the rendered
// results exceed MaxBytes (ErrTooLarge), or, with Strict, if there are
// error-level problems.
func Compile(d *Definitions, o CompileOptions) (s *Snapshot, err error) {
	if d == nil {
		return nil, errors.New("flags: Compile: definitions are nil")
	}
	c := &compiler{
		d: d, o: o, maxBytes: o.MaxBytes,
		slotOf:   make(map[slotKey]int32),
		checkOf:  make(map[checkKey]uint32),
		cohortOf: make(map[int64]*cohortBuild),
		s: &Snapshot{
			index:  make(map[string]int32, len(d.Flags)),
			zone:   o.TimeZone,
			tagged: make(map[string][]int32),
			idSlot: -1, createdSlot: -1, deviceSlot: -1, anonymousSlot: -1,
			groupIndex:    make(map[string]int32),
			storedCohorts: make(map[int64]int32),
			minimal:       d.MinimalFlagCalledEvents,
		},
	}
	if c.maxBytes <= 0 {
		c.maxBytes = defaultMaxBytes
	}
	c.maxBytes = min(c.maxBytes, mostMaxBytes)
	if c.s.zone == nil {
		c.s.zone = time.UTC
	}
	if err := recoverPanic(func() { kindSHA1.bucket(nil) }); err != nil {
		return nil, errors.New("flags: Compile: SHA-1 is not available in FIPS 140-only mode, and the rules of bucketing need it")
	}
	if err := c.compile(); err != nil {
		return nil, err
	}
	if o.Strict {
		n := 0
		for _, p := range c.s.problems {
			if p.Severity == Error {
				n++
			}
		}
		if n > 0 {
			return nil, fmt.Errorf("flags: strict: %d errors, the first: %w", n, c.s.problems[0].DefinitionError)
		}
	}
	return c.s, nil
}

// A compiler holds what only compilation needs.
type compiler struct {
	d        *Definitions
	o        CompileOptions
	s        *Snapshot
	problems []Problem
	maxBytes int64
	arena    []byte

	index *Index  // the flags that exist
	model []*Flag // the same by program order

	slotOf    map[slotKey]int32
	checkOf   map[checkKey]uint32
	cohortOf  map[int64]*cohortBuild
	groupOf   map[int]int32 // ordinal by group type index
	regexps   regexpBuilder
	plainTail span

	// The flag that is being compiled.
	at   [5]path // see place
	flag *Flag
	read []int32 // slots that it reads
}

type slotKey struct {
	owner int
	name  string
}

// A checkKey tells equal checks.
type checkKey struct {
	op      op
	negated bool
	slot    int32
	name    string // the operator, for ops that several share
	value   string
}

// problem records a finding about the current flag, or the document.
func (c *compiler) problem(s Severity, at *path, value []byte, hint string, format string, args ...any) {
	if len(c.problems) >= MaxProblems {
		return
	}
	e := &DefinitionError{Path: at.String(), Value: shorten(value), Err: fmt.Errorf(format, args...), Hint: hint}
	if c.flag != nil {
		e.Flag = c.flag.Key
	}
	c.problems = append(c.problems, Problem{s, e})
}

func (c *compiler) compile() error {
	c.problems = append(c.problems, c.d.notes[:min(len(c.d.notes), MaxProblems)]...)
	if c.d.BucketingHash != "" {
		if _, ok := parseHash(c.d.BucketingHash); !ok {
			c.problem(Error, &path{name: "bucketing_hash"}, quote(c.d.BucketingHash), hintHash, "unknown bucketing hash, sha1 is used")
		}
	}
	c.numberGroupTypes()
	c.list()
	// Most flags are boolean: two values, of about this size.
	c.s.values = make([]value, 0, 2*len(c.s.flags))
	c.s.edges = make([]edges, 0, 2*len(c.s.flags))
	c.arena = make([]byte, 0, 256*len(c.s.flags))
	conditions := 0
	for i := range c.s.flags {
		c.compileFlag(int32(i))
		conditions = max(conditions, len(c.s.flags[i].conditions))
		if err := c.checkSize(); err != nil {
			return err
		}
	}
	c.flag = nil
	c.renderReasons(conditions)
	if err := c.checkSize(); err != nil {
		return err
	}
	c.lintUnusedGroups()
	c.buildNameTables()
	c.buildFlagSets()
	c.s.arena = slices.Clone(c.arena)
	c.s.values = slices.Clone(c.s.values)
	c.s.edges = slices.Clone(c.s.edges)
	c.s.checks = slices.Clone(c.s.checks)
	c.packSlices()
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return int(b.Severity) - int(a.Severity) })
	c.s.problems = c.problems
	c.hashContent()
	return nil
}

// packSlices moves what the flags hold in small slices of their own next to each
// other, in the order in which evaluation walks over it.
func (c *compiler) packSlices() {
	conditions, steps, variants := 0, 0, 0
	for i := range c.s.flags {
		f := &c.s.flags[i]
		conditions += len(f.conditions)
		variants += len(f.variants)
		for j := range f.conditions {
			steps += len(f.conditions[j].checks)
		}
	}
	allConditions := make([]compiledCondition, 0, conditions)
	allSteps := make([]uint32, 0, steps)
	allVariants := make([]variantBound, 0, variants)
	for i := range c.s.flags {
		f := &c.s.flags[i]
		for j := range f.conditions {
			allSteps, f.conditions[j].checks = packSlice(allSteps, f.conditions[j].checks)
		}
		allConditions, f.conditions = packSlice(allConditions, f.conditions)
		allVariants, f.variants = packSlice(allVariants, f.variants)
	}
}

// packSlice appends a piece to what is packed and returns both.
func packSlice[E any](packed, piece []E) (all, copied []E) {
	n := len(packed)
	all = append(packed, piece...)
	return all, all[n:len(all):len(all)]
}

// numberGroupTypes numbers the group types by name.
func (c *compiler) numberGroupTypes() {
	c.groupOf = make(map[int]int32, len(c.d.GroupTypes))
	indexes := make([]int, 0, len(c.d.GroupTypes))
	for i := range c.d.GroupTypes {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		name := c.d.GroupTypes[i]
		ord, ok := c.s.groupIndex[name]
		if !ok {
			ord = int32(len(c.s.groupNames))
			c.s.groupIndex[name] = ord
			c.s.groupNames = append(c.s.groupNames, name)
		}
		c.groupOf[i] = ord
	}
}

func (c *compiler) lintUnusedGroups() {
	// Two indexes with one name work, but hardly as meant.
	if len(c.s.groupNames) != len(c.groupOf) {
		c.problem(Warning, &path{name: "group_type_mapping"}, nil, "give each index a name of its own", "two group type indexes have the same name")
	}
}

func conditionPath(i int) *path {
	return &path{up: &path{up: &path{name: "filters"}, name: "groups"}, n: i}
}

func filterPath(i, j int) *path {
	return &path{up: &path{up: conditionPath(i), name: "properties"}, n: j}
}

// filterPlace is filterPath in memory that the next call uses again, for code that
// rarely has anything to report.
func (c *compiler) filterPlace(i, j int) *path {
	c.at = [...]path{{name: "filters"}, {name: "groups"}, {n: i}, {name: "properties"}, {n: j}}
	for k := 1; k < len(c.at); k++ {
		c.at[k].up = &c.at[k-1]
	}
	return &c.at[len(c.at)-1]
}

func quote(s string) []byte { return strconv.AppendQuote(nil, s) }

func parseHash(name string) (hashKind, bool) {
	switch name {
	case HashSHA1:
		return kindSHA1, true
	case HashXX64:
		return kindXX64, true
	}
	return kindSHA1, false
}

func (c *compiler) compileFlag(i int32) {
	f, m := &c.s.flags[i], c.model[i]
	c.flag = m
	c.plainTail = span{}
	c.read = c.read[:0]

	c.s.longestPrefix = max(c.s.longestPrefix, len(f.prefix))
	f.id, f.version = m.ID, m.Version
	f.hasExperiment = m.HasExperiment == nil || *m.HasExperiment
	f.encrypted = m.HasEncryptedPayloads
	f.form = formOf(m)
	f.survey = strings.HasPrefix(f.key, surveyPrefix)
	f.requirement = runtime.ParseRequirement(m.EvaluationRuntime)
	for _, tag := range m.EvaluationContexts {
		f.tags = append(f.tags, strings.Clone(tag))
	}
	f.continuity, f.enrollment, f.holdoutValue = -1, -1, -1
	f.fixed.value = valueHidden
	f.offValue = c.addValue(f, value{}, nil)
	f.valueCount = 1

	switch f.state {
	case dormant:
		return
	case cyclic:
		f.fixed.value = valueOmitted
		return
	case missing:
		f.fixed = decision{f.offValue, reasonMissing}
		return
	case faulty:
		e := m.unusable()
		hint := e.Hint
		if hint == "" {
			hint = "the flag fails with " + ErrorFlagData + " until this is corrected"
		}
		c.problems = append(c.problems, Problem{Error, &DefinitionError{f.key, e.Path, e.Value, e.Err, hint}})
		f.failedValue = c.addValue(f, value{failed: true}, nil)
		f.valueCount = 2
		f.fixed = decision{f.failedValue, reasonFailed(failFlagData)}
		return
	}

	c.addValue(f, value{enabled: true}, m.Filters.Payloads["true"])
	pins := c.compileVariants(f, m)
	if isTrue(m.Filters.FeatureEnrollment) {
		f.enrollment = c.slot(ownerPerson, enrollmentPrefix+f.key)
		f.optOutValue = f.offValue
		if m.Filters.Payloads["true"] != nil {
			f.optOutValue = c.addValue(f, value{}, m.Filters.Payloads["true"])
		}
	}
	c.compileHoldout(f, m)
	c.compileBucketing(f, m)
	f.valueCount = int32(len(c.s.values)) - f.offValue
	f.conditions = make([]compiledCondition, len(m.Filters.Groups))
	for n := range m.Filters.Groups {
		c.compileCondition(f, m, n, pins)
	}
	if c.canFail(f) {
		f.failedValue = c.addValue(f, value{failed: true}, nil)
		f.valueCount = int32(len(c.s.values)) - f.offValue
	}
	f.quickKnows = c.quickKnows(f)
	c.fixDecision(f)
	if f.fixed.value == valueHidden {
		slices.Sort(c.read)
		f.needs = slices.Clone(slices.Compact(c.read))
	}
	c.lintFlag(f, m)
}

// canFail reports whether a request can make the flag fail.
func (c *compiler) canFail(f *compiledFlag) bool {
	if f.readsHash {
		return true
	}
	for i := range f.conditions {
		for _, id := range f.conditions[i].checks {
			if op := c.s.checks[id].op; op == opFail || op == opFlag {
				return true
			}
		}
	}
	return false
}

// compileVariants renders the flag's variants and returns the value of each key.
func (c *compiler) compileVariants(f *compiledFlag, m *Flag) map[string]int32 {
	if m.Filters.Multivariate == nil {
		return nil
	}
	pins := make(map[string]int32)
	sum := 0.0
	for _, v := range m.Filters.Multivariate.Variants {
		n, ok := pins[v.Key]
		if !ok {
			key := strings.Clone(v.Key)
			n = c.addValue(f, value{enabled: true, variant: key, hasVariant: true}, m.Filters.Payloads[v.Key])
			pins[key] = n
		}
		sum += v.RolloutPercentage / 100
		f.variants = append(f.variants, variantBound{sum, n})
	}
	return pins
}

// drawDepends reports whether the variant draw depends on the hash
// (evaluation.md §2.6).
func drawDepends(m *Flag) bool {
	if m.Filters.Multivariate == nil {
		return false
	}
	total, reachable := 0.0, 0
	for _, v := range m.Filters.Multivariate.Variants {
		if total < 100 && v.RolloutPercentage != 0 {
			reachable++
		}
		total += v.RolloutPercentage
	}
	return reachable > 1
}

func (c *compiler) compileHoldout(f *compiledFlag, m *Flag) {
	h := m.Filters.Holdout
	if h == nil {
		return
	}
	pct := min(max(h.ExclusionPercentage, 0), 100)
	f.holdoutAll = pct == 100
	f.holdoutAt = pct / 100
	variant := holdoutPrefix + strconv.FormatInt(h.ID, 10)
	f.holdoutValue = c.addValue(f, value{enabled: true, variant: variant, hasVariant: true}, m.Filters.Payloads[variant])
}

// compileBucketing settles hash, subject and aggregation.
func (c *compiler) compileBucketing(f *compiledFlag, m *Flag) {
	f.hash, _ = parseHash(c.d.BucketingHash)
	if m.BucketingHash != "" {
		kind, ok := parseHash(m.BucketingHash)
		if !ok {
			c.problem(Error, &path{name: "bucketing_hash"}, quote(m.BucketingHash), hintHash, "unknown bucketing hash, sha1 is used")
		}
		f.hash = kind
	}
	f.aggregation = c.aggregation(m.Filters.AggregationGroupTypeIndex)
	f.earlyExit = isTrue(m.Filters.EarlyExit)
	f.byDevice = m.BucketingIdentifier == "device_id"
	if f.byDevice && c.s.deviceSlot < 0 {
		c.s.deviceSlot = c.rawSlot(ownerPerson, "$device_id")
	}
	if m.EnsureExperienceContinuity && f.aggregation == ownerPerson && !f.byDevice {
		f.continuity = int32(len(c.s.continuityFlags))
		c.s.continuityFlags = append(c.s.continuityFlags, f.key)
		if c.s.anonymousSlot < 0 {
			c.s.anonymousSlot = c.rawSlot(ownerPerson, "$anon_distinct_id")
		}
	}
	f.otherSubject = f.byDevice || f.continuity >= 0
}

func (c *compiler) aggregation(a Aggregation) int32 {
	i, ok := a.Index()
	if !ok {
		return ownerPerson
	}
	if ord, ok := c.groupOf[i]; ok {
		return ord
	}
	return ownerNobody
}

func (c *compiler) compileCondition(f *compiledFlag, m *Flag, n int, pins map[string]int32) {
	src, dst := &m.Filters.Groups[n], &f.conditions[n]
	dst.aggregation = f.aggregation
	if src.AggregationGroupTypeIndex != Inherited {
		dst.aggregation = c.aggregation(src.AggregationGroupTypeIndex)
	}
	pct := 100.0
	if src.RolloutPercentage != nil {
		pct = *src.RolloutPercentage
	}
	dst.everyone = pct == 100
	dst.threshold = pct / 100
	dst.pinned = -1
	if src.Variant != nil {
		if v, ok := pins[*src.Variant]; ok {
			dst.pinned = v
		}
	}
	dst.hashMatters = !dst.everyone || dst.pinned < 0 && drawDepends(m)
	// Wider than hashMatters: a single variant with less than 100 % is drawn too.
	hashed := !dst.everyone || dst.pinned < 0 && len(f.variants) > 0
	f.readsHash = f.readsHash || f.continuity >= 0 && dst.aggregation == ownerPerson && hashed
	dst.checks = c.compileFilters(f, src, n, dst.aggregation)
}

// fixDecision finds the outcome of a flag that no request can change.
func (c *compiler) fixDecision(f *compiledFlag) {
	if f.enrollment >= 0 || f.holdoutValue >= 0 {
		return
	}
	if len(f.conditions) == 0 {
		f.fixed = decision{f.offValue, reasonNoGroupNull}
		return
	}
	first := &f.conditions[0]
	if len(first.checks) > 0 || !first.everyone || first.aggregation != ownerPerson {
		return
	}
	switch {
	case first.pinned >= 0:
		f.fixed = decision{first.pinned, reasonAt(reasonMatch, 0)}
	case len(f.variants) == 0:
		f.fixed = decision{f.onValue(), reasonAt(reasonMatch, 0)}
	}
}

// slot returns the number of a property, with those that stand in for it.
func (c *compiler) slot(owner int, name string) int32 {
	i := c.rawSlot(owner, name)
	c.read = append(c.read, i)
	if owner != ownerPerson || c.s.slots[i].fallbacks != nil {
		return i
	}
	var names []string
	source := initialNames[name]
	switch {
	case name == "$os":
		names = []string{"$os_name"}
	case name == "$os_name":
		names = []string{"$os"}
	case source == "$os":
		names = []string{"$os", "$os_name"}
	case source != "":
		names = []string{source}
	}
	var slots []int32
	for _, name := range names {
		slots = append(slots, c.rawSlot(ownerPerson, name))
	}
	c.s.slots[i].fallbacks = slots
	return i
}

func (c *compiler) rawSlot(owner int, name string) int32 {
	if i, ok := c.slotOf[slotKey{owner, name}]; ok {
		return i
	}
	name = strings.Clone(name)
	i := int32(len(c.s.slots))
	c.slotOf[slotKey{owner, name}] = i
	c.s.slots = append(c.s.slots, slotDef{name: name, owner: owner, geo: owner == ownerPerson && geoNames[name]})
	return i
}

// buildNameTables builds the look-up tables of property names.
func (c *compiler) buildNameTables() {
	s := c.s
	find := func(owner int, name string) int32 {
		if i, ok := c.slotOf[slotKey{owner, name}]; ok {
			return i
		}
		return -1
	}
	s.idSlot = find(ownerPerson, "distinct_id")
	s.createdSlot = find(ownerMetadata, createdAt)
	s.personTable = newNameTable(s.slots, ownerPerson)
	for ord := range s.groupNames {
		s.groupTables = append(s.groupTables, newNameTable(s.slots, ord))
		s.groupKeySlots = append(s.groupKeySlots, find(ord, groupKeyName))
	}
}

// recoverPanic runs code of the caller, which may panic.
func recoverPanic(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	f()
	return nil
}
