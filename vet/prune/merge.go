package prune

import (
	"bytes"
	"go/format"
	"slices"
	"strings"
)

// merge returns a formatted text with the lines of the original, byte by byte, where only
// gofmt has changed them. Line n of the formatted text is line lines[n] of the merged one;
// lines count from 1. The original must be one that gofmt understands.
func merge(original, formatted []byte) (merged []byte, lines []int, err error) {
	before, err := format.Source(original)
	if err != nil {
		return nil, nil, err
	}
	ours, base, now := splitLines(original), splitLines(before), splitLines(formatted)
	// Where a line of the formatted original stands in the original, -1 for nowhere.
	place := slices.Repeat([]int{-1}, len(base))
	for _, p := range common(squeezed(base), squeezed(ours)) {
		place[p[0]] = p[1]
	}
	end := "\n"
	if bytes.Contains(original, []byte("\r\n")) {
		end = "\r\n"
	}
	lines = make([]int, len(now)+1)
	count := 1
	add := func(n int, text string) {
		lines[n+1] = count
		merged = append(merged, text...)
		count += strings.Count(text, "\n")
	}
	formattedLine := func(n int) { add(n, strings.TrimSuffix(now[n], "\n")+end) }
	pairs := common(base, now)
	for n := 0; n < len(now); {
		if len(pairs) == 0 || pairs[0][1] > n {
			formattedLine(n)
			n++
			continue
		}
		// A run of lines that are as in the formatted original is as in the original, from
		// the first line that stands there to the last one.
		run := 1
		for run < len(pairs) && pairs[run][0] == pairs[0][0]+run && pairs[run][1] == pairs[0][1]+run {
			run++
		}
		first := pairs[0][0]
		from, to := 0, run-1
		for from < run && place[first+from] < 0 {
			from++
		}
		for to > from && place[first+to] < 0 {
			to--
		}
		for i := range run {
			switch {
			case i < from || i > to:
				formattedLine(n + i)
			case place[first+i] < 0:
				lines[n+i+1] = count
			default:
				next := i + 1
				for next <= to && place[first+next] < 0 {
					next++
				}
				last := place[first+i]
				if next <= to {
					last = place[first+next] - 1
				}
				add(n+i, strings.Join(ours[place[first+i]:last+1], ""))
			}
		}
		pairs, n = pairs[run:], n+run
	}
	return merged, lines, nil
}

func splitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// squeezed returns lines without spaces, which is all that gofmt changes in most lines.
func squeezed(lines []string) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i] = strings.Join(strings.Fields(line), "")
	}
	return list
}

// common returns the places in both lists of a longest list that both have.
func common(a, b []string) (pairs [][2]int) {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		pairs = append(pairs, [2]int{start, start})
		start++
	}
	rest := 0 // at the end
	for rest < min(len(a), len(b))-start && a[len(a)-1-rest] == b[len(b)-1-rest] {
		rest++
	}
	x, y := a[start:len(a)-rest], b[start:len(b)-rest]
	longest := make([][]int32, len(x)+1) // of the lists from there on
	for i := range longest {
		longest[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); x[i] == y[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			pairs = append(pairs, [2]int{start + i, start + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	for n := rest; n > 0; n-- {
		pairs = append(pairs, [2]int{len(a) - n, len(b) - n})
	}
	return pairs
}
