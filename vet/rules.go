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
	{UnknownKey, flags.Error},
	{WrongType, flags.Error},
	{UnknownVariant, flags.Error},
	{MissingVariant, flags.Error},
	{PayloadMember, flags.Warning},
	{Archived, flags.Warning},
	{Inactive, flags.Warning},
	{Constant, flags.Warning},
	{MissingContext, flags.Warning},
	{UnusedHandle, flags.Warning},
	{UnusedFlag, flags.Warning},
	{Expired, flags.Error},
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
