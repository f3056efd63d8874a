//go:build race

package pattern_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
