package pattern

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An item is a part of a class: a range of characters, a named class, or a class
// within the class.
type item struct {
	low, high rune
	literal   bool      // a single character
	named     *property // nil: the range
	negated   bool      // of named
	nested    *class
}

func char(r rune) item { return item{low: r, high: r, literal: true} }

// A class is what brackets have: the union of its items, combined with what follows an
// operator.
type class struct {
	negated bool
	items   []item
	left    *class // with op: the class on the left of the items
	op      string // "&&", "--", "~~", or "" without left
}

// class reads a class, whose opening bracket was read, and writes it.
func (t *translator) class() error {
	c, err := t.parseClass()
	if err != nil {
		return err
	}
	return t.writeClass(c)
}

func (t *translator) parseClass() (*class, error) {
	c := new(class)
	t.skipBlanks()
	if t.take("^") {
		c.negated = true
		t.skipBlanks()
	}
	for t.take("-") {
		c.items = append(c.items, char('-'))
		t.skipBlanks()
	}
	if len(c.items) == 0 && t.take("]") {
		c.items = append(c.items, char(']'))
	}
	for {
		t.skipBlanks()
		if !t.more() {
			return nil, t.invalid("unclosed class")
		}
		switch {
		case t.take("]"):
			return c, nil
		case t.next("&&") || t.next("--") || t.next("~~"):
			// What is on the left is not negated: the negation is of all.
			left := *c
			left.negated = false
			*c = class{negated: c.negated, left: &left, op: t.src[t.pos : t.pos+2]}
			t.pos += 2
		case t.next("["):
			i, err := t.nestedClass()
			if err != nil {
				return nil, err
			}
			c.items = append(c.items, i)
		default:
			i, err := t.classRange()
			if err != nil {
				return nil, err
			}
			c.items = append(c.items, i)
		}
	}
}

// nestedClass reads [:name:] or a class within a class.
func (t *translator) nestedClass() (item, error) {
	rest := t.src[t.pos:]
	if strings.HasPrefix(rest, "[:") {
		if end := strings.Index(rest[2:], ":]"); end >= 0 {
			name, negated := strings.CutPrefix(rest[2:2+end], "^")
			if p := asciiClasses[name]; p != nil {
				t.pos += 2 + end + 2
				return item{named: p, negated: negated}, nil
			}
		}
	}
	t.pos++
	c, err := t.parseClass()
	return item{nested: c}, err
}

// classRange reads a character, an escape, or a range of characters.
func (t *translator) classRange() (item, error) {
	first, err := t.classChar()
	if err != nil {
		return item{}, err
	}
	t.skipBlanks()
	if !t.next("-") {
		return first, nil
	}
	at := t.pos
	t.pos++
	t.skipBlanks()
	if t.next("]") || t.next("-") {
		t.pos = at
		return first, nil
	}
	if !t.more() {
		return item{}, t.invalid("unclosed class")
	}
	last, err := t.classChar()
	switch {
	case err != nil:
		return item{}, err
	case !first.literal || !last.literal || first.low > last.low:
		t.pos = at
		return item{}, t.invalid("a range of characters that is none")
	}
	return item{low: first.low, high: last.low}, nil
}

