//go:build !race

package geoip_test

const raceEnabled = false
