package flagd

import "slices"

// A term is a condition: "all" or "any" of others, or the opposite ("not") of one, or an
// expression.
type term struct {
	kind  string
	terms []*term
	is    any
	fails bool // the expression may be neither true nor false
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

func (t *term) mayFail() bool { return t.fails || slices.ContainsFunc(t.terms, (*term).mayFail) }

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

// expression is the same, with a refusal of one that may fail.
func (e *exporter) expression(t *term) any {
	if t.mayFail() {
		e.refuse("flagd fails for some users with its filters, which then get the default of the code")
	}
	return expression(t)
}

func branches(list []any) any {
	if len(list) == 1 {
		return list[0]
	}
	return object{"if": list}
}
