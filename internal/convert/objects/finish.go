package objects

import (
	"errors"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// Finish makes lists of a rule set that are nil empty, without which it is not a whole one, and
// makes a problem of one that is not valid because of a value that a flag cannot have. Such a
// flag is off.
func Finish(f *convert.Flag) {
	set := &f.Rules
	set.Aggregation = flags.ByPerson
	set.Rules = append([]flags.Rule{}, set.Rules...)
	for i := range set.Rules {
		set.Rules[i].Targeting = append([]flags.Filter{}, set.Rules[i].Targeting...)
	}
	document, err := f.Filters()
	if err == nil {
		_, err = flags.DecodeRuleSet(document, false)
	}
	if err == nil {
		return
	}
	at := ""
	if fault, ok := errors.AsType[*flags.RuleFault](err); ok {
		at = " at " + fault.Path
	}
	f.Problem("The flag cannot be kept%s: %v. It is off, without rules.", at, err)
	f.Active, set.Default, set.Rules = false, nil, []flags.Rule{}
}
