package survey

import "time"

// mostIterations is the limit of management.md §9.1.
const mostIterations = 500

// mostYear is the last one that RFC 3339 can write.
const mostYear = 9999

// A day is always one of UTC, which has no other.
const day = 24 * time.Hour

// IterationStarts returns when each repetition of a survey begins (management.md
// §9.8), nil if it is not repeated. Those that JSON has no year for are left out.
func IterationStarts(start time.Time, count, days int) []time.Time {
	if count <= 0 || days <= 0 {
		return nil
	}
	var starts []time.Time
	for i := range min(count, mostIterations) {
		next := start.UTC().AddDate(0, 0, i*days)
		if next.Year() > mostYear {
			break
		}
		starts = append(starts, next)
	}
	return starts
}

// CurrentIteration returns which repetition is going on, counted from 1 on, each
// of them lasting for a number of days. It is 0 before the first one and without
// any. After the last one it is that, and over is true.
func CurrentIteration(starts []time.Time, days int, now time.Time) (n int, over bool) {
	length := time.Duration(days) * day
	for i, start := range starts {
		if now.Before(start) {
			return i, false
		}
		if now.Sub(start) <= length {
			return i + 1, false
		}
	}
	return len(starts), len(starts) > 0
}
