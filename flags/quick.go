package flags

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/flags/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// The short cut for Go callers that ask for one flag. Most flags compare a property
// or two with plain values and hash the distinct ID; to fill an Input costs more
// than that. decideQuickly evaluates such a flag on the Request as it is, and leaves
// everything that it does not know to decide, which has all the rules.

// quickSlots is how many properties a flag may look at to be evaluated quickly. Their
// values lie on the stack.
const quickSlots = 4

// quickKnows reports whether decideQuickly may know the flag: its condition sets
// decide alone, it is bucketed by distinct ID, and it looks at a few properties of the
// person only. parses says that it reads texts as dates or versions.
func (c *compiler) quickKnows(f *compiledFlag) (known, parses bool) {
	if f.state != normal || f.enrollment >= 0 || f.holdoutValue >= 0 || f.otherSubject || len(f.needs) > quickSlots {
		return false, false
	}
	for i := range f.conditions {
		if f.conditions[i].aggregation != ownerPerson {
			return false, false
		}
		for _, id := range f.conditions[i].checks {
			k := &c.s.checks[id]
			if k.op < opSet || k.op > opUseless {
				return false, false
			}
			def := &c.s.slots[k.slot]
			if def.owner != ownerPerson || def.name == "distinct_id" {
				return false, false
			}
			parses = parses || k.op >= opDateExact && k.op < opUseless
		}
	}
	return true, parses
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
	if len(r.DistinctID) > 200 || !utf8.ValidString(r.DistinctID) {
		return decision{}, false
	}
	var (
		reason unmatched
		values [quickSlots]quickValue // by place in f.needs
		bucket = -1.0                 // not computed yet
	)
conditions:
	for i := range f.conditions {
		c := &f.conditions[i]
		for _, id := range c.checks {
			k := &s.checks[id]
			n := 0
			for n < len(f.needs)-1 && f.needs[n] != k.slot {
				n++
			}
			v := &values[n%quickSlots]
			if v.kind == quickUnknown && !s.quickLookUp(r, k.slot, v) {
				return decision{}, false
			}
			var match bool
			switch {
			case v.kind == quickAbsent:
				match = k.missing
			case v.kind == quickFolded && k.op == opText:
				match = v.text == k.text != k.negated
			default:
				if match, ok = k.quickMatch(v, int8(n+1), forms, s.zone); !ok {
					return decision{}, false
				}
			}
			if !match {
				reason = reason.better(rankNo, int32(i))
				continue conditions
			}
		}
		if !c.everyone && bucket < 0 {
			bucket = f.quickBucket(r.DistinctID, saltRollout)
		}
		switch {
		case c.everyone || bucket <= c.threshold:
			return decision{f.quickPick(c, r.DistinctID), reasonAt(reasonMatch, int32(i))}, true
		case f.earlyExit:
			return decision{f.offValue, reasonAt(reasonOut, int32(i))}, true
		}
		reason = reason.better(rankOut, int32(i))
	}
	return decision{f.offValue, reason.number()}, true
}

// quickPick is Input.pickValue for a distinct ID.
func (f *compiledFlag) quickPick(c *compiledCondition, distinctID string) int32 {
	switch {
	case c.pinned >= 0:
		return c.pinned
	case len(f.variants) == 0:
		return f.onValue()
	}
	return f.variantAt(f.quickBucket(distinctID, saltVariant))
}

// quickBucket is Input.bucket with the hashed text on the stack.
func (f *compiledFlag) quickBucket(subject, salt string) float64 {
	if subject == "" {
		return 0
	}
	var buf [96]byte // to clear more takes time
	if len(f.prefix)+len(subject)+len(salt) > len(buf) {
		return f.longBucket(subject, salt)
	}
	n := copy(buf[:], f.prefix)
	n += copy(buf[n:], subject)
	n += copy(buf[n:], salt)
	return f.hash.bucket(buf[:n])
}

// longBucket is quickBucket for long texts. It allocates for a key that is very long.
//
//go:noinline
func (f *compiledFlag) longBucket(subject, salt string) float64 {
	var buf [400]byte
	return f.hash.bucket(append(append(append(buf[:0], f.prefix...), subject...), salt...))
}

