package flags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Limits of a rule set (rules.md §2).
const (
	maxRules       = 100
	maxRuleFilters = 100 // of a rule
	maxVariants    = 20  // of a rule
	maxSeed        = 400 // characters
	maxObjectDepth = 20
	maxNumber      = 1<<53 - 1
	hundred        = 100_00 // percent, in hundredths
)

// A RuleFault is the first fault of a rule set. It never has a value of the document, so that
// it may be shown and logged: a seed is a secret.
type RuleFault struct {
	// Code is "required", "invalid", "unknown_field", "not_unique", "unsupported" or
	// "limit_exceeded".
	Code string
	Path string // a JSON pointer below the filters, such as "/rules/0/seed"
	Text string
}

// Error returns what is wrong, without the place.
func (e *RuleFault) Error() string { return e.Text }

// The codes of faults.
const (
	codeRequired      = "required"
	codeInvalid       = "invalid"
	codeUnknownField  = "unknown_field"
	codeNotUnique     = "not_unique"
	codeUnsupported   = "unsupported"
	codeLimitExceeded = "limit_exceeded"
)

// DecodeRuleSet reads filters whose version is 2. The error is a [*RuleFault]. A document that
// is written by hand may leave out what has one meaning only: the ID and the seed of a rule
// ([RuleSet.Complete] makes them), its targeting, on_rollout_miss "continue", the algorithm,
// the type "person" of a filter, and default_value null.
func DecodeRuleSet(document []byte, byHand bool) (*RuleSet, error) {
	r := ruleReader{byHand: byHand, open: byHand}
	s := r.set(document)
	if r.fault != nil {
		return nil, r.fault
	}
	return s, nil
}

// A ruleReader reads one document. After the first fault its methods do nothing.
type ruleReader struct {
	byHand bool
	open   bool // IDs and seeds may be missing
	fault  *RuleFault
	kind   string
}

func (r *ruleReader) fail(code, at, format string, args ...any) {
	if r.fault == nil {
		r.fault = &RuleFault{code, at, fmt.Sprintf(format, args...)}
	}
}

// A record is an object of the document.
type record struct {
	*ruleReader
	at      string
	members map[string]jsonscan.Value
}

// record reads an object with no members but those that are allowed.
func (r *ruleReader) record(at string, v jsonscan.Value, allowed ...string) record {
	rec := record{r, at, make(map[string]jsonscan.Value)}
	if r.fault != nil {
		return rec
	}
	if v.Kind() != jsonscan.Object {
		r.fail(codeInvalid, at, "want an object")
		return rec
	}
	for o := v.Object(); o.Next(); {
		name := string(o.Name())
		if !slices.Contains(allowed, name) {
			r.fail(codeUnknownField, at+"/"+pointer(name), "there is no such member here; allowed are %s", strings.Join(allowed, ", "))
		}
		rec.members[name] = o.Value()
	}
	return rec
}

