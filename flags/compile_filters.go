package flags

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// smallSet is the number of texts up to which a list is faster than a map.
const smallSet = 8

// compileFilters compiles the filters of condition set n in their effective
// order: flag filters, property filters, cohort filters (evaluation.md §3.5).
func (c *compiler) compileFilters(f *compiledFlag, src *Condition, n int, aggregation int32) []uint32 {
	checks := c.checks.list(len(src.Properties))[:0]
	for j := range src.Properties {
		if fl := &src.Properties[j]; fl.Type == "flag" {
			checks = append(checks, c.flagCheck(fl, c.filterPlace(n, j)))
		}
	}
	cohorts := false
	for j := range src.Properties {
		fl := &src.Properties[j]
		switch operators.KindOf(fl.Type) {
		case operators.PropertyFilter:
			owner := c.propertyOwner(fl, aggregation, n, j)
			c.lintOwner(fl, src, n, j)
			if fl.Negation {
				c.problem(SeverityWarning, &path{up: filterPath(n, j), name: "negation"}, nil, "use the negated operator", "negation counts in cohorts only and is ignored here")
			}
			id, known := c.knownCheck(fl, owner)
			if !known {
				id, _ = c.propertyCheck(fl, owner, c.filterPlace(n, j))
			}
			checks = append(checks, id)
		case operators.UnknownFilter:
			at := &path{up: filterPath(n, j), name: "type"}
			checks = append(checks, c.failCheck(failFlagData, at, quote(fl.Type), `use "person", "person_metadata", "group", "cohort" or "flag"`, "unknown filter type"))
		case operators.CohortFilter:
			cohorts = true
		}
	}
	if cohorts {
		checks = c.compileCohortFilters(f, checks, src, n)
	}
	return checks
}

// propertyOwner returns whose property filter j of condition set n compares: a
// group type's ordinal, or an owner constant.
func (c *compiler) propertyOwner(fl *Filter, aggregation int32, n, j int) int {
	switch fl.Type {
	case "person_metadata":
		return ownerMetadata
	case "group":
		owner := int(aggregation)
		if fl.GroupTypeIndex != nil {
			owner = int(c.aggregation(ByGroup(*fl.GroupTypeIndex)))
		}
		if owner < 0 {
			c.problem(SeverityError, filterPath(n, j), nil, "set group_type_index to an entry of group_type_mapping", "the filter reads no known group: its properties are never set")
			return ownerNobody
		}
		return owner
	}
	return ownerPerson
}

// addCheck returns the number of a check, which equal checks share. The texts of
// the key may share memory with the definitions.
func (c *compiler) addCheck(k checkKey, build func() check) uint32 {
	k.ruled, k.inverted = c.ruled, c.inverted
	if id, ok := c.checkOf[k]; ok {
		return id
	}
	k.value = strings.Clone(k.value)
	id := uint32(len(c.s.checks))
	ch := build()
	ch.op, ch.aspect, ch.negated, ch.slot, ch.invert = k.op, operators.Ops[k.op].Aspect, k.negated, k.slot, k.inverted
	ch.ruled = k.ruled
	c.s.checks = append(c.s.checks, ch)
	c.checkOf[k] = id
	return id
}

// failCheck returns the check of a filter that fails the flag when it is reached,
// and reports why.
func (c *compiler) failCheck(code failCode, at *path, value []byte, hint, format string, args ...any) uint32 {
	c.problem(SeverityError, at, value, hint, format, args...)
	return c.addCheck(checkKey{op: operators.OpFail, slot: int32(code)}, func() check { return check{fail: code} })
}

// neverCheck returns the check of a filter that no property matches. Each operator
// that ends here has a check of its own, so that Explain can name it.
func (c *compiler) neverCheck(slot int32, name string, fl *Filter) uint32 {
	return c.addCheck(checkKey{op: operators.OpNever, slot: slot, name: name, value: sharedString(fl.Value)}, func() check {
		return check{name: name, value: shorten(fl.Value)}
	})
}

// knownCheck returns the check of a filter on a property that is known.
func (c *compiler) knownCheck(fl *Filter, owner int) (id uint32, ok bool) {
	places := c.knownFilters(fl, owner)
	k := &places[0]
	if !k.is(fl, owner) {
		if k = &places[1]; !k.is(fl, owner) {
			return 0, false
		}
	}
	c.read = append(c.read, k.slot)
	return k.check, true
}

