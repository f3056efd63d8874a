package management

import "time"

// A Limit allows a number of attempts in a period. Unused ones come back evenly:
// after 12 s one of 5 a minute.
type Limit struct {
	N   int
	Per time.Duration
}

// Next says whether a bucket allows an attempt now. Full is when the bucket will
// have all its attempts again, the zero Time for one that was never used; next is
// the same after the attempt. If the attempt is not allowed, next is full and
// wait, more than 0, is for how long. It is for implementations of
// [ThrottleStore].
func (l Limit) Next(full, now time.Time) (next time.Time, wait time.Duration) {
	each := l.Per / time.Duration(l.N)
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(each).Sub(now) - l.Per; wait > 0 {
		return full, wait
	}
	return full.Add(each), 0
}
