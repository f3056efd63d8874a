package flags

import (
	"bytes"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A DocumentReader reads the documents that a project has one after the other. It keeps the
// last one, and of the next one reads only the flags between the first and the last byte
// that differ, if they differ within the list of flags alone. The zero DocumentReader is ready.
// A DocumentReader is not safe for concurrent use.
type DocumentReader struct {
	document []byte
	last     *Definitions // of the document, nil if all of the next one must be read
	places   places
	all      bool // documents of all sizes are kept, for tests
}

// minKept is the size from which on a document is kept, in bytes: a smaller one is read
// in a millisecond or two.
const minKept = 256 << 10

// places tell where the flags of a document stand.
type places struct {
	start, end int // of the list of flags
	list       []element
	notes      int // how many notes come before the notes on cohorts
	others     int // elements of the document that are not of flags
}

// An element is a flag of the list.
type element struct {
	start, end int
	elements   int // that count against maxElements
	notes      []Problem
}

func (p *places) add(e element) {
	e.start += p.start
	e.end += p.start
	p.list = append(p.list, e)
}

// Decode reads a document as the function [Decode] does. The document must not change
// any more, and the result must not be changed: it shares memory with other results.
func (d *DocumentReader) Decode(document []byte) (*Definitions, error) {
	if out := d.next(document); out != nil {
		return out, nil
	}
	if len(document) < minKept && !d.all || len(document) > MaxDocument {
		*d = DocumentReader{all: d.all}
		return Decode(bytes.NewReader(document))
	}
	var p places
	r := decoder{out: new(Definitions), places: &p}
	if err := r.document(document); err != nil {
		return nil, err
	}
	p.others = r.elements
	for i := range p.list {
		p.others -= p.list[i].elements
	}
	r.out.sums = keepSums(r.out.Flags)
	d.document, d.last, d.places = document, r.out, p
	if !r.reusable() || len(p.list) != len(r.out.Flags) {
		d.document, d.last, d.places = nil, nil, places{}
	}
	return r.out, nil
}

// reusable reports whether what was read of a flag does not depend on other flags.
func (d *decoder) reusable() bool {
	return d.noted == nil && d.faults < served.MaxProblems && len(d.out.notes) < served.MaxProblems
}

// next returns the definitions of a document that differs from the last one within the
// list of flags alone, or nil if all of it must be read.
func (d *DocumentReader) next(document []byte) *Definitions {
	if d.last == nil || len(document) > MaxDocument {
		return nil
	}
	old, list := d.document, d.places.list
	shared := min(len(old), len(document))
	head := samePrefix(old, document)
	tail := sameSuffix(old[head:], document[head:], shared-head)

	// The flags from first to last, exclusively, are between left and right.
	first, _ := slices.BinarySearchFunc(list, head+1, func(e element, at int) int { return e.end - at })
	left := d.places.start + 1
	if first > 0 {
		left = list[first-1].end
	}
	last, _ := slices.BinarySearchFunc(list, max(len(old)-tail, left), func(e element, at int) int { return e.start - at })
	right := d.places.end - 1
	if last < len(list) {
		right = list[last].start
	}
	moved := len(document) - len(old)
	if left > head || right < len(old)-tail || right+moved < left {
		return nil
	}
	r := decoder{out: new(Definitions), places: &places{}}
	text := appendList(first > 0, document[left:right+moved], last < len(list))
	if !r.between(text, d, first, last) {
		return nil
	}
	return d.splice(&r, document, first, last, left, moved)
}

// stub stands in a list for the flags before, and for those behind.
const stub = "{}"

// appendList returns a part of a list as a list. What is before it, and behind, is a
// stub, so that the commas are where they must be.
func appendList(before bool, part []byte, behind bool) []byte {
	text := append(make([]byte, 0, len(part)+2*len(stub)+2), '[')
	if before {
		text = append(text, stub...)
	}
	text = append(text, part...)
	if behind {
		text = append(text, stub...)
	}
	return append(text, ']')
}

// between reads the flags of a list that takes the place of some flags of a document. It
// returns false if anything about them needs the whole document.
func (d *decoder) between(text []byte, from *DocumentReader, first, last int) bool {
	v, err := jsonscan.Parse(text, maxDepth-1) // the document is one level more
	if err != nil || v.Kind() != jsonscan.Array || len(v) != len(text) {
		return false
	}
	var values []jsonscan.Value
	a := v.Array()
	for a.Next() {
		start, end := a.Span()
		values = append(values, a.Value())
		d.places.list = append(d.places.list, element{start: start, end: end})
	}
	if first > 0 {
		values, d.places.list = values[1:], d.places.list[1:]
	}
	if last < len(from.places.list) {
		values, d.places.list = values[:len(values)-1], d.places.list[:len(values)-1]
	}
	for i, v := range values {
		e := &d.places.list[i]
		if n := first + i; n < last {
			if was := from.places.list[n]; bytes.Equal(from.document[was.start:was.end], v) {
				e.elements, e.notes = was.elements, was.notes
				d.out.Flags = append(d.out.Flags, from.last.Flags[n])
				continue
			}
		}
		elements, notes := d.elements, len(d.out.notes)
		if d.element(first+i, v) != nil {
			return false
		}
		e.elements, e.notes = d.elements-elements, slices.Clip(d.out.notes[notes:])
	}
	return d.reusable() && d.faults == 0 && len(d.out.Flags) == len(values)
}

// splice puts the flags that were read between the flags of the last document.
func (d *DocumentReader) splice(r *decoder, document []byte, first, last, left, moved int) *Definitions {
	out := *d.last
	out.Flags = slices.Concat(d.last.Flags[:first], r.out.Flags, d.last.Flags[last:])
	if out.sums = keepSums(out.Flags); out.sums != nil && d.last.sums != nil {
		sums := d.last.sums.of(d.last.Flags)
		out.sums.list = slices.Concat(sums[:first], sumsOf(r.out.Flags, nil), sums[last:])
	}
	out.GroupTypes, out.Cohorts = maps.Clone(out.GroupTypes), maps.Clone(out.Cohorts)
	shift := left - 1 // from the list that was read to the document
	if first > 0 {
		shift -= len(stub)
	}
	list := make([]element, 0, len(out.Flags))
	list = append(list, d.places.list[:first]...)
	for _, e := range r.places.list {
		e.start, e.end = e.start+shift, e.end+shift
		list = append(list, e)
	}
	for _, e := range d.places.list[last:] {
		e.start, e.end = e.start+moved, e.end+moved
		list = append(list, e)
	}
	before, notes, elements := d.places.notes, []Problem(nil), d.places.others
	for i := range d.places.list {
		before -= len(d.places.list[i].notes)
	}
	notes = append(notes, d.last.notes[:before]...)
	for i := range list {
		notes = append(notes, list[i].notes...)
		elements += list[i].elements
	}
	end := len(notes)
	out.notes = append(notes, d.last.notes[d.places.notes:]...)
	if len(out.notes) >= served.MaxProblems || len(list) > maxFlags || elements > maxElements {
		return nil
	}
	d.places = places{d.places.start, d.places.end + moved, list, end, d.places.others}
	d.document, d.last = document, &out
	return &out
}

// samePrefix returns how many bytes two texts have in common from their beginning on.
func samePrefix(a, b []byte) int {
	const block = 4 << 10 // bytes, which are compared faster together than one by one
	n, shared := 0, min(len(a), len(b))
	for n+block <= shared && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < shared && a[n] == b[n] {
		n++
	}
	return n
}

// sameSuffix returns how many bytes, up to a number, two texts have in common up to their
// end.
func sameSuffix(a, b []byte, most int) int {
	const block = 4 << 10
	n := 0
	for n+block <= most && bytes.Equal(a[len(a)-n-block:len(a)-n], b[len(b)-n-block:len(b)-n]) {
		n += block
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
