package flags

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/semver"
)

// The short cut for Go callers that ask for one flag. Most flags compare a property
// or two with plain values and hash the distinct ID; to fill an Input costs more
// than that. decideQuickly evaluates such a flag on the Request as it is, and leaves
// everything that it does not know to decide, which has all the rules.

// notDrawn stands for a bucket that was not computed yet: no bucket is as high.
const notDrawn = points

// quickSlots is how many properties a flag may look at to be evaluated quickly. Their
// values lie on the stack.
const quickSlots = 4

// quickKnows reports whether decideQuickly may know the flag: its condition sets
// decide alone, it is bucketed by distinct ID, and it looks at a few properties of the
// person only. parses says that it reads texts as dates or versions.
func (c *compiler) quickKnows(f *compiledFlag) (known, parses bool) {
	if f.state != normal || f.ruled && f.aggregation != ownerPerson || f.enrollment >= 0 || f.holdoutValue >= 0 || f.otherSubject || len(f.needs) > quickSlots {
		return false, false
	}
	for i := range f.conditions {
		if f.conditions[i].aggregation != ownerPerson {
			return false, false
		}
		for _, id := range f.conditions[i].checks {
			if !c.s.quickCheck(&c.s.checks[id]) {
				return false, false
			}
		}
		for k := range c.s.within(f.conditions[i].checks) {
			parses = parses || operators.Ops[k.op].Parses
		}
	}
	return true, parses
}

// quickCheck reports whether the short cut may know a check: it is about the person.
func (s *Snapshot) quickCheck(k *check) bool {
	switch k.op {
	case operators.OpSplit:
		return k.more.split.owner == ownerPerson
	case operators.OpAll, operators.OpAny:
		return !slices.ContainsFunc(k.more.checks, func(id uint32) bool { return !s.quickCheck(&s.checks[id]) })
	}
	if !operators.Ops[k.op].Quick {
		return false
	}
	def := &s.slots[k.slot]
	return def.owner == ownerPerson && (def.name != "distinct_id" || k.op == operators.OpCompared && k.more.compared.equals != nil)
}

// A quickValue is a property that a flag looks at, as it came.
type quickValue struct {
	text string
	bits uint64 // of a number
	kind quickKind
	how  goNumber
}

// A quickKind says what is known of a property, and what it takes to compare its text.
type quickKind uint8

const (
	quickUnknown quickKind = iota // not looked up yet
	quickAbsent
	quickNull
	quickFalse
	quickTrue
	quickNumber
	quickFolded // a text that lower-casing does not change
	quickASCII  // a text with capitals
	quickOther  // a text with other letters than ASCII's
)

// quickForms are what texts were parsed to last, for flags with dates or versions.
type quickForms struct {
	now       time.Time // zero: not known yet
	versionOf int8      // place in f.needs plus one
	dateOf    int8
	version   semver.Version
	date      time.Time
	versionOK bool
	dateOK    bool
}

// decideParsing is decideQuickly for a flag with dates or versions.
//
//go:noinline
func (s *Snapshot) decideParsing(f *compiledFlag, r *Request) (out decision, ok bool) {
	var forms quickForms
	if !r.Now.IsZero() {
		forms.now = time.Unix(r.Now.Unix(), int64(r.Now.Nanosecond()))
	}
	return s.decideQuickly(f, r, &forms)
}

