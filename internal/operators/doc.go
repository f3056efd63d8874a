// Package operators is the table of the operators of filters: everything that evaluation,
// the rules of the management API, the console and the command line ask of an operator is a
// column of it (docs/spec/evaluation.md §4.2). Package flags/operator has the names.
package operators
