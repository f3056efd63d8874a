package flags

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/graph"
)

// orderFlags finds the flags that exist, their dependencies, and an order in which
// each comes after what it depends on. Until that order is known, flags have
// their number in the index.
func (c *compiler) orderFlags() {
	x := emptyIndex(len(c.d.Flags))
	c.index = x
	places := make([]int, 0, len(c.d.Flags))
	for i := range c.d.Flags {
		f := &c.d.Flags[i]
		switch {
		case x.add(f):
			places = append(places, i)
		case f.Deleted:
		case f.Key == "":
			c.s.found.outside = true
			at := &path{up: &path{up: &path{name: "flags"}, n: i}, name: "key"}
			c.problem(SeverityError, at, nil, "the flag is left out; give it a key", "a flag's key must not be empty")
		default:
			c.s.found.outside = true
			c.flag = f
			c.problem(SeverityError, nil, nil, "only the first one counts; rename or delete the others", "another flag has the same key")
			c.flag = nil
		}
	}
	needs, dangling := c.findDependencies(places)
	order := make([]int, 0, len(x.flags))
	var circular []int
	if needs == nil {
		for i := range x.flags {
			order = append(order, i)
		}
	} else {
		var stages [][]int
		stages, circular = graph.Stages(needs)
		for _, stage := range stages { // in which flags are in the order of the document
			slices.Sort(stage)
			order = append(order, stage...)
		}
	}
	sorted := len(order)
	order = append(order, circular...)

	c.s.flags = make([]compiledFlag, len(order))
	c.s.order = make([]int32, len(order))
	c.model = make([]*Flag, len(order))
	c.place = make([]int, len(order))
	prefixes, moved := c.prefixes(order), false
	for n, i := range order {
		c.s.order[i] = int32(n)
		c.model[n], c.place[n] = x.flags[i], places[i]
		moved = moved || n != i
		end := len(x.flags[i].Key) + 1
		c.s.flags[n].place = int32(i)
		c.s.flags[n].prefix, prefixes = prefixes[:end], prefixes[end:]
	}
	c.s.index = x.keys
	if moved {
		c.s.index = newKeyIndex(c.s.flags)
	}
	for n, i := range order {
		f := &c.s.flags[n]
		f.setState(x.flags[i])
		if needs == nil {
			continue
		}
		switch {
		case f.state == dormant:
		case n >= sorted:
			f.state = cyclic
		case f.state == normal && dangling[i]:
			f.state = missing
		}
		for _, t := range needs[i] {
			target := c.s.order[t]
			if f.state == normal && c.s.flags[target].state == missing {
				f.state = missing
			}
			f.setDirect(append(f.direct(), target))
		}
		c.s.cyclic = c.s.cyclic || f.state == cyclic
	}
	c.reportCycles(needs, circular)
}

// prefixes returns the keys of flags, each with a dot behind it. One text serves all of
// them, as the key and, with the dot, as what is hashed.
func (c *compiler) prefixes(order []int) string {
	size := 0
	for _, i := range order {
		size += len(c.index.flags[i].Key) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for _, i := range order {
		b.WriteString(c.index.flags[i].Key)
		b.WriteByte('.')
	}
	return b.String()
}

// setState sets the state that a flag has by itself.
func (f *compiledFlag) setState(m *Flag) {
	f.state = normal
	switch unusable := m.unusable() != nil; {
	case !m.evaluated():
		f.state, f.unreadable = dormant, unusable
	case unusable:
		f.state = faulty
	}
}

// target returns the place of the flag that a reference means, -1 for none.
func (c *compiler) target(r FlagReference) int32 {
	if c.index != nil {
		if n := c.index.number(r); n >= 0 {
			return c.s.order[n]
		}
		return -1
	}
	if id, ok := r.ID(); ok {
		if c.byID == nil {
			c.byID = make(map[int64]int32, len(c.s.flags))
			for _, i := range slices.Backward(c.s.order) { // the first one with an ID counts
				c.byID[c.s.flags[i].id] = i
			}
		}
		if i, ok := c.byID[id]; ok {
			return i
		}
	}
	if i, ok := c.s.find(r.Name); ok {
		return i
	}
	return -1
}

// findDependencies returns what each flag needs, each once, and whether one of the
// flags that it names does not exist. Both are nil if no flag names another. places are
// the places of the flags in the definitions.
func (c *compiler) findDependencies(places []int) (needs [][]int, dangling []bool) {
	if !slices.ContainsFunc(places, func(at int) bool { return c.digests[at].depends }) {
		return nil, nil
	}
	needs = make([][]int, len(c.index.flags))
	dangling = make([]bool, len(c.index.flags))
	marked := make([]int, len(c.index.flags)) // number + 1 of the last flag that needs this one
	for i, f := range c.index.flags {
		if !c.digests[places[i]].depends || !f.evaluable() {
			continue
		}
		for at, fl := range f.Filters.All() {
			r, ok := fl.Target()
			if !ok {
				continue
			}
			switch t := c.index.number(r); {
			case t < 0:
				dangling[i] = true
				c.flag = f
				c.problem(SeverityError, &path{up: f.Filters.pathOf(at), name: "key"}, quote(fl.Key), "create the flag or remove the filter", "the flag that it depends on does not exist")
				c.flag = nil
			case marked[t] != i+1:
				marked[t] = i + 1
				needs[i] = append(needs[i], t)
			}
		}
	}
	return needs, dangling
}

// evaluated reports whether any request can make a flag be evaluated.
func (f *Flag) evaluated() bool { return f.Active && !f.HasEncryptedPayloads }

// reportCycles follows one dependency of each flag that is left over until it
// comes round.
func (c *compiler) reportCycles(needs [][]int, left []int) {
	stuck := make(map[int]bool, len(left))
	for _, i := range left {
		stuck[i] = true
	}
	seen := make(map[int]int) // round in which a flag was first met
	for round, i := range left {
		c.flag = c.index.flags[i]
		var trail []int
		for j := i; ; {
			if r, ok := seen[j]; ok {
				if r == round {
					trail = append(trail[slices.Index(trail, j):], j)
				} else {
					trail = nil // leads into what was reported before
				}
				break
			}
			seen[j] = round
			trail = append(trail, j)
			next := slices.IndexFunc(needs[j], func(t int) bool { return stuck[t] })
			j = needs[j][next]
		}
		const hint = "the flag is left out of all results; remove one of the dependencies"
		if len(trail) == 0 {
			c.problem(SeverityError, nil, nil, hint, "it is on a dependency cycle or depends on a flag that is")
			continue
		}
		keys := make([]string, 0, len(trail))
		for _, j := range trail[:min(len(trail), 10)] {
			keys = append(keys, c.index.flags[j].Key)
		}
		c.problem(SeverityError, nil, nil, hint, "dependency cycle: %s", strings.Join(keys, " → "))
	}
	c.flag = nil
}
