//go:build race

package flagstaff_test

const raceEnabled = true
