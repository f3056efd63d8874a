package vet_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/flagstaff-go/flagstaff/vet"
	_ "github.com/flagstaff-go/flagstaff/vet/golangci"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// A driver runs analyzers on one package after the other, as go vet does: what one package
// knows of another one are facts, which are encoded.
type driver struct {
	t     *testing.T
	facts map[types.Object][]byte
	lines []string
}

// run runs an analyzer and those that it requires, and returns its result.
func (d *driver) run(a *analysis.Analyzer, p *packages.Package) any {
	d.t.Helper()
	pass := &analysis.Pass{
		Analyzer: a, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes,
		ResultOf: make(map[*analysis.Analyzer]any), ReadFile: os.ReadFile,
		ImportObjectFact: func(o types.Object, f analysis.Fact) bool {
			encoded, ok := d.facts[o]
			if ok {
				if err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(f); err != nil {
					d.t.Error(err)
				}
			}
			return ok
		},
		ExportObjectFact: func(o types.Object, f analysis.Fact) {
			var b bytes.Buffer
			if err := gob.NewEncoder(&b).Encode(f); err != nil {
				d.t.Error(err)
			}
			d.facts[o] = b.Bytes()
		},
		Report: func(diagnostic analysis.Diagnostic) {
			at := p.Fset.Position(diagnostic.Pos)
			name, err := filepath.Rel(mustGetwd(d.t), at.Filename)
			if err != nil {
				d.t.Error(err)
			}
			d.lines = append(d.lines, fmt.Sprintf("%s:%d:%d: %s", name, at.Line, at.Column, diagnostic.Message))
		},
	}
	for _, required := range a.Requires {
		pass.ResultOf[required] = d.run(required, p)
	}
	result, err := a.Run(pass)
	if err != nil {
		d.t.Error(err)
	}
	return result
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestAnalyzer finds in one package after the other what Run finds in all of them, but for
// what only a look at all of them can find. So does the plugin of golangci-lint.
func TestAnalyzer(t *testing.T) {
	o := vet.Options{Definitions: definitions(t), Now: now}
	findings, err := vet.Run(t.Context(), o, "./testdata/internal/...")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range findings {
		if f.Rule != vet.UnusedHandle {
			want = append(want, f.String())
		}
	}
	list, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Fset: token.NewFileSet()}, "./testdata/internal/...")
	if err != nil {
		t.Fatal(err)
	}
	newPlugin, err := register.GetPlugin("flagstaff")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := newPlugin(map[string]any{"flags": "testdata/flags.json"})
	if err != nil {
		t.Fatal(err)
	}
	ofPlugin, err := plugin.BuildAnalyzers()
	if err != nil || len(ofPlugin) != 1 || plugin.GetLoadMode() != register.LoadModeTypesInfo {
		t.Fatalf("the plugin has %v (error %v), which need %q", ofPlugin, err, plugin.GetLoadMode())
	}
	if err := analysis.Validate([]*analysis.Analyzer{vet.Analyzer, vet.New(o), ofPlugin[0], uses.Analyzer}); err != nil {
		t.Error(err)
	}
	for name, analyzer := range map[string]*analysis.Analyzer{"New": vet.New(o), "the plugin": ofPlugin[0]} {
		d := driver{t: t, facts: make(map[types.Object][]byte)}
		packages.Visit(list, nil, func(p *packages.Package) {
			if slices.Contains(list, p) {
				d.run(analyzer, p)
			}
		})
		got, want := d.lines, slices.Clone(want)
		if name != "New" { // its clock is the real one
			got, want = withoutAge(got), withoutAge(want)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// withoutAge leaves out for how long flags are unchanged.
func withoutAge(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		before, after, ok := strings.Cut(line, ", unchanged for ")
		if ok {
			_, after, _ = strings.Cut(after, "day")
			before += strings.TrimPrefix(after, "s")
		}
		out[i] = before
	}
	return out
}

// TestPluginRefuses says what of the settings is wrong.
func TestPluginRefuses(t *testing.T) {
	newPlugin, err := register.GetPlugin("flagstaff")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newPlugin(map[string]any{"flag": "a"}); err == nil {
		t.Error("a setting that does not exist is accepted")
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		settings map[string]any
		want     string
	}{
		{nil, "flagstaff: there are no definitions: name their file as flags, in the settings or in .flagstaff-vet.yaml"},
		{map[string]any{"config": "none.yaml"}, "open none.yaml: no such file or directory"},
		{map[string]any{"flags": "none.json"}, "open none.json: no such file or directory"},
	} {
		p, err := newPlugin(tt.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.BuildAnalyzers(); message(err) != tt.want {
			t.Errorf("%v: %v, want %s", tt.settings, err, tt.want)
		}
	}
}
