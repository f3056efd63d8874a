package uses

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// Paths of packages whose functions and methods ask for flags.
const (
	flagstaffPath      = "github.com/flagstaff-go/flagstaff"
	flagsPath          = flagstaffPath + "/flags"
	openFeaturePath    = "github.com/open-feature/go-sdk/openfeature"
	oldOpenFeaturePath = "github.com/open-feature/go-sdk/pkg/openfeature" // until v1.14
	postHogPath        = "github.com/posthog/posthog-go"
)

// A method says how a function or method asks for a flag. Arguments count from 1, so that
// 0 is none.
type method struct {
	library  Library
	kind     Kind
	shape    Shape
	key      int // the key, or for payload a literal that has it
	fallback int
	request  int
	into     int  // what a payload is decoded into
	handle   bool // the receiver is a handle
	ref      int  // an argument is a flags.Ref
	payload  bool // posthog-go: the key is in a struct
	ofFor    bool // the request is where the receiver was made
	typed    bool // the value has the type that the handle says
}

// methods are the functions and methods that ask for flags, by the path of their package
// and their name.
var methods = map[string]map[string]method{
	flagstaffPath: {
		"Person.Bool":    {kind: Bool, key: 1, fallback: 2, ofFor: true},
		"Person.Variant": {kind: String, key: 1, fallback: 2, ofFor: true},
		"Person.Lookup":  {kind: String, shape: ValueOK, key: 1, ofFor: true},
		"Person.Payload": {kind: Object, shape: Into, key: 1, into: 2, ofFor: true},
		"Person.Result":  {kind: Any, shape: ValueError, key: 1, ofFor: true},
		"Person.Explain": {kind: Any, shape: NoValue, key: 1, ofFor: true},
		"Person.String":  {kind: String, key: 1, fallback: 2, ofFor: true},
		"Person.Int":     {kind: Int, key: 1, fallback: 2, ofFor: true},
		"Person.Float":   {kind: Float, key: 1, fallback: 2, ofFor: true},
		"Person.JSON":    {kind: Object, key: 1, fallback: 2, ofFor: true},
		"Payload":        {kind: Object, key: 2, fallback: 3, into: 3},

		"BoolFlag.On":     {kind: Bool, handle: true},
		"BoolFlag.Of":     {kind: Bool, handle: true},
		"BoolFlag.In":     {kind: Bool, handle: true, request: 2},
		"VariantFlag.For": {kind: String, handle: true},
		"VariantFlag.Of":  {kind: String, handle: true},
		"VariantFlag.In":  {kind: String, handle: true, request: 2},
		"ValueFlag.For":   {handle: true, typed: true},
		"ValueFlag.Of":    {handle: true, typed: true},
		"ValueFlag.In":    {handle: true, typed: true, request: 2},
		"PayloadFlag.For": {kind: Object, handle: true},
		"PayloadFlag.Of":  {kind: Object, handle: true},
		"PayloadFlag.In":  {kind: Object, handle: true, request: 2},
	},
	flagsPath: {
		"Snapshot.Bool":     {kind: Bool, key: 1, request: 2, fallback: 3},
		"Snapshot.Variant":  {kind: String, key: 1, request: 2, fallback: 3},
		"Snapshot.Lookup":   {kind: String, shape: ValueOK, key: 1, request: 2},
		"Snapshot.Payload":  {kind: Object, shape: Into, key: 1, request: 2, into: 3},
		"Snapshot.Flag":     {kind: Any, shape: ValueError, key: 1, request: 2},
		"Snapshot.Detail":   {kind: Any, shape: ValueOK, key: 1, request: 2},
		"Snapshot.Explain":  {kind: Any, shape: NoValue, key: 1, request: 2},
		"Snapshot.Constant": {kind: Any, shape: NoValue, key: 1},
		"Snapshot.NeedsOf":  {kind: Any, shape: NoValue, key: 1},
		"Evaluator.Bool":    {kind: Bool, key: 1, request: 2, fallback: 3},
		"Evaluator.Variant": {kind: String, key: 1, request: 2, fallback: 3},
		"Evaluator.Payload": {kind: Object, shape: Into, key: 1, request: 2, into: 3},
		"Input.Flag":        {kind: Any, shape: ValueError, key: 1},
		"Input.Explain":     {kind: Any, shape: NoValue, key: 1},
		"Results.Get":       {kind: Any, shape: ValueOK, key: 1},
		"Ref.Bool":          {kind: Bool, handle: true, request: 2, fallback: 3},
		"Ref.Lookup":        {kind: String, shape: ValueOK, handle: true, request: 2},
		"Ref.Detail":        {kind: Any, shape: ValueOK, handle: true, request: 2},
		"Memory.Detail":     {kind: Any, shape: ValueAndOthers, ref: 2, request: 3},
	},
	openFeaturePath: methodsOfOpenFeature(),
	postHogPath: {
		"Client.IsFeatureEnabled":               {library: PostHog, kind: Any, shape: ValueError, key: 1, payload: true},
		"Client.GetFeatureFlag":                 {library: PostHog, kind: Any, shape: ValueError, key: 1, payload: true},
		"Client.GetFeatureFlagPayload":          {library: PostHog, kind: Object, shape: ValueError, key: 1, payload: true},
		"Client.GetFeatureFlagResult":           {library: PostHog, kind: Any, shape: Details, key: 1, payload: true},
		"Client.GetRemoteConfigPayload":         {library: PostHog, kind: Object, shape: ValueError, key: 1},
		"FeatureFlagEvaluations.IsEnabled":      {library: PostHog, kind: Bool, key: 1},
		"FeatureFlagEvaluations.GetFlag":        {library: PostHog, kind: Any, key: 1},
		"FeatureFlagEvaluations.GetFlagPayload": {library: PostHog, kind: Object, key: 1},
	},
}

