package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A listing is the flags that exist, by key, with what they depend on. Flags are
// known by their number in it.
type listing struct {
	flags []*flags.Flag
	sent  []bool
	at    map[string]int   // by key
	keyOf map[int64]string // by id

	// needs are the flags that a flag depends on. rank is its place in an order
	// of evaluation. A flag is broken if that order or the document lacks it, or
	// anything that it depends on.
	needs  [][]int
	rank   []int
	broken []bool

	chains map[int][]int
	seen   []int // by flag: the last chain that it was found for
	round  int   // the number of chains
}

// list finds the flags that exist as flags.Compile does: of several with one key
// or one id the first counts.
func list(d *flags.Definitions, hide func(*flags.Flag) bool) *listing {
	l := &listing{
		at:     make(map[string]int, len(d.Flags)),
		keyOf:  make(map[int64]string, len(d.Flags)),
		chains: make(map[int][]int),
	}
	for i := range d.Flags {
		f := &d.Flags[i]
		if _, taken := l.at[f.Key]; taken || f.Deleted || f.Key == "" {
			continue
		}
		l.at[f.Key] = 0 // its number is known when they are sorted
		if _, taken := l.keyOf[f.ID]; !taken {
			l.keyOf[f.ID] = f.Key
		}
		l.flags = append(l.flags, f)
	}
	slices.SortFunc(l.flags, func(a, b *flags.Flag) int { return strings.Compare(a.Key, b.Key) })
	l.sent = make([]bool, len(l.flags))
	for i, f := range l.flags {
		l.at[f.Key] = i
		l.sent[i] = !f.HasEncryptedPayloads && (hide == nil || !hide(f))
	}
	l.order()
	return l
}

// unusable reports whether a flag fails without being evaluated. What it depends
// on does not matter then.
func unusable(f *flags.Flag) bool {
	return f.Err() != nil || f.Filters.Version != 0 && f.Filters.Version != 1
}

// target returns the flag that a filter is about, or -1 (evaluation.md §7.1).
func (l *listing) target(fl *flags.Filter) int {
	if fl.DependencyChain == nil {
		if id, err := strconv.ParseInt(fl.Key, 10, 64); err == nil {
			if key, ok := l.keyOf[id]; ok {
				return l.at[key]
			}
		}
	}
	if i, ok := l.at[fl.Key]; ok {
		return i
	}
	return -1
}

// order ranks the flags so that each comes after what it depends on. What is left
// over is on a cycle, or depends on one.
func (l *listing) order() {
	n := len(l.flags)
	l.needs, l.rank, l.broken, l.seen = make([][]int, n), make([]int, n), make([]bool, n), make([]int, n)
	waits, neededBy, marked := make([]int, n), make([][]int, n), make([]int, n)
	ready := make([]int, 0, n)
	for i := range l.flags {
		l.findNeeds(i, marked)
		for _, t := range l.needs[i] {
			neededBy[t] = append(neededBy[t], i)
		}
		if waits[i] = len(l.needs[i]); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for next := 0; next < len(ready); next++ {
		i := ready[next]
		l.rank[i] = next
		for _, t := range l.needs[i] {
			l.broken[i] = l.broken[i] || l.broken[t]
		}
		for _, j := range neededBy[i] {
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	for i := range l.flags {
		l.broken[i] = l.broken[i] || waits[i] > 0
	}
}

// findNeeds reads the dependencies of flag i, if it is evaluated. marked holds
// number + 1 of the last flag that was found to need one.
func (l *listing) findNeeds(i int, marked []int) {
	f := l.flags[i]
	l.broken[i] = !l.sent[i]
	if !f.Active || f.HasEncryptedPayloads || unusable(f) {
		return
	}
	for j := range f.Filters.Groups {
		for k := range f.Filters.Groups[j].Properties {
			fl := &f.Filters.Groups[j].Properties[k]
			if fl.Type != "flag" || fl.Key == "" {
				continue
			}
			t := l.target(fl)
			switch {
			case t < 0:
				l.broken[i] = true
			case marked[t] != i+1:
				marked[t] = i + 1
				l.needs[i] = append(l.needs[i], t)
			}
		}
	}
}

// chain returns what is to be evaluated for a flag, in order, the flag itself
// last. It is empty for a flag that is broken or does not exist.
func (l *listing) chain(target int) []int {
	if target < 0 || l.broken[target] {
		return nil
	}
	if chain, ok := l.chains[target]; ok {
		return chain
	}
	l.round++
	l.seen[target] = l.round
	chain := []int{target}
	for n := 0; n < len(chain); n++ {
		for _, t := range l.needs[chain[n]] {
			if l.seen[t] != l.round {
				l.seen[t] = l.round
				chain = append(chain, t)
			}
		}
	}
	slices.SortFunc(chain, func(a, b int) int { return l.rank[a] - l.rank[b] })
	l.chains[target] = chain
	return chain
}
