//go:build race

package wire_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
