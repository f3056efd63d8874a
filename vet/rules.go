package vet

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Rule is the name of what is checked.
type Rule string

// The rules, see the documentation of the package.
const (
	UnknownKey     Rule = "unknown-key"
	WrongType      Rule = "wrong-type"
	UnknownVariant Rule = "unknown-variant"
	MissingVariant Rule = "missing-variant"
	PayloadMember  Rule = "payload-member"
	Archived       Rule = "archived"
	Inactive       Rule = "inactive"
	Constant       Rule = "constant"
	MissingContext Rule = "missing-context"
	UnusedHandle   Rule = "unused-handle"
	UnusedFlag     Rule = "unused-flag"
	Expired        Rule = "expired"
)

// defaults are all rules, with their severities.
var defaults = []struct {
	rule     Rule
	severity flags.Severity
}{
	{UnknownKey, flags.SeverityError},
	{WrongType, flags.SeverityError},
	{UnknownVariant, flags.SeverityError},
	{MissingVariant, flags.SeverityError},
	{PayloadMember, flags.SeverityWarning},
	{Archived, flags.SeverityWarning},
	{Inactive, flags.SeverityWarning},
	{Constant, flags.SeverityWarning},
	{MissingContext, flags.SeverityWarning},
	{UnusedHandle, flags.SeverityWarning},
	{UnusedFlag, flags.SeverityWarning},
	{Expired, flags.SeverityError},
}

// Rules returns all rules, in the order of the documentation.
func Rules() []Rule {
	list := make([]Rule, len(defaults))
	for i, d := range defaults {
		list[i] = d.rule
	}
	return list
}

// ruleNames returns the names of all rules, for messages.
func ruleNames() string {
	names := make([]string, len(defaults))
	for i, d := range defaults {
		names[i] = string(d.rule)
	}
	return strings.Join(names, ", ")
}

// isRule reports whether a rule has a name.
func isRule(name string) bool { return slices.Contains(Rules(), Rule(name)) }