// pointer escapes a name for a JSON pointer.
func pointer(name string) string { return pointerEscapes.Replace(name) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (m *record) path(name string) string { return m.at + "/" + name }

// has reports whether the object has a member, also if it is null.
func (m *record) has(name string) bool { return m.members[name] != nil }

// need returns a member, which must be there.
func (m *record) need(name string) (v jsonscan.Value, ok bool) {
	if v = m.members[name]; v == nil {
		m.fail(codeRequired, m.path(name), "it is missing")
	}
	return v, v != nil && m.fault == nil
}

// str returns a text that is not empty.
func (m *record) str(name string) string {
	v, ok := m.need(name)
	if !ok {
		return ""
	}
	s, _ := text.Str(v)
	if v.Kind() != jsonscan.String || s == "" {
		m.fail(codeInvalid, m.path(name), "want a text that is not empty")
	}
	return s
}

// one returns a text that must be one of several.
func (m *record) one(name string, of ...string) string {
	s := m.str(name)
	if m.fault == nil && !slices.Contains(of, s) {
		m.fail(codeInvalid, m.path(name), "want one of %s", strings.Join(of, ", "))
	}
	return s
}

// given reports whether the object has a member that is not null.
func (m *record) given(name string) bool {
	return m.has(name) && m.members[name].Kind() != jsonscan.Null
}

// optionalText returns a text for people, which may be null.
func (m *record) optionalText(name string) *string {
	v := m.members[name]
	switch {
	case !m.given(name):
	case v.Kind() != jsonscan.String:
		m.fail(codeInvalid, m.path(name), "want a text")
	default:
		s, _ := text.Str(v)
		return &s
	}
	return nil
}

// integer reads an integer; 2.0 is one.
func integer(v jsonscan.Value) (n int64, ok bool) {
	if v.Kind() != jsonscan.Number {
		return 0, false
	}
	f, ok := v.Float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > maxNumber {
		return 0, false
	}
	return int64(f), true
}

// id returns the number of a row, which must be there and may be null.
func (m *record) id(name string) *int64 {
	v, ok := m.need(name)
	if !ok || v.Kind() == jsonscan.Null {
		return nil
	}
	n, ok := integer(v)
	if !ok {
		m.fail(codeInvalid, m.path(name), "want an integer or null")
	}
	return &n
}

func (m *record) bool(name string) bool {
	v, ok := m.need(name)
	b, isBool := v.Bool()
	if ok && !isBool {
		m.fail(codeInvalid, m.path(name), "want true or false")
	}
	return b
}

// percentage returns a share with at most two decimals, which its digits must show: a
// float64 does not tell 12.5 from what rounds to it.
func (m *record) percentage(name string) float64 {
	v, ok := m.need(name)
	if !ok {
		return 0
	}
	f, isNumber := v.Float()
	if v.Kind() != jsonscan.Number || !isNumber || !(f >= 0 && f <= 100) {
		m.fail(codeInvalid, m.path(name), "want a percentage from 0 to 100")
		return 0
	}
	if f == 0 {
		return 0
	}
	exact, ok := new(big.Rat).SetString(string(v)) // f is neither huge nor tiny, so this is not either
	if f < 0.005 || !ok || !exact.Mul(exact, big.NewRat(100, 1)).IsInt() {
		m.fail(codeInvalid, m.path(name), "want at most two decimals")
		return 0
	}
	if exact.Num().Int64() > hundred {
		m.fail(codeInvalid, m.path(name), "want a percentage from 0 to 100")
	}
	return f
}

// seed returns a seed.
func (m *record) seed(name string) string {
	if m.open && !m.has(name) {
		return ""
	}
	s := m.str(name)
	if utf8.RuneCountInString(s) > maxSeed {
		m.fail(codeLimitExceeded, m.path(name), "want at most %d characters", maxSeed)
	}
	return s
}

// list returns the elements of an array.
func (m *record) list(name string, limit int, what string) []jsonscan.Value {
	v, ok := m.need(name)
	if !ok {
		return nil
	}
	if v.Kind() != jsonscan.Array {
		m.fail(codeInvalid, m.path(name), "want an array")
		return nil
	}
	var list []jsonscan.Value
	for a := v.Array(); a.Next(); {
		list = append(list, a.Value())
	}
	if len(list) > limit {
		m.fail(codeLimitExceeded, m.path(name), "want at most %d %s", limit, what)
		return nil
	}
	return list
}

// value returns a value of the flag's type.
func (m *record) value(name string) json.RawMessage {
	v, ok := m.need(name)
	if !ok {
		return nil
	}
	if fault := typeFault(m.kind, v); fault != "" {
		m.fail(codeInvalid, m.path(name), "%s", fault)
		return nil
	}
	return compact(v)
}

// typeFault says why a value is not one of a type, or returns "".
func typeFault(t string, v jsonscan.Value) string {
	switch kind := v.Kind(); t {
	case typeBoolean:
		if kind != jsonscan.True && kind != jsonscan.False {
			return "want true or false, the type of the flag"
		}
	case typeString:
		if s, _ := text.Str(v); kind != jsonscan.String || s == "" {
			return "want a text that is not empty, the type of the flag"
		}
	case typeNumber:
		if kind != jsonscan.Number {
			return "want a number, the type of the flag"
		}
		return numberFault(v)
	case typeObject:
		if kind != jsonscan.Object {
			return "want an object, the type of the flag"
		}
		return objectFault(v, 1)
	}
	return ""
}

func numberFault(v jsonscan.Value) string {
	if f, ok := v.Float(); !ok || math.Abs(f) > maxNumber {
		return "want a number from -9007199254740991 to 9007199254740991"
	}
	return ""
}

// objectFault looks at what is inside of an object or an array.
func objectFault(v jsonscan.Value, depth int) (fault string) {
	if depth > maxObjectDepth {
		return fmt.Sprintf("want at most %d levels of objects and arrays", maxObjectDepth)
	}
	inner := func(v jsonscan.Value) string {
		switch v.Kind() {
		case jsonscan.Number:
			return numberFault(v)
		case jsonscan.Object, jsonscan.Array:
			return objectFault(v, depth+1)
		}
		return ""
	}
	if v.Kind() == jsonscan.Object {
		for o := v.Object(); o.Next() && fault == ""; {
			fault = inner(o.Value())
		}
		return fault
	}
	for a := v.Array(); a.Next() && fault == ""; {
		fault = inner(a.Value())
	}
	return fault
}

// compact returns JSON without white space between its tokens. Negative zero is zero.
func compact(v jsonscan.Value) json.RawMessage { return appendCompact(nil, v) }

func appendCompact(dst []byte, v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.Object:
		dst = append(dst, '{')
		for o := v.Object(); o.Next(); {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), bytes.ToValidUTF8(o.RawName(), replacement)...), `":`...)
			dst = appendCompact(dst, o.Value())
		}
		return append(dst, '}')
	case jsonscan.Array:
		dst = append(dst, '[')
		for a := v.Array(); a.Next(); {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = appendCompact(dst, a.Value())
		}
		return append(dst, ']')
	case jsonscan.Number:
		if f, ok := v.Float(); ok && f == 0 {
			return append(dst, '0')
		}
	}
	return append(dst, bytes.ToValidUTF8(v, replacement)...)
}

