package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/vet"
	"github.com/flagstaff-go/flagstaff/vet/prune"
)

// TestWritePruned writes through links, and nothing at all if one file has changed.
func TestWritePruned(t *testing.T) {
	t.Parallel()
	first, second := write(t, "first.go", "package a\n"), write(t, "second.go", "package b\n")
	link := filepath.Join(t.TempDir(), "link.go")
	if err := os.Symlink(first, link); err != nil {
		t.Fatal(err)
	}
	files := []prune.File{
		{Path: link, Old: []byte("package a\n"), New: []byte("package c\n")},
		{Path: second, Old: []byte("package another\n"), New: []byte("package d\n")},
	}
	if err := writePruned(files); err == nil || !strings.Contains(err.Error(), "second.go has changed while its package was read: no file was written") {
		t.Errorf("for a file that has changed: %v", err)
	}
	files[1].Old = []byte("package b\n")
	has := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(first); err != nil || string(got) != want {
			t.Errorf("the file has %q, %v; want %q", got, err, want)
		}
	}
	has("package a\n")
	if err := writePruned(files); err != nil {
		t.Fatal(err)
	}
	has("package c\n")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

// TestVetFixes writes what is meant, from the end of a file to its beginning, and leaves
// a file alone that has changed.
func TestVetFixes(t *testing.T) {
	t.Parallel()
	file := write(t, "shop.go", `ask("butn", "gren", "butn")`)
	fix := func(start, end int, text string) vet.Finding {
		return vet.Finding{Rule: vet.UnknownKey, Fixes: []vet.Fix{{File: file, Start: start, End: end, New: text}}}
	}
	other := vet.Finding{Rule: vet.Constant}
	p := Program{Stdout: new(bytes.Buffer)}
	left, err := p.fix([]vet.Finding{fix(4, 10, `"button"`), other, fix(12, 18, `"green"`), fix(20, 26, `"button"`), fix(4, 10, `"button"`)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]vet.Finding{other}, left); diff != "" {
		t.Errorf("what is left: -want +got\n%s", diff)
	}
	const want = `ask("button", "green", "button")`
	if text, err := os.ReadFile(file); err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	if _, err := p.fix([]vet.Finding{fix(5, 9, `"b"`)}); err == nil || err.Error() != file+" has changed while it was checked: nothing is written to it" {
		t.Errorf("of a file that has changed: %v", err)
	}
}

// write writes a file into a folder of its own, and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
