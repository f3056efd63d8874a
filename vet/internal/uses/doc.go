// Package uses finds the places of a program that ask for flags: calls of this library, of
// handles that it declares, of OpenFeature's Go SDK and of posthog-go. It knows them by
// their types, never by their text.
//
// A key is known if the compiler knows it as a constant, or if it is in a local variable
// that is assigned once. Everything else is a key that is not constant, and a [Use] without
// one.
//
// [Analyzer] finds the uses in one package. It tells other packages by facts which
// variables are handles, so that it works where packages are analyzed one by one, as go vet
// does. [Load] does the same for whole programs, in one process and without facts.
package uses
