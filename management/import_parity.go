package management

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A difference is a flag whose value differs between two snapshots.
type difference struct {
	Key           string
	Subject       *flags.Request
	Before, After string
}

func (d *difference) Error() string {
	return fmt.Sprintf("flag %q is %s for %q and was %s", d.Key, d.After, d.Subject.DistinctID, d.Before)
}

// compareValues evaluates flags for a subject with two snapshots, and returns the
// first difference, or nil. The map cohorts has the ID of each stored cohort in
// the second snapshot, by its ID in the first. It is safe for concurrent use.
func compareValues(before, after *flags.Snapshot, keys []string, subject *flags.Request, cohorts map[int64]int64) *difference {
	earlier, later := *subject, *subject
	earlier.Keys, later.Keys, later.Cohorts = requestKeys(keys, before), requestKeys(keys, after), nil
	for _, id := range subject.Cohorts {
		if mapped, ok := cohorts[id]; ok {
			later.Cohorts = append(later.Cohorts, mapped)
		}
	}
	was, is := before.Evaluate(&earlier), after.Evaluate(&later)
	for _, key := range keys {
		a, there := was.Get(key)
		b, here := is.Get(key)
		if there != here || there && !sameOutcome(&a, &b) {
			return &difference{key, subject, outcome(&a), outcome(&b)}
		}
	}
	return nil
}

// requestKeys returns keys for a request about them, or nil, all flags, if most flags have one:
// to find flags by their keys costs more than to evaluate them.
func requestKeys(keys []string, s *flags.Snapshot) []string {
	if 2*len(keys) > s.Len() {
		return nil
	}
	return keys
}

// sameOutcome reports whether the parts of two results are equal that must not change.
func sameOutcome(a, b *flags.Result) bool {
	return a.Value() == b.Value() && string(a.JSON()) == string(b.JSON()) && a.Failed == b.Failed && a.Reason.Code == b.Reason.Code && a.Metadata.Payload == b.Metadata.Payload &&
		a.Reason.ConditionIndex == b.Reason.ConditionIndex
}

// outcome says what [sameOutcome] looks at.
func outcome(r *flags.Result) string {
	return fmt.Sprintf("%v (%s, condition set %d, payload %s, failed %t)", r.Value(), r.Reason.Code, r.Reason.ConditionIndex, r.Metadata.Payload, r.Failed)
}
