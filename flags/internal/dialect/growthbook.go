package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A property that is not set is null in GrowthBook. Types are never converted.

// A growthBookTest is a compiled condition on one value.
type growthBookTest func(Value) bool

// growthBook compiles an operator. Two names are ours: "equals" is a value without an operator,
// and "fields" a condition on what is within the property. Saved groups are written out:
// $inGroup and $notInGroup have the list, and $savedGroup has the condition.
func growthBook(operator string, value jsonscan.Value) (Check, error) {
	if value == nil { // a filter does not keep null
		value = jsonscan.Value("null")
	}
	test, err := growthBookOperator(operator, slices.Clone(value))
	return Check{Match: test}, err
}

func growthBookOperator(operator string, value jsonscan.Value) (growthBookTest, error) {
	switch operator {
	case "equals":
		want := growthBookJSON(value)
		return want.equals, nil
	case "fields":
		return growthBookCondition(value)
	case "$eq", "$ne":
		want, negated := growthBookJSON(value), operator == "$ne"
		// Arrays and objects are never the same one.
		scalar := want.kind != jsonscan.Array && want.kind != jsonscan.Object
		return func(v Value) bool { return (scalar && want.equals(v)) != negated }, nil
	case "$lt", "$lte", "$gt", "$gte":
		return growthBookOrder(operator, growthBookValue(value)), nil
	case "$veq", "$vne", "$vlt", "$vlte", "$vgt", "$vgte":
		return growthBookVersion(operator, growthBookValue(value)), nil
	case "$in", "$nin", "$inGroup", "$notInGroup":
		list, err := newGrowthBookList(value)
		negated := operator == "$nin" || operator == "$notInGroup"
		return func(v Value) bool { return list.any(v) != negated }, err
	case "$ini", "$nini":
		list, err := newGrowthBookList(value)
		list.fold()
		return func(v Value) bool { return list.any(v) != (operator == "$nini") }, err
	case "$regex", "$regexi":
		return growthBookPattern(operator, value)
	case "$exists":
		wanted := truthyInGrowthBook(growthBookValue(value))
		return func(v Value) bool { return growthBookNull(v) != wanted }, nil
	case "$type":
		kinds := growthBookTypes[growthBookValue(value).Text]
		if kinds == nil {
			return nil, fmt.Errorf("%s wants the name of a type", operator)
		}
		return func(v Value) bool { return slices.Contains(kinds, v.Kind) }, nil
	case "$size":
		test, err := growthBookOperators(value)
		return func(v Value) bool {
			return v.Kind == jsonscan.Array && test(Value{Kind: jsonscan.Number, Number: float64(growthBookLength(v.JSON))})
		}, err
	case "$not":
		test, err := growthBookOperators(value)
		return func(v Value) bool { return !test(v) }, err
	case "$elemMatch":
		return growthBookElemMatch(value)
	case "$all", "$alli":
		return growthBookAll(value, operator == "$alli")
	}
	return nil, fmt.Errorf("GrowthBook has no operator for one attribute of this name")
}

