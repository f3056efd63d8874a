package sides

import (
	"embed"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// Templates has the partial "sides", which shows a View.
//
//go:embed templates
var Templates embed.FS

// A View is two things side by side.
type View struct {
	Heads           [2]Head
	Alike           string // what the page says if nothing is different
	Different, Same []Row
}

// A Head says what stands in a column.
type Head struct {
	Name, URL, Tag string
	At             shell.Moment // when it was made, by whom; empty if that does not matter
	By             string
}

// A Row is a field of both.
type Row struct{ Place, One, Other string }

// A Part is an element of a list.
type Part struct {
	Place, Words string
	Stored       string // the same text for parts that are the same
}

// Add adds a field, unless both have nothing.
func (v *View) Add(place, one, other string) {
	switch {
	case one != other:
		v.Different = append(v.Different, Row{place, one, other})
	case one != "":
		v.Same = append(v.Same, Row{place, one, other})
	}
}

// AddLists adds a row for each element of two lists, of which those that are the same stand side by
// side. What differs never reads alike: then it is said as it is stored.
func (v *View) AddLists(one, other []Part) {
	for _, pair := range pairs(one, other) {
		var a, b Part
		i, j := pair[0], pair[1]
		if i >= 0 {
			a = one[i]
		}
		if j >= 0 {
			b = other[j]
		}
		if i >= 0 && j >= 0 && a.Words == b.Words && a.Stored != b.Stored {
			a.Words, b.Words = a.Stored, b.Stored
		}
		place := b.Place
		if j < 0 {
			place = a.Place
		}
		v.Add(place, a.Words, b.Words)
	}
}

// pairs returns which elements of two lists stand side by side: as many as can that are the same, in
// their order, and between those the first with the first. An element without another one has −1.
func pairs(a, b []Part) (out [][2]int) {
	same := make([][]int, len(a)+1) // how many are the same from there on
	for i := len(a); i >= 0; i-- {
		same[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0 && i < len(a); j-- {
			if same[i][j] = max(same[i+1][j], same[i][j+1]); a[i].Stored == b[j].Stored {
				same[i][j] = 1 + same[i+1][j+1]
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i].Stored == b[j].Stored {
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
			continue
		}
		beginA, beginB := i, j
		for (i < len(a) || j < len(b)) && (i == len(a) || j == len(b) || a[i].Stored != b[j].Stored) {
			if j == len(b) || i < len(a) && same[i+1][j] >= same[i][j+1] {
				i++
			} else {
				j++
			}
		}
		for n := range max(i-beginA, j-beginB) {
			pair := [2]int{beginA + n, beginB + n}
			if pair[0] >= i {
				pair[0] = -1
			}
			if pair[1] >= j {
				pair[1] = -1
			}
			out = append(out, pair)
		}
	}
	return out
}
