package flagd

import (
	"reflect"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// A term is a condition: "all" or "any" of others, or the opposite ("not") of one, or an
// expression.
type term struct {
	kind  string
	terms []*term
	is    any
	holds jsonlogic.Outcome // of the expression, if the condition holds
	fails bool              // the expression may be neither true nor false

	// It is true for values of one kind of a property alone, or for one value: "" for others.
	property, typed, value string
}

// excludes reports whether no value can make both of two expressions true.
func (t *term) excludes(o *term) bool {
	one := t.property == o.property && t.typed != "" && o.typed != ""
	return one && (t.typed != o.typed || t.value != "" && o.value != "" && t.value != o.value)
}

func (t *term) not(negated bool) *term {
	switch {
	case !negated:
		return t
	case t.kind == "not":
		return t.terms[0]
	case t.kind != "" && !slices.ContainsFunc(t.terms, func(one *term) bool { return one.kind != "not" }):
		other := &term{kind: map[string]string{"all": "any", "any": "all"}[t.kind]}
		for _, one := range t.terms {
			other.terms = append(other.terms, one.terms[0])
		}
		return other
	}
	return &term{kind: "not", terms: []*term{t}}
}

// each calls a function with the expressions of a term.
func (t *term) each(do func(*term)) {
	if t.kind == "" {
		do(t)
	}
	for _, one := range t.terms {
		one.each(do)
	}
}

func (t *term) mayFail() (fails bool) {
	t.each(func(t *term) { fails = fails || t.fails })
	return fails
}

var opposites = map[string]string{"===": "!==", "==": "!=", "!==": "===", "!=": "=="}

// expression returns the expression of a term that does not fail.
func expression(t *term) any {
	list := []any{}
	for _, one := range t.terms {
		list = append(list, expression(one))
	}
	switch {
	case t.kind == "":
		return t.is
	case t.kind != "not" && len(list) == 0:
		return t.kind == "all"
	case t.kind != "not":
		return object{map[string]string{"all": "and", "any": "or"}[t.kind]: list}
	}
	if m, ok := list[0].(object); ok {
		for op, arguments := range m {
			if opposite := opposites[op]; opposite != "" {
				return object{opposite: arguments}
			}
		}
	}
	return object{"!": list}
}

const mayFail = "no targeting of flagd comes back as it, because it has a filter that fails for some there, and not here"

// expression is the same, with a refusal of one that may fail.
func (e *exporter) expression(t *term) any {
	if t.mayFail() {
		e.refuse(mayFail)
	}
	return expression(t)
}

// A chain is steps from some place on, as expressions. It is not ok if there are none.
type chain struct {
	expression any
	ok         bool
}

// targeting returns what steps come to, and else null, which is the default. Made has what those
// come to that begin at some of them.
func (e *exporter) targeting(steps []step, otherwise any, made map[int]chain) chain {
	if c, ok := made[len(steps)]; ok {
		return c
	}
	c := e.chainOf(steps, otherwise, made)
	made[len(steps)] = c
	return c
}

func (e *exporter) chainOf(steps []step, otherwise any, made map[int]chain) chain {
	var list []any
	for i, s := range steps {
		if s.who.mayFail() {
			// A tree is of as few steps as tell what those get for whom it fails.
			for start := i; start >= 0; start-- {
				for end := i + 1; end <= len(steps); end++ {
					if tree := e.decided(steps[start:end], steps[end:], otherwise, made); tree != nil {
						return chain{branches(append(list[:2*start], tree)), true}
					}
				}
			}
			return chain{}
		}
		if s.who.kind == "all" && len(s.who.terms) == 0 {
			return chain{branches(append(list, s.what)), true}
		}
		list = append(list, expression(s.who), s.what)
	}
	return chain{branches(list), true}
}

// decided returns what steps come to, by a tree, in front of others. Nil: there is no tree.
func (e *exporter) decided(steps, others []step, otherwise any, made map[int]chain) any {
	rest := otherwise
	if len(others) > 0 {
		c := e.targeting(others, otherwise, made)
		if !c.ok {
			return nil
		}
		rest = c.expression
	}
	for _, late := range []bool{false, true} {
		var best any
		for _, end := range e.decide(steps, rest, late) {
			if end != nil && (best == nil || len(logic.JSON(end.expression())) < len(logic.JSON(best))) {
				best = end.expression()
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

func branches(list []any) any {
	if len(list) == 1 {
		return list[0]
	}
	return object{"if": list}
}

// A diagram has decisions, each once: conditions come to yes or no, and steps to one of the
// outcomes. They are numbered from 0; what is below is one of the ends.
type diagram struct {
	decisions []decision
	numbers   map[decision]int
	known     map[[3]int]int
	places    map[string]int // of expressions in the order in which they are decided
	leaves    []*term
	outcomes  []any
	trees     map[int]*tree
}

// A decision is about whether an expression is true (an even number) or false (an odd one, of
// those that may fail).
type decision struct{ about, yes, no int }

const (
	yes = -1 - iota
	no
	firstOutcome
)

const maxDecisions = 20_000

// decide returns trees of steps, in which the expressions come in their order, or late those that
// may fail. One of these is looked at only where those for whom it fails get what the caller falls
// back on. Nil: there is no such tree. The second tree is for what is possible alone.
func (e *exporter) decide(steps []step, otherwise any, late bool) [2]*tree {
	d := &diagram{numbers: make(map[decision]int), known: make(map[[3]int]int), places: make(map[string]int), trees: make(map[int]*tree)}
	d.outcomes = []any{e.variant(nil)}
	for _, last := range []bool{false, true} {
		for _, s := range steps {
			s.who.each(func(t *term) {
				if !late || t.fails == last {
					d.place(t)
				}
			})
		}
	}
	end := d.outcome(otherwise)
	for i := len(steps) - 1; i >= 0; i-- {
		end = d.choose(d.condition(steps[i].who), d.outcome(steps[i].what), end)
	}
	possible := yes
	for i, t := range d.leaves {
		for j, o := range d.leaves[:i] {
			if t.excludes(o) {
				possible = d.choose(d.choose(d.decision(2*j, yes, no), d.decision(2*i, no, yes), yes), possible, no)
			}
		}
	}
	within := d.within(end, possible)
	if len(d.decisions) > maxDecisions {
		return [2]*tree{}
	}
	return [2]*tree{d.tree(end), d.tree(within)}
}

// place returns the number of an expression.
func (d *diagram) place(t *term) int {
	name := string(logic.JSON(t.is))
	n, ok := d.places[name]
	if !ok {
		n = len(d.leaves)
		d.places[name], d.leaves = n, append(d.leaves, &term{is: t.is, property: t.property, typed: t.typed, value: t.value})
	}
	d.leaves[n].fails = d.leaves[n].fails || t.fails
	return 2 * n
}

func (d *diagram) outcome(what any) int {
	for i, o := range d.outcomes {
		if reflect.DeepEqual(o, what) {
			return firstOutcome - i
		}
	}
	d.outcomes = append(d.outcomes, what)
	return firstOutcome + 1 - len(d.outcomes)
}

func (d *diagram) condition(t *term) (n int) {
	switch t.kind {
	case "all":
		n = yes
		for _, one := range t.terms {
			n = d.choose(n, d.condition(one), no)
		}
	case "any":
		n = no
		for _, one := range t.terms {
			n = d.choose(n, yes, d.condition(one))
		}
	case "not":
		n = d.choose(d.condition(t.terms[0]), no, yes)
	default:
		switch about := d.place(t); t.holds {
		case jsonlogic.Yes:
			n = d.decision(about, yes, no)
		case jsonlogic.No:
			n = d.decision(about+1, yes, no)
		default: // it is true otherwise
			n = d.decision(about, no, yes)
		}
	}
	return n
}

func (d *diagram) decision(about, then, other int) int {
	if then == other {
		return then
	}
	key := decision{about, then, other}
	n, ok := d.numbers[key]
	if !ok {
		n = len(d.decisions)
		d.decisions, d.numbers[key] = append(d.decisions, key), n
	}
	return n
}

// choose returns what is one thing where a condition holds, and else another one.
func (d *diagram) choose(condition, then, other int) int {
	switch {
	case condition == yes || then == other || len(d.decisions) > maxDecisions:
		return then
	case condition == no:
		return other
	}
	key := [3]int{condition, then, other}
	n, ok := d.known[key]
	if !ok {
		about := d.decisions[condition].about
		for _, n := range key {
			if n >= 0 {
				about = min(about, d.decisions[n].about)
			}
		}
		side := func(is bool) int {
			return d.choose(d.given(condition, about, is), d.given(then, about, is), d.given(other, about, is))
		}
		n = d.decision(about, side(true), side(false))
		d.known[key] = n
	}
	return n
}

// within returns what a decision comes to for what is possible.
func (d *diagram) within(n, possible int) int {
	if n < 0 || possible == yes || len(d.decisions) > maxDecisions {
		return n
	}
	key := [3]int{no, n, possible} // which choose does not have
	out, ok := d.known[key]
	if ok {
		return out
	}
	about := min(d.decisions[possible].about, d.decisions[n].about)
	then, other := d.given(possible, about, true), d.given(possible, about, false)
	nThen, nOther := d.given(n, about, true), d.given(n, about, false)
	switch {
	case then == no:
		out = d.within(nOther, other)
	case other == no:
		out = d.within(nThen, then)
	case nThen == nOther:
		out = d.within(n, d.choose(then, yes, other))
	default:
		out = d.decision(about, d.within(nThen, then), d.within(nOther, other))
	}
	d.known[key] = out
	return out
}

// given returns what a decision comes to if an expression, which no other is before, is so or not.
func (d *diagram) given(n, about int, is bool) int {
	switch {
	case n < 0 || d.decisions[n].about != about:
		return n
	case is:
		return d.decisions[n].yes
	}
	return d.decisions[n].no
}

// A tree is a decision with the conditions that lead to the same put together, or an end.
type tree struct {
	is      any
	yes, no *tree
	own     int // how many expressions it has itself
	size    int // and all within it
}

// tree returns the tree of a decision, nil if it cannot be made.
func (d *diagram) tree(n int) *tree {
	t, ok := d.trees[n]
	if !ok {
		t = d.newTree(n)
		d.trees[n] = t
	}
	return t
}

func (d *diagram) newTree(n int) *tree {
	if n < 0 {
		return &tree{is: d.outcomes[firstOutcome-n]}
	}
	about := d.decisions[n].about &^ 1
	leaf := d.leaves[about/2]
	sides := func(isTrue, isFalse bool) int { return d.given(d.given(n, about, isTrue), about+1, isFalse) }
	then, other, failed := sides(true, false), sides(false, true), sides(false, false)
	if !leaf.fails {
		other = failed
	} else if then == other && other == failed {
		return d.tree(then)
	} else if failed != firstOutcome {
		return nil
	}
	t := &tree{is: leaf.is, yes: d.tree(then), no: d.tree(other), own: 1}
	for t.yes != nil && t.no != nil {
		switch next, not := t.yes, t.no; {
		case next.yes != nil && next.no == not:
			t.is, t.yes, t.own = object{"and": []any{t.is, next.is}}, next.yes, t.own+next.own
		case next.yes != nil && next.yes == not:
			t.is, t.yes, t.own = object{"and": []any{t.is, object{"!": []any{next.is}}}}, next.no, t.own+next.own
		case not.yes != nil && not.yes == next:
			t.is, t.no, t.own = object{"or": []any{t.is, not.is}}, not.no, t.own+not.own
		case not.yes != nil && not.no == next:
			t.is, t.no, t.own = object{"or": []any{t.is, object{"!": []any{not.is}}}}, not.yes, t.own+not.own
		default:
			if t.size = t.own + t.yes.size + t.no.size; t.size > maxDecisions {
				return nil
			}
			return t
		}
	}
	return nil
}

// expression returns the expression of a tree.
func (t *tree) expression() any {
	var list []any
	for ; t.yes != nil; t = t.no {
		list = append(list, t.is, t.yes.expression())
	}
	return branches(append(list, t.is))
}