// decideQuickly evaluates a flag for which quickKnows holds. It is not ok if the
// Request has something that it does not know. A flag without dates and versions needs no
// forms.
func (s *Snapshot) decideQuickly(f *compiledFlag, r *Request, forms *quickForms) (out decision, ok bool) {
	var (
		reason unmatched
		values [quickSlots]quickValue // by place in f.needs
		drawn  = point(notDrawn)
	)
conditions:
	for i := range f.conditions {
		c := &f.conditions[i]
		for _, id := range c.checks {
			k := &s.checks[id]
			if k.aspect == operators.AspectNone || k.slot == s.idSlot {
				match, ok := s.quickNested(f, k, r, &values, forms)
				if !ok {
					return decision{}, false
				}
				if !match {
					reason = reason.better(rankNo, int32(i))
					continue conditions
				}
				continue
			}
			n := 0
			for n < len(f.needs)-1 && f.needs[n] != k.slot {
				n++
			}
			v := &values[n%quickSlots]
			if v.kind == quickUnknown {
				def := &s.slots[k.slot]
				if !v.find(r, def.name) || v.kind == quickAbsent && !s.quickFallback(r, def.fallbacks, v) {
					return decision{}, false
				}
			}
			var match bool
			switch {
			case v.kind == quickAbsent:
				match = k.missing
			case k.op == operators.OpText && v.kind == quickASCII:
				match = casefold.IsLower(v.text, k.text) != k.negated
			case k.op == operators.OpText && v.kind == quickFolded:
				match = v.text == k.text != k.negated
			default:
				if match, ok = k.quickMatch(v, int8(n+1), forms, s.zone); !ok {
					return decision{}, false
				}
			}
			if match == k.invert {
				reason = reason.better(rankNo, int32(i))
				continue conditions
			}
		}
		if f.ruled {
			d, ended, ok := s.quickRule(f, c, int32(i), r)
			if !ok || ended {
				return d, ok
			}
			continue
		}
		if !c.everyone && drawn == notDrawn {
			if drawn, ok = f.quickBucket(r.DistinctID, saltRollout); !ok {
				return decision{}, false
			}
		}
		if i == len(f.conditions)-1 && !c.everyone {
			if on := f.drawless(c); on >= 0 {
				return lastDecision(f.offValue, on, int32(i), drawn < c.end), true
			}
		}
		switch {
		case c.everyone || drawn < c.end:
			value, ok := f.quickPick(c, r.DistinctID)
			return decision{value, reasonAt(reasonMatch, int32(i))}, ok
		case f.earlyExit:
			return decision{f.offValue, reasonAt(reasonOut, int32(i))}, true
		}
		reason = reason.better(rankOut, int32(i))
	}
	if f.ruled {
		return decision{f.rare.rules.defaultValue, reasonNoRule}, true
	}
	return decision{f.offValue, reason.number()}, true
}

// quickNested is Input.nestedVerdict, negated if the filter is, and compares distinct IDs.
//
//go:noinline
func (s *Snapshot) quickNested(f *compiledFlag, k *check, r *Request, values *[quickSlots]quickValue, forms *quickForms) (match, ok bool) {
	if k.op == operators.OpSplit {
		o, ok := s.quickSplit(k.more.split, r)
		return (o.value == 1) != k.invert, ok
	}
	if k.slot == s.idSlot && k.op == operators.OpCompared {
		match, ok = k.more.compared.quickID(r)
		return match != k.negated, ok
	}
	match = k.op == operators.OpAll
	for _, id := range k.more.checks {
		one := &s.checks[id]
		var holds bool
		if one.aspect == operators.AspectNone || one.slot == s.idSlot {
			holds, ok = s.quickNested(f, one, r, values, forms)
		} else {
			holds, ok = s.quickLeaf(f, one, r, values, forms)
		}
		if !ok {
			return false, false
		}
		if holds != match {
			match = holds
			break
		}
	}
	return match != k.invert, true
}

// quickLeaf compares a property.
func (s *Snapshot) quickLeaf(f *compiledFlag, k *check, r *Request, values *[quickSlots]quickValue, forms *quickForms) (match, ok bool) {
	n := slices.Index(f.needs, k.slot)
	v := &values[n%quickSlots]
	if v.kind == quickUnknown {
		def := &s.slots[k.slot]
		if !v.find(r, def.name) || v.kind == quickAbsent && !s.quickFallback(r, def.fallbacks, v) {
			return false, false
		}
	}
	if v.kind == quickAbsent {
		return k.missing != k.invert, true
	}
	match, ok = k.quickMatch(v, int8(n+1), forms, s.zone)
	return match != k.invert, ok
}

// quickID compares the distinct ID with values that it may have. It is not ok if the request has
// another one as a property, or one that would have to be cut or mended.
func (o *comparedOperand) quickID(r *Request) (match, ok bool) {
	const name = "distinct_id"
	_, given := r.PersonProperties[name]
	if given || slices.ContainsFunc(r.Person, func(p Property) bool { return p.name == name }) || len(r.DistinctID) > 200 || o.path != nil {
		return false, false
	}
	if !o.CaseSensitive && casefold.CaseOf(r.DistinctID) != casefold.CaseFolded {
		return false, false
	}
	return o.isOne(jsonscan.String, r.DistinctID), utf8.ValidString(r.DistinctID)
}

