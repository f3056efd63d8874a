package rules

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
)

// TestFaults: each member of a survey that is checked has a fault in the table that the API and
// the console are tested with.
func TestFaults(t *testing.T) {
	for at, checks := range map[string]map[string]check{
		`questions/\d`:                                     questionChecks,
		`questions/\d/translations/de`:                     questionTextChecks,
		`questions/\d/validation/\d`:                       ruleChecks,
		`conditions`:                                       conditionChecks,
		`conditions/events`:                                triggerChecks,
		`conditions/events/values/\d`:                      eventChecks,
		`conditions/events/values/\d/propertyFilters/plan`: propertyFilterChecks,
		`appearance`:                                       appearanceChecks,
		`translations/de`:                                  shownInAppearance,
	} {
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			place := regexp.MustCompile(`^` + at + `/` + name + `$`)
			if !slices.ContainsFunc(faulttest.Surveys, func(f faulttest.Fault) bool { return place.MatchString(f.Path) }) {
				t.Errorf("there is no fault of %s/%s", at, name)
			}
		}
	}
}
