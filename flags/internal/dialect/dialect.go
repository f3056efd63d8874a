package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Value is a property, as a Check sees it.
type Value struct {
	Kind   jsonscan.Kind  // Invalid: the property is not set
	Text   string         // of a String, its text; of a Number, as evaluation.md §4.1 writes it, unless NumberOnly
	Number float64        // of a Number
	JSON   jsonscan.Value // of an Array or an Object
	Now    time.Time      // if the Check asks for it
}

// A Check is a comparison that was prepared. It may be used concurrently.
type Check struct {
	// Match reports whether a property matches. It must not keep the Value.
	Match func(Value) bool

	// Now says that Match needs the moment of the evaluation.
	Now bool

	// NumberOnly says that Match does not look at the Text of a Number.
	NumberOnly bool
}

// Compile prepares a comparison. The error says what is wrong with the operator or the value,
// and never has the value.
func Compile(dialect, operator string, value jsonscan.Value) (Check, error) {
	compile := dialects[dialect]
	if compile == nil {
		return Check{}, fmt.Errorf("there is no such dialect; want one of %s", strings.Join(Names(), ", "))
	}
	return compile(operator, value)
}

// Names returns the names of all dialects.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// dialects prepare a comparison each.
var dialects = map[string]func(operator string, value jsonscan.Value) (Check, error){
	"configcat":       configCat,
	"flipt":           flipt,
	"go-feature-flag": goFeatureFlag,
	"growthbook":      growthBook,
	"jsonlogic":       jsonLogic,
	"launchdarkly":    launchDarkly,
	"unleash":         unleash,
}