// growthBookOperators compiles what an attribute is compared with: an object of operators, which
// all must hold, or a value.
func growthBookOperators(value jsonscan.Value) (growthBookTest, error) {
	if !growthBookHasOperators(value) {
		return growthBookOperator("equals", value)
	}
	var tests []growthBookTest
	for o := value.Object(); o.Next(); {
		test, err := growthBookOperator(string(o.Name()), o.Value())
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return allOfGrowthBook(tests), nil
}

// growthBookHasOperators reports whether a value is an object with names of operators alone. An
// empty one is, and holds for everything.
func growthBookHasOperators(value jsonscan.Value) bool {
	if value.Kind() != jsonscan.Object {
		return false
	}
	for o := value.Object(); o.Next(); {
		if !bytes.HasPrefix(o.Name(), []byte("$")) {
			return false
		}
	}
	return true
}

// growthBookCondition compiles a condition on what is within a value, by paths.
func growthBookCondition(value jsonscan.Value) (growthBookTest, error) {
	if value.Kind() != jsonscan.Object {
		return nil, fmt.Errorf("a condition is an object")
	}
	var tests []growthBookTest
	for o := value.Object(); o.Next(); {
		test, err := growthBookField(string(o.Name()), o.Value())
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return allOfGrowthBook(tests), nil
}

func growthBookField(name string, value jsonscan.Value) (growthBookTest, error) {
	switch name {
	case "$and", "$or", "$nor":
		if value.Kind() != jsonscan.Array {
			return nil, fmt.Errorf("%s wants a list of conditions", name)
		}
		var tests []growthBookTest
		for a := value.Array(); a.Next(); {
			test, err := growthBookCondition(a.Value())
			if err != nil {
				return nil, err
			}
			tests = append(tests, test)
		}
		if name == "$and" {
			return allOfGrowthBook(tests), nil
		}
		return func(v Value) bool {
			// None at all counts as one that holds.
			holds := len(tests) == 0 || slices.ContainsFunc(tests, func(t growthBookTest) bool { return t(v) })
			return holds == (name == "$or")
		}, nil
	case "$not":
		test, err := growthBookCondition(value)
		return func(v Value) bool { return !test(v) }, err
	case "$savedGroup":
		return growthBookCondition(value)
	}
	test, err := growthBookOperators(value)
	path := strings.Split(name, ".")
	return func(v Value) bool { return test(growthBookWithin(v, path)) }, err
}

func allOfGrowthBook(tests []growthBookTest) growthBookTest {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(v Value) bool {
		for _, t := range tests {
			if !t(v) {
				return false
			}
		}
		return true
	}
}

func growthBookElemMatch(value jsonscan.Value) (growthBookTest, error) {
	if value.Kind() != jsonscan.Object {
		return nil, fmt.Errorf("$elemMatch wants an object")
	}
	compile := growthBookOperators // on the element itself
	if !growthBookHasOperators(value) {
		compile = growthBookCondition
	}
	for o := value.Object(); o.Next(); {
		switch string(o.Name()) {
		case "$and", "$or", "$nor", "$savedGroup":
			compile = growthBookCondition
		}
	}
	test, err := compile(value)
	return func(v Value) bool {
		for a := v.JSON.Array(); v.Kind == jsonscan.Array && a.Next(); {
			if e := growthBookValue(a.Value()); e.Kind != jsonscan.Null && test(e) {
				return true
			}
		}
		return false
	}, err
}

// growthBookAll compiles $all and $alli: each of some values is matched by an element.
func growthBookAll(value jsonscan.Value, fold bool) (growthBookTest, error) {
	if value.Kind() != jsonscan.Array {
		return nil, fmt.Errorf("$all and $alli want a list")
	}
	var tests []growthBookTest
	for a := value.Array(); a.Next(); {
		test, err := growthBookOperators(a.Value())
		if err != nil {
			return nil, err
		}
		if want := growthBookValue(a.Value()); fold && want.Kind == jsonscan.String {
			test = func(v Value) bool { return v.Kind == jsonscan.String && strings.EqualFold(v.Text, want.Text) }
		}
		tests = append(tests, test)
	}
	return func(v Value) bool {
		if v.Kind != jsonscan.Array {
			return false
		}
		for _, t := range tests {
			found := false
			for a := v.JSON.Array(); !found && a.Next(); {
				found = t(growthBookValue(a.Value()))
			}
			if !found {
				return false
			}
		}
		return true
	}, nil
}

func growthBookPattern(operator string, value jsonscan.Value) (growthBookTest, error) {
	if value.Kind() != jsonscan.String {
		return nil, fmt.Errorf("%s wants a pattern", operator)
	}
	pattern := growthBookValue(value).Text
	if operator == "$regexi" {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	return func(v Value) bool { return err == nil && v.Kind == jsonscan.String && re.MatchString(v.Text) }, nil
}

// growthBookOrder compares numbers with numbers, and texts with texts by their units of UTF-16.
func growthBookOrder(operator string, want Value) growthBookTest {
	return func(v Value) bool {
		switch {
		case v.Kind != want.Kind:
			return false
		case v.Kind == jsonscan.Number:
			return growthBookHolds(operator[1:], cmp.Compare(v.Number, want.Number))
		case v.Kind == jsonscan.String:
			return growthBookHolds(operator[1:], compareUTF16(v.Text, want.Text))
		}
		return false
	}
}

func growthBookHolds(operator string, order int) bool {
	switch operator {
	case "lt":
		return order < 0
	case "lte":
		return order <= 0
	case "gt":
		return order > 0
	case "gte":
		return order >= 0
	case "eq":
		return order == 0
	}
	return order != 0
}

func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(firstUnit(x), firstUnit(y)), cmp.Compare(x, y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnit returns the first unit of UTF-16 of a character.
func firstUnit(r rune) rune {
	if r < 0x10000 {
		return r
	}
	high, _ := utf16.EncodeRune(r)
	return high
}

// growthBookVersion compares versions as texts in which numbers have the same width. What is of
// another type differs.
func growthBookVersion(operator string, want Value) growthBookTest {
	wanted := appendGrowthBookVersion(nil, want)
	comparable := want.Kind == jsonscan.Number || want.Kind == jsonscan.String
	return func(v Value) bool {
		if !comparable || v.Kind != want.Kind {
			return operator == "$vne"
		}
		var buf [128]byte
		return growthBookHolds(operator[2:], bytes.Compare(appendGrowthBookVersion(buf[:0], v), wanted))
	}
}

func appendGrowthBookVersion(dst []byte, v Value) []byte {
	var digits [32]byte
	text := v.Text
	if v.Kind == jsonscan.Number {
		text = growthBookText(strconv.AppendFloat(digits[:0], v.Number, 'f', -1, 64))
	}
	if text == "" {
		text = "0"
	}
	text = strings.TrimPrefix(text, "v")
	// Build data ends a version, unless a line ends behind its sign.
	line := strings.LastIndexByte(text, '\n') + 1
	if plus := strings.IndexByte(text[line:], '+'); plus >= 0 {
		text = text[:line+plus]
	}
	for parts := 1; ; parts++ {
		end := strings.IndexAny(text, "-.")
		part := text
		if end >= 0 {
			part = text[:end]
		}
		if len(part) > 0 && len(part) < 5 && strings.Trim(part, "0123456789") == "" {
			dst = append(dst, "     "[len(part):]...)
		}
		dst = append(dst, part...)
		if end < 0 && parts == 3 {
			return append(dst, "-~"...)
		}
		if end < 0 {
			return dst
		}
		dst = append(dst, '-')
		text = text[end+1:]
	}
}

// A growthBookList is the values of which a property, or an element of it, is to be one.
type growthBookList struct {
	texts         map[string]bool
	folded        bool // letter case does not count, and texts have keys by foldKey
	numbers       map[float64]bool
	null, yes, no bool
}

func newGrowthBookList(value jsonscan.Value) (*growthBookList, error) {
	l := &growthBookList{texts: make(map[string]bool), numbers: make(map[float64]bool)}
	if value.Kind() != jsonscan.Array {
		return l, fmt.Errorf("want a list")
	}
	for a := value.Array(); a.Next(); {
		switch v := growthBookValue(a.Value()); v.Kind {
		case jsonscan.String:
			l.texts[v.Text] = true
		case jsonscan.Number:
			l.numbers[v.Number] = true
		case jsonscan.Null:
			l.null = true
		case jsonscan.True:
			l.yes = true
		case jsonscan.False:
			l.no = true
		}
	}
	return l, nil
}

func (l *growthBookList) fold() {
	texts := make(map[string]bool)
	for t := range l.texts {
		texts[string(appendFoldKey(nil, t))] = true
	}
	l.texts, l.folded = texts, true
}

func (l *growthBookList) any(v Value) bool {
	if v.Kind != jsonscan.Array {
		return l.has(v)
	}
	for a := v.JSON.Array(); a.Next(); {
		if l.has(growthBookValue(a.Value())) {
			return true
		}
	}
	return false
}

func (l *growthBookList) has(v Value) bool {
	switch v.Kind {
	case jsonscan.String:
		if l.folded {
			var buf [128]byte
			return l.texts[string(appendFoldKey(buf[:0], v.Text))]
		}
		return l.texts[v.Text]
	case jsonscan.Number:
		return l.numbers[v.Number]
	case jsonscan.True:
		return l.yes
	case jsonscan.False:
		return l.no
	}
	return growthBookNull(v) && l.null
}

// appendFoldKey appends a text that those have in common which strings.EqualFold takes for
// equal: of each character the first one of those that it is equal to.
func appendFoldKey(dst []byte, s string) []byte {
	for _, r := range s {
		first := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			first = min(first, next)
		}
		dst = utf8.AppendRune(dst, first)
	}
	return dst
}

var growthBookTypes = map[string][]jsonscan.Kind{
	"string": {jsonscan.String}, "number": {jsonscan.Number}, "boolean": {jsonscan.True, jsonscan.False},
	"object": {jsonscan.Object}, "array": {jsonscan.Array}, "null": {jsonscan.Null, jsonscan.Invalid},
}

func truthyInGrowthBook(v Value) bool {
	switch v.Kind {
	case jsonscan.Null, jsonscan.False:
		return false
	case jsonscan.Number:
		return v.Number != 0
	case jsonscan.String:
		return v.Text != ""
	}
	return true
}

// growthBookValue returns a value of a document, or within a property, as a property.
func growthBookValue(j jsonscan.Value) Value {
	v := Value{Kind: j.Kind(), JSON: j}
	switch v.Kind {
	case jsonscan.Number:
		v.Number, _ = j.Float()
	case jsonscan.String:
		text, ok := j.Plain()
		if !ok {
			text, _ = j.AppendString(nil)
		}
		v.Text = growthBookText(text)
	}
	return v
}

// growthBookText returns a text in the memory of some bytes.
func growthBookText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func growthBookNull(v Value) bool { return v.Kind == jsonscan.Null || v.Kind == jsonscan.Invalid }

// growthBookWithin returns what a path leads to: members of objects, elements of arrays by their numbers,
// and the length of an array.
func growthBookWithin(v Value, path []string) Value {
	for _, step := range path {
		var next jsonscan.Value
		switch v.Kind {
		case jsonscan.Object:
			for o := v.JSON.Object(); o.Next(); {
				if string(o.Name()) == step {
					next = o.Value()
				}
			}
		case jsonscan.Array:
			if step == "length" {
				v = Value{Kind: jsonscan.Number, Number: float64(growthBookLength(v.JSON))}
				continue
			}
			next = growthBookElementAt(v.JSON, step)
		}
		if next == nil {
			return Value{Kind: jsonscan.Null}
		}
		v = growthBookValue(next)
	}
	return v
}

func growthBookLength(array jsonscan.Value) (n int) {
	for a := array.Array(); a.Next(); {
		n++
	}
	return n
}

// growthBookElementAt returns the element with a number, which is written as numbers are.
func growthBookElementAt(array jsonscan.Value, number string) jsonscan.Value {
	i, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(i) != number {
		return nil
	}
	for a := array.Array(); a.Next(); i-- {
		if i == 0 {
			return a.Value()
		}
	}
	return nil
}

// A growthBookTree is a value to which others are compared.
type growthBookTree struct {
	kind     jsonscan.Kind
	text     string
	number   float64
	elements []growthBookTree
	members  map[string]*growthBookTree
}

func growthBookJSON(j jsonscan.Value) growthBookTree {
	v := growthBookValue(j)
	t := growthBookTree{kind: v.Kind, text: v.Text, number: v.Number}
	switch v.Kind {
	case jsonscan.Array:
		for a := j.Array(); a.Next(); {
			t.elements = append(t.elements, growthBookJSON(a.Value()))
		}
	case jsonscan.Object:
		t.members = make(map[string]*growthBookTree)
		for o := j.Object(); o.Next(); {
			t.members[string(o.Name())] = new(growthBookJSON(o.Value()))
		}
	}
	return t
}

// equals reports whether a value is the same, as far down as it goes.
func (t *growthBookTree) equals(v Value) bool {
	if t.kind == jsonscan.Null {
		return growthBookNull(v)
	}
	if t.kind != v.Kind {
		return false
	}
	switch t.kind {
	case jsonscan.Number:
		return t.number == v.Number
	case jsonscan.String:
		return t.text == v.Text
	case jsonscan.Array:
		i := 0
		for a := v.JSON.Array(); a.Next(); i++ {
			if i >= len(t.elements) || !t.elements[i].equals(growthBookValue(a.Value())) {
				return false
			}
		}
		return i == len(t.elements)
	case jsonscan.Object:
		return t.hasMembers(v.JSON)
	}
	return true
}

func (t *growthBookTree) hasMembers(object jsonscan.Value) bool {
	for o := object.Object(); o.Next(); {
		if _, ok := t.members[string(o.Name())]; !ok {
			return false
		}
	}
	for name, want := range t.members {
		var last jsonscan.Value // of several with one name
		for o := object.Object(); o.Next(); {
			if string(o.Name()) == name {
				last = o.Value()
			}
		}
		if last == nil || !want.equals(growthBookValue(last)) {
			return false
		}
	}
	return true
}
