//go:build !race

package numeral_test

const raceEnabled = false
