package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/convert/products"
)

// TestPagesOfOtherProducts: each product whose flags can be imported has a page, to which
// migrate.md and README.md lead, with the commands for it.
func TestPagesOfOtherProducts(t *testing.T) {
	common, readme := read(t, "migrate.md"), read(t, "../README.md")
	for _, p := range products.All {
		name := "from-" + p.Name + ".md"
		page := read(t, name)
		for _, want := range []string{
			"# From " + p.Title + "\n", fmt.Sprintf("flagstaff import -from %s ", p.Name), " -dry-run ",
			fmt.Sprintf("flagstaff compare -from %s ", p.Name), "\nNot kept: ",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not have %q", name, want)
			}
		}
		if words := len(strings.Fields(page)); words > maxGuideWords {
			t.Errorf("%s has %d words, want at most %d", name, words, maxGuideWords)
		}
		if link := "[" + p.Title + "](" + name + ")"; !strings.Contains(common, link) {
			t.Errorf("migrate.md does not have %s", link)
		}
		if !strings.Contains(readme, "(docs/"+name+")") {
			t.Errorf("README.md does not have docs/%s", name)
		}
	}
}

const maxGuideWords = 400 // which is a page
