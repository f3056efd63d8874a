package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of the search for themes.
const (
	maxThemes     = 5
	maxCandidates = 50 // terms that are examined for overlaps
	maxRun        = 6  // ideographs in a theme
)

// nearly reports whether a is at least four fifths of b.
func nearly(a, b int) bool { return 5*a >= 4*b }

// A term is a unit, or a run of units, that can be a theme. A term of one unit
// has the same index as the unit.
type term struct {
	prefix  int32 // the term without its last unit, or -1 if that unit is all
	last    int32 // the last unit
	size    int   // units
	answers int
	latest  int  // index of the last text in which the term was counted
	covered bool // a longer term is in nearly as many answers and says more
}

// A theme is a term that several texts have in common.
type theme struct {
	term  int32
	text  string
	found []int // indexes of the texts, ascending
}

// A counter finds the themes of texts. It counts short terms first: a longer
// one can only be frequent if all its parts are (Agrawal and Srikant, 1994), so
// that few terms have to be kept.
type counter struct {
	*texts
	least int // how many answers make a term frequent
	terms []term
	ids   map[[2]int32]int32 // terms by prefix and last unit
}

// leastOf returns how many of n texts must contain a theme: 5 %, and at least
// two.
func leastOf(n int) int { return max(2, (n+19)/20) }

// themes returns up to five themes, the most frequent one first.
func (t *texts) themes() []theme {
	c := &counter{texts: t, least: leastOf(len(t.all)), ids: make(map[[2]int32]int32)}
	c.countUnits()
	c.countPairs()
	c.countRuns()
	c.cover()
	return c.choose(c.candidates())
}

// count counts a term once per text.
func (c *counter) count(id int32, text int) {
	if t := &c.terms[id]; t.latest != text {
		t.latest = text
		t.answers++
	}
}

// countLonger counts the term that consists of prefix and one more unit, and
// returns its index.
func (c *counter) countLonger(prefix, last int32, text int) int32 {
	key := [2]int32{prefix, last}
	id, ok := c.ids[key]
	if !ok {
		id = int32(len(c.terms))
		c.ids[key] = id
		c.terms = append(c.terms, term{prefix: prefix, last: last, size: c.terms[prefix].size + 1, latest: -1})
	}
	c.count(id, text)
	return id
}

func (c *counter) isFrequent(id int32) bool { return c.terms[id].answers >= c.least }

func (c *counter) countUnits() {
	c.terms = make([]term, len(c.units))
	for i := range c.terms {
		c.terms[i] = term{prefix: -1, last: int32(i), size: 1, latest: -1}
	}
	for i := range c.all {
		for _, clause := range c.all[i].clauses {
			for _, id := range clause.units {
				c.count(id, i)
			}
		}
	}
	c.classify(func(unit int) int { return c.terms[unit].answers })
}

// pairs calls f with the indexes of each two words of a clause that can be a
// theme together.
func (c *counter) pairs(clause []int32, f func(i, j int)) {
	i := -1
	for j, id := range clause {
		if c.units[id].class == stop {
			continue
		}
		if i >= 0 && j-i-1 <= maxSkip && (c.units[clause[i]].class == content || c.units[id].class == content) {
			f(i, j)
		}
		i = j
	}
}

func (c *counter) countPairs() {
	for n := range c.all {
		for _, clause := range c.all[n].clauses {
			if clause.ideographs {
				continue
			}
			c.pairs(clause.units, func(i, j int) {
				if a, b := clause.units[i], clause.units[j]; c.isFrequent(a) && c.isFrequent(b) {
					c.countLonger(a, b, n)
				}
			})
		}
	}
}

// countRuns counts runs of two ideographs, then of three, up to maxRun.
func (c *counter) countRuns() {
	type run struct {
		text  int
		units []int32
		terms []int32 // the frequent term that begins at each unit, or -1
	}
	var runs []run
	for n := range c.all {
		for _, clause := range c.all[n].clauses {
			if clause.ideographs {
				runs = append(runs, run{n, clause.units, slices.Clone(clause.units)})
			}
		}
	}
	for size := 2; size <= maxRun; size++ {
		for _, r := range runs {
			for i := range len(r.units) - size + 1 {
				a, b := r.terms[i], r.terms[i+1]
				if a >= 0 && b >= 0 && c.isFrequent(a) && c.isFrequent(b) {
					r.terms[i] = c.countLonger(a, r.units[i+size-1], r.text)
				} else {
					r.terms[i] = -1
				}
			}
		}
	}
}

// suffix returns the index of a term without its first unit.
func (c *counter) suffix(id int32) int32 {
	t := c.terms[id]
	if t.size == 2 {
		return t.last
	}
	return c.ids[[2]int32{c.suffix(t.prefix), t.last}]
}

// cover marks the terms that occur nearly always within the same longer term.
func (c *counter) cover() {
	for i := range c.terms {
		t := c.terms[i]
		if t.size == 1 || t.answers < c.least {
			continue
		}
		for _, part := range [...]int32{t.prefix, c.suffix(int32(i))} {
			if nearly(t.answers, c.terms[part].answers) {
				c.terms[part].covered = true
			}
		}
	}
}

