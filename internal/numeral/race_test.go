//go:build race

package numeral_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
