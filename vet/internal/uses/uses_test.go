package uses_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// TestPure tells calls that can be left out from calls whose arguments have effects. What
// calls are found, and what they ask for, the tests of the rules show.
func TestPure(t *testing.T) {
	folder := filepath.Join("..", "..", "testdata", "internal", "pure")
	text, err := os.ReadFile(filepath.Join(folder, "pure.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	program, err := uses.Load(packages.Config{Context: t.Context()}, "./"+filepath.ToSlash(folder))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range program.Packages {
		for _, u := range program.Found[p].Uses {
			line := p.Fset.Position(u.Call.Pos()).Line
			n++
			if want := !strings.HasSuffix(lines[line-1], "// effect"); u.Pure != want {
				t.Errorf("line %d: Pure is %t:%s", line, u.Pure, lines[line-1])
			}
			if u.Key != "new-checkout" {
				t.Errorf("line %d: the key is %q", line, u.Key)
			}
		}
	}
	if n != 23 {
		t.Errorf("found %d calls, want 23", n)
	}
}

// TestLoadRefuses says what does not compile.
func TestLoadRefuses(t *testing.T) {
	for pattern, want := range map[string]string{
		"./none": "directory not found",
		"fmtt":   "fmtt",
	} {
		if _, err := uses.Load(packages.Config{Context: t.Context()}, pattern); err == nil || !strings.HasPrefix(err.Error(), "the packages do not compile:\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
