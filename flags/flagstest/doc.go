// Package flagstest builds feature flags for the tests of code that uses them.
//
//	e := flagstest.Evaluator(t,
//		flagstest.Flag("new-checkout").On(),
//		flagstest.Flag("button").Variant("blue", 50).Variant("red", 50).Pin("red"),
//	)
//	handler := NewHandler(e)
//
// A flag starts without condition sets, so it is off. Each method that decides
// for whom a flag is on adds to its last condition set or, as its comment says,
// starts one. There are no globals: each test has its own Evaluator. A Builder
// is not safe for concurrent use; what it builds is.
package flagstest
