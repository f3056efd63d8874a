package runtime

import "slices"

// A Filter hides the flags that a request must not see. The zero Filter hides
// nothing.
type Filter struct {
	// Kind is where the request comes from.
	Kind Kind

	// Tags are the request's evaluation contexts. None: tags hide nothing.
	Tags []string
}

// Admits reports whether the request may see a flag with requirement r and the
// given tags, of which it must have as many as m says: both filters must pass
// (api.md §4.3, rule 3). Tags are compared as they are, case and spaces included.
func (f Filter) Admits(r Requirement, tags []string, m TagMatch) bool {
	return r.Admits(f.Kind) && f.admitsTags(tags, m)
}

// admitsTags is rule 1 of api.md §4.3, and evaluation.md §9.2 for flags that need all
// of their tags. Both lists are short: a set would cost more than it saves.
func (f Filter) admitsTags(tags []string, m TagMatch) bool {
	if len(f.Tags) == 0 || len(tags) == 0 {
		return true
	}
	for _, tag := range tags {
		if slices.Contains(f.Tags, tag) != (m == AllTags) {
			return m == AnyTag
		}
	}
	return m == AllTags
}

// A TagMatch says how many of a flag's tags a request with tags must have to see the
// flag.
type TagMatch uint8

const (
	// AnyTag means one of them.
	AnyTag TagMatch = iota

	// AllTags means every one.
	AllTags
)

// ParseTagMatch returns what a flag definition says of the match of its
// evaluation contexts: "any" or nothing, or "all", in lower case. ok is
// false for any other text, which means nothing (evaluation.md §1.2).
func ParseTagMatch(s string) (m TagMatch, ok bool) {
	switch s {
	case "", "any":
		return AnyTag, true
	case "all":
		return AllTags, true
	default:
		return AnyTag, false
	}
}

// String returns "any" or "all", as flag definitions have it.
func (m TagMatch) String() string {
	if m == AllTags {
		return "all"
	}
	return "any"
}
