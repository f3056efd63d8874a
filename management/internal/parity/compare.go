package parity

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Difference is a flag whose value differs between two snapshots.
type Difference struct {
	Key           string
	Subject       *flags.Request
	Before, After string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("flag %q is %s for %q and was %s", d.Key, d.After, d.Subject.DistinctID, d.Before)
}

// Compare evaluates flags for a subject with two snapshots, and returns the
// first difference, or nil. The map cohorts has the ID of each stored cohort in
// the second snapshot, by its ID in the first.
func Compare(before, after *flags.Snapshot, keys []string, subject *flags.Request, cohorts map[int64]int64) (*Difference, error) {
	later := *subject
	later.Cohorts = nil
	for _, id := range subject.Cohorts {
		if mapped, ok := cohorts[id]; ok {
			later.Cohorts = append(later.Cohorts, mapped)
		}
	}
	for _, key := range keys {
		was, err := before.Flag(key, subject)
		if err != nil {
			return nil, err
		}
		is, err := after.Flag(key, &later)
		if err != nil {
			return nil, err
		}
		if was, is := outcome(&was), outcome(&is); was != is {
			return &Difference{key, subject, was, is}, nil
		}
	}
	return nil, nil
}

// outcome returns the part of a result that must not change.
func outcome(r *flags.Result) string {
	return fmt.Sprintf("%v (%s, condition set %d, payload %s, failed %t)", r.Value(), r.Reason.Code, r.Reason.ConditionIndex, r.Metadata.Payload, r.Failed)
}
