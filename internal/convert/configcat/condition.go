package configcat

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

// condition converts a condition of a rule into filters that must all hold.
func (c *converter) condition(f *convert.Flag, s *setting, what string, raw json.RawMessage) []flags.Filter {
	o := s.Reader.Object(raw, what, "u", "s", "p")
	switch {
	case len(o.Names()) != 1:
		s.Problem("%s is not one about the user, a segment or another flag: it never holds.", what)
		return []flags.Filter{convert.Any()}
	case o.Has("p"):
		return []flags.Filter{c.prerequisite(s, what, o)}
	case o.Has("s"):
		return c.inSegment(f, s, what, o.Object("s", what, "s", "c"))
	}
	u := c.user(s.Reader, what, o.Raw("u"), f.Key)
	return u.filters(false)
}

// prerequisite converts a condition about the value of another setting.
func (c *converter) prerequisite(s *setting, what string, o objects.Object) flags.Filter {
	p := o.Object("p", what, "f", "c", "v")
	key := p.Text("f")
	of, ok := c.settings[key]
	if !ok {
		s.Problem("%s is about the flag %q, which does not exist: it never holds.", what, key)
		return convert.Any()
	}
	wanted := setting{Reader: s.Reader, kind: of.kind}
	value, comparator := wanted.value(p, what), p.Number("c")
	if value == nil || comparator != 0 && comparator != 1 {
		s.Problem("%s cannot be read: it never holds.", what)
		return convert.Any()
	}
	return flags.Filter{
		Type: "flag", Key: key, Operator: operator.FlagEvaluatesTo, Value: value, Negation: comparator == 1, Comparison: flags.Comparison{StrictType: true},
	}
}

// A segment is one that was asked for.
type segment struct {
	conditions []user
	cohort     int64 // 0: everybody is in it
	problems   []string
}

func (c *converter) inSegment(f *convert.Flag, s *setting, what string, o objects.Object) []flags.Filter {
	index := int(o.Number("s"))
	if !o.Has("s") || index < 0 || index >= len(c.list) || o.Number("c") != 0 && o.Number("c") != 1 {
		s.Problem("%s is about a segment that does not exist: it never holds.", what)
		return []flags.Filter{convert.Any()}
	}
	seg := c.segment(index)
	for _, p := range seg.problems {
		if !slices.Contains(f.Problems, p) {
			f.Problems = append(f.Problems, p)
		}
	}
	if o.Number("c") == 1 {
		return []flags.Filter{notIn(seg.conditions)}
	}
	if seg.cohort == 0 {
		return nil
	}
	return []flags.Filter{{Type: "cohort", Key: "id", Operator: operator.In, Value: json.RawMessage(strconv.FormatInt(seg.cohort, 10))}}
}

// notIn says that somebody is not in a segment. A condition that cannot be compared does not say
// that. Therefore it is not the opposite of being in it: one of the conditions must not hold,
// and those before it must.
func notIn(conditions []user) flags.Filter {
	var one, before []flags.Filter
	for _, u := range conditions {
		one = append(one, convert.All(slices.Concat(before, u.filters(true))...))
		before = append(before, u.filters(false)...)
	}
	return convert.Any(one...)
}

func (c *converter) segment(index int) *segment {
	if s := c.segments[index]; s != nil {
		return s
	}
	s, r := &segment{}, &objects.Reader{}
	c.segments[index] = s
	o := r.Object(c.list[index], fmt.Sprintf("Segment %d", index), "n", "r")
	name, tree := o.Text("n"), &flags.CohortNode{Type: "AND"}
	for i, raw := range o.List("r") {
		u := c.user(r, fmt.Sprintf("Condition %d of the segment %q", i+1, name), raw, name)
		s.conditions = append(s.conditions, u)
		for _, f := range u.filters(false) {
			tree.Values = append(tree.Values, flags.CohortNode{Leaf: &f})
		}
	}
	s.problems = r.Problems
	if len(tree.Values) == 0 {
		return s
	}
	s.cohort = int64(index + 1)
	if name == "" {
		name = fmt.Sprintf("Segment %d", index)
	}
	c.project.Cohorts = append(c.project.Cohorts, convert.Cohort{ID: s.cohort, Name: name, Criteria: tree, Problems: r.Problems})
	return s
}

