//go:build race

package runtime_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
