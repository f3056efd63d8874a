package management

import "time"

// currentTime returns the time as stores keep it.
func currentTime() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// timeOrZero returns a time, the zero one for none.
func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
