package members

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// Check makes a problem of a rule set that is not a valid one, because of a value that a flag
// cannot have. Such a flag is off.
func Check(f *convert.Flag) {
	document, err := f.Filters()
	if err == nil {
		_, err = flags.DecodeRuleSet(document, false)
	}
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("The flag cannot be kept: %v. It is off, without rules.", err))
		f.Active, f.Rules.Default, f.Rules.Rules = false, nil, nil
	}
}
