package postgres

import "time"

// SetPatience sets how long connections of databases that are opened afterwards
// may be silent. It returns a function that restores the old value.
func SetPatience(d time.Duration) (restore func()) {
	before := patience
	patience = d
	return func() { patience = before }
}

// LeaderLocks is the class of the leaders' locks.
const LeaderLocks = leaderLocks
