// Package parity tests whether two sets of definitions give the same values. It
// makes up subjects with properties close to the ones that the definitions
// compare, so that every branch has a chance, and evaluates both sets for each
// subject.
package parity
