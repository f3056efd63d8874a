package judge

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Codes of refused rule sets, beside those of a [flags.RuleFault] (rules.md §7.3).
const (
	codeRuleInvalid     = "invalid"
	codeRuleUnsupported = "unsupported"
	codeRuleLimit       = "limit_exceeded"
	codeNeedsRuleSet    = "unsupported_dependency_config_version"
)

// UnknownLanguage is the code for filters of a version that nothing knows.
const UnknownLanguage = "unsupported_config_version"

// IsRuleSet reports whether filters are a rule set, if only one that cannot be understood.
func IsRuleSet(f *flags.Filters) bool { return f.Version == 2 }

// CheckLanguage returns an [*Error] if the version of filters is not absent and not that of a
// rule set (rules.md §7.1).
func CheckLanguage(f *flags.Filters) error { return about("filters", languageFault(f)) }

func languageFault(f *flags.Filters) error {
	v := Member(f.Extra, "version")
	fault := errors.AsType[*flags.DefinitionError]
	e, faulty := fault(f.Err())
	switch {
	case f.Version == 1:
		return within("version", refuseAs(codeVersion, "is reserved and cannot be set"))
	case f.Version == 0 && v.Kind() == jsonscan.Invalid && !(faulty && e.Path == "/filters/version"), IsRuleSet(f):
		return nil
	}
	return within("version", refuseAs(UnknownLanguage, "must be left out, for condition sets, or be 2, for a rule set"))
}

// judgeRuleSet is judge for a rule set that is readable. Its errors hold no values: seeds are
// secrets.
func (refs *References) judgeRuleSet(f *flags.Filters, s Subject) ([]*flags.Flag, error) {
	if places := f.RuleSet.Unsupported(); refs.PublicOnly && s.Sent && len(places) > 0 {
		return nil, at(places[0], codeRuleUnsupported, "the project refuses what PostHog does not evaluate")
	}
	if err := checkReserved(f.RuleSet); err != nil {
		return nil, err
	}
	out, err := f.Encode()
	if err != nil {
		return nil, err
	}
	set, err := flags.DecodeRuleSet(out, false) // again: a program may have made it
	if fault, ok := errors.AsType[*flags.RuleFault](err); ok {
		return nil, at(fault.Path, fault.Code, "%s", fault.Text)
	}
	f.RuleSet = set
	if err := checkValue(jsonscan.Value(out)); err != nil {
		return nil, inRules(err, "want texts without the character NUL")
	}
	if len(out) > maxBytes {
		return nil, refuseAs(codeRuleLimit, "want at most %d bytes", maxBytes)
	}
	if _, err := jsonscan.Parse(out, maxDepth); err != nil {
		return nil, refuseAs(codeRuleLimit, "want at most %d levels", maxDepth)
	}
	if index, ok := f.RuleSet.Aggregation.Index(); ok && refs.definitions.GroupTypes != nil && refs.definitions.GroupTypes[index] == "" {
		return nil, at("/aggregation_group_type_index", codeRuleInvalid, "want the index of a group type of the project")
	}
	for split := range f.RuleSet.Splits() {
		if split.Group != nil && refs.definitions.GroupTypes != nil && refs.definitions.GroupTypes[*split.Group] == "" {
			return nil, at("", codeRuleInvalid, "want the index of a group type of the project in each split")
		}
	}
	for place, p := range f.All() {
		if err := refs.checkRuleFilter(p, f.RuleSet.Aggregation); err != nil {
			return nil, withinProperty(f, place, "", err)
		}
	}
	dependencies, err := refs.checkDependencies(f, s)
	if err != nil {
		return nil, inRules(err, "want another flag of the project that is on, and does not need this one")
	}
	if err := refs.checkCohorts(f); err != nil {
		return nil, inRules(err, "want the ID of a cohort of the project that flags can evaluate")
	}
	return dependencies, nil
}

// at refuses what stands at a JSON pointer.
func at(pointer, code, format string, args ...any) error {
	err := New("", code, format, args...)
	for step := range strings.SplitSeq(pointer, "/") {
		if step != "" {
			err.Path = append(err.Path, shorten(unescape.Replace(step)))
		}
	}
	return err
}

