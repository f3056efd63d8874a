// Package foreign makes definitions of what other products write, so that each user keeps the value
// that a flag had there: [Convert], which programs call that need no server. The management
// service imports documents with it (management.md §13.23).
package foreign
