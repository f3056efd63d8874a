package charts

import (
	"slices"
	"strings"
)

// A Sparkline is values over time as a line without axes, for a row of a list.
type Sparkline struct {
	Words  string // what it shows, for people who do not see it; "": there is nothing to show
	Points string // of an SVG polyline
}

// The size of a Sparkline, in pixels.
const (
	sparkWidth  = 96
	sparkHeight = 16
)

// Line draws values, from the oldest. The highest one reaches the top.
func Line(words string, values []int64) Sparkline {
	if len(values) < 2 {
		return Sparkline{}
	}
	most := max(1, slices.Max(values))
	points := make([]string, len(values))
	for i, n := range values {
		x := 1 + float64(i)*(sparkWidth-2)/float64(len(values)-1)
		y := sparkHeight - 1 - float64(n)*(sparkHeight-2)/float64(most)
		points[i] = Decimal(x) + "," + Decimal(y)
	}
	return Sparkline{words, strings.Join(points, " ")}
}