// inRules returns an error about filters as one about a rule set: without values.
func inRules(err error, detail string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Code, e.Detail = codeRuleInvalid, detail
	}
	return err
}

// checkReserved refuses the texts that a flag's value cannot be.
func checkReserved(set *flags.RuleSet) error {
	check := func(value []byte, place string) error {
		if text := string(value); text == `"$true"` || text == `"$false"` {
			return at(place, codeRuleInvalid, "want another text: $true and $false are reserved")
		}
		return nil
	}
	err := check(set.Default, "/default_value")
	for i := range set.Rules {
		rule, place := &set.Rules[i], "/rules/"+strconv.Itoa(i)
		err = cmp.Or(err, check(rule.Value, place+"/value"))
		for n := range rule.Variants {
			err = cmp.Or(err, check(rule.Variants[n].Value, place+"/variants/"+strconv.Itoa(n)+"/value"))
		}
		if rule.Split != nil {
			for n, value := range rule.Split.Values {
				err = cmp.Or(err, check(value, place+"/split/values/"+strconv.Itoa(n)))
			}
		}
	}
	return err
}

// checkRuleFilter checks what a filter refers to by itself (rules.md §3.3).
func (refs *References) checkRuleFilter(p *flags.Filter, aggregation flags.Aggregation) error {
	p.CohortName = "" // which is only shown
	switch operators.KindOf(p.Type) {
	case operators.CohortFilter:
		key := p.Key
		p.Key = "id" // whatever it is
		err := checkCohortReference(p)
		p.Key = key
		return inRules(err, "want the ID of a cohort, and in or not_in")
	case operators.FlagFilter:
		return inRules(checkFlagReference(p), "want true, false or a text, and flag_evaluates_to")
	}
	if p.Type != "group" {
		return nil
	}
	index, ok := aggregation.Index()
	if p.GroupTypeIndex != nil {
		index, ok = *p.GroupTypeIndex, true
	}
	if !ok || refs.definitions.GroupTypes != nil && refs.definitions.GroupTypes[index] == "" {
		return within("group_type_index", refuseAs(codeRuleInvalid, "want the index of a group type of the project"))
	}
	return nil
}

// checkLanguages refuses flags with rule sets as what condition sets need (rules.md §7.1).
func checkLanguages(f *flags.Filters, target *flags.Flag) error {
	if IsRuleSet(f) || !IsRuleSet(&target.Filters) {
		return nil
	}
	return refuseAs(codeNeedsRuleSet, "must be the id of a flag with condition sets: %s has a rule set", Quote(target.Key))
}

// lintRuleSet returns an error if the engine finds one, other than a pattern that the flag had
// before.
func (refs *References) lintRuleSet(f *flags.Filters, stored *flags.RuleSet, dependencies []*flags.Flag) error {
	t := refs.newTrial(f)
	for _, f := range dependencies {
		t.addFlag(f)
	}
	refs.addCohorts(t, slices.Collect(f.CohortIDs()))
	s, err := flags.Compile(&t.definitions, flags.CompileOptions{TimeZone: refs.zone})
	if err != nil {
		return err
	}
	kept := make(map[string]bool)
	before := flags.Filters{RuleSet: stored}
	for _, p := range before.All() {
		kept[string(p.Value)] = isPattern(p)
	}
	patterns := make(map[string]bool) // by place: whether the flag had it before
	for place, p := range f.All() {
		if isPattern(p) {
			patterns[rulePath(place)+"/value"] = kept[string(p.Value)]
		}
	}
	for _, p := range s.Problems() {
		if p.Severity != flags.SeverityError || p.Flag != subjectKey {
			continue
		}
		place := strings.TrimPrefix(p.Path, "/filters")
		switch known, pattern := patterns[place]; {
		case pattern && known:
		case pattern:
			return at(place, codeRuleInvalid, "want a pattern that compiles")
		default:
			return at(place, codeRuleInvalid, "the server cannot evaluate it")
		}
	}
	return nil
}

func isPattern(p *flags.Filter) bool {
	o, _ := operators.Named(p.Operator)
	return o.Operand == operators.OperandPattern
}

// rulePath returns the JSON pointer of a filter of a rule.
func rulePath(p flags.Place) string {
	return "/rules/" + strconv.Itoa(p.Group) + "/targeting/properties/" + strconv.Itoa(p.Property)
}