// classChar reads a character or an escape.
func (t *translator) classChar() (item, error) {
	if !t.take(`\`) {
		return char(t.rune()), nil
	}
	return t.escapeItem()
}

// writeClass writes a class: as it is, if package regexp reads it alike, and otherwise
// by its ranges.
func (t *translator) writeClass(c *class) error {
	if t.writePlain(c) {
		return nil
	}
	s := t.ranges(c)
	if t.tooLarge() {
		return ErrTooLarge
	}
	if t.flags.fold {
		t.write("(?-i:")
	}
	if len(s) == 0 {
		t.write(`[^\x{0}-\x{10ffff}]`)
	} else {
		t.write("[")
		t.out = s.append(t.out)
		t.write("]")
	}
	if t.flags.fold {
		t.write(")")
	}
	if t.tooLarge() {
		return ErrTooLarge
	}
	return nil
}

// writePlain writes a class of ranges, and of named classes that package regexp can
// name. It reports false, and writes nothing, if the class has anything else.
func (t *translator) writePlain(c *class) bool {
	if c.left != nil {
		return false
	}
	start := len(t.out)
	t.write("[")
	if c.negated {
		t.write("^")
	}
	for _, i := range c.items {
		switch {
		case i.nested != nil, i.named != nil && !i.named.hasText(i.negated):
			t.out = t.out[:start]
			return false
		case i.named != nil:
			t.write(i.named.text(i.negated))
		default:
			t.out = appendClassChar(t.out, i.low)
			if i.high != i.low {
				t.write("-")
				t.out = appendClassChar(t.out, i.high)
			}
		}
	}
	t.write("]")
	return true
}

// appendClassChar appends a character that stands for itself in a class.
func appendClassChar(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf && isAlphanumeric(byte(r)) || r >= utf8.RuneSelf && unicode.IsPrint(r) {
		return utf8.AppendRune(dst, r)
	}
	return appendCodePoint(dst, r)
}

// ranges computes the ranges of a class. Where the case of letters does not matter, the
// other cases are added before anything is combined or negated.
func (t *translator) ranges(c *class) ranges {
	s := t.union(c.items)
	if c.left != nil {
		left := t.ranges(c.left)
		switch c.op {
		case "&&":
			s = left.intersect(s)
		case "--":
			s = left.intersect(s.negate())
		default:
			both := left.intersect(s)
			s = normalize(append(slices.Clone(left), s...)).intersect(both.negate())
		}
	}
	if c.negated {
		s = s.negate()
	}
	t.work += len(s)
	return s
}

// union computes the ranges of the items of a class.
func (t *translator) union(items []item) ranges {
	var all ranges
	for _, i := range items {
		if t.work > t.limit {
			return nil
		}
		switch {
		case i.nested != nil:
			all = append(all, t.ranges(i.nested)...)
		case i.named != nil && i.negated:
			s := i.named.ranges()
			if t.flags.fold {
				s = s.fold()
			}
			all = append(all, s.negate()...)
		case i.named != nil:
			all = append(all, i.named.ranges()...)
		default:
			all = append(all, i.low, i.high)
		}
	}
	t.work += len(all) + 1
	all = normalize(all)
	if t.flags.fold {
		t.work += len(foldable())
		all = all.fold()
	}
	return all
}

// ranges is a set of characters: pairs of the first and the last one of each range,
// in order and with gaps between them.
type ranges []rune

// normalize puts ranges into order and joins those that meet.
func normalize(r ranges) ranges {
	pairs := make([][2]rune, 0, len(r)/2)
	for i := 0; i < len(r); i += 2 {
		pairs = append(pairs, [2]rune{r[i], r[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := make(ranges, 0, len(r))
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
		} else {
			out = append(out, p[0], p[1])
		}
	}
	return out
}

// negate returns all other characters.
func (r ranges) negate() ranges {
	out := make(ranges, 0, len(r)+2)
	next := rune(0)
	for i := 0; i < len(r); i += 2 {
		if next < r[i] {
			out = append(out, next, r[i]-1)
		}
		next = r[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// intersect returns the characters that both have.
func (r ranges) intersect(s ranges) ranges {
	var out ranges
	for i, j := 0, 0; i < len(r) && j < len(s); {
		if low, high := max(r[i], s[j]), min(r[i+1], s[j+1]); low <= high {
			out = append(out, low, high)
		}
		if r[i+1] < s[j+1] {
			i += 2
		} else {
			j += 2
		}
	}
	return out
}

// fold adds the other cases of all letters.
func (r ranges) fold() ranges {
	out := slices.Clone(r)
	i := 0
	for _, c := range foldable() {
		for i < len(r) && r[i+1] < c {
			i += 2
		}
		if i == len(r) {
			break
		}
		if r[i] <= c {
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				out = append(out, other, other)
			}
		}
	}
	return normalize(out)
}

// append appends the ranges as they stand between brackets.
func (r ranges) append(dst []byte) []byte {
	for i := 0; i < len(r); i += 2 {
		dst = appendCodePoint(dst, r[i])
		if r[i] != r[i+1] {
			dst = appendCodePoint(append(dst, '-'), r[i+1])
		}
	}
	return dst
}
