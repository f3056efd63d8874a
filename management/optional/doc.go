// Package optional has the fields of a change that a client may leave out.
//
// A patch is a struct of Values. A field that is absent stays as it is, null
// removes what there is, and a value replaces it:
//
//	patch := management.UserPatch{FirstName: optional.Of("Ada")}
//
// Decoding a patch from JSON does not fail for a field of the wrong type. The field
// keeps what was sent, and the method that takes the patch refuses the field in the
// order in which it checks fields.
package optional