var replacement = []byte("\uFFFD")

// set reads the root.
func (r *ruleReader) set(document []byte) *RuleSet {
	v, err := jsonscan.Parse(document, jsonscan.MaxDepth)
	if err != nil {
		r.fail(codeInvalid, "", "not JSON: %v", err)
		return nil
	}
	r.wellFormed("", v)
	root := r.record("", v, "version", "return_type", "default_value", "rules", "aggregation_group_type_index")
	if r.fault != nil {
		return nil
	}
	if n, ok := root.members["version"].Float(); root.has("version") && (root.members["version"].Kind() != jsonscan.Number || !ok || n != ruleVersion) {
		r.fail(codeUnsupported, "/version", "want %d", ruleVersion)
	}
	root.need("version")
	s := &RuleSet{Aggregation: ByPerson, Rules: []Rule{}}
	s.ReturnType = root.one("return_type", typeBoolean, typeString, typeNumber, typeObject)
	r.kind = s.ReturnType
	if root.has("default_value") || !r.byHand {
		if d, ok := root.need("default_value"); ok && d.Kind() != jsonscan.Null {
			s.Default = root.value("default_value")
		}
	}
	if i := root.members["aggregation_group_type_index"]; i != nil {
		n, ok := integer(i)
		if !ok || n < 0 || n > served.MaxGroupTypeIndex {
			r.fail(codeInvalid, root.path("aggregation_group_type_index"), "want the index of a group type")
		}
		s.Aggregation = ByGroup(int(n))
	}
	rules := root.list("rules", maxRules, "rules")
	seen := make(map[string]bool)
	for i, v := range rules {
		at := "/rules/" + strconv.Itoa(i)
		rule := r.rule(at, v, s.Aggregation != ByPerson)
		if r.fault != nil {
			return nil
		}
		if id := strings.ToLower(rule.ID); id != "" && seen[id] {
			r.fail(codeNotUnique, at+"/id", "another rule has the ID")
			return nil
		} else {
			seen[id] = true
		}
		s.Rules = append(s.Rules, rule)
	}
	return s
}

