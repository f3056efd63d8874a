//go:build race

package flags_test

const raceEnabled = true
