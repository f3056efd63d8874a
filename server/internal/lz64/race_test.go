//go:build race

package lz64_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
