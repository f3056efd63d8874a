//go:build race

package text_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
