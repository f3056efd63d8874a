package charts

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A Bar is a row of shares, drawn as SVG: pages allow no style attributes.
type Bar struct {
	Parts []BarPart
	Words string // the same for people who do not see it
}

// A BarPart is one share. X and Width are percent of the bar.
type BarPart struct {
	X, Width, Class string
	Label           string // with the share
	Name, Share     string
}

// Add appends a share that begins at x percent, and returns where the next one does. Shares
// of a whole come from the function shares.
func (b *Bar) Add(x, share float64, class, name string) float64 {
	if share <= 0 {
		return x
	}
	share = min(share, 100-x)
	label := name + " " + forms.Percent(Round(share))
	b.Parts = append(b.Parts, BarPart{Decimal(x), Decimal(share), class, label, name, forms.Percent(Round(share))})
	if b.Words != "" {
		b.Words += ", "
	}
	b.Words += label
	return x + share
}

// Decimal writes a place in a picture.
func Decimal(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// Round keeps one decimal.
func Round(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

// Hues is how many colours bars have.
const Hues = 8
