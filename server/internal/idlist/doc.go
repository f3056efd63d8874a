// Package idlist reads lists of distinct IDs, as they are uploaded for static cohorts
// (management.md §13.10). It reads one element at a time, so that a list may be much larger
// than memory.
package idlist
