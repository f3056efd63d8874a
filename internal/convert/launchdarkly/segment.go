package launchdarkly

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// segmentMatch returns a clause on segments: a filter of type cohort for each of them that is
// about persons alone and draws nothing, and the content of others.
func (c *converter) segmentMatch(cl *clause) flags.Filter {
	var of []flags.Filter
	for _, v := range cl.Values {
		var key string
		if json.Unmarshal(v, &key) != nil || kindOf(v) != "text" {
			continue
		}
		s, ok := c.payload.Segments[key]
		if !ok || s.Deleted {
			continue // which is nobody there, too
		}
		of = append(of, c.inSegment(key, &s))
	}
	return negatedIf(cl.Negate, convert.Any(of...))
}

func (c *converter) inSegment(key string, s *segment) flags.Filter {
	switch {
	case slices.Contains(c.chain, key):
		c.problem("The segment %q refers to itself. A clause on it never matches.", key)
		return convert.Any()
	case s.Unbounded:
		c.problem("The segment %q is a big one, whose members are not in the file. A clause on it never matches.", key)
		return convert.Any()
	}
	c.chain = append(c.chain, key)
	defer func() { c.chain = c.chain[:len(c.chain)-1] }()
	if cohort := c.cohort(key, s); cohort != nil {
		c.flagProblems(cohort.Problems)
		id, _ := json.Marshal(cohort.ID)
		return flags.Filter{Type: "cohort", Key: "id", Operator: "in", Value: id}
	}
	return c.inlined(key, s)
}

// cohort returns the cohort that a segment becomes, or nil if it cannot be one.
func (c *converter) cohort(key string, s *segment) *convert.Cohort {
	if known, ok := c.cohorts[key]; ok {
		return known
	}
	tree, ok := c.tree(s)
	if !ok {
		c.cohorts[key] = nil
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte("launchdarkly\x00" + key))
	made := &convert.Cohort{ID: int64(h.Sum64() >> 12), Name: key, Description: "Segment " + key + " of LaunchDarkly", Criteria: tree}
	c.cohorts[key] = made
	return made
}

// tree returns the criteria of a segment. It is not ok if these are not about persons alone.
func (c *converter) tree(s *segment) (*flags.CohortNode, bool) {
	if len(s.IncludedContexts)+len(s.ExcludedContexts) > 0 {
		return nil, false
	}
	rules := &flags.CohortNode{Type: "OR"}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Weight != nil {
			return nil, false
		}
		all := flags.CohortNode{Type: "AND"}
		for j := range r.Clauses {
			cl := &r.Clauses[j]
			if cl.Op == "segmentMatch" || cmp.Or(cl.ContextKind, user) != user || cl.Attribute == "kind" {
				return nil, false
			}
			f := c.quietly(func() flags.Filter { return c.clause(cl) })
			if f == nil {
				return nil, false
			}
			node, ok := nodeOf(*f)
			if !ok {
				return nil, false
			}
			all.Values = append(all.Values, node)
		}
		if len(all.Values) == 0 {
			all.Values = []flags.CohortNode{leaf(flags.Filter{Type: "person", Key: "distinct_id", Operator: "is_set", Value: json.RawMessage(`"is_set"`)})}
		}
		rules.Values = append(rules.Values, all)
	}
	root := &flags.CohortNode{Type: "OR"}
	if len(s.Included) > 0 {
		root.Values = append(root.Values, leaf(c.keys(user, s.Included)))
	}
	if len(rules.Values) > 0 {
		if len(s.Excluded) > 0 {
			out := c.keys(user, s.Excluded)
			out.Negation, out.Comparison.MustBeSet = true, false
			rules = &flags.CohortNode{Type: "AND", Values: []flags.CohortNode{leaf(out), *rules}}
		}
		root.Values = append(root.Values, *rules)
	}
	return root, len(root.Values) > 0
}

func leaf(f flags.Filter) flags.CohortNode { return flags.CohortNode{Leaf: &f} }

// nodeOf returns a filter as a node of a tree. Groups that are empty or negated are none.
func nodeOf(f flags.Filter) (flags.CohortNode, bool) {
	if !f.IsGroup() {
		return leaf(f), f.Split == nil
	}
	if len(f.Filters) == 0 || f.Negation {
		return flags.CohortNode{}, false
	}
	n := flags.CohortNode{Type: "AND"}
	if f.Type == "any" {
		n.Type = "OR"
	}
	for _, one := range f.Filters {
		node, ok := nodeOf(one)
		if !ok {
			return n, false
		}
		n.Values = append(n.Values, node)
	}
	return n, true
}

// inlined returns what a segment asks for, as filters with its key as their label.
func (c *converter) inlined(key string, s *segment) flags.Filter {
	in := []flags.Filter{c.keys(user, s.Included)}
	out := []flags.Filter{c.keys(user, s.Excluded)}
	in = append(in, c.contexts(s.IncludedContexts)...)
	out = append(out, c.contexts(s.ExcludedContexts)...)
	var rules []flags.Filter
	for i := range s.Rules {
		r := &s.Rules[i]
		var all []flags.Filter
		for j := range r.Clauses {
			all = append(all, c.clause(&r.Clauses[j]))
		}
		if r.Weight != nil {
			all = append(all, c.share(key, s, r))
		}
		rules = append(rules, convert.All(all...))
	}
	return convert.Labelled(key, convert.Any(append(in, convert.All(convert.Not(convert.Any(out...)), convert.Any(rules...)))...))
}

// contexts returns targets by kind. They do not count for an evaluation with the context of the
// user alone.
func (c *converter) contexts(list []target) (filters []flags.Filter) {
	for i := range list {
		t := &list[i]
		f := c.keys(t.ContextKind, t.Values)
		if cmp.Or(t.ContextKind, user) == user {
			var others []flags.Filter
			for _, kind := range c.kinds {
				others = append(others, c.present(kind))
			}
			f = convert.All(convert.Any(others...), f)
		}
		filters = append(filters, f)
	}
	return filters
}

// share returns the share of a segment's rule. Those without the attribute are in it, those
// without a context of the kind are not.
func (c *converter) share(key string, s *segment, r *segmentRule) flags.Filter {
	split := &flags.RuleSplit{
		Hash: "sha1_60", Prefix: key + "." + s.Salt + ".", Ends: []uint64{endBelow(float32(*r.Weight) / 100000.0)},
		Values: []json.RawMessage{json.RawMessage("true")}, Rest: "continue", NoSubject: "first",
	}
	if split.Ends[0] == 0 {
		return convert.Any()
	}
	c.subject(split, r.RolloutContextKind, r.BucketBy)
	return convert.All(c.present(cmp.Or(r.RolloutContextKind, user)), flags.Filter{Type: "split", Split: split})
}
