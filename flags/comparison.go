package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
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
	// (rules.md §9.4). CaseSensitive and StrictType are false with it.
	Dialect string
}

// members are the parts of a Comparison by their names in JSON.
func (c *Comparison) members() [4]comparisonMember {
	return [...]comparisonMember{
		{"case_sensitive", &c.CaseSensitive}, {"strict_type", &c.StrictType}, {"must_be_set", &c.MustBeSet}, {"any_element", &c.AnyElement},
	}
}

// texts are the other parts.
func (c *Comparison) texts() [2]struct{ name, value string } {
	return [...]struct{ name, value string }{{"path", c.Path}, {"dialect", c.Dialect}}
}

type comparisonMember struct {
	name  string
	value *bool
}

// comparison reads a member of a leaf of a cohort, if it is one of a Comparison.
func (d *decoder) comparison(c *Comparison, at *path, v jsonscan.Value) {
	for _, m := range c.members() {
		if m.name == at.name {
			d.bool(m.value, at, v)
		}
	}
	for name, to := range map[string]*string{"path": &c.Path, "dialect": &c.Dialect} {
		if name == at.name {
			d.str(to, at, v)
		}
	}
	if c.Path != "" && c.Path[0] != '/' {
		d.wrong(at, v, "a JSON pointer, such as \"/city\"")
		c.Path = ""
	}
}

// A comparedOperand is what a filter with a Comparison compares with.
type comparedOperand struct {
	Comparison
	equals []comparedValue // of exact and is_not
	check  check           // of all other operators
	kind   jsonscan.Kind   // that StrictType asks for, of all other operators but is_set
	path   []string        // of the Path
	other  dialect.Check   // in place of all above, if there is a Dialect
}

// A comparedValue is a value that a property may have.
type comparedValue struct {
	kind jsonscan.Kind
	text string // in lower case, unless letters count as they are
	num  float64
}

