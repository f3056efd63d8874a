// Package uses finds the places of a program that ask for flags: calls of this library, of
// handles that it declares, of OpenFeature's Go SDK and of posthog-go. It knows them by
// their types, never by their text.
//
// A key is known if the compiler knows it as a constant, if it is in a local variable that is
// assigned once, or in a field of a struct of the package that is set to constants only.
// Everything else is a key that is not constant, and a [Use] without one. A method that is
// the value of such a variable or field is followed in the same way.
//
// What asks for flags and goes elsewhere is an [Open]: a handle that is passed on, a method
// that is kept, an interface that a Person implements.
//
// [Analyzer] finds the uses in one package. It tells other packages by facts which
// variables are handles, so that it works where packages are analyzed one by one, as go vet
// does. [Load] does the same for whole programs, in one process and without facts.
package uses
