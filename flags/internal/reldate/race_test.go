//go:build race

package reldate_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
