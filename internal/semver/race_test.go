//go:build race

package semver_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
