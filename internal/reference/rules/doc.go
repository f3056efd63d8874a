// Package rules is the test oracle of rule sets: the simplest evaluator of them, written from
// docs/spec/rules.md alone, and a [Generator] of random rule sets and persons. Only tests use it.
package rules
