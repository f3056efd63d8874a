package postgres

import "time"

// SetPatience sets how long connections of databases that are opened then may be
// silent, and returns a function that sets it back.
func SetPatience(d time.Duration) (restore func()) {
	before := patience
	patience = d
	return func() { patience = before }
}

// LeaderLocks is the class of the locks of leaders.
const LeaderLocks = leaderLocks
