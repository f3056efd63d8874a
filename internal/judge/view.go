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
	if f.RuleSet != nil {
		_, grouped := f.RuleSet.Aggregation.Index()
		return grouped
	}
	_, grouped := f.AggregationGroupTypeIndex.Index()
	for _, g := range f.Groups {
		_, ok := g.AggregationGroupTypeIndex.Index()
		grouped = grouped || ok
	}
	return grouped
}