// candidates returns the terms that may be themes, the most frequent first;
// equally frequent ones by length, then by text.
func (c *counter) candidates() []theme {
	var found []theme
	for i, t := range c.terms {
		if t.answers < c.least || t.covered || t.size == 1 && c.units[i].class != content {
			continue
		}
		found = append(found, theme{term: int32(i), text: c.name(int32(i))})
	}
	slices.SortFunc(found, func(a, b theme) int {
		s, t := c.terms[a.term], c.terms[b.term]
		return cmp.Or(cmp.Compare(t.answers, s.answers), cmp.Compare(t.size, s.size), cmp.Compare(a.text, b.text))
	})
	found = found[:min(len(found), maxCandidates)]
	c.find(found)
	return found
}

// name returns the text of a term.
func (c *counter) name(id int32) string {
	t := c.terms[id]
	switch last := c.units[t.last]; {
	case t.size == 1:
		return last.text
	case last.ideograph:
		return c.name(t.prefix) + last.text
	default:
		return c.name(t.prefix) + " " + last.text
	}
}

// find records which texts contain each theme.
func (c *counter) find(themes []theme) {
	place := make(map[int32]int) // index in themes
	live := make(map[int32]bool) // terms at the beginning of a theme
	for i, t := range themes {
		place[t.term] = i
		for id := t.term; id >= 0; id = c.terms[id].prefix {
			live[id] = true
		}
	}
	for n := range c.all {
		note := func(id int32) {
			if i, ok := place[id]; ok {
				if f := &themes[i].found; len(*f) == 0 || (*f)[len(*f)-1] != n {
					*f = append(*f, n)
				}
			}
		}
		for _, clause := range c.all[n].clauses {
			for i, id := range clause.units {
				note(id)
				for j := i + 1; clause.ideographs && j < len(clause.units) && live[id]; j++ {
					longer, ok := c.ids[[2]int32{id, clause.units[j]}]
					if !ok {
						break
					}
					note(longer)
					id = longer
				}
			}
			if !clause.ideographs {
				c.pairs(clause.units, func(i, j int) {
					if id, ok := c.ids[[2]int32{clause.units[i], clause.units[j]}]; ok {
						note(id)
					}
				})
			}
		}
	}
}

// choose returns the first candidates. Of several that share a word and nearly
// all their answers, it takes only the first.
func (c *counter) choose(candidates []theme) []theme {
	var chosen []theme
	for _, t := range candidates {
		if len(chosen) == maxThemes {
			break
		}
		if !slices.ContainsFunc(chosen, func(other theme) bool { return c.areSame(t, other) }) {
			chosen = append(chosen, t)
		}
	}
	for i := range chosen {
		c.phrase(&chosen[i])
	}
	return chosen
}

// areSame reports whether two themes share a unit and nearly all their answers.
func (c *counter) areSame(a, b theme) bool {
	units := c.unitsOf(a.term)
	if !slices.ContainsFunc(c.unitsOf(b.term), func(id int32) bool { return slices.Contains(units, id) }) {
		return false
	}
	both := 0
	for _, n := range a.found {
		if _, ok := slices.BinarySearch(b.found, n); ok {
			both++
		}
	}
	return nearly(both, max(len(a.found), len(b.found)))
}

// unitsOf returns the units of a term, the last one first.
func (c *counter) unitsOf(id int32) (units []int32) {
	for ; id >= 0; id = c.terms[id].prefix {
		units = append(units, c.terms[id].last)
	}
	return units
}

// phrase sets the text of a theme of two words to its most frequent wording,
// with the stop words between the two: "ease of use".
func (c *counter) phrase(t *theme) {
	term := c.terms[t.term]
	if term.size != 2 || c.units[term.last].ideograph {
		return
	}
	seen := make(map[string]int)
	for _, n := range t.found {
		for _, clause := range c.all[n].clauses {
			if clause.ideographs {
				continue
			}
			c.pairs(clause.units, func(i, j int) {
				if clause.units[i] == term.prefix && clause.units[j] == term.last {
					seen[c.join(clause.units[i:j+1])]++
				}
			})
		}
	}
	most := 0
	for text, n := range seen {
		if n > most || n == most && text < t.text {
			most, t.text = n, text
		}
	}
}

func (c *counter) join(units []int32) string {
	words := make([]string, len(units))
	for i, id := range units {
		words[i] = c.units[id].text
	}
	return strings.Join(words, " ")
}

// addTexts adds length, tone, themes and quotes of texts (management.md §11.5,
// item 3).
func (p *page) addTexts(prefix string, t *texts) {
	n := len(t.all)
	lengths := make([]int, n)
	wordless := 0
	for i, text := range t.all {
		lengths[i] = text.length
		if len(text.clauses) == 0 {
			wordless++
		}
	}
	overview := prefix + count(n, "answer") + ", median length " + plural(median(lengths), "character")
	if wordless > 0 {
		overview += ", " + strconv.Itoa(wordless) + " without words"
	}
	p.overview = append(p.overview, overview+".", "Tone, by English words and emoji:", t.tones())

	themes := t.themes()
	if len(themes) == 0 {
		p.themes = append(p.themes, fmt.Sprintf("None: no word or phrase is in %d answers or more.", leastOf(n)))
	} else {
		items := make([]string, len(themes))
		for i, theme := range themes {
			items[i] = "**" + escape(theme.text) + "**: " + share(len(theme.found), n)
		}
		p.themes = append(p.themes, bulletList(items))
	}
	p.quotes = append(p.quotes, t.quotes(themes)...)
}