// quickRule is Input.decideByRule for a Request.
func (s *Snapshot) quickRule(f *compiledFlag, c *compiledCondition, i int32, r *Request) (d decision, ended, ok bool) {
	set := f.rare.rules
	rule := &set.rules[i]
	if rule.split != nil {
		o, ok := s.quickSplit(rule.split, r)
		d, ended = o.decision(set, i)
		return d, ended, ok
	}
	distinctID := r.DistinctID
	if rule.paused {
		return decision{set.defaultValue, reasonAt(reasonRulePaused, i)}, true, true
	}
	drawn := point(notDrawn)
	if rule.holdsOut && distinctID != "" {
		if drawn, ok = f.quickBucketFor(rule.holdout, distinctID, saltRollout); !ok {
			return d, false, false
		}
		if rule.holdoutAll || drawn < rule.holdoutEnd {
			return decision{set.defaultValue, reasonAt(reasonRuleHeldOut, i)}, true, true
		}
	}
	in := c.everyone
	if !in && distinctID != "" {
		if drawn, ok = f.quickBucketFor(rule.prefix, distinctID, saltRollout); !ok {
			return d, false, false
		}
		in = drawn < c.end
	}
	switch {
	case !in:
		return decision{set.defaultValue, reasonAt(reasonRuleMiss, i)}, rule.returnDefault, true
	case !rule.experiment:
		return decision{rule.value, reasonAt(reasonRuleMatch, i)}, true, true
	}
	if drawn, ok = f.quickBucketFor(rule.prefix, distinctID, saltVariant); !ok {
		return d, false, false
	}
	return decision{rule.variantAt(drawn), rule.matchReason(i)}, true, true
}

// quickSplit is compiledSplit.decide for the distinct ID, or a property that is a text.
//
//go:noinline
func (s *Snapshot) quickSplit(split *compiledSplit, r *Request) (o splitOutcome, ok bool) {
	var buf [256]byte
	subject, is := r.DistinctID, r.DistinctID != "" || split.empty
	if split.slot >= 0 {
		def := &s.slots[split.slot]
		var v quickValue
		if def.owner != ownerPerson || split.path != nil || def.fallbacks != nil || !v.find(r, def.name) || v.kind == quickNumber {
			return o, false
		}
		subject = v.text
		is = v.kind >= quickFolded && (subject != "" || split.empty)
	}
	if split.owner != ownerPerson || len(subject) > 200 || len(split.prefix)+len(subject)+len(split.suffix) > len(buf) || !utf8.ValidString(subject) {
		return o, false
	}
	return split.decide(subject, is, buf[:0]), true
}

// quickPick is Input.pickValue for a distinct ID.
func (f *compiledFlag) quickPick(c *compiledCondition, distinctID string) (value int32, ok bool) {
	if on := f.drawless(c); on >= 0 {
		return on, true
	}
	drawn, ok := f.quickBucket(distinctID, saltVariant)
	return f.variantAt(drawn), ok
}

// quickBucket is Input.bucket with the hashed text on the stack. It is not ok if the distinct ID
// would have to be cut, is not UTF-8, or belongs to a very long key.
func (f *compiledFlag) quickBucket(subject, salt string) (drawn point, ok bool) {
	return f.quickBucketFor(f.prefix, subject, salt)
}

func (f *compiledFlag) quickBucketFor(prefix, subject, salt string) (drawn point, ok bool) {
	var buf [96]byte // to clear more takes time
	size := len(prefix) + len(subject) + len(salt)
	switch {
	case subject == "":
		return 0, true
	case len(subject) > 200 || !utf8.ValidString(subject):
		return 0, false
	case size > len(buf):
		return f.longBucket(prefix, subject, salt)
	}
	n := copy(buf[:], prefix)
	n += copy(buf[n:], subject)
	copy(buf[n:], salt)
	return f.hash.bucket(buf[:size]), true
}

// longBucket is quickBucket for long texts.
//
//go:noinline
func (f *compiledFlag) longBucket(prefix, subject, salt string) (drawn point, ok bool) {
	var buf [400]byte
	if len(prefix)+len(subject)+len(salt) > len(buf) {
		return 0, false
	}
	return f.hash.bucket(append(append(append(buf[:0], prefix...), subject...), salt...)), true
}

