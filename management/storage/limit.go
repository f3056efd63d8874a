package storage

import "time"

// A Limit allows a number of attempts in a period. Used attempts come back evenly: with
// 5 a minute, one after 12 s.
type Limit struct {
	N   int
	Per time.Duration
}

// Next says whether a bucket allows an attempt now. Full is the time at which the bucket
// will have all its attempts again, the zero Time for a bucket that was never used. Next
// is that time after the attempt. If the attempt is not allowed, next equals full, and
// wait, which is above 0, is the time until one is. Implementations of [Throttle]
// call it.
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
