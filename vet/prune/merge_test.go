package prune

import (
	"go/format"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestMerge: lines that only gofmt changes stay as they are, and the others are formatted.
func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name, original, changed, want string
		lines                         map[int]int // of lines in the formatted text
	}{
		{
			"formatted", "package a\n\nvar a = 1\nvar b = 2\n", "package a\n\nvar a = 1\n", "package a\n\nvar a = 1\n",
			map[int]int{3: 3},
		},
		{
			"spaces", "package a\n\n\n\nvar   a = 1\nvar   b = 2\nvar   c = 3\n", "package a\n\nvar a = 1\nvar   b =  true\nvar   c = 3\n",
			"package a\n\n\n\nvar   a = 1\nvar b = true\nvar   c = 3\n",
			map[int]int{3: 5, 4: 6, 5: 7},
		},
		{
			"both ends of lines", "package a\r\n\nvar   a = 1\nvar b = 2\r\nvar c = 3\n", "package a\n\nvar a = 1\nvar b = 4\nvar c = 3\n",
			"package a\r\n\nvar   a = 1\nvar b = 4\r\nvar c = 3\n",
			map[int]int{5: 5},
		},
		{
			"before and after", "\n\npackage   a\n\nvar a = 1\n\n\n", "package a\n\nvar a = 1\n", "\n\npackage   a\n\nvar a = 1\n\n\n",
			map[int]int{1: 3, 3: 5},
		},
		{
			"lines that gofmt makes", "package a\n\nfunc a() { b() ; c() }\n\nfunc b() bool { return x() }\n",
			"package a\n\nfunc a() { b() ; c() }\n\nfunc b() bool { return  true }\n",
			"package a\n\nfunc a() { b() ; c() }\n\nfunc b() bool { return true }\n",
			map[int]int{5: 5},
		},
		{"no last end", "package a\n\nvar a   = 1", "package a\n\nvar a = 2", "package a\n\nvar a = 2\n", map[int]int{3: 3}},
	} {
		formatted, err := format.Source([]byte(tt.changed))
		if err != nil {
			t.Fatal(err)
		}
		got, lines, err := merge([]byte(tt.original), formatted)
		if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", tt.name, err, diff)
		}
		for n, want := range tt.lines {
			if lines[n] != want {
				t.Errorf("%s: line %d is line %d, want %d", tt.name, n, lines[n], want)
			}
		}
	}
}

// TestMergeNothing: what nobody changes stays byte by byte, however it is formatted.
func TestMergeNothing(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no files", err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".go") {
				continue
			}
			for _, text := range []string{
				string(f.Data), strings.ReplaceAll(string(f.Data), "\n", "\r\n"), strings.ReplaceAll(string(f.Data), "\t", "  "),
				"\n\n" + strings.ReplaceAll(string(f.Data), "}\n", "}\n\n\n"), strings.ReplaceAll(string(f.Data), " {\n\t", " {  "),
			} {
				formatted, err := format.Source([]byte(text))
				if err != nil {
					continue // a comment has swallowed what was on the next line
				}
				got, _, err := merge([]byte(text), formatted)
				if diff := cmp.Diff(text, string(got)); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got)\n%s", f.Name, err, diff)
				}
			}
		}
	}
}

// TestCommon: the list is in both, and as long as the plainest way finds it to be.
func TestCommon(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines := func() (list []string) {
		for range random.IntN(12) {
			list = append(list, string(rune('a'+random.IntN(4))))
		}
		return list
	}
	var longest func(a, b []string) int
	longest = func(a, b []string) int {
		switch {
		case len(a) == 0 || len(b) == 0:
			return 0
		case a[0] == b[0]:
			return 1 + longest(a[1:], b[1:])
		}
		return max(longest(a[1:], b), longest(a, b[1:]))
	}
	for range 300 {
		a, b := lines(), lines()
		pairs := common(a, b)
		last := [2]int{-1, -1}
		for _, p := range pairs {
			if p[0] <= last[0] || p[1] <= last[1] || a[p[0]] != b[p[1]] {
				t.Fatalf("%q and %q: %v", a, b, pairs)
			}
			last = p
		}
		if want := longest(a, b); len(pairs) != want {
			t.Fatalf("%q and %q: %v, want %d", a, b, pairs, want)
		}
	}
}