// A user is a condition about an attribute of the user, in the dialect.
type user struct {
	attribute string // as ConfigCat calls it
	property  string
	operator  string // the positive one
	negated   bool
	value     json.RawMessage
	texts     []string // of the value, if it is a list of texts
	never     bool     // it can never be compared
}

// A comparator is what a number of a comparator means. A list of values is one of texts; one of
// numbers or versions has the values as texts.
type comparator struct {
	operator string
	negated  bool
	value    valueKind
}

type valueKind int

const (
	aText valueKind = iota
	texts
	aNumber
	aVersion
	versions
	aHash
	hashes
	prefixedHashes
)

var comparators = []comparator{
	{"equal", false, texts},
	{"equal", true, texts},
	{"contains", false, texts},
	{"contains", true, texts},
	{"version_equal", false, versions},
	{"version_equal", true, versions},
	{"version_less", false, aVersion},
	{"version_less_or_equal", false, aVersion},
	{"version_greater", false, aVersion},
	{"version_greater_or_equal", false, aVersion},
	{"number_equal", false, aNumber},
	{"number_equal", true, aNumber},
	{"number_less", false, aNumber},
	{"number_less_or_equal", false, aNumber},
	{"number_greater", false, aNumber},
	{"number_greater_or_equal", false, aNumber},
	{"hashed_equal", false, hashes},
	{"hashed_equal", true, hashes},
	{"before", false, aNumber},
	{"after", false, aNumber},
	{"hashed_equal", false, aHash},
	{"hashed_equal", true, aHash},
	{"hashed_starts_with", false, prefixedHashes},
	{"hashed_starts_with", true, prefixedHashes},
	{"hashed_ends_with", false, prefixedHashes},
	{"hashed_ends_with", true, prefixedHashes},
	{"hashed_array_contains", false, hashes},
	{"hashed_array_contains", true, hashes},
	{"equal", false, aText},
	{"equal", true, aText},
	{"starts_with", false, texts},
	{"starts_with", true, texts},
	{"ends_with", false, texts},
	{"ends_with", true, texts},
	{"array_contains", false, texts},
	{"array_contains", true, texts},
}

func (c *converter) user(r *objects.Reader, what string, raw json.RawMessage, context string) user {
	o := r.Object(raw, what, "a", "s", "d", "l", "c")
	u := user{attribute: o.Text("a"), never: true}
	if u.property = c.o.Property(u.attribute); u.attribute == identifier {
		u.property = distinctID
	}
	n := o.Number("c")
	if u.attribute == "" || !o.Has("c") || n < 0 || n >= float64(len(comparators)) || n != float64(int(n)) {
		r.Problem("%s has no attribute, or no comparator that is known: it never holds.", what)
		u.property = distinctID
		return u
	}
	comparator := comparators[int(n)]
	u.operator, u.negated = comparator.operator, comparator.negated
	member := map[valueKind]string{aText: "s", aVersion: "s", aHash: "s", aNumber: "d"}[comparator.value]
	if member == "" {
		member = "l"
	}
	before := len(r.Problems)
	var ok bool
	switch comparator.value {
	case aText, aVersion, aHash:
		u.texts, ok = []string{o.Text(member)}, o.Has(member)
	case aNumber:
		o.Number(member)
		u.value, ok = o.Raw(member), o.Has(member)
	default:
		u.texts, ok = o.Texts(member), o.Has(member)
	}
	if !ok || len(r.Problems) > before {
		r.Problem("%s has no value %q for its comparator: it never holds.", what, member)
		return u
	}
	switch comparator.value {
	case versions:
		u.texts = slices.DeleteFunc(u.texts, func(s string) bool { return strings.TrimSpace(s) == "" })
	case prefixedHashes:
		if u.texts, ok = withLengths(u.texts); !ok {
			r.Problem("%s has a value that is not a length and a hash: it never holds.", what)
			return u
		}
	case hashes:
		u.texts = wholeHashes(u.texts)
	}
	u.never = false
	if u.value == nil {
		u.value = list(u.texts)
	}
	if comparator.value >= aHash {
		u.value, _ = json.Marshal(struct {
			Hashes  []string `json:"hashes"`
			Salt    string   `json:"salt"`
			Context string   `json:"context"`
		}{append([]string{}, u.texts...), c.salt, context})
		u.texts = nil
	}
	return u
}

