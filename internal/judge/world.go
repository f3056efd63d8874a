package judge

import (
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A World finds what filters refer to in a project. It is safe for concurrent use.
type World struct {
	index       *flags.Index
	definitions *flags.Definitions
	zone        *time.Location
}

// NewWorld returns the World of a project. What is deleted, or belongs to another
// project, must not be in d, which must not change any more. Without GroupTypes it is
// not known which group types there are, and filters may use any. The zone is where
// dates without one lie; nil means UTC.
//
// [Judge] and [JudgeCohort] need of a project only what the filters reach. What is
// missing counts as deleted.
func NewWorld(d *flags.Definitions, zone *time.Location) *World {
	return &World{index: flags.NewIndex(d.Flags), definitions: d, zone: zone}
}