// propertyCheck compiles a filter on a property. The second result says why the
// filter cannot be understood; 0 means that it can.
func (c *compiler) propertyCheck(fl *Filter, owner int, at *path) (uint32, failCode) {
	before, read := len(c.problems), len(c.read)
	id, code := c.newPropertyCheck(fl, owner, at)
	if fl.Comparison == (Comparison{}) && code == 0 && before == len(c.problems) && before < served.MaxProblems && len(c.read) == read+1 {
		places := c.knownFilters(fl, owner)
		places[1] = places[0]
		places[0] = knownFilter{fl.Key, fl.Operator, sharedString(fl.Value), int32(owner), c.read[read], id, true}
	}
	return id, code
}

// newPropertyCheck is propertyCheck for a filter that is not known.
func (c *compiler) newPropertyCheck(fl *Filter, owner int, at *path) (uint32, failCode) {
	const hintFault = "flags that reach the filter fail until this is corrected"
	if fl.fault != nil {
		e := DefinitionError{Path: fl.fault.Path, Value: fl.fault.Value, Err: fl.fault.Err, Hint: hintFault}
		if e.Path == "" {
			e.Path = at.String()
		}
		if c.flag != nil {
			e.Flag = c.flag.Key
		}
		c.add(SeverityError, &e)
		return c.addCheck(checkKey{op: operators.OpFail, slot: int32(failFlagData)}, func() check { return check{fail: failFlagData} }), failFlagData
	}
	if fl.Comparison.Dialect != "" {
		return c.dialectCheck(fl, owner, at)
	}
	name := cmp.Or(fl.Operator, operator.Exact)
	spec, ok := operators.Named(name)
	if !ok {
		return c.failCheck(failFlagData, &path{up: at, name: "operator"}, quote(name), operators.Hint(name, operators.PropertyFilter), "unknown operator"), failFlagData
	}
	slot := c.slot(owner, fl.Key)
	value := jsonscan.Value(fl.Value)
	if spec.Operand == operators.OperandNone {
		value = nil
	} else if spec.For == operators.PropertyFilter && (value.Kind() == jsonscan.Null || value.Kind() == jsonscan.Invalid) {
		c.problem(SeverityError, &path{up: at, name: "value"}, value, "give it a value", "the filter has no value and can never match")
		return c.neverCheck(slot, name, fl), 0
	}
	p := filterBuild{compiler: c, at: at, name: name, slot: slot, value: value, spec: spec, filter: fl}
	before := len(c.problems)
	compile := p.compileOperator
	if fl.Comparison != (Comparison{}) {
		compile = p.comparedCheck
	}
	id, code := compile()
	if before == len(c.problems) && !spec.Operand.Admits(fl.Value) {
		c.problem(SeverityError, &path{up: at, name: "value"}, value, "want "+spec.Operand.String(), "wrong value for operator %s", name)
	}
	return id, code
}

// A filterBuild is a property filter that is being compiled.
type filterBuild struct {
	*compiler
	at     *path
	name   string
	slot   int32
	value  jsonscan.Value
	spec   operators.Operator
	filter *Filter
}

// useless returns the check of a filter whose value suits no property that is set,
// and reports what the operator wants. A property that is not set is looked at
// before the value (evaluation.md §4.3).
func (p *filterBuild) useless(want string) (uint32, failCode) {
	effect := "the filter can never match"
	if p.spec.Missing {
		effect = "the filter matches only where the property is not set"
	}
	p.problem(SeverityError, &path{up: p.at, name: "value"}, p.value, "want "+want, "%s: wrong value for operator %s", effect, p.name)
	return p.addOperatorCheck(operators.OpUseless, func() check { return check{} })
}

// addOperatorCheck returns the number of the filter's check.
func (p *filterBuild) addOperatorCheck(o operators.Op, build func() check) (uint32, failCode) {
	key := checkKey{op: o, negated: p.spec.Negated, slot: p.slot, name: p.name, value: sharedString(p.value)}
	return p.addCheck(key, func() check {
		ch := build()
		ch.missing, ch.name, ch.value = p.spec.Missing, p.name, shorten(p.value)
		return ch
	}), 0
}

