//go:build !race

package casefold_test

const raceEnabled = false
