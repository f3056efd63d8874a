// Package parity finds out whether two sets of definitions give the same values:
// it makes up subjects whose properties are about what the definitions ask for, so
// that every branch has a chance, and evaluates both for each of them.
package parity
