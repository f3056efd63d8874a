//go:build race

package main

import "slices"

// The race detector makes SQLite ten times slower. It sees the store in the store's
// own tests, and all else with the other stores.
func init() {
	kinds = slices.DeleteFunc(kinds, func(k kind) bool { return k.name == "SQLite" })
}
