//go:build !race

package jsonscan_test

const raceEnabled = false
