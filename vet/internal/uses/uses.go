package uses

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Analyzer finds the uses of flags in a package. Its result is a *Package.
var Analyzer = &analysis.Analyzer{
	Name:       "flaguses",
	Doc:        "find the places that ask for feature flags",
	Run:        run,
	ResultType: reflect.TypeFor[*Package](),
	FactTypes:  []analysis.Fact{new(handleFact)},
}

func run(pass *analysis.Pass) (any, error) {
	// The go command asks about each package that a program imports, also of the standard
	// library.
	if !reaches(pass.Pkg, make(map[*types.Package]bool)) {
		return new(Package), nil
	}
	s := source{
		Files: pass.Files, Types: pass.Pkg, Info: pass.TypesInfo,
		imported: func(v *types.Var) *Declaration {
			var f handleFact
			if !pass.ImportObjectFact(v, &f) {
				return nil
			}
			return f.declaration(v)
		},
	}
	found := s.find()
	for i := range found.Declarations {
		d := &found.Declarations[i]
		if v, ok := d.Object.(*types.Var); ok && d.Key != "" && isPackageLevel(v) {
			pass.ExportObjectFact(v, factOf(d))
		}
	}
	return found, nil
}

// reaches reports whether a package can have a use or a handle: it is one of the packages
// whose functions ask for flags, or imports one, also by others.
func reaches(p *types.Package, seen map[*types.Package]bool) bool {
	if seen[p] {
		return false
	}
	seen[p] = true
	if _, ok := methods[p.Path()]; ok {
		return true
	}
	return slices.ContainsFunc(p.Imports(), func(p *types.Package) bool { return reaches(p, seen) })
}

// A Package has what is found in one package.
type Package struct {
	Uses         []Use
	Declarations []Declaration // handles that the package declares
	Keys         []Key         // that requests name

	// Mentions are the handles that the package reads, wherever their packages are: also
	// where it does not ask them for a value, but passes them on.
	Mentions []types.Object

	// Values are the local variables that are set once, to what a use returns, with the
	// index of the use in Uses.
	Values map[types.Object]int

	// Texts are the string constants in the package's files, and where they stand, but
	// for the keys of Uses and Declarations.
	Texts map[string][]ast.Expr

	// Open are the places from where flags may be asked for by no Use.
	Open []Open
}

// A Key is one that a request names to say which flags it is for, or a value of a field.
type Key struct {
	Key  string
	Expr ast.Expr
}

// An Open is a place where what asks for a flag is not called, but kept or passed on, or
// where a handle gets a key that is not a constant.
type Open struct {
	Expr   ast.Expr
	Key    string // "" for any flag
	Reason string
}

// A Library is what is asked for a flag.
type Library int

const (
	Flagstaff Library = iota
	OpenFeature
	PostHog
)

// String returns the name of the library as people write it.
func (l Library) String() string { return [...]string{"Flagstaff", "OpenFeature", "PostHog"}[l] }

// A Kind is the type of a value of a flag.
type Kind int

const (
	Any    Kind = iota // several, such as a result with everything that is known
	Bool               // whether the flag is on
	String             // a variant, or another text
	Int
	Float
	Object // a payload
)

// A Shape is the way in which a call returns the value.
type Shape int

const (
	One            Shape = iota // the value
	ValueOK                     // the value, and whether there is one
	ValueError                  // the value and an error
	Into                        // an error; the value goes where an argument points to
	Details                     // a struct that has the value, and whether there is one or an error
	NoValue                     // something that is not a value, such as the steps of an explanation
	ValueAndOthers              // the value and several others
)

// A Use is an expression that asks for a flag.
type Use struct {
	Call     *ast.CallExpr
	Method   string       // what is called, such as "Person.Bool"
	Key      string       // "" if it is not known; for a handle, the key of its declaration
	KeyExpr  ast.Expr     // where the key is written; nil for a handle
	Field    bool         // the key, the handle or the method is in a field of a struct
	Keys     []Key        // what the field with the key is set to, if all of that is known
	Closed   bool         // no other package can set the field
	Declared *Declaration // of the handle; nil if there is none, or if it is not known
	Library  Library
	Kind     Kind // of the value that is asked for
	Shape    Shape
	Typed    types.Type // what a payload is decoded into, if that is known; nil otherwise
	Fallback ast.Expr   // nil if there is none, as for a handle
	Request  *Request   // what a literal request says; nil if it is not a literal

	// Pure says that neither the arguments nor what is called has effects besides what
	// asking for a flag does, so that the call can be left out.
	Pure bool
}

// A Declaration is a handle: what NewBool, NewVariant, NewValue, NewPayload, Declare or
// ByKey returns.
type Declaration struct {
	Object   types.Object   // the variable; nil if the handle is not the value of one
	Key      string         // "" if it is not a constant, or if the variable has several
	KeyExpr  ast.Expr       // nil in another package
	Kind     Kind           // Any for Declare and ByKey
	Fallback constant.Value // nil if it is not a constant
	Variants []string       // the declared ones, the fallback among them
	Typed    types.Type     // of a payload; nil in another package
	Call     *ast.CallExpr  // nil in another package
	Ref      bool           // of package flags, which has no methods that are a handle's
}

// A handleFact says of a variable of a package that it is a handle.
type handleFact struct {
	Key      string
	Kind     Kind
	Fallback any // a bool, string, int64 or float64, or nil
	Variants []string
	Ref      bool
}

// AFact makes it a fact.
func (*handleFact) AFact() {}

func (f *handleFact) String() string { return "handle " + f.Key }

func factOf(d *Declaration) *handleFact {
	f := &handleFact{Key: d.Key, Kind: d.Kind, Variants: d.Variants, Ref: d.Ref}
	if d.Fallback == nil {
		return f
	}
	switch v := d.Fallback; v.Kind() {
	case constant.Bool:
		f.Fallback = constant.BoolVal(v)
	case constant.String:
		f.Fallback = constant.StringVal(v)
	case constant.Int:
		if n, exact := constant.Int64Val(v); exact {
			f.Fallback = n
		}
	case constant.Float:
		f.Fallback, _ = constant.Float64Val(v)
	}
	return f
}

func (f *handleFact) declaration(v *types.Var) *Declaration {
	d := &Declaration{Object: v, Key: f.Key, Kind: f.Kind, Variants: f.Variants, Ref: f.Ref}
	switch v := f.Fallback.(type) {
	case nil:
	case float64:
		d.Fallback = constant.MakeFloat64(v)
	default:
		d.Fallback = constant.Make(v)
	}
	return d
}

// isPackageLevel reports whether a variable belongs to its package.
func isPackageLevel(v *types.Var) bool {
	return v != nil && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}
