package products

import (
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/configcat"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
	"github.com/flagstaff-go/flagstaff/internal/convert/flipt"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
	"github.com/flagstaff-go/flagstaff/internal/convert/launchdarkly"
	"github.com/flagstaff-go/flagstaff/internal/convert/unleash"
)

// A Product is another product.
type Product struct {
	Name    string // as options have it
	Title   string // as people know it
	Convert func(document []byte, o *convert.Options) (*convert.Project, error)

	// Export writes the flags without Problems of a project that [convert.Read] has made, and
	// returns those that are refused. Nil: the product is one to import from alone.
	Export func(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error)
}

// All are the products, in the order in which they are listed.
var All = []Product{
	{"launchdarkly", "LaunchDarkly", launchdarkly.Convert, launchdarkly.Export},
	{"unleash", "Unleash", unleash.Convert, unleash.Export},
	{"go-feature-flag", "GO Feature Flag", gofeatureflag.Convert, gofeatureflag.Export},
	{"flipt", "Flipt", flipt.Convert, flipt.Export},
	{"flagd", "flagd", flagd.Convert, flagd.Export},
	{"growthbook", "GrowthBook", growthbook.Convert, growthbook.Export},
	{"configcat", "ConfigCat", configcat.Convert, configcat.Export},
}

// Decrypt returns a document of the product as Convert takes it. One that is not encrypted stays as
// it is.
func (p *Product) Decrypt(document []byte, key string) ([]byte, error) {
	if p.Name == "growthbook" {
		return growthbook.Decrypt(document, key)
	}
	return document, nil
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