func list(texts []string) json.RawMessage {
	b, _ := json.Marshal(append([]string{}, texts...))
	return b
}

// wholeHashes returns hashes as they are compared: in lower case, and with 32 bytes.
func wholeHashes(texts []string) (out []string) {
	for _, s := range texts {
		if b, err := hex.DecodeString(s); err == nil {
			out = append(out, hex.EncodeToString(append(b, make([]byte, 32)...)[:32]))
		}
	}
	return out
}

// withLengths returns hashes with the lengths of their texts, of which what is behind a second
// low line does not count.
func withLengths(texts []string) (out []string, ok bool) {
	for _, s := range texts {
		parts := strings.Split(s, "_")
		n, err := strconv.Atoi(strings.TrimSpace(parts[0]))
		if len(parts) < 2 || parts[1] == "" || err != nil || n < 0 {
			return nil, false
		}
		out = append(out, strconv.Itoa(n)+"_"+parts[1])
	}
	return out, true
}

var predefined = []string{identifier, "Email", "Country"}

// filters returns filters that all hold if the condition does; if it is compared and does not
// hold, if it is inverted.
func (u *user) filters(inverted bool) []flags.Filter {
	f := flags.Filter{Type: "person", Key: u.property, Comparison: flags.Comparison{Dialect: dialect, MustBeSet: true}}
	if u.never {
		f.Operator, f.Value = "equal", json.RawMessage(`[]`)
		return []flags.Filter{f}
	}
	negated := u.negated != inverted
	isText := !strings.HasPrefix(u.operator, "number_") && !strings.HasPrefix(u.operator, "version_") && u.operator != "before" && u.operator != "after"
	if isText && slices.Contains(predefined, u.attribute) {
		if u.own(&f, negated) {
			return []flags.Filter{f}
		}
		// An empty text counts as missing.
		set := f
		set.Operator, set.Value, set.Comparison = operator.IsNot, json.RawMessage(`""`), ownComparison
		f.Operator, f.Value = withNot(u.operator, negated), u.value
		return []flags.Filter{set, f}
	}
	f.Operator, f.Value = withNot(u.operator, negated), u.value
	return []flags.Filter{f}
}

func withNot(operator string, negated bool) string {
	if negated {
		return "not_" + operator
	}
	return operator
}

var ownComparison = flags.Comparison{CaseSensitive: true, MustBeSet: true}

// own writes a comparison of a predefined attribute, which is always a text, with our own
// operators, if these compare in the same way.
func (u *user) own(f *flags.Filter, negated bool) bool {
	texts := slices.DeleteFunc(slices.Clone(u.texts), func(s string) bool { return s == "" })
	if len(texts) == 0 {
		return false
	}
	f.Value = quoted(texts[0])
	if len(texts) > 1 {
		f.Value = list(texts)
	}
	whole := len(texts) == len(u.texts)
	switch {
	case u.operator == "equal" && negated:
		f.Operator, f.Value = operator.IsNot, list(append(texts, ""))
	case u.operator == "equal":
		f.Operator = operator.Exact
	case u.operator == "contains" && !negated && whole:
		if f.Operator = operator.IContains; len(texts) > 1 {
			f.Operator = operator.IContainsMulti
		}
	case u.operator == "starts_with" && !negated && whole && len(texts) == 1:
		f.Operator = operator.StartsWith
	case u.operator == "ends_with" && !negated && whole && len(texts) == 1:
		f.Operator = operator.EndsWith
	default:
		return false
	}
	f.Comparison = ownComparison
	return true
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}
