//go:build !race

package reldate_test

const raceEnabled = false
