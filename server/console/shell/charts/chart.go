package charts

import (
	"cmp"
	"math"
	"slices"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A Chart is columns over an axis, drawn as SVG whose widths are percent, so that it fits
// every page and its texts keep their size.
type Chart struct {
	Words   string // what it shows, for people who do not see it
	Columns []Column
	Ticks   []Tick
	Marks   []Mark
}

// A Column is one value, which may stand on others. X and Width are percent of the chart, Y and Height pixels.
type Column struct {
	X, Width, Y, Height, Class, Title string
}

// A Tick is a line across the chart with its value.
type Tick struct{ Y, TextY, Value string }

// A Mark is a text below the chart.
type Mark struct {
	X, Anchor, Text string
	Wide            bool // there is room for it on wide pages only
}

// A Point is a value of a chart with what it is about.
type Point struct {
	Label        string
	Value        int
	Class, Title string
}

// The parts of a chart, in pixels.
const (
	chartTop    = 8
	chartHeight = 132 // of the highest column
)

// A Stack is a column of several values, the first of which is at the bottom.
type Stack struct {
	Label string
	Parts []Point
}

// Columns draws points, with at most so many labels below them.
func Columns(words string, points []Point, labels int) Chart {
	stacks := make([]Stack, len(points))
	for i, p := range points {
		stacks[i] = Stack{p.Label, []Point{p}}
	}
	return Stacks(words, stacks, labels)
}

// Stacks draws columns of several values, with at most so many labels below them.
func Stacks(words string, stacks []Stack, labels int) Chart {
	c := Chart{Words: words}
	most := 1
	for _, s := range stacks {
		sum := 0
		for _, p := range s.Parts {
			sum += p.Value
		}
		most = max(most, sum)
	}
	most = roundUp(most)
	for _, n := range []int{0, most / 2, most} {
		if n == most/2 && most%2 != 0 {
			continue
		}
		y := chartTop + chartHeight - float64(n)*chartHeight/float64(most)
		c.Ticks = append(c.Ticks, Tick{Decimal(y), Decimal(y + 4), forms.Number(n)})
	}
	each := 100 / float64(max(1, len(stacks)))
	every := max(1, (len(stacks)+labels-1)/labels)
	for i, s := range stacks {
		x, y := float64(i)*each, float64(chartTop+chartHeight)
		for _, p := range s.Parts {
			height := float64(p.Value) * chartHeight / float64(most)
			if p.Value > 0 {
				height = max(height, 2)
			}
			y -= height
			class, title := cmp.Or(p.Class, "hue-1"), cmp.Or(p.Title, p.Label+": "+forms.Number(p.Value))
			c.Columns = append(c.Columns, Column{Decimal(x + each*0.1), Decimal(each * 0.8), Decimal(y), Decimal(height), class, title})
		}
		switch {
		case len(stacks) <= labels:
			c.Marks = append(c.Marks, Mark{Decimal(x + each/2), "middle", s.Label, false})
		case i == 0:
			c.Marks = append(c.Marks, Mark{"0", "start", s.Label, false})
		case i == len(stacks)-1:
			c.Marks = append(c.Marks, Mark{"100", "end", s.Label, false})
		case i%every == 0 && i+every/2 < len(stacks)-1:
			c.Marks = append(c.Marks, Mark{Decimal(x + each/2), "middle", s.Label, true})
		}
	}
	return c
}

// roundUp returns the next number that an axis ends with.
func roundUp(n int) int {
	for unit := 1; ; unit *= 10 {
		for _, step := range []int{1, 2, 4, 6, 8, 10} {
			if n <= step*unit {
				return step * unit
			}
		}
	}
}

// Shares returns how many percent of a whole some parts are, with one decimal. Parts that
// are the whole add up to 100: those with the largest remainders are rounded up.
func Shares[N int | float64](whole N, parts []N) []float64 {
	out, rest := make([]float64, len(parts)), make([]float64, len(parts))
	if whole <= 0 {
		return out
	}
	all, tenths := N(0), 0
	for i, part := range parts {
		all += part
		exact := float64(part) * 1000 / float64(whole)
		out[i] = math.Floor(exact + 1e-9) // so that a share that was typed stays as it is
		rest[i] = exact - out[i]
		tenths += int(out[i])
	}
	if math.Abs(float64(all-whole)) > 1e-6*float64(whole) {
		for i := range out {
			out[i] = math.Floor(out[i]+rest[i]+0.5) / 10
		}
		return out
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order[:min(max(1000-tenths, 0), len(order))] {
		out[i]++
	}
	for i := range out {
		out[i] /= 10
	}
	return out
}

// PointShares is shares of values of a chart.
func PointShares(points []Point, whole int) []float64 {
	values := make([]int, len(points))
	for i, p := range points {
		values[i] = p.Value
	}
	return Shares(whole, values)
}

// shareWidth returns the same as a width.
func shareWidth(part, whole int) string {
	if whole == 0 {
		return "0"
	}
	return Decimal(min(float64(part)*100/float64(whole), 100))
}

// Rows returns the rows of a table of counts, each of which has its share of a whole.
func Rows(points []Point, whole int) (rows []Row) {
	for i, share := range PointShares(points, whole) {
		p := points[i]
		rows = append(rows, Row{p.Label, forms.Number(p.Value), forms.Percent(share), shareWidth(p.Value, whole), cmp.Or(p.Class, "hue-1")})
	}
	return rows
}

// A Row is a row of a table of counts; its bar is Width percent.
type Row struct {
	Label, Count, Share, Width, Class string
}
