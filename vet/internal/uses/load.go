package uses

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Program is packages that were loaded together, with what was found in them.
type Program struct {
	// Packages are what the patterns name. With tests, a package and its variant for a
	// test are two, which share files.
	Packages []*packages.Package

	// Found has what was found in each of them.
	Found map[*packages.Package]*Package
}

// mode is what has to be known of packages. Packages of others come from the compiler's
// export data.
const mode = packages.LoadSyntax | packages.NeedModule

// Load loads packages and finds the uses in them. The Mode of the Config does not matter.
// Handles may be declared in any package that these import. The error says what does not
// compile.
func Load(c packages.Config, patterns ...string) (*Program, error) {
	c.Mode = mode
	list, err := packages.Load(&c, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	if err := check(list); err != nil {
		return nil, err
	}
	asked := make(map[string]bool, len(list))
	for _, p := range list {
		asked[p.ID] = true
	}
	all := list
	if others := declaring(list); len(others) > 0 {
		if all, err = packages.Load(&c, append(slices.Clone(patterns), others...)...); err != nil {
			return nil, fmt.Errorf("load packages: %w", err)
		}
		if err := check(all); err != nil {
			return nil, err
		}
	}
	program := &Program{Found: findAll(all)}
	for _, p := range all {
		if asked[p.ID] {
			program.Packages = append(program.Packages, p)
		} else {
			delete(program.Found, p)
		}
	}
	return program, nil
}

// check says which packages cannot be understood.
func check(list []*packages.Package) error {
	var texts []string
	known := make(map[string]bool)
	for _, p := range list {
		for _, e := range p.Errors {
			text := e.Error()
			if e.Pos == "" || e.Pos == "-" {
				text = e.Msg // it is about no place
			}
			if !known[text] {
				known[text] = true
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	const most = 5 // that are told
	more := ""
	if len(texts) > most {
		more = fmt.Sprintf("\nand %d more", len(texts)-most)
		texts = texts[:most]
	}
	return fmt.Errorf("the packages do not compile:\n%s%s", strings.Join(texts, "\n"), more)
}

// declaring returns the paths of packages that others import and that may declare handles.
func declaring(list []*packages.Package) []string {
	asked, paths := make(map[string]bool), make(map[string]bool)
	for _, p := range list {
		asked[p.PkgPath] = true
	}
	packages.Visit(list, func(p *packages.Package) bool {
		ours := p.PkgPath == flagstaffPath || strings.HasPrefix(p.PkgPath, flagsPath) || strings.HasPrefix(p.PkgPath, flagstaffPath+"/internal/")
		if !ours && !asked[p.PkgPath] && (p.Imports[flagstaffPath] != nil || p.Imports[flagsPath] != nil) {
			paths[p.PkgPath] = true
		}
		return !ours
	}, nil)
	return slices.Sorted(maps.Keys(paths))
}

// findAll finds the uses in packages and in those that they import, as far as they are in
// the list.
func findAll(list []*packages.Package) map[*packages.Package]*Package {
	found, handles := make(map[*packages.Package]*Package), make(map[*types.Var]*Declaration)
	askers := make(map[string]*types.Package)
	packages.Visit(list, nil, func(p *packages.Package) {
		if p.PkgPath == flagstaffPath || p.PkgPath == flagsPath {
			askers[p.PkgPath] = p.Types
		}
	})
	listed := make(map[*packages.Package]bool, len(list))
	for _, p := range list {
		listed[p] = true
	}
	packages.Visit(list, nil, func(p *packages.Package) {
		if !listed[p] {
			return
		}
		s := source{
			Files: p.Syntax, Types: p.Types, Info: p.TypesInfo, askers: askers,
			imported: func(v *types.Var) *Declaration { return handles[v] },
		}
		found[p] = s.find()
		for i := range found[p].Declarations {
			d := &found[p].Declarations[i]
			if v, ok := d.Object.(*types.Var); ok && isPackageLevel(v) {
				handles[v] = d
			}
		}
	})
	return found
}
