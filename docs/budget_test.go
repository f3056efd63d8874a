package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notProduct are folders of tests, what only tests use, examples, and tools of releases.
var notProduct = regexp.MustCompile(`(^|/)(testdata|internal/bench|internal/reference|reference)(/|$)|test(/|$)|^\.ci(/|$)|^examples(/|$)`)

const budgetStep = 50 // lines

// TestBudget holds the lines and the exported names of each package to a golden file, the lines
// rounded up, so that a rise is a decision that its commit explains, and a fall stays.
func TestBudget(t *testing.T) {
	lines, total := make(map[string]int), 0
	for _, file := range files(t) {
		folder := path.Dir(file)
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || notProduct.MatchString(folder) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(source, []byte("\n"))
		lines[folder] += n
		total += n
	}
	names := make(map[string]int)
	for folder, sources := range packages(t) {
		for _, identifier := range exportedBy(sources).identifiers {
			if !strings.Contains(identifier, ".") {
				names[folder]++
			}
		}
	}
	roundedUp := func(n int) int { return (n + budgetStep - 1) / budgetStep * budgetStep }
	var b strings.Builder
	fmt.Fprintf(&b, "%d lines in all\n", roundedUp(total))
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%s: %d lines, %d names\n", folder, roundedUp(lines[folder]), names[folder])
	}
	golden := filepath.Join("testdata", "golden", "budget.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("lines and exported names of packages: -budget +now\n%s\nIf a rise has its price: go test ./docs -update, and say in the commit why", diff)
	}
}

// TestPorts limits the number of methods of the store's ports, with the methods of flags/subject that
// they embed: whoever writes another store has to know them all. A kind of rows is one more Table,
// and not five more methods.
func TestPorts(t *testing.T) {
	const most = 80
	n := 0
	sources := packages(t)
	for _, folder := range []string{"management/storage", "flags/subject"} {
		for _, file := range sources[folder] {
			for spec := range typeSpecs(file) {
				port, ok := spec.Type.(*ast.InterfaceType)
				if !ok || folder == "flags/subject" && spec.Name.Name != "Store" {
					continue
				}
				for _, method := range port.Methods.List {
					n += len(method.Names) // none if another port is embedded
				}
			}
		}
	}
	if n > most || n < most/2 {
		t.Errorf("the ports have %d methods, want at most %d", n, most)
	}
}
