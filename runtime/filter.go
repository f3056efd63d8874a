package runtime

// A Filter hides the flags that a request must not see. The zero Filter hides
// nothing.
type Filter struct {
	// Kind is where the request comes from.
	Kind Kind

	// Tags are the request's evaluation contexts. None: tags hide nothing.
	Tags []string
}

// Admits reports whether the request may see a flag with requirement r and the
// given tags: both filters must pass (api.md §4.3, rule 3). Tags are compared as they
// are, case and spaces included.
func (f Filter) Admits(r Requirement, tags []string) bool {
	return r.Admits(f.Kind) && f.admitsTags(tags)
}

// admitsTags is rule 1 of api.md §4.3. Both lists are short: a set would cost more than
// it saves.
func (f Filter) admitsTags(tags []string) bool {
	if len(f.Tags) == 0 || len(tags) == 0 {
		return true
	}
	common := false
	for _, tag := range tags {
		for _, own := range f.Tags {
			common = common || tag == own
		}
	}
	return common
}
