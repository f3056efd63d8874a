package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A ratingSummary is the distribution of the answers to a rating question.
type ratingSummary struct {
	question *Question
	values   []int // the answers on the scale, in no order
	counts   []int // indexed by value; entries below the lowest value are 0
	sum      int
	others   int // the number of answers that are not numbers of the scale
}

// lowest returns the first value of the scale. Clients show 0 to 10 for a scale
// of 10, whether or not it asks for the Net Promoter Score.
func (q *Question) lowest() int {
	if q.Scale == 10 {
		return 0
	}
	return 1
}

// hasThumbs reports whether the scale is thumbs up (1) and thumbs down (2).
func (q *Question) hasThumbs() bool { return q.Scale == 2 }

func rate(q *Question, answers [][]string) *ratingSummary {
	r := &ratingSummary{question: q, counts: make([]int, q.Scale+1)}
	for _, values := range answers {
		v, ok := whole(values[0])
		if !ok || v < q.lowest() || v > q.Scale {
			r.others++
			continue
		}
		r.values = append(r.values, v)
		r.counts[v]++
		r.sum += v
	}
	return r
}

// whole reads a whole number, including one written like 8.0.
func whole(s string) (int, bool) {
	digits, zeros, _ := strings.Cut(strings.TrimSpace(s), ".")
	v, err := strconv.Atoi(digits)
	return v, err == nil && strings.Trim(zeros, "0") == ""
}

// average returns the mean of the values, with one decimal.
func (r *ratingSummary) average() string { return tenths(r.sum, len(r.values)) }

// name returns the text by which a page calls a value.
func (r *ratingSummary) name(v int) string {
	if r.question.hasThumbs() {
		return [...]string{1: "1 (thumbs up)", 2: "2 (thumbs down)"}[v]
	}
	return strconv.Itoa(v)
}

// addRatings adds the distribution of the ratings (management.md §11.5, item
// 1).
func (p *page) addRatings(r *ratingSummary) {
	q, n := r.question, len(r.values)
	if n == 0 {
		p.overview = append(p.overview, "No answers on the scale.")
	} else {
		p.overview = append(p.overview, fmt.Sprintf("%s, average %s of %d, median %s.",
			count(n, "answer"), r.average(), q.Scale, median(r.values)))
		if q.NPS && q.Scale == 10 {
			p.overview = append(p.overview, r.promoters())
		}
		var items []string
		for v := q.lowest(); v <= q.Scale; v++ {
			items = append(items, "**"+r.name(v)+"**: "+share(r.counts[v], n))
		}
		p.overview = append(p.overview, bulletList(items))
	}
	if r.others > 0 {
		p.overview = append(p.overview, fmt.Sprintf("Left out: %s that the scale from %d to %d does not have.",
			count(r.others, "value"), q.lowest(), q.Scale))
	}
	p.themes = append(p.themes, "None: ratings have no words.")
	p.quotes = append(p.quotes, "None.")
}

// promoters describes the Net Promoter Score.
func (r *ratingSummary) promoters() string {
	n, promoters, passives := len(r.values), r.counts[9]+r.counts[10], r.counts[7]+r.counts[8]
	detractors := n - promoters - passives
	score := int(math.Round(100 * float64(promoters-detractors) / float64(n)))
	return fmt.Sprintf("Net Promoter Score %d: promoters %s, passives %s, detractors %s.",
		score, share(promoters, n), share(passives, n), share(detractors, n))
}
