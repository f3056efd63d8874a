// Package memberstest misspells the names of members, for tests that none is passed over
// in silence (evaluation.md §1.8).
package memberstest