// wellFormed refuses names that an object has twice, and numbers that a float64 does not
// have.
func (r *ruleReader) wellFormed(at string, v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.Number:
		f, ok := v.Float()
		if !ok || math.IsInf(f, 0) || f == 0 && bytes.ContainsAny(mantissa(v), "123456789") {
			r.fail(codeInvalid, at, "the number is too large or too small")
		}
	case jsonscan.Object:
		seen := make(map[string]bool)
		for o := v.Object(); o.Next() && r.fault == nil; {
			name := string(o.Name())
			place := at + "/" + pointer(name)
			if seen[name] {
				r.fail(codeInvalid, place, "the object has the member twice")
			}
			seen[name] = true
			r.wellFormed(place, o.Value())
		}
	case jsonscan.Array:
		n := 0
		for a := v.Array(); a.Next() && r.fault == nil; n++ {
			r.wellFormed(at+"/"+strconv.Itoa(n), a.Value())
		}
	}
}

// mantissa returns what stands before the exponent of a number.
func mantissa(v jsonscan.Value) []byte {
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		return v[:i]
	}
	return v
}

// The members of a rule (rules.md §2.3, §2.4 and §9): those of every rule, those of rules that
// draw, and all.
var (
	commonMembers = []string{"id", "rule_type", "targeting", "description", "metadata"}
	drawMembers   = []string{"rollout_percentage", "on_rollout_miss", "assignment_algorithm", "seed", "assign_by"}
	ruleMembers   = slices.Concat(commonMembers, []string{"value"}, drawMembers, []string{"experiment_id", "paused", "variants", "holdout", "split"})
)

// membersOfType are the members that a rule of a type has beside the common ones.
var membersOfType = map[string][]string{
	ruleTargeted:   {"value"},
	ruleRollout:    slices.Concat([]string{"value"}, drawMembers),
	ruleExperiment: slices.Concat(drawMembers, []string{"experiment_id", "paused", "variants", "holdout"}),
	ruleOfSplit:    {"split"},
}

func (r *ruleReader) rule(at string, v jsonscan.Value, group bool) (rule Rule) {
	m := r.record(at, v, ruleMembers...)
	if m.has("id") || !r.open {
		rule.ID = m.uuid("id")
	}
	rule.Type = m.one("rule_type", ruleTargeted, ruleRollout, ruleExperiment, ruleOfSplit)
	if r.fault != nil {
		return rule
	}
	for _, name := range ruleMembers[len(commonMembers):] {
		if m.has(name) && !slices.Contains(membersOfType[rule.Type], name) {
			m.fail(codeUnknownField, m.path(name), "a rule of the type %s does not have it", rule.Type)
		}
	}
	rule.Targeting = m.targeting()
	if rule.Description = m.optionalText("description"); m.has("description") && rule.Description == nil {
		m.fail(codeInvalid, m.path("description"), "want a text")
	}
	if v := m.members["metadata"]; v != nil {
		if v.Kind() != jsonscan.Object {
			m.fail(codeInvalid, m.path("metadata"), "want an object")
		}
		rule.Metadata = compact(v)
	}
	switch rule.Type {
	case ruleOfSplit:
		rule.Split = m.splitOf("split")
		return rule
	case ruleTargeted, ruleRollout:
		rule.Value = m.value("value")
	}
	if rule.Type != ruleTargeted {
		m.split(&rule, group)
	}
	if rule.Type == ruleExperiment {
		m.experiment(&rule)
	}
	return rule
}

