package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilesOfAChange: CONTRIBUTING.md names all Go files of the product in which a new field of
// a flag and a new operator need a line, and these are few. An example of each stands for all.
func TestFilesOfAChange(t *testing.T) {
	table := read(t, "../CONTRIBUTING.md")
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
		slices.Sort(listed)
		if diff := cmp.Diff(listed, productFilesWith(t, tt.names)); diff != "" {
			t.Errorf("files of %s: -CONTRIBUTING.md +those that name the example\n%s", what, diff)
		}
		if len(listed) > tt.most {
			t.Errorf("%s is in %d files, want %d at most", what, len(listed), tt.most)
		}
	}
}

// productFilesWith returns the Go files of the product in which an expression matches.
func productFilesWith(t *testing.T, names *regexp.Regexp) (files []string) {
	t.Helper()
	others := []string{"internal/reference/", "internal/faulttest/", "management/internal/storetest/", "examples/", ".ci/"} // for tests
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		file := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"),
			slices.ContainsFunc(others, func(prefix string) bool { return strings.HasPrefix(file, prefix) }):
			return nil
		}
		source, err := os.ReadFile(path)
		if names.Match(source) {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
