package management

import "time"

// timeOrZero returns the time that t points to, the zero time if t is nil.
func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
