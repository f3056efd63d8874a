package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// longestReadme is how many bytes README.md may have: it is for a first look.
const longestReadme = 8000

// TestReadme: the code in README.md is the example inprocess, whose test runs it.
func TestReadme(t *testing.T) {
	text := read(t, filepath.Join(root, "README.md"))
	if len(text) > longestReadme {
		t.Errorf("README.md has %d bytes, want at most %d", len(text), longestReadme)
	}
	example := func(name string) string { return read(t, filepath.Join(root, "examples", "inprocess", name)) }
	_, main, _ := strings.Cut(example("main.go"), "\npackage main\n")
	_, test, _ := strings.Cut(example("main_test.go"), "\nfunc TestCheckout(")
	test, _, _ = strings.Cut(test, "\n}\n")
	want := []string{
		"json\n" + example("flags.json"),
		"go\npackage main\n" + main,
		"go\nfunc TestCheckout(" + test + "\n}\n",
	}
	var got []string
	for _, m := range regexp.MustCompile("(?ms)^```((?:json|go)\n.*?)^```$").FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("code in examples/inprocess, and in README.md (-want +got):\n%s", diff)
	}
}
