// Package nearest finds what a user may have meant by a word that is not a name: of a
// command, an option, a flag.
package nearest
