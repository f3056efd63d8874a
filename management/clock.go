package management

import "time"

// currentTime returns the time as stores keep it.
func currentTime() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// timeOrZero returns the time that t points to, the zero time if t is nil.
func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
