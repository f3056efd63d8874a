//go:build race

package casefold_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
