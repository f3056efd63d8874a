package judge

import (
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// References find what filters refer to in a project. They are safe for concurrent use.
type References struct {
	index       *flags.Index
	definitions *flags.Definitions
	zone        *time.Location

	// PublicOnly refuses rule sets that are sent and that PostHog does not evaluate (rules.md
	// §7.5).
	PublicOnly bool
}

// NewReferences returns what filters of a project can refer to. What is deleted, or belongs to
// another project, must not be in d, which must not change any more. Without GroupTypes it is
// not known which group types there are, and filters may use any. The zone is where
// dates without one lie; nil means UTC.
//
// [Judge] and [JudgeCohort] need of a project only what the filters reach. What is
// missing counts as deleted.
func NewReferences(d *flags.Definitions, zone *time.Location) *References {
	return &References{index: flags.NewIndex(d.Flags), definitions: d, zone: zone}
}
