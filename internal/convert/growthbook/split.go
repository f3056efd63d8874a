package growthbook

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A draw gives each subject one of Modulus numbers.
type draw struct {
	hash           string
	modulus        uint64
	prefix, suffix string
	subject        string
}

// newDraw returns a draw with a version of GrowthBook's hash. It is not ok for versions that
// include nobody.
func newDraw(seed string, version int, subject string) (d draw, ok bool) {
	switch version {
	case 1:
		return draw{hash: "fnv1a_32_utf16", modulus: 1000, suffix: seed, subject: subject}, true
	case 2:
		return draw{hash: "fnv1a_32_utf16_twice", modulus: 10000, prefix: seed, subject: subject}, true
	}
	return draw{}, false
}

// split returns the draw as a split.
func (d draw) split(rest string) *flags.RuleSplit {
	return &flags.RuleSplit{
		Hash: d.hash, Modulus: d.modulus, Prefix: d.prefix, Suffix: d.suffix, Subject: d.subject, Decimal: d.subject != "", Rest: rest, NoSubject: "continue",
	}
}

// A piece is a part of the numbers of a draw: those below End, and not below that of the piece
// before it.
type piece struct {
	end   uint64
	index int // what they get, -1 for nothing
}

// pieces returns what the numbers of a draw get. pick tells it for a share from 0 to 1, and
// changes at the bounds alone.
func (d draw) pieces(pick func(share float64) int, bounds ...float64) (list []piece) {
	ends := []uint64{d.modulus}
	for _, b := range bounds {
		ends = append(ends, d.first(b))
	}
	slices.Sort(ends)
	start := uint64(0)
	for _, end := range slices.Compact(ends) {
		if end == start {
			continue
		}
		index := pick(d.share(start))
		if n := len(list); n > 0 && list[n-1].index == index {
			list[n-1].end = end
		} else {
			list = append(list, piece{end, index})
		}
		start = end
	}
	return list
}

// share is what GrowthBook makes of a number.
func (d draw) share(n uint64) float64 { return float64(n) / float64(d.modulus) }

// first returns the first number whose share is not below a bound.
func (d draw) first(bound float64) uint64 {
	if !(bound > 0) {
		return 0
	}
	n := uint64(min(math.Ceil(bound*float64(d.modulus)), float64(d.modulus)))
	for n > 0 && d.share(n-1) >= bound {
		n--
	}
	for n < d.modulus && d.share(n) < bound {
		n++
	}
	return n
}

// A span is the shares from the first number to the second one, without it.
type span [2]float64

func (s span) has(share float64) bool { return share >= s[0] && share < s[1] }

// inSpans returns the pieces of spans, of which the first counts.
func (d draw) inSpans(spans []span) []piece {
	var bounds []float64
	for _, s := range spans {
		bounds = append(bounds, s[:]...)
	}
	return d.pieces(func(share float64) int {
		return slices.IndexFunc(spans, func(s span) bool { return s.has(share) })
	}, bounds...)
}

// filter returns a filter that holds for the pieces that are wanted.
func (d draw) filter(pieces []piece, isWanted func(index int) bool) flags.Filter {
	s := d.split("continue")
	for _, p := range pieces {
		value := json.RawMessage("false")
		if isWanted(p.index) {
			value = json.RawMessage("true")
		}
		if n := len(s.Values); n > 0 && string(s.Values[n-1]) == string(value) {
			s.Ends[n-1] = p.end
			continue
		}
		s.Ends, s.Values = append(s.Ends, p.end), append(s.Values, value)
	}
	if n := len(s.Values); n > 1 && string(s.Values[n-1]) == "false" {
		s.Ends, s.Values = s.Ends[:n-1], s.Values[:n-1]
	}
	return flags.Filter{Type: "split", Split: s}
}

// weightedSpans are the spans of variations with weights, of which coverage are included.
func weightedSpans(n int, coverage float64, weights []float64) (spans []span) {
	coverage = max(0, min(1, coverage))
	sum, valid := 0.0, len(weights) == n
	for _, w := range weights {
		sum += w
		valid = valid && w >= 0
	}
	if !valid || sum < 0.99 || sum > 1.01 {
		weights = slices.Repeat([]float64{1 / float64(n)}, n)
	}
	start := 0.0
	for _, w := range weights {
		// The conversion rounds, as that of GrowthBook does.
		spans = append(spans, span{start, start + float64(coverage*w)})
		start += w
	}
	return spans
}
