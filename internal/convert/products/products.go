// Package products lists the products whose flags can be imported.
package products

import (
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/launchdarkly"
)

// A Product is another product.
type Product struct {
	Name    string // as options have it
	Title   string // as people know it
	Convert func(document []byte, o *convert.Options) (*convert.Project, error)
}

// All are the products, in the order in which they are listed.
var All = []Product{
	{"launchdarkly", "LaunchDarkly", launchdarkly.Convert},
}

// Named returns the product with a name.
func Named(name string) (p *Product, ok bool) {
	i := slices.IndexFunc(All, func(p Product) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &All[i], true
}

// Names returns the names of all products.
func Names() (names []string) {
	for _, p := range All {
		names = append(names, p.Name)
	}
	return names
}