func (p *filterBuild) compileOperator() (uint32, failCode) {
	if p.spec.For != operators.PropertyFilter {
		p.problem(SeverityError, &path{up: p.at, name: "operator"}, quote(p.name), operators.Hint(p.name, operators.PropertyFilter), "the filter can never match: the operator is not for properties")
		return p.neverCheck(p.slot, p.name, p.filter), 0
	}
	switch p.spec.Operand {
	case operators.OperandNone:
		return p.addOperatorCheck(p.spec.Op, func() check { return check{} })
	case operators.OperandText:
		needle, _ := text.Str(p.value)
		return p.addOperatorCheck(p.spec.Op, func() check {
			return check{text: string(casefold.AppendLowerASCII(nil, needle))}
		})
	case operators.OperandTexts:
		return p.addOperatorCheck(p.spec.Op, func() check {
			o := &compiledOperand{}
			for _, s := range p.texts() {
				o.texts = append(o.texts, string(casefold.AppendLowerASCII(nil, s)))
			}
			return check{more: o}
		})
	case operators.OperandPattern:
		return p.compileRegex()
	case operators.OperandNumber:
		n, ok := comparable64(p.value)
		if !ok {
			return p.useless("a number")
		}
		return p.addOperatorCheck(p.spec.Op, func() check { return check{num: n} })
	case operators.OperandRange:
		low, high, ok := betweenBounds(p.value)
		if !ok {
			return p.useless("two numbers [min, max]")
		}
		return p.addOperatorCheck(p.spec.Op, func() check { return check{num: low, more: &compiledOperand{high: high}} })
	case operators.OperandDate:
		return p.compileDate()
	case operators.OperandVersion:
		return p.compileVersion()
	default:
		return p.compileExact()
	}
}

// compileExact compiles exact and is_not (evaluation.md §4.4).
func (p *filterBuild) compileExact() (uint32, failCode) {
	isArray := p.value.Kind() == jsonscan.Array
	version1 := p.d.PropertyMatchingVersion != 2
	if version1 && isBoolish(p.value, 0) || isArray && len(p.texts()) == 0 {
		if version1 && isArray {
			p.problem(SeverityWarning, &path{up: p.at, name: "value"}, p.value, "list texts other than true and false, or use property_matching_version 2", "a list of true and false compares truthiness, not membership")
		}
		return p.addOperatorCheck(operators.OpTruthy, func() check { return check{truthy: isTruthy(p.value, 0)} })
	}
	if !isArray {
		s, _ := text.Str(p.value)
		return p.addOperatorCheck(operators.OpText, func() check { return check{text: casefold.Lower(s)} })
	}
	return p.addOperatorCheck(operators.OpTexts, func() check {
		o := &compiledOperand{}
		for _, s := range p.texts() {
			o.texts = append(o.texts, casefold.Lower(s))
		}
		slices.Sort(o.texts)
		o.texts = slices.Compact(o.texts)
		if len(o.texts) > smallSet {
			o.set = make(map[string]struct{}, len(o.texts))
			for _, s := range o.texts {
				o.set[s] = struct{}{}
			}
			o.texts = nil
		}
		return check{more: o}
	})
}

// texts returns the value as a list of texts: the elements of an array, or the
// value itself.
func (p *filterBuild) texts() []string {
	if p.value.Kind() != jsonscan.Array {
		s, _ := text.Str(p.value)
		return []string{s}
	}
	var texts []string
	for a := p.value.Array(); a.Next(); {
		s, _ := text.Str(a.Value())
		texts = append(texts, s)
	}
	return texts
}

// comparable64 reads a filter's number (evaluation.md §4.7).
func comparable64(v jsonscan.Value) (float64, bool) {
	switch v.Kind() {
	case jsonscan.Number:
		return v.Float()
	case jsonscan.String:
		s, _ := text.Str(v)
		return numeral.Float(s)
	}
	return 0, false
}

// betweenBounds reads the value of between (evaluation.md §4.8).
func betweenBounds(v jsonscan.Value) (low, high float64, ok bool) {
	var n []float64
	for a := v.Array(); a.Next(); {
		f, ok := comparable64(a.Value())
		if !ok || len(n) == 2 {
			return 0, 0, false
		}
		n = append(n, f)
	}
	if len(n) != 2 || !(n[0] <= n[1]) {
		return 0, 0, false
	}
	return n[0], n[1], true
}

