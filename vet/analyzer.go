package vet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// Analyzer checks the uses of flags in one package after the other. Its flag -flags names
// the file of the definitions, and -config the file of a configuration, by default
// [ConfigFile] in the working folder, which may name the definitions, too. It does not
// report what only a look at the whole program can find: handles that nobody uses and
// flags that no code reads.
var Analyzer = newAnalyzer()

// newAnalyzer returns an analyzer that its own flags configure.
func newAnalyzer() *analysis.Analyzer {
	a := analyzerOf(nil)
	file := a.Flags.String("flags", "", "the `FILE` of the definitions")
	config := a.Flags.String("config", "", "the `FILE` of the configuration (default "+ConfigFile+" in the working folder)")
	options := sync.OnceValues(func() (Options, error) { return open(*file, *config) })
	a.Run = func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[uses.Analyzer].(*uses.Package)
		if len(found.Uses) == 0 && len(found.Declarations) == 0 {
			return nil, nil // go vet asks about many packages that have nothing to do with flags
		}
		o, err := options()
		if err != nil {
			return nil, err
		}
		o.analyze(pass)
		return nil, nil
	}
	return a
}

// New returns an analyzer like [Analyzer] for drivers that configure it themselves. It
// needs Options.Definitions.
func New(o Options) *analysis.Analyzer {
	o = o.withDefaults()
	return analyzerOf(func(pass *analysis.Pass) (any, error) {
		if o.Definitions == nil {
			return nil, errors.New("vet: Options.Definitions is nil")
		}
		o.analyze(pass)
		return nil, nil
	})
}

func analyzerOf(run func(*analysis.Pass) (any, error)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "flagstaff",
		Doc: "check the use of feature flags against their definitions\n\n" +
			"It reports keys that do not exist, accessors of another type, variants that a flag\n" +
			"does not have, and flags that are archived, switched off or the same for everybody.",
		URL:      "https://pkg.go.dev/github.com/flagstaff-go/flagstaff/vet",
		Requires: []*analysis.Analyzer{uses.Analyzer},
		Run:      run,
	}
}

// open reads what the flags of an analyzer name.
func open(file, config string) (Options, error) {
	c, err := FindConfig(".", config)
	if err != nil {
		return Options{}, err
	}
	switch {
	case file != "":
	case c.Flags != "":
		file = c.Flags
	case c.URL != "":
		return Options{}, fmt.Errorf("%s names a server, which only the command flagstaff vet asks: write its flags to a file, and name that by -flagstaff.flags", c.Path)
	default:
		return Options{}, fmt.Errorf("there are no definitions: name their file by -flagstaff.flags, or as flags in %s", ConfigFile)
	}
	d, err := OpenDefinitions(file)
	if err != nil {
		return Options{}, err
	}
	return Options{Definitions: d, Config: c}.withDefaults(), nil
}

// OpenDefinitions reads a file of definitions, see [ReadDefinitions].
func OpenDefinitions(name string) (*Definitions, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, flags.MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d, err := ReadDefinitions(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// analyze reports the problems of one package.
func (o *Options) analyze(pass *analysis.Pass) {
	c := checker{
		definitions: o.Definitions, now: o.Now, files: pass.Files, info: pass.TypesInfo,
		found: pass.ResultOf[uses.Analyzer].(*uses.Package),
	}
	tests := make(map[string]bool)
	for _, file := range pass.Files {
		tests[pass.Fset.Position(file.Package).Filename] = isTest(pass.Fset, file)
	}
	problems := c.check()
	slices.SortStableFunc(problems, func(a, b problem) int { return int(a.pos) - int(b.pos) })
	for _, p := range problems {
		file := pass.Fset.Position(p.pos).Filename
		if _, ok := o.Config.severity(p.rule); !ok || tests[file] && !o.Config.Tests || o.Config.ignores(p.rule, p.key, file, o.Now) {
			continue
		}
		pass.Report(analysis.Diagnostic{Pos: p.pos, End: p.end, Category: string(p.rule), Message: p.message + " [" + string(p.rule) + "]", SuggestedFixes: p.fixes})
	}
}
