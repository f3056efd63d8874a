// Package check has the rules for single fields of requests to the management API:
// the types, lengths and forms of values (management.md §2).
//
// Most rules are a [Func], which takes the field of a change with its name. Rules
// with a parameter, such as [OneOf] and [Between], return one:
//
//	err := check.Between(1, 100)("limit", &patch.Limit)
//
// Errors are of type [judge.Error]. All functions are safe for concurrent use.
package check
