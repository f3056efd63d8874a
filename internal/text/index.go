package text

import (
	"bytes"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// An index lists the objects of a valid JSON value and the order of their
// members. It is made in one pass, so that each byte is read a fixed number of
// times, whatever the nesting.
type index struct {
	json  []byte
	names []byte    // decoded names of members whose names have escapes in json
	few   [16]entry // the first entries, in the order of the JSON
	many  []entry   // the other entries
	n     int       // the number of entries
}

// An entry is an object or a member of one. The entry of an object comes before
// the entries of its members. After each member come the entries of the objects
// in its value. An entry has no pointers, so that an index can stay on the
// stack.
type entry struct {
	json int // index in json: of the member's value, or after the object

	// Only in members.
	name, nameEnd int // range of its decoded name, in json or, from len(json) on, in names

	// Only in objects.
	first int // the member with the lowest name, 0 if there is none

	// In a member, the member with the next higher name, or 0. In an object,
	// the first entry that is not inside it.
	next int
}

func (x *index) at(e int) *entry {
	if e < len(x.few) {
		return &x.few[e]
	}
	return &x.many[e-len(x.few)]
}

func (x *index) push(e entry) int {
	if x.n < len(x.few) {
		x.few[x.n] = e
	} else {
		x.many = append(x.many, e)
	}
	x.n++
	return x.n - 1
}

// name returns the decoded name of a member.
func (x *index) name(member *entry) []byte {
	if member.name < len(x.json) {
		return x.json[member.name:member.nameEnd]
	}
	return x.names[member.name-len(x.json) : member.nameEnd-len(x.json)]
}

// add makes the entries for the value at json[i] and returns the index after
// it.
func (x *index) add(i int) int {
	switch x.json[i] {
	case '[':
		for i = skipSpace(x.json, i+1); x.json[i] != ']'; {
			i = skipSpace(x.json, x.add(i))
			if x.json[i] == ',' {
				i = skipSpace(x.json, i+1)
			}
		}
		return i + 1
	case '{':
		object := x.push(entry{})
		first, last, members := 0, 0, 0
		for i = skipSpace(x.json, i+1); x.json[i] != '}'; {
			end := skipScalar(x.json, i)
			value := skipSpace(x.json, skipSpace(x.json, end)+1) // after the colon
			m := x.addMember(i, end, value)
			if members++; members == 1 {
				first = m
			} else {
				x.at(last).next = m
			}
			last = m
			i = skipSpace(x.json, x.add(value))
			if x.json[i] == ',' {
				i = skipSpace(x.json, i+1)
			}
		}
		if members > 1 {
			first, _ = x.sort(first, members)
		}
		*x.at(object) = entry{json: i + 1, first: first, next: x.n}
		return i + 1
	default:
		return skipScalar(x.json, i)
	}
}

// addMember makes the entry of a member whose name is the string json[i:end].
func (x *index) addMember(i, end, value int) int {
	name := jsonscan.Value(x.json[i:end])
	if _, ok := name.Plain(); ok {
		return x.push(entry{json: value, name: i + 1, nameEnd: end - 1})
	}
	start := len(x.json) + len(x.names)
	x.names, _ = name.AppendString(x.names)
	return x.push(entry{json: value, name: start, nameEnd: len(x.json) + len(x.names)})
}

// sort sorts the list of n members that begins with m, by merging. If several
// members have one name, it keeps the last. It returns the first member of the
// sorted list and the one that followed the n members.
func (x *index) sort(m, n int) (first, rest int) {
	if n == 1 {
		e := x.at(m)
		rest, e.next = e.next, 0
		return m, rest
	}
	a, rest := x.sort(m, n/2)
	b, rest := x.sort(rest, n-n/2)
	last := &first
	for a != 0 && b != 0 {
		ea, eb := x.at(a), x.at(b)
		switch c := bytes.Compare(x.name(ea), x.name(eb)); {
		case c < 0:
			*last, last, a = a, &ea.next, ea.next
		case c > 0:
			*last, last, b = b, &eb.next, eb.next
		default: // b is the later member
			a = ea.next
		}
	}
	*last = a + b // one of them is 0
	return first, rest
}
