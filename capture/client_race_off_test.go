//go:build !race

package capture_test

const clientRace = false
