// Package unleash converts flags of Unleash: what its server answers to SDKs, as a document with
// features and segments or as events of the delta API.
//
// A flag without variants is boolean. One with variants has the name of the variant as its value,
// or an object of name and payload if a variant has a payload. It is "disabled" where the flag is
// on without a variant, and null where it is off.
package unleash