// quickFallback finds what stands in for a property that is absent. It is not ok if the
// value is of a type that the short cut does not know.
func (s *Snapshot) quickFallback(r *Request, fallbacks []int32, v *quickValue) (ok bool) {
	for _, slot := range fallbacks {
		if ok = v.find(r, s.slots[slot].name); !ok || v.kind != quickAbsent {
			return ok
		}
	}
	return true
}

// find sets a quickValue to a property of the person. It is not ok if the value is of a
// type that the short cut does not know.
func (v *quickValue) find(r *Request, name string) (ok bool) {
	for i := len(r.Person) - 1; i >= 0; i-- {
		if p := &r.Person[i]; p.name == name {
			return v.setProperty(p)
		}
	}
	value, present := r.PersonProperties[name]
	if s, ok := value.(string); ok { // most are
		return v.setText(s)
	}
	switch value := value.(type) {
	case bool:
		v.kind = quickFalse
		if value {
			v.kind = quickTrue
		}
	case int:
		v.kind, v.how, v.bits = quickNumber, goInt, uint64(value)
	case int64:
		v.kind, v.how, v.bits = quickNumber, goInt, uint64(value)
	case float64:
		v.setFloat(value)
	case nil:
		v.kind = quickAbsent
		if present {
			v.kind = quickNull
		}
	case int32:
		v.kind, v.how, v.bits = quickNumber, goInt, uint64(value)
	case uint:
		v.kind, v.how, v.bits = quickNumber, goUint, uint64(value)
	case uint32:
		v.kind, v.how, v.bits = quickNumber, goUint, uint64(value)
	case uint64:
		v.kind, v.how, v.bits = quickNumber, goUint, value
	default:
		return false
	}
	return true
}

func (v *quickValue) setProperty(p *Property) (ok bool) {
	switch p.kind {
	case kindText:
		return v.setText(p.text)
	case kindInt:
		v.kind, v.how, v.bits = quickNumber, goInt, p.bits
	case kindUint:
		v.kind, v.how, v.bits = quickNumber, goUint, p.bits
	case kindFloat64:
		v.setFloat(p.float())
	case kindBool:
		v.kind = quickFalse
		if p.bits != 0 {
			v.kind = quickTrue
		}
	case kindNull:
		v.kind = quickNull
	case kindMissing:
		v.kind = quickAbsent
	default:
		return false
	}
	return true
}

// setText is not ok if the text is not UTF-8.
func (v *quickValue) setText(s string) (ok bool) {
	v.text = s
	switch casefold.CaseOf(s) {
	case casefold.CaseFolded:
		v.kind = quickFolded
	case casefold.CaseMixed:
		v.kind = quickASCII
	default:
		v.kind = quickOther
		return utf8.ValidString(s)
	}
	return true
}

func (v *quickValue) setFloat(x float64) {
	v.kind, v.how, v.bits = quickNumber, goFloat64, math.Float64bits(x)
	if x-x != 0 { // it cannot be encoded, so it counts as missing
		v.kind = quickAbsent
	}
}

// number returns a number, or the number that a text represents.
func (v *quickValue) number() (n float64, ok bool) {
	switch v.kind {
	case quickNumber:
		switch v.how {
		case goInt:
			return float64(int64(v.bits)), true
		case goUint:
			return float64(v.bits), true
		}
		return math.Float64frombits(v.bits), true
	case quickFolded, quickASCII:
		return numeral.Float(v.text)
	}
	return 0, false
}

