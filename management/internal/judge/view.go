package judge

import "github.com/flagstaff-go/flagstaff/flags"

// Variants returns the keys of the variants, none for a boolean flag.
func Variants(f *flags.Filters) []string {
	if f.Multivariate == nil {
		return nil
	}
	var keys []string
	for _, v := range f.Multivariate.Variants {
		keys = append(keys, v.Key)
	}
	return keys
}

// GroupBased reports whether a flag, or one of its condition sets, is about groups
// and not about persons.
func GroupBased(f *flags.Filters) bool {
	_, grouped := f.AggregationGroupTypeIndex.Index()
	for _, g := range f.Groups {
		_, ok := g.AggregationGroupTypeIndex.Index()
		grouped = grouped || ok
	}
	return grouped
}

// FullyRolledOut reports whether a flag has one value for all that it is about, so
// that it decides nothing any more (management.md §13.4). A subject that may opt out,
// or that is held out, can have another one.
func FullyRolledOut(f *flags.Filters) bool {
	if isTrue(f.FeatureEnrollment) || f.Holdout != nil && f.Holdout.ExclusionPercentage > 0 {
		return false
	}
	var value *string
	for _, g := range f.Groups {
		share := 100.0
		if g.RolloutPercentage != nil {
			share = *g.RolloutPercentage
		}
		switch {
		case share < 100 && isTrue(f.EarlyExit):
			return false // some may go no further
		case share == 0:
			continue
		}
		variant, ok := certainVariant(f, &g)
		if !ok || value != nil && *value != variant {
			return false
		}
		value = &variant
		same := g.AggregationGroupTypeIndex == flags.Inherited || aggregationOf(g.AggregationGroupTypeIndex) == aggregationOf(f.AggregationGroupTypeIndex)
		if share == 100 && len(g.Properties) == 0 && same {
			return true
		}
	}
	return false
}

func isTrue(b *bool) bool { return b != nil && *b }

// certainVariant returns the variant that everybody gets whom a condition set admits,
// "" for a flag without variants; ok is false if they get different ones.
func certainVariant(f *flags.Filters, g *flags.Condition) (variant string, ok bool) {
	if f.Multivariate == nil || len(f.Multivariate.Variants) == 0 {
		return "", true
	}
	for _, v := range f.Multivariate.Variants {
		if g.Variant != nil && *g.Variant == v.Key {
			return v.Key, true
		}
	}
	for _, v := range f.Multivariate.Variants {
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