// quickLookUp finds the property of a slot. It is not ok if the value is of a type that
// the short cut does not know.
func (s *Snapshot) quickLookUp(r *Request, slot int32, v *quickValue) (ok bool) {
	def := &s.slots[slot]
	ok = v.find(r, def.name)
	for i := 0; ok && v.kind == quickAbsent && i < len(def.fallbacks); i++ {
		ok = v.find(r, s.slots[def.fallbacks[i]].name)
	}
	return ok
}

// find sets a quickValue to a property of the person.
func (v *quickValue) find(r *Request, name string) (ok bool) {
	for i := len(r.Person) - 1; i >= 0; i-- {
		if p := &r.Person[i]; p.name == name {
			return v.setProperty(p)
		}
	}
	value, present := r.PersonProperties[name]
	switch value := value.(type) {
	case string:
		return v.setText(value)
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
	v.text, v.kind = s, quickFolded
	if !text.Folded(s) {
		v.kind = quickASCII
		if !text.IsASCII(s) {
			v.kind = quickOther
			return utf8.ValidString(s)
		}
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
		return text.Float(v.text)
	}
	return 0, false
}

// quickMatch evaluates a check for a property that is set, as Input.compareProperty
// does. Place is where the property is in f.needs, plus one. It is not ok if that is left
// to compareProperty.
func (k *check) quickMatch(v *quickValue, place int8, forms *quickForms, zone *time.Location) (match, ok bool) {
	switch k.op {
	case opSet:
		match = true
	case opUseless:
		return false, true
	case opText:
		if v.kind != quickASCII {
			return k.quickText(v)
		}
		match = text.IsLower(v.text, k.text)
	case opTruthy:
		match = (v.kind == quickTrue || v.kind >= quickFolded && text.IsLower(v.text, "true")) == k.truthy
	case opGT, opGTE, opLT, opLTE, opBetween:
		n, ok := v.number()
		if !ok || n != n {
			return false, true
		}
		match = k.hasNumber(n)
	case opDateExact, opDateBefore, opDateAfter:
		t, ok := forms.dateFrom(v, place, zone)
		if !ok {
			return false, true
		}
		if match, ok = k.hasDate(t, forms.now, zone); !ok {
			return false, true
		}
	case opSemverEQ, opSemverNEQ, opSemverGT, opSemverGTE, opSemverLT, opSemverLTE, opSemverRange:
		if v.kind == quickNumber {
			return k.quickText(v)
		}
		if forms.versionOf != place {
			forms.versionOf = place
			forms.version, forms.versionOK = semver.Parse(v.text)
		}
		if !forms.versionOK {
			return false, true
		}
		match = k.hasVersion(forms.version)
	case opRegex:
		s, ok := v.text, true
		switch v.kind {
		case quickNull:
			s = "null"
		case quickFalse:
			s = "false"
		case quickTrue:
			s = "true"
		case quickNumber:
			ok = false // its text would have to leave the stack
		}
		if !ok {
			return false, false
		}
		match = k.more.matcher.MatchString(s)
	default:
		return k.quickText(v)
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

// quickText is quickMatch for checks that compare the text of a property, and for the
// version that a number is.
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
		number := appendLiteral(buf[:0], v.how, v.bits)
		if !text.IsCanonicalInteger(number) {
			number = text.AppendNumber(buf[len(buf)/2:][:0], number)
		}
		if k.op <= opSuffix {
			match = k.hasText(sharedString(number))
			break
		}
		version, ok := semver.Parse(sharedString(number))
		if !ok {
			return false, true
		}
		match = k.hasVersion(version)
	default:
		if len(v.text) > len(buf)/2 { // in lower case it may be longer
			return false, false
		}
		if v.kind == quickOther && k.op <= opTexts {
			match = k.hasText(sharedString(text.AppendLower(buf[:0], v.text)))
		} else {
			match = k.hasText(sharedString(text.AppendLowerASCII(buf[:0], v.text)))
		}
	}
	return match != k.negated, true
}