// split reads how a rule draws.
func (m *record) split(rule *Rule, group bool) {
	rule.RolloutPercentage = m.percentage("rollout_percentage")
	rule.OnMiss, rule.Algorithm = onMissContinue, algorithmSHA1
	if m.has("on_rollout_miss") || !m.byHand {
		rule.OnMiss = m.one("on_rollout_miss", onMissContinue, onMissDefault)
	}
	if m.has("assignment_algorithm") || !m.byHand {
		rule.Algorithm = m.one("assignment_algorithm", algorithmSHA1)
	}
	rule.Seed = m.seed("seed")
	if !m.has("assign_by") {
		return
	}
	if group {
		m.fail(codeUnknownField, m.path("assign_by"), "a rule of a flag for groups does not have it")
	}
	rule.AssignBy = m.one("assign_by", "person")
}

// experiment reads what only experiments have.
func (m *record) experiment(rule *Rule) {
	rule.ExperimentID = m.id("experiment_id")
	rule.Paused = m.bool("paused")
	variants := m.list("variants", maxVariants, "variants")
	if m.fault == nil && len(variants) < 2 {
		m.fail(codeInvalid, m.path("variants"), "want at least 2 variants")
	}
	total := 0 // hundredths
	keys := make(map[string]bool)
	for i, v := range variants {
		at := m.path("variants") + "/" + strconv.Itoa(i)
		vm := m.record(at, v, "key", "weight", "value")
		key := vm.str("key")
		variant := RuleVariant{key, vm.percentage("weight"), vm.value("value")}
		switch {
		case m.fault != nil:
			return
		case !isVariantKey(key):
			m.fail(codeInvalid, at+"/key", "want letters, digits, _ and -")
		case keys[key]:
			m.fail(codeNotUnique, at+"/key", "another variant of the rule has the key")
		}
		keys[key] = true
		total += int(math.Round(variant.Weight * 100))
		rule.Variants = append(rule.Variants, variant)
	}
	if m.fault == nil && total != hundred {
		m.fail(codeInvalid, m.path("variants"), "the weights add up to %v, want 100", float64(total)/100)
	}
	v := m.members["holdout"]
	if v == nil {
		return
	}
	h := m.record(m.path("holdout"), v, "id", "seed", "exclusion_percentage")
	rule.Holdout = &RuleHoldout{h.id("id"), h.seed("seed"), h.percentage("exclusion_percentage")}
	if m.fault == nil && (rule.Holdout.ID == nil) != (rule.ExperimentID == nil) {
		m.fail(codeInvalid, h.path("id"), "want null exactly if experiment_id is null")
	}
}

func isVariantKey(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// idForm is the long form of a UUID.
var idForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// uuid returns an ID in its long form, in either case.
func (m *record) uuid(name string) string {
	s := m.str(name)
	if m.fault == nil && !idForm.MatchString(s) {
		m.fail(codeInvalid, m.path(name), "want a UUID such as 11111111-1111-4111-8111-111111111111")
	}
	return s
}

func (m *record) targeting() []Filter {
	list := []Filter{}
	if m.byHand && !m.has("targeting") {
		return list
	}
	v, ok := m.need("targeting")
	if !ok {
		return nil
	}
	t := m.record(m.path("targeting"), v, "properties")
	for i, v := range t.list("properties", maxRuleFilters, "filters") {
		f := m.filter(t.path("properties")+"/"+strconv.Itoa(i), v, 0)
		if m.fault != nil {
			return nil
		}
		list = append(list, f)
	}
	return list
}

// ruleSet reads filters of version 2. It reports no values: seeds are among them. Those of a
// flag whose key is not known were sent to a server, which makes the IDs and seeds that are
// missing (rules.md §7); else they are read as if they were written by hand.
func (d *decoder) ruleSet(f *Filters, key string, at *path, v jsonscan.Value) {
	r := ruleReader{byHand: key != "", open: true}
	set := r.set(v)
	if r.fault != nil {
		f.fault = &DefinitionError{Path: at.String() + r.fault.Path, Err: r.fault}
		return
	}
	if key != "" {
		set.Complete(key)
	}
	f.RuleSet = set
}