func (p *filterBuild) compileDate() (uint32, failCode) {
	const want = `a date such as "2024-06-01", an RFC 3339 time, or a span such as "-7d"`
	if p.value.Kind() != jsonscan.String {
		return p.useless(want)
	}
	s, _ := text.Str(p.value)
	d, ok := reldate.Parse(s, p.s.zone)
	switch {
	case !ok && reldate.IsTime(s):
		return p.useless("a time with its day")
	case !ok:
		return p.useless(want)
	case d.LacksYear():
		p.problem(SeverityWarning, p.at, p.value, "write the year", "the date has no year and is one of the year of each request")
	case d.LacksDay():
		p.problem(SeverityWarning, p.at, p.value, "write the day", "the date has no day and is the first of the month")
	}
	return p.addOperatorCheck(p.spec.Op, func() check {
		o := &compiledOperand{date: d}
		if !d.Relative() {
			o.at, _ = d.At(time.Time{}, p.s.zone)
		}
		return check{more: o}
	})
}

func (p *filterBuild) compileRegex() (uint32, failCode) {
	source, _ := text.Str(p.value)
	at := &path{up: p.at, name: "value"}
	m, err := p.regexps.compilePattern(source, p.o.Regexp)
	if err != nil {
		effect, fail := "the filter matches no property that is set; correct the pattern", failCode(0)
		if p.ruled {
			effect, fail = "the flag fails where the property is set; correct the pattern", failFlagData
		}
		p.problem(SeverityError, at, p.value, effect, "%w", err)
		return p.addOperatorCheck(operators.OpUseless, func() check { return check{fail: fail} })
	}
	if m, ok := m.(*pattern); ok && m.slow != nil {
		p.problem(SeverityNote, at, p.value, "where texts are long, or come from strangers, write the pattern without it",
			"the pattern has look-around, a reference, \\b or another thing that is matched slowly; a match of more than %v is given up and is none",
			patternTime)
	}
	return p.addOperatorCheck(p.spec.Op, func() check { return check{more: &compiledOperand{matcher: m}} })
}

func (p *filterBuild) compileVersion() (uint32, failCode) {
	s, _ := text.Str(p.value)
	var o compiledOperand
	ok := false
	if read := p.spec.Range; read != nil {
		o.rng, ok = read(s)
	} else {
		o.version, ok = semver.Parse(s)
	}
	if !ok {
		return p.useless("a version such as 1.2.3")
	}
	return p.addOperatorCheck(p.spec.Op, func() check { return check{more: &o} })
}

// flagCheck compiles a dependency (evaluation.md §7.3).
func (c *compiler) flagCheck(fl *Filter, at *path) uint32 {
	if fl.fault != nil {
		id, _ := c.propertyCheck(fl, ownerPerson, at)
		return id
	}
	comparison, known := operators.Named(fl.Operator)
	if fl.Operator != "" && !known {
		return c.failCheck(failFlagData, &path{up: at, name: "operator"}, quote(fl.Operator), operators.Hint(fl.Operator, operators.FlagFilter), "unknown operator")
	}
	r, ok := fl.Target()
	if !ok || comparison.For != operators.FlagFilter {
		member := "operator"
		if !ok {
			member = "key"
		}
		c.problem(SeverityError, &path{up: at, name: member}, nil, "give it the key or id of a flag and the operator flag_evaluates_to", "the dependency can never match")
		return c.neverCheck(-1, fl.Operator, fl)
	}
	if c.tried != nil {
		return c.tryFlagCheck(fl, r, at)
	}
	t := c.target(r) // it exists, or the flag would not be compiled
	target := &c.s.flags[t]
	values := c.s.values[target.offValue : target.offValue+target.valueCount]
	accepts := make([]bool, len(values))
	v := jsonscan.Value(fl.Value)
	switch kind := v.Kind(); {
	case fl.Comparison.StrictType:
		want := newTypedValue(string(fl.Value))
		for i := range values {
			accepts[i] = values[i].typed > 0 && c.s.typed[values[i].typed].same(want)
		}
	case kind == jsonscan.True || kind == jsonscan.False:
		for i := range values {
			accepts[i] = values[i].enabled == (v.Kind() == jsonscan.True)
		}
	case kind == jsonscan.String:
		s, _ := text.Str(v)
		for i := range values {
			accepts[i] = values[i].hasVariant && values[i].variant == s
		}
		if !slices.Contains(accepts, true) {
			c.problem(SeverityWarning, &path{up: at, name: "value"}, v, "use true, false or a variant of that flag", "flag %q never has this variant", target.key())
		}
	default:
		c.problem(SeverityError, &path{up: at, name: "value"}, v, "want "+operators.OperandFlagValue.String(), "the dependency can never match")
		return c.neverCheck(-1, fl.Operator, fl)
	}
	switch {
	case target.unreadable:
		c.problem(SeverityError, &path{up: at, name: "key"}, quote(fl.Key), "correct that flag or remove the filter", "flag %q is inactive and cannot be understood, so this flag fails", target.key())
	case target.state == dormant:
		c.problem(SeverityError, &path{up: at, name: "key"}, quote(fl.Key), "activate that flag or remove the filter", "flag %q is inactive and counts as false", target.key())
	}
	key := checkKey{op: operators.OpFlag, slot: t, name: fl.Operator, value: sharedString(fl.Value), comparison: fl.Comparison}
	return c.addCheck(key, func() check {
		return check{more: &compiledOperand{accepts: accepts}, name: fl.Operator, value: shorten(fl.Value)}
	})
}

