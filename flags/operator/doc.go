// Package operator has the names of the operators of filters, for Operator of
// [github.com/flagstaff-go/flagstaff/flags.Filter]. The operators for properties compare
// the property that Key of the filter names with its Value (docs/spec/evaluation.md §4).
package operator
