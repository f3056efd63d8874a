package flags

import (
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Comparison says how a filter of a rule compares where other products compare in another way
// than condition sets do (rules.md §9.2). The zero Comparison is that of condition sets.
type Comparison struct {
	CaseSensitive bool // letters count as they are
	StrictType    bool // a value of another type does not match: "1" is not 1
	MustBeSet     bool // no value, and null, do not match, negated or not
	AnyElement    bool // of an array each element is compared; one must match

	// Path is a JSON pointer to what is compared within a property that is an object, such as
	// "/city". Where it leads nowhere, the property is not set.
	Path string

	// Dialect is the product whose Operator and Value the filter has, "" for our own
	// (rules.md §9.4). With it the four members above are false.
	Dialect string
}

// members are the parts of a Comparison by their names in JSON.
func (c *Comparison) members() [4]comparisonMember {
	return [...]comparisonMember{
		{"case_sensitive", &c.CaseSensitive}, {"strict_type", &c.StrictType}, {"must_be_set", &c.MustBeSet}, {"any_element", &c.AnyElement},
	}
}

type comparisonMember struct {
	name  string
	value *bool
}

// A comparedOperand is what a filter with a Comparison compares with.
type comparedOperand struct {
	Comparison
	equals []comparedValue // of exact and is_not
	check  check           // of all other operators
	kind   jsonscan.Kind   // that StrictType asks for, of all other operators but is_set
}

// A comparedValue is a value that a property may have.
type comparedValue struct {
	kind jsonscan.Kind
	text string // in lower case, unless letters count as they are
	num  float64
}

// comparedCheck compiles a filter with a Comparison.
func (p *filterBuild) comparedCheck() (uint32, failCode) {
	o := &comparedOperand{Comparison: p.filter.Comparison}
	if p.spec.Op == operators.OpText {
		o.equals = p.comparedValues()
	} else {
		id, code := p.compileOperator()
		if o.check = p.s.checks[id]; code != 0 || o.check.aspect == operators.AspectNone {
			return id, code
		}
		o.check.negated, o.check.invert = false, false
		o.takeKind(p)
	}
	negated := p.spec.Negated != p.inverted
	key := checkKey{op: operators.OpCompared, negated: negated, slot: p.slot, name: p.name, value: sharedString(p.value), comparison: o.Comparison}
	inverted := p.inverted
	p.inverted = false // negation is within
	defer func() { p.inverted = inverted }()
	return p.addCheck(key, func() check {
		missing := p.spec.Missing != inverted && !o.MustBeSet
		return check{missing: missing, name: p.name, value: shorten(p.value), more: &compiledOperand{compared: o}}
	}), 0
}

// takeKind finds out of which type values must be, and takes texts as they are if letters count
// as they are.
func (o *comparedOperand) takeKind(p *filterBuild) {
	switch o.check.aspect {
	case operators.AspectNumber:
		o.kind = jsonscan.Number
		if o.StrictType && p.value.Kind() != jsonscan.Number {
			o.check.aspect = operators.AspectUseless
		}
	case operators.AspectASCII:
		o.kind = jsonscan.String
		if o.CaseSensitive && o.check.more != nil {
			o.check.more = &compiledOperand{texts: p.texts()}
		} else if o.CaseSensitive {
			o.check.text, _ = text.Str(p.value)
		}
	case operators.AspectPattern, operators.AspectDate, operators.AspectVersion:
		o.kind = jsonscan.String
	}
}

// comparedValues returns the values of exact and is_not.
func (p *filterBuild) comparedValues() (list []comparedValue) {
	add := func(v jsonscan.Value) {
		value := comparedValue{kind: v.Kind()}
		value.text, _ = text.Str(v)
		if !p.filter.Comparison.CaseSensitive {
			value.text = casefold.Lower(value.text)
		}
		value.num, _ = v.Float()
		list = append(list, value)
	}
	if p.value.Kind() != jsonscan.Array {
		add(p.value)
		return list
	}
	for a := p.value.Array(); a.Next(); {
		add(a.Value())
	}
	return list
}

// compared says whether a property that is set matches, before negation.
func (in *Input) compared(o *comparedOperand, p *slotValue) verdict {
	if !o.AnyElement || p.kind != jsonscan.Array {
		return in.comparedElement(o, p)
	}
	for a := p.raw.Array(); a.Next(); {
		e := slotValue{kind: a.Value().Kind(), raw: a.Value()}
		if v := in.comparedElement(o, &e); v != no {
			return v
		}
	}
	return no
}

func (in *Input) comparedElement(o *comparedOperand, p *slotValue) verdict {
	switch {
	case o.equals != nil && o.StrictType && p.kind == jsonscan.Number:
		n, ok := in.number(p)
		return verdictOf(ok && slices.ContainsFunc(o.equals, func(v comparedValue) bool { return v.kind == jsonscan.Number && v.num == n }))
	case o.equals != nil && o.CaseSensitive:
		return verdictOf(o.isOne(p.kind, in.text(p)))
	case o.equals != nil:
		return verdictOf(o.isOne(p.kind, in.lower(p)))
	case o.StrictType && o.kind != 0 && p.kind != o.kind:
		return no
	case o.CaseSensitive && o.check.aspect == operators.AspectASCII:
		return verdictOf(o.check.hasText(in.text(p)))
	}
	return in.compareProperty(&o.check, p)
}

// isOne reports whether one of the values has a text, and, if types are strict, a kind that can be
// compared by its text.
func (o *comparedOperand) isOne(kind jsonscan.Kind, text string) bool {
	if o.StrictType && (kind == jsonscan.Array || kind == jsonscan.Object) {
		return false
	}
	for i := range o.equals {
		if v := &o.equals[i]; v.text == text && (!o.StrictType || v.kind == kind) {
			return true
		}
	}
	return false
}

// quick is compared for texts. It is not ok for all else.
func (o *comparedOperand) quick(v *quickValue) (match, ok bool) {
	switch {
	case v.kind != quickFolded && !(o.CaseSensitive && v.kind >= quickFolded):
		return false, false
	case o.equals != nil:
		return o.isOne(jsonscan.String, v.text), true
	case o.check.aspect == operators.AspectASCII:
		return o.check.hasText(v.text), true
	}
	return false, false
}
