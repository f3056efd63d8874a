package source

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A schedule says when a Loader polls. Its slots are one period apart on the
// clock, shifted by a phase that follows from the Loader's identity. So the
// polls of many instances are spread over the period, whenever they were
// started, and return to their slots after a failure that has affected all of
// them at once.
type schedule struct {
	period, phase time.Duration
	jitter        time.Duration // the longest time between a slot and its poll
}

// newSchedule returns a schedule whose polls are at most one interval apart,
// and at least nine tenths of it.
func newSchedule(identity string, interval time.Duration) schedule {
	jitter := interval / 20
	period := interval - jitter
	return schedule{
		period: period, jitter: jitter,
		phase: time.Duration(xxhash.Sum64String(identity) % uint64(period)),
	}
}

// pause returns the time until the poll of the first slot that is more than
// atLeast away.
func (s schedule) pause(now time.Time, atLeast time.Duration) time.Duration {
	since := (now.UnixNano()%int64(s.period) + int64(atLeast%s.period) - int64(s.phase)) % int64(s.period)
	if since < 0 {
		since += int64(s.period)
	}
	wait := s.period - time.Duration(since) + time.Duration(rand.Int64N(int64(s.jitter)+1))
	if atLeast > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return atLeast + wait
}
