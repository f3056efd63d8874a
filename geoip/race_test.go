//go:build race

package geoip_test

// raceEnabled turns allocation tests off: the race detector allocates.
const raceEnabled = true
