package docs_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilesOfAChange: CONTRIBUTING.md names all Go files of the product in which a new field of
// a flag and a new operator need a line, and these are few. An example of each stands for all.
func TestFilesOfAChange(t *testing.T) {
	table := read(t, "../CONTRIBUTING.md")
	product := goFiles(t, "internal/reference/", "internal/faulttest/", "internal/convert/", "management/internal/storetest/", "examples/", ".ci/") // without what is for tests, and for other products
	for what, tt := range map[string]struct {
		names *regexp.Regexp // of the example
		most  int            // files
	}{
		"a field of a flag": {regexp.MustCompile(`ContextsMatchMode|ContextMatch\b|evaluation_contexts_match_mode`), 8},
		"an operator":       {regexp.MustCompile(`icontains_multi|IContainsMulti|OpContainsAny`), 4},
	} {
		row := regexp.MustCompile(`\| ` + what + ` \|.*`).FindString(table)
		var listed []string
		for _, m := range regexp.MustCompile("`([\\w/]+\\.go)`").FindAllStringSubmatch(row, -1) {
			listed = append(listed, m[1])
		}
		var naming []string
		for file, source := range product {
			if tt.names.MatchString(source) {
				naming = append(naming, file)
			}
		}
		slices.Sort(listed)
		slices.Sort(naming)
		if diff := cmp.Diff(listed, naming); diff != "" {
			t.Errorf("files of %s: -CONTRIBUTING.md +those that name the example\n%s", what, diff)
		}
		if len(listed) > tt.most {
			t.Errorf("%s is in %d files, want %d at most", what, len(listed), tt.most)
		}
	}
}
