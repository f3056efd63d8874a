// Package gen writes Go code for flags: a handle of package flagstaff for each flag, a
// type with constants for variants, and a struct for payloads.
//
//	list, notes, err := gen.Read(document) // definitions, or a manifest of OpenFeature
//	list, err = gen.Selection{Only: []string{"checkout-*"}}.Apply(list)
//	code, err := gen.Code(list, gen.Options{Package: "checkout"})
//
// The code depends on the flags alone, so that the same flags give the same bytes.
//
//   - read.go, manifest.go: documents become a list of Flag
//   - shape.go: what Go type a payload has
//   - names.go: identifiers, and what becomes of two that are equal
//   - code.go: the file; diff.go: how it differs from another one
package gen
