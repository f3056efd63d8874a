//go:build race

package server_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
