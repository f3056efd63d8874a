package flags

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// valueFaults says of the values that operators need what is wrong with one, or "" (rules.md
// §2.5).
var valueFaults = map[operators.Operand]func(v jsonscan.Value) string{
	operators.OperandAny: anything, operators.OperandNone: anything, operators.OperandText: aText, operators.OperandPattern: aText,
	operators.OperandTexts: aList, operators.OperandNumber: aNumber, operators.OperandVersion: aVersion, operators.OperandDate: aDate,
	operators.OperandCohort: anything, operators.OperandFlagValue: anything,
}

func anything(jsonscan.Value) string { return "" }

func aText(v jsonscan.Value) string {
	if v.Kind() != jsonscan.String {
		return "want a text"
	}
	return ""
}

func aList(v jsonscan.Value) string {
	if v.Kind() != jsonscan.Array {
		return "want an array"
	}
	return ""
}

func aNumber(v jsonscan.Value) string {
	if kind := v.Kind(); kind != jsonscan.String && kind != jsonscan.Number {
		return "want a number, or a text"
	}
	return ""
}

// aVersion wants three unsigned integers in front of what may follow.
func aVersion(v jsonscan.Value) string {
	const fault = "want a version such as 1.2.3"
	s, _ := text.Str(v)
	if v.Kind() != jsonscan.String {
		return fault
	}
	core, _, _ := strings.Cut(s, "-")
	parts := strings.Split(core, ".")
	for _, part := range parts[:min(len(parts), 3)] {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return fault
		}
	}
	if _, ok := semver.Parse(s); !ok {
		return fault
	}
	return ""
}

// wildcards is whether a range reads what aVersion does not.
func wildcards(read func(string) (semver.Range, bool)) bool {
	if read == nil {
		return false
	}
	_, ok := read("1.*")
	return ok
}

func aWildcard(v jsonscan.Value) string {
	s, _ := text.Str(v)
	if _, ok := semver.Wildcard(s); v.Kind() != jsonscan.String || !ok {
		return "want a version such as 1.2.*"
	}
	return ""
}

var spanForm = regexp.MustCompile(`^-?[0-9]{1,4}[hdwmy]$`)

func aDate(v jsonscan.Value) string {
	s, _ := text.Str(v)
	if v.Kind() == jsonscan.String && !spanForm.MatchString(s) {
		if d, ok := reldate.Parse(s, time.UTC); ok && !d.Relative() {
			return ""
		}
	} else if v.Kind() == jsonscan.String {
		return ""
	}
	return "want a date, or a span before now such as -7d"
}

var filterMembers = []string{
	"type", "key", "operator", "value", "negation", "group_type_index", "case_sensitive", "strict_type", "must_be_set", "any_element", "path", "dialect",
}