// quickMatch evaluates a check for a property that is set, as Input.compareProperty
// does. Place is where the property is in f.needs, plus one. It is not ok if that is left
// to compareProperty.
func (k *check) quickMatch(v *quickValue, place int8, forms *quickForms, zone *time.Location) (match, ok bool) {
	switch k.aspect {
	case operators.AspectSet:
		match = true
	case operators.AspectUseless:
		return false, k.fail == 0
	case operators.AspectText, operators.AspectASCII:
		return k.quickText(v)
	case operators.AspectCompared:
		if match, ok = k.more.compared.quick(v); !ok {
			return false, false
		}
	case operators.AspectTruth:
		match = (v.kind == quickTrue || v.kind >= quickFolded && casefold.IsLower(v.text, "true")) == k.truthy
	case operators.AspectNumber:
		n, ok := v.number()
		if !ok || n != n {
			return false, true
		}
		match = k.hasNumber(n)
	case operators.AspectDate:
		t, ok := forms.dateFrom(v, place, zone)
		if !ok {
			return false, true
		}
		if match, ok = k.hasDate(t, forms.now, zone); !ok {
			return false, true
		}
	case operators.AspectVersion:
		if v.kind == quickNumber {
			return false, false // its text would have to leave the stack
		}
		if forms.versionOf != place {
			forms.versionOf = place
			forms.versionOK = forms.version.Set(v.text)
		}
		if !forms.versionOK {
			return false, true
		}
		match = k.hasVersion(&forms.version)
	case operators.AspectPattern:
		s := v.text
		switch v.kind {
		case quickNull:
			s = "null"
		case quickFalse:
			s = "false"
		case quickTrue:
			s = "true"
		case quickNumber:
			return false, false // its text would have to leave the stack
		}
		if match, ok = k.matches(s); !ok {
			return false, false
		}
	default:
		return false, false
	}
	return match != k.negated, true
}

// dateFrom is Input.date.
func (f *quickForms) dateFrom(v *quickValue, place int8, zone *time.Location) (time.Time, bool) {
	if f.now.IsZero() {
		f.now = time.Now()
	}
	if f.dateOf == place {
		return f.date, f.dateOK
	}
	f.dateOf = place
	switch {
	case v.kind >= quickFolded:
		f.date, f.dateOK = reldate.Property(v.text, f.now, zone)
	case v.kind == quickNumber:
		n, _ := v.number()
		f.date, f.dateOK = reldate.FromSeconds(n)
	default:
		f.dateOK = false
	}
	return f.date, f.dateOK
}

// quickText is quickMatch for checks that compare the text of a property.
//
//go:noinline
func (k *check) quickText(v *quickValue) (match, ok bool) {
	var buf [256]byte // stays on the stack
	switch v.kind {
	case quickNull:
		match = k.hasText("null")
	case quickFalse:
		match = k.hasText("false")
	case quickTrue:
		match = k.hasText("true")
	case quickFolded:
		match = k.hasText(v.text)
	case quickNumber:
		match = k.mayHave(v) && k.hasText(sharedString(v.appendNumber(buf[:0])))
	default:
		switch {
		case !k.mayHave(v):
			return k.negated, true
		case len(v.text) > len(buf)/2: // in lower case it may be longer
			return false, false
		}
		if v.kind == quickOther && k.aspect == operators.AspectText {
			match = k.hasText(sharedString(casefold.AppendLower(buf[:0], v.text)))
		} else {
			match = k.hasText(sharedString(casefold.AppendLowerASCII(buf[:0], v.text)))
		}
	}
	return match != k.negated, true
}

// appendNumber appends the text of a number (evaluation.md §4.1).
func (v *quickValue) appendNumber(dst []byte) []byte {
	switch x := math.Float64frombits(v.bits); {
	case v.how == goInt:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case v.how == goUint:
		return strconv.AppendUint(dst, v.bits, 10)
	case v.how == goFloat64 && x != math.Trunc(x):
		return numeral.AppendFloat(dst, x)
	}
	var buf [64]byte
	literal := appendLiteral(buf[:0], v.how, v.bits)
	return numeral.Append(dst, literal)
}

// mayHave is false if it is easily seen that operators.OpText or operators.OpTexts does not match a number, or
// a text with other letters than ASCII's.
func (k *check) mayHave(v *quickValue) bool {
	switch {
	case k.op == operators.OpText:
		return v.mayBe(k.text)
	case k.op == operators.OpTexts && k.more.set == nil:
		return slices.ContainsFunc(k.more.texts, v.mayBe)
	}
	return true
}

// mayBe is false if it is easily seen that the text of the value, in lower case, is not s.
func (v *quickValue) mayBe(s string) bool {
	if s == "" {
		return false
	}
	if v.kind == quickNumber {
		if s[0] > '9' {
			return false
		}
		n, _ := v.number()
		x, ok := numeral.Float(s)
		return ok && x == n
	}
	c := v.text[0]
	if c < utf8.RuneSelf && 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	// The only other characters that become ASCII are the sign of Kelvin, and I with a dot.
	return v.kind != quickOther || c == s[0] || c >= utf8.RuneSelf && (s[0] >= utf8.RuneSelf || s[0] == 'k' || s[0] == 'i')
}
