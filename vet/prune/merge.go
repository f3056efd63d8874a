package prune

import (
	"bytes"
	"go/format"
	"slices"
	"strings"
)

// merge returns a formatted text with the lines of the original, byte by byte, where only
// gofmt has changed them. Line n of the formatted text is line lines[n] of the merged one;
// lines count from 1. The original must be one that gofmt understands. Where lines cannot be
// told apart, the merged text is the formatted one.
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
		for from < run-1 && place[first+from] < 0 {
			from++
		}
		for to > from && place[first+to] < 0 {
			to--
		}
		if place[first+from] < 0 {
			from, to = run, run
		}
		begins, ends := first == 0 && from < run, first+run == len(base) && from < run
		for i := range run {
			switch {
			case i < from && !begins, i > to && !ends:
				formattedLine(n + i)
			case place[first+i] < 0: // gofmt makes other lines of these
				lines[n+i+1] = count
			default:
				begin, next := place[first+i], i+1
				for next <= to && place[first+next] < 0 {
					next++
				}
				after := begin + 1
				switch {
				case next <= to:
					after = place[first+next]
				case ends:
					after = len(ours)
				}
				if i == from && begins {
					merged = append(merged, strings.Join(ours[:begin], "")...)
					count += begin
				}
				add(n+i, strings.Join(ours[begin:after], ""))
			}
		}
		pairs, n = pairs[run:], n+run
	}
	// A line may have been taken for another one that is equal: then it is not the same code.
	if again, err := format.Source(merged); err != nil || !bytes.Equal(again, formatted) {
		for n := range lines {
			lines[n] = n
		}
		return bytes.ReplaceAll(formatted, []byte("\n"), []byte(end)), lines, nil
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

// common returns the places in both lists of a longest list that both have. Time and
// memory grow with the number of lines that differ (Myers, An O(ND) difference algorithm).
func common(a, b []string) (pairs [][2]int) {
	// How far in a the paths with the fewest differences go, by diagonals: the place in a
	// minus the place in b. The rounds are kept, as they were before.
	middle := len(a) + len(b) + 1
	far := make([]int, 2*middle+1)
	var rounds [][]int
	before := func(d, k int) (diagonal, x int) { // of the path that diagonal k continues
		round := rounds[d]
		if k == -d || k != d && round[k-1+d+1] < round[k+1+d+1] {
			return k + 1, round[k+1+d+1]
		}
		return k - 1, round[k-1+d+1]
	}
	x, y := 0, 0
	for d := 0; x < len(a) || y < len(b) || d == 0; d++ {
		rounds = append(rounds, slices.Clone(far[middle-d-1:middle+d+2]))
		for k := -d; k <= d; k += 2 {
			diagonal, from := before(d, k)
			if x = from; diagonal < k {
				x++
			}
			for y = x - k; x < len(a) && y < len(b) && a[x] == b[y]; x, y = x+1, y+1 {
			}
			far[middle+k] = x
			if x >= len(a) && y >= len(b) {
				break
			}
		}
	}
	x, y = len(a), len(b)
	for d := len(rounds) - 1; d >= 0; d-- {
		diagonal, from := before(d, x-y)
		for x > from && y > from-diagonal {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = from, from-diagonal
	}
	slices.Reverse(pairs)
	return pairs
}
