package gofeatureflag

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A node is a condition of a query: "and" and "or" have two parts, "not" has one, all others
// compare an attribute.
type node struct {
	kind  string // "and", "or", "not", "pr", or an operator: "eq", "ne", …
	parts []*node
	path  []string // of the attribute
	value literal
}

// A literal is what an attribute is compared with.
type literal struct {
	kind  literalKind
	texts []string // as they stand in the query, a text without its quotes; one, unless it is a list
}

type literalKind int

const (
	boolean literalKind = iota
	null
	version
	text
	double
	whole
	texts
	doubles
	wholes
)

// A token is a word of a query. Its kind is the text of a sign, and else one of those below.
type token struct{ kind, text string }

const (
	isName    = "name"
	isLogical = "logical"
	isNot     = "not"
	isCompare = "compare"
	isBoolean = "boolean"
	isNull    = "null"
	isVersion = "version"
	isText    = "text"
	isDouble  = "double"
	isWhole   = "whole"
	isPower   = "power"
	isSpace   = "space"
	isComma   = "comma"
	isPresent = "pr"
)

// words are those that are not names.
var words = map[string]string{
	"not": isNot, "NOT": isNot, "and": isLogical, "or": isLogical, "true": isBoolean, "false": isBoolean, "null": isNull, "pr": isPresent,
}

// signs are the operators by all their names.
var signs = map[string]string{"==": "eq", "!=": "ne", ">": "gt", "<": "lt", ">=": "ge", "<=": "le"}

func init() {
	for _, op := range []string{"in", "eq", "ne", "gt", "lt", "ge", "le", "co", "sw", "ew"} {
		signs[op], signs[strings.ToUpper(op)] = op, op
	}
}

// number matches digits without leading zeros.
const number = `(0|[1-9][0-9]*)`

// forms are the longer kinds of tokens. The longest match counts, and of those with the same length
// the first.
var forms = []struct {
	kind string
	form *regexp.Regexp
}{
	{isName, regexp.MustCompile(`^[A-Za-z][-_:0-9A-Za-z]*`)},
	{isVersion, longest(`^` + number + `\.` + number + `\.` + number +
		`(-(` + identifier + `)(\.(` + identifier + `))*)?(\+[-0-9A-Za-z]+(\.[-0-9A-Za-z]+)*)?`)},
	{isText, regexp.MustCompile(`^"(\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\])*"`)},
	{isDouble, longest(`^-?` + number + `\.[0-9]+([Ee][+-]?` + number + `)?`)},
	{isWhole, longest(`^` + number)},
	{isPower, longest(`^[Ee][+-]?` + number)},
	{isCompare, longest(`^(==|!=|>|<|>=|<=)`)},
	{isComma, regexp.MustCompile(`^, *`)},
	{isSpace, regexp.MustCompile(`^ \n*`)},
	{"", regexp.MustCompile(`^[()\[\].-]`)},
}

// identifier matches one of a pre-release.
const identifier = number + `|[-0-9A-Za-z]*[-A-Za-z][-0-9A-Za-z]*`

func longest(form string) *regexp.Regexp {
	re := regexp.MustCompile(form)
	re.Longest()
	return re
}

func nextToken(s string) (t token, rest string, ok bool) {
	for _, f := range forms {
		if m := f.form.FindString(s); len(m) > len(t.text) {
			t = token{f.kind, m}
		}
	}
	switch {
	case t.text == "":
		return t, s, false
	case t.kind == "":
		t.kind = t.text
	case t.kind == isName && words[t.text] != "":
		t.kind = words[t.text]
	case t.kind == isName && signs[t.text] != "":
		t.kind = isCompare
	}
	return t, s[len(t.text):], true
}

// A parser reads a query in the grammar of github.com/nikunjy/rules. That project's own parser
// guesses what is meant by a query that breaks the grammar; this one does not.
type parser struct {
	tokens []token
	behind []string // what is left of the query at each token
	depth  int
	count  int // of comparisons
}

const (
	maxDepth       = 100
	maxComparisons = 2000      // as of a rule: rules.md §2
	maxQuery       = 256 << 10 // bytes, as of all filters of a flag
)

var (
	errDepth = errors.New("it has too many parentheses within each other")
	errLong  = fmt.Errorf("it has more than %d KiB", maxQuery>>10)
	errCount = fmt.Errorf("it has more than %d comparisons", maxComparisons)
)

// parse returns the condition of a query, and what stands behind it: GO Feature Flag ignores that.
func parse(query string) (n *node, behind string, err error) {
	if len(query) > maxQuery {
		return nil, "", errLong
	}
	p := &parser{}
	rest := query
	for rest != "" {
		t, after, ok := nextToken(rest)
		if !ok {
			break
		}
		p.tokens, p.behind = append(p.tokens, t), append(p.behind, rest)
		rest = after
	}
	p.tokens, p.behind = append(p.tokens, token{}), append(p.behind, rest) // of no kind: the end, or a sign that is none
	if n, err = p.query(); err != nil {
		return nil, "", err
	}
	i := 0
	if p.kind(0) == isSpace {
		i = 1
	}
	// The product passes over a sign that is none, behind which the query may go on.
	if left := p.behind[i]; p.kind(i) == "" && utf8.RuneCountInString(left) > 1 {
		return nil, "", fmt.Errorf("there is something that it cannot have at %q%s", clip(left), guessed)
	}
	return n, p.behind[0], nil
}

func (p *parser) kind(i int) string {
	if i < len(p.tokens) {
		return p.tokens[i].kind
	}
	return ""
}

func (p *parser) skip(n int) { p.tokens, p.behind = p.tokens[n:], p.behind[n:] }

