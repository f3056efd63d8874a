//go:build race

package main

// The race detector sees each store in the store's own tests, and all else with the
// one that is used by several processes. SQLite it makes ten times slower.
func init() { kinds = kinds[len(kinds)-1:] }
