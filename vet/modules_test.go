package vet_test

import (
	"encoding/json"
	"go/constant"
	"os"
	"os/exec"
	"slices"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"

	"github.com/flagstaff-go/flagstaff/vet"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// TestModules finds nothing in modules of others, for definitions in which each flag is
// what the calls take it for: whatever is found is wrong. It fetches the modules and
// compiles what they import, and so runs only with FLAGSTAFF_VET_MODULES in the environment.
func TestModules(t *testing.T) {
	if os.Getenv("FLAGSTAFF_VET_MODULES") == "" {
		t.Skip("FLAGSTAFF_VET_MODULES is not set")
	}
	environ := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath")
	for _, module := range []struct {
		version, tags string
		variants      map[string][]string // that the module compares values of posthog-go with
	}{
		{"github.com/open-feature/go-sdk@v1.20.0", "testtools", nil},
		{"github.com/posthog/posthog-go@v1.23.1", "", map[string][]string{
			"multivariate-root-flag": {"breaking-bad", "the-wire"}, "multi-variate-flag": {"hello"},
			"beta-feature": {"decide-fallback-value"}, "test-get-feature": {"variant-1"}, "multi-condition-flag": {"set-1"},
		}},
		{"github.com/open-feature/cli@v0.4.1", "", nil},
	} {
		t.Run(module.version, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module.version)
			cmd.Dir, cmd.Env = t.TempDir(), environ
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var fetched struct{ Dir string }
			if err := json.Unmarshal(out, &fetched); err != nil {
				t.Fatal(err)
			}
			tags := []string{"-tags=" + module.tags}
			program, err := uses.Load(packages.Config{Context: t.Context(), Dir: fetched.Dir, Env: environ, BuildFlags: tags, Tests: true}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			definitions, several, counts := definitionsOf(t, program, module.variants)
			findings, err := vet.Run(t.Context(), vet.Options{
				Definitions: definitions, Config: &vet.Config{Tests: true, Unused: true}, Dir: fetched.Dir, Env: environ, BuildFlags: tags,
			}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				if !several[f.Flag] {
					t.Error(f)
				}
			}
			t.Logf("%d packages, %d calls that ask for flags, of which %d have constant keys, of %d flags, %d of them taken for several things",
				len(program.Packages), counts.calls, counts.constant, counts.flags, len(several))
		})
	}
}

type moduleCounts struct{ calls, constant, flags int }

// An askedFlag is what a program asks of one flag.
type askedFlag struct {
	kinds     map[uses.Kind]bool
	fallbacks []string
}

// definitionsOf returns definitions of all flags that a program asks for, and the keys of
// flags that it takes for several things, which its tests of a library do.
func definitionsOf(t *testing.T, program *uses.Program, variants map[string][]string) (*vet.Definitions, map[string]bool, moduleCounts) {
	t.Helper()
	var counts moduleCounts
	asked := make(map[string]*askedFlag)
	calls := make(map[string]bool) // a package and its variant for tests share files
	for _, p := range program.Packages {
		for _, u := range program.Found[p].Uses {
			at := p.Fset.Position(u.Call.Pos()).String()
			if calls[at] {
				continue
			}
			calls[at] = true
			counts.calls++
			if u.Key == "" {
				continue
			}
			counts.constant++
			f := asked[u.Key]
			if f == nil {
				f = &askedFlag{kinds: make(map[uses.Kind]bool), fallbacks: slices.Clone(variants[u.Key])}
				asked[u.Key] = f
			}
			f.kinds[u.Kind] = true
			if u.Kind == uses.String && u.Fallback != nil {
				if v := p.TypesInfo.Types[u.Fallback].Value; v != nil && v.Kind() == constant.String {
					f.fallbacks = append(f.fallbacks, constant.StringVal(v))
				}
			}
		}
	}
	type object = map[string]any
	list, several := []object{}, make(map[string]bool)
	for key, f := range asked {
		if !utf8.ValidString(key) { // a document cannot have it
			several[key] = true
			continue
		}
		filters := object{"groups": []object{{"rollout_percentage": 50}}}
		one := object{"id": len(list) + 1, "key": key, "active": true, "filters": filters}
		list = append(list, one)
		if f.kinds[uses.Int] || f.kinds[uses.Float] {
			one["is_remote_configuration"], filters["payloads"] = true, object{"true": "1"}
		} else if f.kinds[uses.Object] {
			filters["payloads"] = object{"true": "{}"}
		}
		names := slices.Compact(slices.Sorted(slices.Values(f.fallbacks)))
		if f.kinds[uses.String] && len(names) == 0 {
			names = []string{"some"}
		}
		var multivariate []object
		for _, name := range names {
			multivariate = append(multivariate, object{"key": name, "rollout_percentage": 100 / len(names)})
		}
		filters["multivariate"] = object{"variants": multivariate}
		delete(f.kinds, uses.Any)
		if len(f.kinds) > 1 && !(len(f.kinds) == 2 && f.kinds[uses.Bool] && f.kinds[uses.Object]) {
			several[key] = true
		}
	}
	counts.flags = len(list)
	document, err := json.Marshal(object{"flags": list})
	if err != nil {
		t.Fatal(err)
	}
	d, err := vet.ReadDefinitions(document)
	if err != nil {
		t.Fatal(err)
	}
	return d, several, counts
}