// take returns the text of the next token, which must be of a kind.
func (p *parser) take(kind string) (string, error) {
	if p.kind(0) != kind {
		return "", p.wrong(kind)
	}
	s := p.tokens[0].text
	p.skip(1)
	return s, nil
}

// wrong says what was expected.
func (p *parser) wrong(want string) error {
	switch want {
	case isSpace:
		want = "one space"
	case isName:
		want = "the name of an attribute"
	case isCompare:
		want = "an operator"
	}
	if p.behind[0] == "" {
		return fmt.Errorf("it ends where %s should be%s", want, guessed)
	}
	return fmt.Errorf("want %s at %q%s", want, clip(p.behind[0]), guessed)
}

const guessed = ", where GO Feature Flag would guess"

func clip(s string) string {
	const most = 30
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// query reads conditions with "and" and "or" between them. Neither binds more tightly.
func (p *parser) query() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errDepth
	}
	defer func() { p.depth-- }()
	left, err := p.condition()
	for err == nil && p.kind(0) == isSpace && p.kind(1) == isLogical {
		op := p.tokens[1].text
		p.skip(2)
		if _, err = p.take(isSpace); err != nil {
			break
		}
		var right *node
		right, err = p.condition()
		left = &node{kind: op, parts: []*node{left, right}}
	}
	return left, err
}

func (p *parser) condition() (*node, error) {
	i := 0
	if p.kind(i) == isNot {
		i++
	}
	if p.kind(i) == isSpace {
		i++
	}
	if p.kind(i) != "(" {
		if i > 0 {
			p.skip(i)
			return nil, p.wrong(`"("`)
		}
		return p.comparison()
	}
	negated := p.kind(0) == isNot
	p.skip(i + 1)
	if p.kind(0) == isSpace {
		p.skip(1)
	}
	n, err := p.query()
	if err != nil {
		return nil, err
	}
	if p.kind(0) == isSpace {
		p.skip(1)
	}
	if p.kind(0) != ")" {
		return nil, p.wrong(`")"`)
	}
	p.skip(1)
	if negated {
		n = &node{kind: "not", parts: []*node{n}}
	}
	return n, nil
}

func (p *parser) comparison() (*node, error) {
	if p.count++; p.count > maxComparisons {
		return nil, errCount
	}
	n := &node{}
	for {
		name, err := p.take(isName)
		if err != nil {
			return nil, err
		}
		if n.path = append(n.path, name); p.kind(0) != "." {
			break
		}
		p.skip(1)
	}
	if _, err := p.take(isSpace); err != nil {
		return nil, err
	}
	if p.kind(0) == isPresent {
		p.skip(1)
		n.kind = "pr"
		return n, nil
	}
	op, err := p.take(isCompare)
	if err != nil {
		return nil, err
	}
	n.kind = signs[op]
	if _, err := p.take(isSpace); err != nil {
		return nil, err
	}
	n.value, err = p.literal()
	return n, err
}

// single are the kinds of literals, and lists those of lists of them.
var (
	single = map[string]literalKind{isBoolean: boolean, isNull: null, isVersion: version, isText: text, isDouble: double, isWhole: whole}
	lists  = map[literalKind]literalKind{text: texts, double: doubles, whole: wholes}
)

func (p *parser) literal() (l literal, err error) {
	kind, ok := single[p.kind(0)]
	sign := ""
	switch {
	case p.kind(0) == "[":
		p.skip(1)
		return p.list()
	case p.kind(0) == "-" && p.kind(1) == isWhole:
		kind, sign = whole, "-"
		p.skip(1)
	case !ok:
		return l, p.wrong(`a value such as "text", 1, 1.5, 1.2.3, true, null or a list`)
	}
	s := sign + p.tokens[0].text
	p.skip(1)
	switch {
	case kind == text:
		s = unquote(s)
	case kind == whole && p.kind(0) == isPower:
		s += p.tokens[0].text
		p.skip(1)
	}
	return literal{kind, []string{s}}, nil
}

// unquote removes the quotes. Escapes stay as they are.
func unquote(s string) string { return s[1 : len(s)-1] }

func (p *parser) list() (l literal, err error) {
	element, ok := single[p.kind(0)]
	kind, isList := lists[element]
	if !ok || !isList {
		return l, p.wrong("a text or a number, and no space before it")
	}
	l.kind = kind
	of := p.kind(0)
	for {
		if p.kind(0) != of {
			return l, p.wrong("an element of the same type")
		}
		s := p.tokens[0].text
		if element == text {
			s = unquote(s)
		}
		l.texts = append(l.texts, s)
		p.skip(1)
		if p.kind(0) == "]" {
			p.skip(1)
			return l, nil
		}
		if p.kind(0) != isComma {
			return l, p.wrong(`"," or "]"`)
		}
		p.skip(1)
	}
}

// isSimple reports whether the state that the evaluation of one comparison leaves behind cannot
// show in another one: no attribute lies within another one, but for that of the first comparison.
func (n *node) isSimple() bool {
	first := true
	return n.all(func(c *node) bool {
		ok := len(c.path) == 1 || first && len(c.path) == 2
		first = false
		return ok
	})
}

// chain returns the conditions between which the same word stands, in their order.
func (n *node) chain(word string) (list []*node) {
	for ; n.kind == word; n = n.parts[0] {
		list = append(list, n.parts[1])
	}
	list = append(list, n)
	slices.Reverse(list)
	return list
}

// all reports whether f holds for all comparisons, in their order.
func (n *node) all(f func(*node) bool) bool {
	if n.parts == nil {
		return f(n)
	}
	return !slices.ContainsFunc(n.parts, func(p *node) bool { return !p.all(f) })
}
