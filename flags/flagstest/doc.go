// Package flagstest builds feature flags for the tests of code that uses them.
//
//	e := flagstest.Evaluator(t,
//		flagstest.Flag("new-checkout").On(),
//		flagstest.Flag("button").Variant("blue", 50).Variant("red", 50).Pin("red"),
//	)
//	handler := NewHandler(e)
//
// [With] puts flags into a context, for code that uses package flagstaff.
//
// A flag starts without condition sets, so it is off. Most methods that decide
// for whom a flag is on add to its last condition set; the others start a new
// one and say so. There are no globals: each test has its own Evaluator. A
// Builder is not safe for concurrent use; an Evaluator is.
//
// Methods of a nil Builder panic.
package flagstest
