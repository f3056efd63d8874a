//go:build race

package serve

// With the race detector, these tests run only on the store that several
// processes use, because the detector makes SQLite ten times slower. Each
// store's own tests run with it on every store.
func init() {
	kinds = kinds[len(kinds)-1:]
	takeover = 4 * takeover
}
