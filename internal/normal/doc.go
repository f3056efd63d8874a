// Package normal has the normal form of the filters of flags and the criteria of cohorts,
// in which they are stored, shown, logged and compared. All functions are pure.
package normal
