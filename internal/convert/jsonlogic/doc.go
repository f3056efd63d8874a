// Package jsonlogic turns rules in JSONLogic into filters. Who matches is whom the Go library
// github.com/diegoholiveira/jsonlogic/v3 matches, with its conversions of types. A comparison
// that is not one of an attribute with a value, or of the operators below, cannot be converted.
package jsonlogic
