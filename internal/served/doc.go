// Package served says what a server takes of a flag where evaluation would take more
// (management.md §13.5, §15.2).
package served