// comparedCheck compiles a filter with a Comparison.
func (p *filterBuild) comparedCheck() (uint32, failCode) {
	o := &comparedOperand{Comparison: p.filter.Comparison, path: pathSteps(p.filter.Comparison.Path)}
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

// pathSteps returns the names that a JSON pointer consists of.
func pathSteps(pointer string) (steps []string) {
	if pointer == "" {
		return nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		steps = append(steps, pointerText.Replace(step))
	}
	return steps
}

var pointerText = strings.NewReplacer("~1", "/", "~0", "~")

// follow returns what a path leads to within a value, as a property, or nil.
func follow(v jsonscan.Value, path []string, to *slotValue) *slotValue {
	for _, step := range path {
		var next jsonscan.Value
		for o := v.Object(); o.Next(); {
			if string(o.Name()) == step {
				next = o.Value()
			}
		}
		if v = next; v == nil {
			return nil
		}
	}
	*to = slotValue{kind: v.Kind(), raw: v}
	return to
}

// dialectCheck compiles a filter in the dialect of another product.
func (c *compiler) dialectCheck(fl *Filter, owner int, at *path) (uint32, failCode) {
	other, err := dialect.Compile(fl.Comparison.Dialect, fl.Operator, jsonscan.Value(fl.Value))
	if err != nil {
		return c.failCheck(failFlagData, &path{up: at, name: "operator"}, quote(fl.Operator), hintReached, "%v", err), failFlagData
	}
	o := &comparedOperand{Comparison: fl.Comparison, path: pathSteps(fl.Comparison.Path), other: other}
	negated := c.inverted
	key := checkKey{
		op: operators.OpCompared, negated: negated, slot: c.slot(owner, fl.Key), name: fl.Operator, value: sharedString(fl.Value), comparison: fl.Comparison,
	}
	c.inverted = false // negation is within
	defer func() { c.inverted = negated }()
	return c.addCheck(key, func() check {
		missing := other.Match(dialect.Value{Now: time.Now()}) != negated && !fl.Comparison.MustBeSet
		return check{missing: missing, name: fl.Operator, value: shorten(fl.Value), more: &compiledOperand{compared: o}}
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

// compared says whether a property that is set matches.
func (in *Input) compared(c *check, p *slotValue) verdict {
	o := c.more.compared
	if c.slot == in.snap.idSlot && len(in.uncut) != len(in.id) && in.text(p) == in.id { // other products do not cut it
		p = &slotValue{kind: jsonscan.String, textual: in.uncut, have: haveText}
	}
	if o.path != nil {
		if p = follow(p.raw, o.path, new(slotValue)); p == nil && o.other.Now {
			return verdictOf(in.otherMatch(o, nil) != c.negated)
		} else if p == nil {
			return verdictOf(c.missing)
		}
	}
	if p.kind == jsonscan.Null && o.MustBeSet {
		return no
	}
	v := in.comparedValue(o, p)
	if v == broken {
		return broken
	}
	return verdictOf((v == yes) != c.negated)
}

// otherMatch compares as another product does. Nil: the property is not set.
func (in *Input) otherMatch(o *comparedOperand, p *slotValue) bool {
	var v dialect.Value
	if p != nil {
		v = dialect.Value{Kind: p.kind, JSON: p.raw}
		switch p.kind {
		case jsonscan.Number:
			if v.Number, _ = in.number(p); !o.other.NumberOnly {
				v.Text = in.text(p)
			}
		case jsonscan.String:
			v.Text = in.text(p)
		}
	}
	if o.other.Now {
		in.fixNow()
		v.Now = in.now
	}
	return o.other.Match(v)
}

// comparedValue is compared before negation.
func (in *Input) comparedValue(o *comparedOperand, p *slotValue) verdict {
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
	case o.other.Match != nil:
		return verdictOf(in.otherMatch(o, p))
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
	case o.path != nil || v.kind == quickNull && o.MustBeSet:
		return false, false
	case o.other.Match != nil:
		return o.quickOther(v)
	case o.StrictType && v.kind < quickFolded:
		return o.quickStrict(v)
	case o.check.aspect == operators.AspectNumber && o.StrictType: // of a text
		return false, true
	case v.kind != quickFolded && !(o.CaseSensitive && v.kind >= quickFolded):
		return false, false
	case o.equals != nil:
		return o.isOne(jsonscan.String, v.text), true
	case o.check.aspect == operators.AspectASCII:
		return o.check.hasText(v.text), true
	}
	return false, false
}

// quickStrict compares what is not a text with values of its own type.
func (o *comparedOperand) quickStrict(v *quickValue) (match, ok bool) {
	n, isNumber := v.number()
	switch {
	case o.equals != nil && isNumber:
		return slices.ContainsFunc(o.equals, func(e comparedValue) bool { return e.kind == jsonscan.Number && e.num == n }), true
	case o.equals != nil && v.kind == quickTrue:
		return o.isOne(jsonscan.True, "true"), true
	case o.equals != nil && v.kind == quickFalse:
		return o.isOne(jsonscan.False, "false"), true
	case o.check.aspect == operators.AspectNumber:
		return isNumber && o.check.hasNumber(n), true
	case o.kind == jsonscan.String:
		return false, true
	}
	return false, false
}

// quickOther compares as another product does. It is not ok for what has no text at hand.
func (o *comparedOperand) quickOther(v *quickValue) (match, ok bool) {
	var value dialect.Value
	switch {
	case o.other.Now:
		return false, false
	case v.kind == quickNumber:
		value.Kind = jsonscan.Number
		if value.Number, _ = v.number(); !o.other.NumberOnly {
			var buf [32]byte
			value.Text = string(v.appendNumber(buf[:0])) // 20 ns, and the slow path costs 500
		}
	case v.kind == quickNull:
		value.Kind = jsonscan.Null
	case v.kind == quickFalse:
		value.Kind = jsonscan.False
	case v.kind == quickTrue:
		value.Kind = jsonscan.True
	default:
		value.Kind, value.Text = jsonscan.String, v.text
	}
	return o.other.Match(value), true
}
