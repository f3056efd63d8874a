package docs_test

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A limitRow is what a table of limits says about one constant.
type limitRow struct{ value, unit, what string }

// limitLine is a row of a table: the constant, its value and unit, what it limits.
var limitLine = regexp.MustCompile("(?m)^`([^`]+\\.[mM]ax\\w+)` \\| ([0-9][0-9,.]*) ([^|]+?) \\| ([^|]+?)$")

// TestLimits holds the tables of docs/limits.md to the code: they have each
// constant of the product that is called max…, with its value, and nothing else. No
// constant has another prefix of the same meaning.
func TestLimits(t *testing.T) {
	rows := make(map[string]limitRow)
	for _, m := range limitLine.FindAllStringSubmatch(read(t, "limits.md"), -1) {
		if _, ok := rows[m[1]]; ok {
			t.Errorf("limits.md: %s has two rows", m[1])
		}
		rows[m[1]] = limitRow{value: m[2], unit: m[3], what: m[4]}
	}
	constants := limitConstants(t)
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		row, ok := rows[name]
		if !ok {
			t.Errorf("limits.md: no row for %s, %s", name, constants[name])
			continue
		}
		if want, err := row.number(); err != nil || !constant.Compare(constants[name], token.EQL, want) {
			t.Errorf("limits.md: %s is %s %s, but the code has %s", name, row.value, row.unit, constants[name])
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("limits.md: the code has no %s", name)
	}
}

// scale is how many of the smallest unit a unit has: bytes, or nanoseconds.
var scale = map[string]int64{
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	"ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute), "h": int64(time.Hour),
}

// number returns the value of a row in bytes, nanoseconds, or what its unit counts.
func (r limitRow) number() (constant.Value, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(r.value, ",", ""), 10, 64)
	unit, _, _ := strings.Cut(r.unit, " ")
	if times, ok := scale[unit]; ok {
		n *= times
	}
	return constant.MakeInt64(n), err
}

// limitConstants returns the values of the constants of the product that limit
// something, by folder and name.
func limitConstants(t *testing.T) map[string]constant.Value {
	t.Helper()
	folders := make(map[string][]*ast.File)
	set := token.NewFileSet()
	for _, file := range files(t) {
		folder := path.Dir(file)
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || !isProduct(folder) {
			continue
		}
		parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folders[folder] = append(folders[folder], parsed)
	}
	found := make(map[string]constant.Value)
	for folder, parsed := range folders {
		// Only constants matter, and they use of other packages what imported has; all
		// other imports fail, and their errors are ignored.
		config := types.Config{Importer: imported, Error: func(error) {}, IgnoreFuncBodies: true}
		pkg, _ := config.Check(folder, set, parsed, nil)
		for _, name := range pkg.Scope().Names() {
			c, ok := pkg.Scope().Lookup(name).(*types.Const)
			if !ok {
				continue
			}
			if other := otherPrefix.FindString(name); other != "" {
				t.Errorf("%s.%s: a limit is called max…, a lower one min…", folder, name)
			}
			if limitName.MatchString(name) {
				value := constant.ToInt(c.Val())
				if value.Kind() != constant.Int {
					t.Errorf("%s.%s: not a number", folder, name)
					continue
				}
				found[folder+"."+name] = value
			}
		}
	}
	if len(found) < 100 {
		t.Errorf("%d limits were found, want all of the product", len(found))
	}
	return found
}

var (
	limitName   = regexp.MustCompile(`^[mM]ax[A-Z]`)
	otherPrefix = regexp.MustCompile(`^(?i:most|longest|largest|highest|least|fewest)[A-Z]`)
)

// isProduct reports whether a folder has code that users run: not examples, and no
// oracles and tools of tests.
func isProduct(folder string) bool {
	for _, other := range []string{"examples", "docs", ".ci", "internal/reference", "internal/storetest", "internal/bench"} {
		if folder == other || strings.HasPrefix(folder, other+"/") || strings.HasSuffix(folder, "/"+other) {
			return false
		}
	}
	return true
}

// constants imports packages of which only constants are needed.
type constants map[string]*types.Package

func (c constants) Import(path string) (*types.Package, error) {
	if p := c[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not needed")
}

// imported has the constants of other packages that limits are made of.
var imported = func() constants {
	clock := types.NewPackage("time", "time")
	duration := types.NewNamed(types.NewTypeName(token.NoPos, clock, "Duration", nil), types.Typ[types.Int64], nil)
	for name, d := range map[string]time.Duration{
		"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
		"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
	} {
		clock.Scope().Insert(types.NewConst(token.NoPos, clock, name, duration, constant.MakeInt64(int64(d))))
	}
	numbers := types.NewPackage("math", "math")
	numbers.Scope().Insert(types.NewConst(token.NoPos, numbers, "MaxInt32", types.Typ[types.UntypedInt], constant.MakeInt64(math.MaxInt32)))
	definitions := types.NewPackage("github.com/flagstaff-go/flagstaff/flags", "flags")
	definitions.Scope().Insert(types.NewConst(token.NoPos, definitions, "MaxDocument", types.Typ[types.UntypedInt], constant.MakeInt64(flags.MaxDocument)))
	list := constants{clock.Path(): clock, numbers.Path(): numbers, definitions.Path(): definitions}
	for _, p := range list {
		p.MarkComplete()
	}
	return list
}()
