package summary

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rate counts how often each value of a rating was chosen (management.md §11.5,
// item 1).
func (q *Question) rate(answers []string) (overview []string, headline string) {
	lowest := 1
	if q.Scale == 10 {
		lowest = 0
	}
	var values []int
	counts, sum, others := make([]int, q.Scale+1), 0, 0
	for _, s := range answers {
		digits, zeros, _ := strings.Cut(strings.TrimSpace(s), ".") // 8.0 is 8
		v, err := strconv.Atoi(digits)
		if err != nil || strings.Trim(zeros, "0") != "" || v < lowest || v > q.Scale {
			others++
			continue
		}
		values = append(values, v)
		counts[v]++
		sum += v
	}
	if n := len(values); n == 0 {
		overview = []string{"No answers on the scale."}
	} else {
		average := tenths(sum, n)
		headline = fmt.Sprintf("Average %s of %d from %s", average, q.Scale, count(n, "answer"))
		if q.Scale == 2 {
			headline = percent(counts[1], n) + " thumbs up from " + count(n, "answer")
		}
		overview = []string{fmt.Sprintf("%s, average %s of %d, median %s.", count(n, "answer"), average, q.Scale, median(values))}
		if q.NPS && q.Scale == 10 {
			promoters, passives := counts[9]+counts[10], counts[7]+counts[8]
			detractors := n - promoters - passives
			overview = append(overview, fmt.Sprintf("Net Promoter Score %d: promoters %s, passives %s, detractors %s.",
				int(math.Round(100*float64(promoters-detractors)/float64(n))), share(promoters, n), share(passives, n), share(detractors, n)))
		}
		var items []string
		for v := lowest; v <= q.Scale; v++ {
			name := strconv.Itoa(v)
			if q.Scale == 2 {
				name = [...]string{1: "1 (thumbs up)", 2: "2 (thumbs down)"}[v]
			}
			items = append(items, "**"+name+"**: "+share(counts[v], n))
		}
		overview = append(overview, bulletList(items))
	}
	if others > 0 {
		overview = append(overview, fmt.Sprintf("Left out: %s that the scale from %d to %d does not have.", count(others, "value"), lowest, q.Scale))
	}
	return overview, headline
}

// tally counts how often each choice was chosen (management.md §11.5, item 2).
// What is written in place of a choice is one text per answer.
func (q *Question) tally(answers [][]string) (overview []string, headline string, written []string) {
	counts := make(map[string]int) // answers by choice
	for _, text := range q.Choices {
		counts[strings.TrimSpace(text)] = 0
	}
	open, strange := strings.TrimSpace(q.Choices[len(q.Choices)-1]), 0
	for _, values := range answers {
		if q.Type == SingleChoice {
			values = values[:1]
		}
		chosen := make(map[string]bool)
		var own []string
		for _, value := range values {
			value = strings.TrimSpace(value)
			if _, ok := counts[value]; !ok {
				own = append(own, value)
				value = open
				if !q.OpenChoice {
					continue
				}
			}
			if !chosen[value] {
				chosen[value] = true
				counts[value]++
			}
		}
		switch {
		case own == nil:
		case q.OpenChoice:
			written = append(written, strings.Join(own, ", "))
		default:
			strange++ // an earlier version of the question may have had more choices
		}
	}
	choices := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	items := make([]string, len(choices))
	for i, text := range choices {
		items[i] = "**" + escape(cmp.Or(line(text, maxQuote), "(blank)")) + "**: " + share(counts[text], len(answers))
	}
	overview = []string{count(len(answers), "answer") + ".", bulletList(items)}
	if strange > 0 {
		overview = append(overview, fmt.Sprintf("Not shown: %s with a value that is none of the choices.", count(strange, "answer")))
	}
	if n := counts[choices[0]]; n > 0 {
		text := cmp.Or(line(choices[0], 80), "(blank)")
		if words := strings.Fields(text); len(words) > 8 {
			text = strings.Join(words[:8], " ") + "…"
		}
		headline = fmt.Sprintf("Most chosen: “%s” (%d of %s)", text, n, count(len(answers), "answer"))
	}
	return overview, headline, written
}

// bulletList returns a block with one item per line.
func bulletList(items []string) string { return "- " + strings.Join(items, "\n- ") }

// count returns a number with its noun, in the singular for 1.
func count[T int | string](n T, noun string) string {
	number := fmt.Sprint(n)
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}

// share returns a number with its percentage of all.
func share(n, all int) string { return strconv.Itoa(n) + " (" + percent(n, all) + ")" }

func percent(n, all int) string { return tenths(100*n, all) + "%" }

// tenths returns a/b with one decimal, rounded half up. Neither may be negative.
func tenths(a, b int) string {
	t := (20*a + b) / (2 * b)
	return strconv.Itoa(t/10) + "." + strconv.Itoa(t%10)
}

// median sorts values and returns the middle one, or the mean of the middle two.
func median(values []int) string {
	slices.Sort(values)
	n := len(values)
	return strconv.FormatFloat(float64(values[(n-1)/2]+values[n/2])/2, 'f', -1, 64)
}
