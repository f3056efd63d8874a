package flags

import (
	"time"

	"github.com/flagstaff-go/flagstaff/runtime"
)

// A Request says for whom flags are evaluated: the convenient form for Go
// callers. Servers that hold JSON use [Input].
//
// Evaluation only reads a Request and keeps nothing of it, so one Request may
// serve any number of concurrent evaluations while nobody changes it.
//
// A property is any Go value and counts as the JSON that encoding/json writes
// for it, which is what a remote call would send: float64(5) is 5, nil is a
// null that is present, time.Time is its RFC 3339 text. Strings, booleans,
// numbers, json.Number, nil and time.Time cost no encoding and no allocation.
// A value that cannot be encoded counts as missing.
type Request struct {
	// DistinctID is the person. The empty string is inside every rollout
	// (evaluation.md §2.5); more than 200 bytes are cut to 200 characters.
	DistinctID string

	// Groups maps group type names to group keys.
	Groups map[string]string

	// PersonProperties and GroupProperties (by group type name) are what
	// filters see. A name that is missing is a property that is not set.
	PersonProperties map[string]any
	GroupProperties  map[string]map[string]any

	// AnonymousID is the ID before identification, for experience continuity
	// (evaluation.md §12). DeviceID is the subject of device bucketing. Empty:
	// the person properties $anon_distinct_id and $device_id, if strings.
	AnonymousID string
	DeviceID    string

	// Overrides are the stored hash keys of experience continuity by flag key.
	Overrides map[string]string

	// Cohorts are the stored (static) cohorts of which the person is a member.
	Cohorts []int64

	// Filter hides flags by runtime and evaluation contexts. The zero value
	// hides none.
	Filter runtime.Filter

	// Keys restricts Evaluate to these flags and all that they depend on.
	// Nil: all. Empty but not nil: none. Flag and Explain do not look at it.
	Keys []string

	// Now is the moment that relative dates count from. Zero: time.Now().
	Now time.Time
}
