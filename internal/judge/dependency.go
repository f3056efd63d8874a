package judge

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
)

// is reports whether a stored flag is the one that filters are for.
func (s Subject) is(f *flags.Flag) bool { return s.ID != 0 && s.ID == f.ID || s.Key == f.Key }

// means reports whether a reference is to the flag that filters are for, which need
// not be in the project.
func (refs *References) means(r flags.FlagReference, s Subject) bool {
	if id, ok := r.ID(); ok && id == s.ID && id != 0 {
		return true
	}
	f := refs.index.Find(r)
	return f != nil && s.is(f) || f == nil && r.Name == s.Key
}

// withinProperty adds to the place that an Error tells where in filters a member of a
// property is, or, if the member is "", the property.
func withinProperty(f *flags.Filters, at flags.Place, member string, err error) error {
	if member != "" {
		err = within(member, err)
	}
	err = within("properties", within(at.Property, err))
	if IsRuleSet(f) {
		return within("rules", within(at.Group, within("targeting", err)))
	}
	return within("groups", within(at.Group, err))
}

// checkDependencies checks the flags that filters refer to, and refers to them by
// their ids, which renaming does not change. It returns these flags, each once.
func (refs *References) checkDependencies(f *flags.Filters, s Subject) ([]*flags.Flag, error) {
	var targets []*flags.Flag
	places := make(map[*flags.Flag]flags.Place) // where each is first
	for at, p := range f.All() {
		r, ok := p.Target()
		if !ok {
			continue
		}
		target, err := refs.dependency(r, s)
		if err == nil {
			err = checkLanguages(f, target)
		}
		if err != nil {
			return nil, withinProperty(f, at, "key", err)
		}
		p.Key, p.DependencyChain = strconv.FormatInt(target.ID, 10), nil
		if _, seen := places[target]; !seen {
			places[target] = at
			targets = append(targets, target)
		}
	}
	if chain := refs.circle(targets, s); chain != nil {
		keys := []string{s.Key}
		for _, f := range chain {
			keys = append(keys, f.Key)
		}
		const maxShown = 10 // keys
		if len(keys) > maxShown {
			keys = append(keys[:maxShown], "…")
		}
		err := refuse("must not make flags depend on each other in a circle: %s", strings.Join(append(keys, s.Key), " → "))
		return nil, withinProperty(f, places[chain[0]], "key", err)
	}
	return targets, nil
}

// dependency returns the flag that a property refers to.
func (refs *References) dependency(r flags.FlagReference, s Subject) (*flags.Flag, error) {
	target := refs.index.Find(r)
	switch {
	case refs.means(r, s):
		return nil, refuse("must be the id of another flag: %s is this one", Quote(r.Name))
	case target == nil:
		return nil, refuse("must be the id of a flag of the project: there is none with the id or key %s", Quote(r.Name))
	case !target.Active:
		return nil, refuse("must be the id of an active flag: %s is disabled", Quote(target.Key))
	}
	return target, nil
}

// circle returns the flags on the shortest way from a dependency back to the flag
// that filters are for, or nil. It looks at each flag at most once.
func (refs *References) circle(targets []*flags.Flag, s Subject) []*flags.Flag {
	needs := func(f *flags.Flag) iter.Seq[*flags.Flag] {
		list, _ := refs.index.Dependencies(&f.Filters)
		return slices.Values(list)
	}
	for step := range graph.Reach(slices.Values(targets), needs) {
		for r := range step.Node.Filters.Targets() {
			if refs.means(r, s) {
				return step.Way()
			}
		}
	}
	return nil
}

// Dependencies returns the flags that filters refer to directly, disabled ones
// included, in the order of filters. What does not exist is left out.
func Dependencies(refs *References, f *flags.Filters) []*flags.Flag {
	list, _ := refs.index.Dependencies(f)
	return list
}

// Dependents returns the active flags whose filters refer directly to the flag with
// an id and a key, in the order of the project. It looks at all flags.
func Dependents(refs *References, id int64, key string) []*flags.Flag {
	return slices.DeleteFunc(Referring(refs, id, key), func(f *flags.Flag) bool { return !f.Active })
}

// Referring is Dependents with the flags that are off.
func Referring(refs *References, id int64, key string) []*flags.Flag {
	s := Subject{ID: id, Key: key}
	var found []*flags.Flag
	for f := range refs.index.Flags() {
		if s.is(f) {
			continue
		}
		for r := range f.Filters.Targets() {
			if refs.means(r, s) {
				found = append(found, f)
				break
			}
		}
	}
	return found
}
