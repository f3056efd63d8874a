// Package export writes the flags and cohorts of a project as a definitions document that
// people read, compare and keep under version control.
package export