// filter reads a filter of a rule (rules.md §2.5).
func (r *ruleReader) filter(at string, v jsonscan.Value, depth int) (f Filter) {
	switch kind := typeOf(v); kind {
	case filterAny, filterAll, filterSplit:
		return r.nested(at, v, kind, depth)
	}
	shown := []string{"cohort_name", "label", "group_key_names"}
	m := r.record(at, v, slices.Concat(filterMembers, shown)...)
	f.Type = "person"
	if m.has("type") || !m.byHand {
		f.Type = m.one("type", "person", "cohort", "group", "flag", filterAny, filterAll, filterSplit)
	}
	f.Key = m.str("key")
	if m.given("operator") {
		f.Operator = m.str("operator")
	}
	if m.given("value") {
		f.Value = compact(m.members["value"])
	}
	if m.given("negation") {
		f.Negation = m.bool("negation")
	}
	for _, c := range f.Comparison.members() {
		if m.given(c.name) {
			if *c.value = m.bool(c.name); f.Type != "person" && f.Type != "group" && !(f.Type == "flag" && c.value == &f.Comparison.StrictType) {
				m.fail(codeInvalid, m.path(c.name), "it is for filters of type person or group")
			}
		}
	}
	for name, to := range map[string]*string{"path": &f.Comparison.Path, "dialect": &f.Comparison.Dialect} {
		if m.given(name) {
			if *to = m.str(name); f.Type != "person" && f.Type != "group" {
				m.fail(codeInvalid, m.path(name), "it is for filters of type person or group")
			}
		}
	}
	if p := f.Comparison.Path; p != "" && p[0] != '/' {
		m.fail(codeInvalid, m.path("path"), "want a JSON pointer, such as /city")
	}
	if m.given("group_type_index") {
		n, ok := integer(m.members["group_type_index"])
		if !ok || n < 0 || n > served.MaxGroupTypeIndex || f.Type == "person" {
			m.fail(codeInvalid, m.path("group_type_index"), "want the index of a group type, in a filter of type group")
		}
		f.GroupTypeIndex = new(int(n))
	}
	if name := m.optionalText("cohort_name"); name != nil {
		f.CohortName = *name
	}
	m.optionalText("label")
	m.names("group_key_names")
	if r.fault != nil {
		return f
	}
	f.Extra = extraMembers(v, func(name string) bool { return !slices.Contains(shown[1:], name) })
	if f.Comparison.Dialect != "" {
		m.dialect(&f)
		return f
	}
	name := cmp.Or(f.Operator, operator.Exact)
	spec, _ := operators.Named(name)
	check := valueFaults[spec.Operand]
	if wildcards(spec.Range) {
		check = aWildcard
	}
	if spec.Name != name || check == nil { // under a name of other documents, or of condition sets alone
		r.fail(codeInvalid, m.path("operator"), "there is no such operator")
		return f
	}
	property := f.Type == "person" || f.Type == "group"
	if property && spec.For != operators.PropertyFilter {
		r.fail(codeInvalid, m.path("operator"), "the operator is for filters of type cohort or flag")
		return f
	}
	if fault := check(jsonscan.Value(f.Value)); property && fault != "" {
		code := codeInvalid
		if f.Value == nil {
			code = codeRequired
		}
		r.fail(code, m.path("value"), "%s", fault)
	}
	return f
}

// dialect checks a comparison of another product.
func (m *record) dialect(f *Filter) {
	for _, name := range []string{"case_sensitive", "strict_type"} {
		if m.given(name) {
			m.fail(codeInvalid, m.path(name), "a filter with a dialect does not have it")
		}
	}
	if _, err := dialect.Compile(f.Comparison.Dialect, f.Operator, jsonscan.Value(f.Value)); err != nil {
		m.fail(codeInvalid, m.path("dialect"), "%v", err)
	}
}

// typeOf returns the type of a filter, "" if it has none.
func typeOf(v jsonscan.Value) (kind string) {
	for o := v.Object(); o.Next(); {
		if string(o.Name()) == "type" {
			kind, _ = text.Str(o.Value())
		}
	}
	return kind
}

// names checks an object of texts, which may be null.
func (m *record) names(name string) {
	v := m.members[name]
	if v == nil || v.Kind() == jsonscan.Null {
		return
	}
	if v.Kind() != jsonscan.Object {
		m.fail(codeInvalid, m.path(name), "want an object of texts")
	}
	for o := v.Object(); o.Next(); {
		if o.Value().Kind() != jsonscan.String {
			m.fail(codeInvalid, m.path(name)+"/"+pointer(string(o.Name())), "want a text")
		}
	}
}

// Unsupported returns where the set has what the public reference of the language does not
// evaluate, as JSON pointers: group flags, experiments with an ID, filters about cohorts, groups
// and flags, and what that language does not have (rules.md §7.5 and §9).
func (s *RuleSet) Unsupported() (places []string) {
	if s.Aggregation != ByPerson {
		places = append(places, "/aggregation_group_type_index")
	}
	for i := range s.Rules {
		at := "/rules/" + strconv.Itoa(i)
		if s.Rules[i].Type == ruleOfSplit {
			places = append(places, at+"/rule_type")
		}
		if s.Rules[i].ExperimentID != nil {
			places = append(places, at+"/experiment_id")
		}
		for j := range s.Rules[i].Targeting {
			f, at := &s.Rules[i].Targeting[j], at+"/targeting/properties/"+strconv.Itoa(j)
			if f.Type != "person" {
				places = append(places, at+"/type")
			}
			for _, c := range f.Comparison.members() {
				if *c.value {
					places = append(places, at+"/"+c.name)
				}
			}
			for _, c := range f.Comparison.texts() {
				if c.value != "" {
					places = append(places, at+"/"+c.name)
				}
			}
		}
	}
	return slices.Clip(places)
}
