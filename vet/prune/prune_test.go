package prune_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/prune"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// options returns options with the flags of testdata.
func options(t *testing.T, keys ...string) prune.Options {
	t.Helper()
	text, err := os.ReadFile("testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := flags.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return prune.Options{Keys: keys, Snapshot: s, Definitions: d}
}

// valueOf returns options with the value of a flag.
func valueOf(o prune.Options, key, value string) prune.Options {
	o.Values = map[string]string{key: value}
	return o
}

// crlf is a file whose lines end as on Windows.
const crlf = "crlf.go"

// TestGolden prunes the packages of testdata/golden. Of each file x.go there is a x.go.want
// if it changes, and left has what is left. Package open is pruned by itself: keys that are
// not constants concern all tests.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txt")
	i := slices.Index(names, filepath.Join("testdata", "golden", "open.txt"))
	if err != nil || i < 0 {
		t.Fatal("there are no cases", err)
	}
	cases := golden(t, []string{names[i]}) + golden(t, slices.Delete(names, i, i+1))
	if cases < 60 {
		t.Errorf("there are %d functions, want at least 60", cases)
	}
}

// golden prunes packages together, and returns how many functions they have.
func golden(t *testing.T, names []string) (cases int) {
	src, err := filepath.Abs("testdata/src")
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "on", "off", "button", "look", "size", "ratio", "title", "greeting", "shape", "loop")
	o.Values = map[string]string{"off": "false", "look": "dark", "size": "3", "ratio": "0.5", "title": "first", "greeting": "true", "shape": "green", "loop": "false"}
	o.Overlay = make(map[string][]byte)
	archives := make(map[string]*txtar.Archive)
	var patterns []string
	for _, name := range append(slices.Clone(names), "testdata/golden/world.txt") {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimSuffix(filepath.Base(name), ".txt")
		if archives[pkg] != nil {
			continue
		}
		if slices.Contains(names, name) {
			archives[pkg] = a
			patterns = append(patterns, "./testdata/src/"+pkg)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".go") {
				text := f.Data
				if f.Name == crlf {
					text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
				}
				o.Overlay[filepath.Join(src, pkg, f.Name)] = text
				cases += bytes.Count(f.Data, []byte("\nfunc "))
			}
		}
	}
	report, err := prune.Run(t.Context(), o, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]*txtar.Archive)
	for pkg, a := range archives {
		b := new(txtar.Archive)
		changed := make(map[string][]byte)
		for _, f := range report.Files {
			if filepath.Base(filepath.Dir(f.Path)) == pkg {
				changed[filepath.Base(f.Path)] = f.New
			}
		}
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".go") {
				continue
			}
			b.Files = append(b.Files, f)
			if text, ok := changed[f.Name]; ok {
				if f.Name == crlf {
					text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
					if bytes.Count(changed[f.Name], []byte("\r")) != bytes.Count(text, []byte("\n")) {
						t.Errorf("%s has other ends of lines: %q", f.Name, changed[f.Name])
					}
				}
				b.Files = append(b.Files, txtar.File{Name: f.Name + ".want", Data: text})
			}
		}
		var left strings.Builder
		for _, p := range slices.Concat(report.Left, report.Open, report.Unused) {
			if filepath.Base(filepath.Dir(p.Position.Filename)) == pkg {
				fmt.Fprintf(&left, "%s:%d, now %d: %s: %s\n", filepath.Base(p.Position.Filename), p.Position.Line, p.Line, p.Key, p.Reason)
			}
		}
		if left.Len() > 0 {
			b.Files = append(b.Files, txtar.File{Name: "left", Data: []byte(left.String())})
		}
		got[pkg] = b
	}
	for _, pkg := range slices.Sorted(maps.Keys(archives)) {
		want, got := txtar.Format(archives[pkg]), txtar.Format(got[pkg])
		if *update {
			if err := os.WriteFile(filepath.Join("testdata/golden", pkg+".txt"), got, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pkg, diff)
		}
	}
	return cases
}

// TestWrongOptions looks at what flags without settled values are refused with.
func TestWrongOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options prune.Options
		want    string
	}{
		{"nothing", prune.Options{}, "there is no flag to prune: want at least one key"},
		{"no definitions", prune.Options{Keys: []string{"on"}}, `flag "on" has no value: there are no definitions, and none of the values is for it`},
		{"an empty value", prune.Options{Values: map[string]string{"on": ""}}, `the value of flag "on" is empty: want true, false or the key of a variant`},
		{"unknown", options(t, "of"), `there is no flag "of" in the definitions`},
		{"a share", options(t, "half"), `flag "half" is not settled: it is on for 50 % of all`},
		{"a filter", options(t, "pro"), `flag "pro" is not settled: it is on for 100 % of persons whom filters admit, then for 5 % of all, with 2 variants`},
		{"nobody", options(t, "nobody"), `flag "nobody" is not settled: it is on for nobody, and may be yet to come; give it the value false if that is for good`},
		{"switched off", options(t, "switched-off"), `flag "switched-off" is not settled: it is switched off, so that each call has its fallback`},
		{"remote configuration", options(t, "limits"), `flag "limits" is remote configuration, whose value is a payload, and payloads are not pruned`},
		{"a rule set", options(t, "on", "typed"), `flag "typed" has a rule set, and values of its types are not pruned`},
		{"a rule set, with a value", valueOf(options(t), "typed", "true"), `flag "typed" has a rule set, and values of its types are not pruned`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := prune.Run(t.Context(), tt.options, "./nowhere"); err == nil || err.Error() != tt.want {
				t.Errorf("the error is %v, want %s", err, tt.want)
			}
		})
	}
}
