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

// rate counts how often each value of a rating was chosen (management.md §11.5, item 1).
func (q *Question) rate(answers [][]string) (overview []string, headline string, written []string) {
	lowest := 1 - q.Scale/10 // 0 on the scale to 10
	counts, sum, n := make([]int, q.Scale+1), 0, 0
	for _, answer := range answers {
		digits, zeros, _ := strings.Cut(strings.TrimSpace(answer[0]), ".") // 8.0 is 8
		if v, err := strconv.Atoi(digits); err == nil && strings.Trim(zeros, "0") == "" && v >= lowest && v <= q.Scale {
			n, sum = n+1, sum+v
			counts[v]++
		}
	}
	overview = []string{"No answers on the scale."}
	if n > 0 {
		average := tenths(sum, n)
		overview = []string{fmt.Sprintf("%s, average %s of %d.", count(n, "answer"), average, q.Scale)}
		headline = fmt.Sprintf("Average %s of %d from %s", average, q.Scale, count(n, "answer"))
		if q.Scale == 2 {
			headline = percent(counts[1], n) + " thumbs up from " + count(n, "answer")
		}
		if q.NPS && q.Scale == 10 {
			promoters, passives, detractors := counts[9]+counts[10], counts[7]+counts[8], n-counts[7]-counts[8]-counts[9]-counts[10]
			overview = append(overview, fmt.Sprintf("Net Promoter Score %d: promoters %s, passives %s, detractors %s.",
				int(math.Round(100*float64(promoters-detractors)/float64(n))), share(promoters, n), share(passives, n), share(detractors, n)))
		}
		var items []string
		for v := lowest; v <= q.Scale; v++ {
			name := strconv.Itoa(v)
			if q.Scale == 2 {
				name += [...]string{1: " (thumbs up)", 2: " (thumbs down)"}[v]
			}
			items = append(items, "**"+name+"**: "+share(counts[v], n))
		}
		overview = append(overview, bulletList(items))
	}
	if others := len(answers) - n; others > 0 {
		overview = append(overview, fmt.Sprintf("Left out: %s that the scale from %d to %d does not have.", count(others, "value"), lowest, q.Scale))
	}
	return overview, headline, nil
}

// tally counts how often each choice was chosen (management.md §11.5, item 2).
// What is written in place of a choice is one text per answer.
func (q *Question) tally(answers [][]string) (overview []string, headline string, written []string) {
	counts := make(map[string]int) // answers by choice
	for _, text := range q.Choices {
		counts[strings.TrimSpace(text)] = 0
	}
	has := func(text string) bool { _, ok := counts[text]; return ok }
	open, strange := strings.TrimSpace(q.Choices[len(q.Choices)-1]), 0
	for _, values := range answers {
		if q.Type == SingleChoice {
			values = values[:1]
		}
		chosen, own := make(map[string]bool), []string(nil)
		for _, value := range values {
			if value = strings.TrimSpace(value); has(value) {
				chosen[value] = true
			} else {
				own = append(own, value)
			}
		}
		if own != nil && q.OpenChoice {
			chosen[open] = true
			written = append(written, strings.Join(own, ", "))
		} else if own != nil {
			strange++ // an earlier version of the question may have had more choices
		}
		for value := range chosen {
			counts[value]++
		}
	}
	choices := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	items := make([]string, len(choices))
	for i, text := range choices {
		items[i] = "**" + Escape(cmp.Or(Line(text, maxQuote), "(blank)")) + "**: " + share(counts[text], len(answers))
	}
	overview = []string{count(len(answers), "answer") + ".", bulletList(items)}
	if strange > 0 {
		overview = append(overview, fmt.Sprintf("Not shown: %s with a value that is none of the choices.", count(strange, "answer")))
	}
	if n := counts[choices[0]]; n > 0 {
		text := cmp.Or(Line(choices[0], 80), "(blank)")
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
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func share(n, all int) string { return fmt.Sprintf("%d (%s)", n, percent(n, all)) }

func percent(n, all int) string { return tenths(100*n, all) + "%" }

// tenths returns a/b with one decimal, rounded half up. Neither may be negative.
func tenths(a, b int) string {
	t := (20*a + b) / (2 * b)
	return fmt.Sprintf("%d.%d", t/10, t%10)
}
