//go:build !race

package sqldb_test

const raceEnabled = false
