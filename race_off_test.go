//go:build !race

package flagstaff_test

const raceEnabled = false
