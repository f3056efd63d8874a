package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	rulingRow    = regexp.MustCompile(`(?m)^\| (\d+) \| [a-z]+\.md §`)
	rulingNumber = regexp.MustCompile(`Ruling ?(\d+)`)
)

// TestRulings: each number of a ruling that docs/spec lists leads to a test: to its name, or
// to a row of its table.
func TestRulings(t *testing.T) {
	tested := make(map[string]bool)
	for _, file := range files(t) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "examples/console/") {
			for _, m := range rulingNumber.FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
				tested[m[1]] = true
			}
		}
	}
	text := read(t, filepath.Join(root, "docs", "spec", "README.md"))
	_, table, ok := strings.Cut(text, "\n| ruling | where it stands |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/spec/README.md has no table of rulings")
	}
	listed := make(map[string]bool)
	for _, m := range rulingRow.FindAllStringSubmatch(table, -1) {
		if listed[m[1]] {
			t.Errorf("ruling %s is listed twice", m[1])
		}
		listed[m[1]] = true
		if !tested[m[1]] {
			t.Errorf("no test has the number of ruling %s in its name, or in the name of a row", m[1])
		}
	}
	if rows := strings.Count(table, "\n"); len(listed) != rows {
		t.Errorf("%d of %d rows were understood", len(listed), rows)
	}
}