const hintReached = "flags that reach the filter fail"

// compileCohortFilters compiles the cohort filters of condition set n. All cohorts
// that can be reached are resolved before any of the filters is looked at
// (evaluation.md §5.5).
func (c *compiler) compileCohortFilters(f *compiledFlag, checks []uint32, src *Condition, n int) []uint32 {
	resolved := make(map[*Filter]*cohortBuild)
	for j := range src.Properties {
		fl := &src.Properties[j]
		if fl.Type != "cohort" {
			continue
		}
		at := &path{up: c.filterPlace(n, j), name: "value"}
		id, ok := fl.CohortID()
		if !ok {
			return append(checks, c.failCheck(failCohortData, at, fl.Value, hintReached, "a cohort's id must be an integer"))
		}
		b, code := c.compileCohort(id, 0)
		if code != 0 {
			return append(checks, c.failCheck(code, at, fl.Value, hintReached, "cohort %d: %s", id, cohortFailure(code)))
		}
		resolved[fl] = b
	}
	for j := range src.Properties {
		fl := &src.Properties[j]
		if fl.Type != "cohort" {
			continue
		}
		checks = append(checks, c.resolvedCohortCheck(f, fl, c.filterPlace(n, j), resolved[fl]))
	}
	return checks
}

// cohortCheck compiles a filter of a rule that is about a cohort.
func (c *compiler) cohortCheck(f *compiledFlag, fl *Filter, at *path) uint32 {
	id, ok := fl.CohortID()
	if !ok {
		return c.failCheck(failCohortData, &path{up: at, name: "value"}, fl.Value, hintReached, "a cohort's id must be an integer")
	}
	ruled, inverted := c.ruled, c.inverted
	c.ruled, c.inverted = false, false // the criteria of a cohort are those of all flags
	b, code := c.compileCohort(id, 0)
	c.ruled, c.inverted = ruled, inverted
	if code != 0 {
		return c.failCheck(code, &path{up: at, name: "value"}, fl.Value, hintReached, "cohort %d: %s", id, cohortFailure(code))
	}
	return c.resolvedCohortCheck(f, fl, at, b)
}

// resolvedCohortCheck compiles a filter on a cohort that is known.
func (c *compiler) resolvedCohortCheck(f *compiledFlag, fl *Filter, at *path, b *cohortBuild) uint32 {
	if fl.fault != nil {
		id, _ := c.propertyCheck(fl, ownerPerson, at)
		return id
	}
	if fl.Negation && !c.ruled {
		c.problem(SeverityWarning, &path{up: at, name: "negation"}, nil, "use the operator not_in", "negation counts in cohorts only and is ignored here")
	}
	name := cmp.Or(fl.Operator, operator.In)
	spec, known := operators.Named(name)
	key := checkKey{op: operators.OpCohort, slot: b.ord, name: name, value: sharedString(fl.Value)}
	switch {
	case !known:
		return c.failCheck(failFlagData, &path{up: at, name: "operator"}, quote(name), operators.Hint(name, operators.CohortFilter), "unknown operator")
	case spec.For != operators.CohortFilter:
		c.problem(SeverityError, &path{up: at, name: "operator"}, quote(name), operators.Hint(name, operators.CohortFilter),
			"the filter can never match: the operator is not for cohorts")
		key.op = operators.OpCohortNever
	default:
		key.negated = spec.Negated
	}
	if b.criteria {
		c.problem(SeverityError, &path{up: at, name: "value"}, fl.Value, "use a static cohort", "%w", served.ErrBehavioral)
	}
	c.read = append(c.read, b.slots...)
	f.readsCohorts = f.readsCohorts || b.readsStored
	return c.addCheck(key, func() check { return check{name: name, value: shorten(fl.Value)} })
}
