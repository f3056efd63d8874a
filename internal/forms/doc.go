// Package forms reads the forms in which files have flags: a definitions document, a list of
// flags or a page of one as management APIs have them, and several of these one after the
// other. It recognises files of other products, which it does not read.
package forms
