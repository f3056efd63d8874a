//go:build !race

package semver_test

const raceEnabled = false
