package nearest

import (
	"slices"
	"strings"
)

// Names returns the names that are at most two edits from a word, if these are
// fewer than half of its letters, or else names of which the word is a part, such as
// "max-body" for "body", or the beginning. There are at most three, and the closest
// come first.
func Names(names []string, word string) (near []string) {
	best := min(3, (len(word)+1)/2)
	for _, name := range names {
		switch d := distance(word, name, best); {
		case d < best:
			best, near = d, []string{name}
		case d == best && len(near) > 0:
			near = append(near, name)
		}
	}
	const most = 3
	if len(near) > 0 {
		return near[:min(len(near), most)]
	}
	for _, name := range names {
		if slices.Contains(strings.Split(name, "-"), word) || len(word) > 1 && strings.HasPrefix(name, word) {
			near = append(near, name)
		}
	}
	return near[:min(len(near), most)]
}

// distance returns how many letters must be added, left out, replaced or swapped
// with the next one to make one word of another. If that is more than most, so is the
// result.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
