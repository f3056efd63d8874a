// Package prune removes flags from code whose values are settled: a flag that is on for
// everybody is not a question any more, and what it decides is written down in its place.
//
//	report, err := prune.Run(ctx, prune.Options{Keys: []string{"new-checkout"}, Snapshot: snapshot}, "./...")
//
// [Run] loads packages with their types and tests, finds the calls that ask for the flags
// (of handles and persons of package flagstaff, of package flags, and of OpenFeature's
// client), and rewrites what depends on them: conditions, switches, early returns,
// variables that only hold the value, unused variables and imports afterwards, and tests
// that set a flag to the value that it has anyway. The report has the new files, which
// the caller writes, and the places that were left, with reasons.
//
// # What is equivalent
//
// The new program does what the old one does while the flag has its settled value for
// everybody, and differs in nothing but this: the flag is not asked, so that no exposure
// is reported. A rule applies only where that is certain. A call stays if its arguments
// have effects, if the error that it returns is used, if a loop asks again each time, or
// if the program would not compile any more. A package that does not compile before is
// refused.
//
// Comments of removed code go with it, and all others stay where they are. What changes is
// formatted by gofmt, and lines that do not change stay as they are, byte by byte. Files
// that a program has made are not changed: flagstaff gen makes them again, without the flag.
//
// # What is left
//
// A call that must stay is listed with the reason, and so is each place where a flag may be
// asked for in another way: a method that is a value, a handle in a field or an argument, a
// request that names the flag. Where a place may ask for any flag, as with a key that is not
// a constant, it is in [Report.Open]: then nobody can say that no code asks for a flag.
//
// What is looked at is what is compiled: files for other operating systems, or for other
// build tags, are not.
package prune
