//go:build race

package geoip_test

// raceEnabled turns tests of allocations off, because the race detector
// allocates.
const raceEnabled = true
