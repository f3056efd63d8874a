//go:build !race

package lz64_test

const raceEnabled = false
