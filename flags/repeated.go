package flags

import (
	"math/bits"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A textCache has texts that a document has repeated, each at the place that its hash
// gives, so that most repetitions need no memory of their own. Nil has none.
type textCache [256]string

const cachedSize = 64 // bytes of a text

// text returns a text.
func (c *textCache) text(b []byte) string {
	if c == nil || len(b) == 0 || len(b) > cachedSize {
		return wordOf(b)
	}
	place := &c[hashName(b)%uint32(len(c))]
	if *place != string(b) {
		*place = wordOf(b)
	}
	return *place
}

// wordOf returns a text, of which all documents share those in words.
func wordOf(b []byte) string {
	if word, ok := words[string(b)]; ok {
		return word
	}
	return string(b)
}

// A seenFilter is a filter that a document may repeat, in which there was nothing to
// report.
type seenFilter struct {
	text     jsonscan.Value
	filter   *Filter
	elements int // that count against maxElements
}

const (
	seenFilterSize   = 256 // bytes of a filter
	seenFilterPlaces = 128 // places for two filters
)

// seenFilters are filters that a document has had, at one of the two places that the hash
// of their text gives. Nil has none.
type seenFilters [][2]seenFilter

// newSeenFilters returns room for filters of a document of so many bytes.
func newSeenFilters(size int) seenFilters {
	return make(seenFilters, min(1<<bits.Len(uint(size/(2*seenFilterSize))), seenFilterPlaces))
}

func (s seenFilters) places(text jsonscan.Value) *[2]seenFilter {
	if s == nil || len(text) > seenFilterSize {
		return nil
	}
	return &s[hashName([]byte(text))&uint32(len(s)-1)]
}

// copySeen makes f the filter with a text, if it is at one of the places. Its value is a
// copy, so that what changes it changes no other filter.
func (d *decoder) copySeen(f *Filter, places *[2]seenFilter, text jsonscan.Value) (elements int, ok bool) {
	if places == nil {
		return 0, false
	}
	s := &places[0]
	if string(s.text) != string(text) {
		if s = &places[1]; string(s.text) != string(text) {
			return 0, false
		}
	}
	*f = *s.filter
	if f.Value != nil {
		f.Value = d.json(jsonscan.Value(f.Value))
	}
	return s.elements, true
}

// keepSeen keeps a filter unless copies of it would share what programs can change.
func keepSeen(f *Filter, places *[2]seenFilter, text jsonscan.Value, elements int) {
	if places == nil || f.GroupTypeIndex != nil || f.DependencyChain != nil {
		return
	}
	places[1] = places[0]
	places[0] = seenFilter{text, f, elements}
}
