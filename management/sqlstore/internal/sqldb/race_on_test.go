//go:build race

package sqldb_test

const raceEnabled = true