// methodsOfOpenFeature returns the methods of a client of OpenFeature, which are the same for each
// type.
func methodsOfOpenFeature() map[string]method {
	m := make(map[string]method)
	for _, receiver := range []string{"Client", "IClient"} {
		for name, kind := range map[string]Kind{"Boolean": Bool, "String": String, "Int": Int, "Float": Float, "Object": Object} {
			of := method{library: OpenFeature, kind: kind, key: 2, fallback: 3}
			m[receiver+"."+name] = of
			of.shape = ValueError
			m[receiver+"."+name+"Value"] = of
			of.shape = Details
			m[receiver+"."+name+"ValueDetails"] = of
		}
	}
	return m
}

func init() { methods[oldOpenFeaturePath] = methods[openFeaturePath] }

// keyLists are the fields of requests that say which flags are evaluated, by the path of the
// package and the name of the struct.
var keyLists = map[string]map[string]string{
	flagsPath:   {"Request": "Keys"},
	postHogPath: {"EvaluateFlagsPayload": "FlagKeys"},
}

// constructors make handles.
var constructors = map[string]map[string]Kind{
	flagstaffPath: {"NewBool": Bool, "NewVariant": String, "NewValue": Any, "NewPayload": Object},
	flagsPath:     {"Declare": Any, "ByKey": Any},
}

// calleeOf returns the path of the package and the name of what is called, such as
// "Person.Bool". It is not ok for anything but declared functions, methods, and fields
// that are functions.
func calleeOf(info *types.Info, call *ast.CallExpr) (path, name string, ok bool) {
	return nameOf(info, typeutil.Callee(info, call), receiver(call))
}

// nameOf returns the path of the package and the name of a function, a method, or a field,
// which a selector selects from an expression.
func nameOf(info *types.Info, o types.Object, from ast.Expr) (path, name string, ok bool) {
	if o == nil || o.Pkg() == nil {
		return "", "", false
	}
	name = o.Name()
	var of types.Type
	switch o := o.(type) {
	case *types.Func:
		if recv := o.Origin().Signature().Recv(); recv != nil {
			of = recv.Type()
		}
	case *types.Var:
		if !o.IsField() || from == nil {
			return "", "", false
		}
		of = info.TypeOf(from)
	default:
		return "", "", false
	}
	if of == nil {
		return o.Pkg().Path(), name, true
	}
	named := namedOf(of)
	if named == nil {
		return "", "", false
	}
	return o.Pkg().Path(), named.Obj().Name() + "." + name, true
}

// namedOf returns the type with a name that a type is or points to, or nil.
func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
