//go:build race

package jsonscan_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
