package console

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A bar is a row of shares, drawn as SVG: pages allow no style attributes.
type bar struct {
	Parts []barPart
	Words string // the same for people who do not see it
}

// A barPart is one share. X and Width are percent of the bar.
type barPart struct {
	X, Width, Class string
	Label           string // with the share
	Name, Share     string
}

// add appends a share that begins at x percent, and returns where the next one does. Shares
// of a whole come from the function shares.
func (b *bar) add(x, share float64, class, name string) float64 {
	if share <= 0 {
		return x
	}
	share = min(share, 100-x)
	label := name + " " + percent(round(share))
	b.Parts = append(b.Parts, barPart{decimal(x), decimal(share), class, label, name, percent(round(share))})
	if b.Words != "" {
		b.Words += ", "
	}
	b.Words += label
	return x + share
}

// exact writes a number so that it is read as the same number, and decimal a place in a picture.
func exact(v float64) string   { return strconv.FormatFloat(v, 'f', -1, 64) }
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// round keeps one decimal.
func round(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

// hues is how many colours bars have.
const hues = 8

// variantBar shows how a flag is shared out among its variants.
func variantBar(f *flags.Filters) (b bar) {
	if f.Multivariate == nil {
		return b
	}
	parts := make([]float64, len(f.Multivariate.Variants))
	for i, v := range f.Multivariate.Variants {
		parts[i] = v.RolloutPercentage
	}
	x := 0.0
	for i, share := range shares(100, parts) {
		x = b.add(x, share, "hue-"+strconv.Itoa(i%hues), f.Multivariate.Variants[i].Key)
	}
	return b
}
