package judge

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/flags"
)

// The types of flags that show in their filters (management.md §13.2).
const (
	Boolean      = "boolean"
	Multivariant = "multivariant"
)

// Type returns Boolean or Multivariant.
func Type(filters json.RawMessage) string {
	if len(Variants(filters)) > 0 {
		return Multivariant
	}
	return Boolean
}

// Variants returns the keys of the variants, none for a boolean flag.
func Variants(filters json.RawMessage) []string {
	m := modelOf(filters, anyKey)
	if m.Multivariate == nil {
		return nil
	}
	var keys []string
	for _, v := range m.Multivariate.Variants {
		keys = append(keys, v.Key)
	}
	return keys
}

// GroupBased reports whether a flag, or one of its condition sets, is about groups
// and not about persons.
func GroupBased(filters json.RawMessage) bool {
	m := modelOf(filters, anyKey)
	_, grouped := m.AggregationGroupTypeIndex.Index()
	for _, g := range m.Groups {
		_, ok := g.AggregationGroupTypeIndex.Index()
		grouped = grouped || ok
	}
	return grouped
}

// FullyRolledOut reports whether a flag has one value for all that it is about, so
// that it decides nothing any more (management.md §13.4). Who may opt out, and who is
// held out, has another one.
func FullyRolledOut(filters json.RawMessage) bool {
	m := modelOf(filters, anyKey)
	if isTrue(m.FeatureEnrollment) || m.Holdout != nil && m.Holdout.ExclusionPercentage > 0 {
		return false
	}
	var value *string
	for _, g := range m.Groups {
		share := 100.0
		if g.RolloutPercentage != nil {
			share = *g.RolloutPercentage
		}
		switch {
		case share < 100 && isTrue(m.EarlyExit):
			return false // some may go no further
		case share == 0:
			continue
		}
		variant, ok := certain(&m, &g)
		if !ok || value != nil && *value != variant {
			return false
		}
		value = &variant
		same := g.AggregationGroupTypeIndex == flags.Inherited || aggregationOf(g.AggregationGroupTypeIndex) == aggregationOf(m.AggregationGroupTypeIndex)
		if share == 100 && len(g.Properties) == 0 && same {
			return true
		}
	}
	return false
}

func isTrue(b *bool) bool { return b != nil && *b }

// certain returns the variant that everybody gets whom a condition set admits, ""
// for a flag without variants; ok is false if they get different ones.
func certain(m *flags.Filters, g *flags.Condition) (variant string, ok bool) {
	if m.Multivariate == nil || len(m.Multivariate.Variants) == 0 {
		return "", true
	}
	for _, v := range m.Multivariate.Variants {
		if g.Variant != nil && *g.Variant == v.Key {
			return v.Key, true
		}
	}
	for _, v := range m.Multivariate.Variants {
		if v.RolloutPercentage > 0 {
			return v.Key, v.RolloutPercentage >= 100
		}
	}
	return "", false
}

// aggregationOf returns the index of a group type, or -1 for persons.
func aggregationOf(a flags.Aggregation) int {
	if i, ok := a.Index(); ok {
		return i
	}
	return -1
}
