package rules

import "time"

// MaxIterations is how many iterations a survey has (management.md §9.1).
const MaxIterations = 500

// maxYear is the last year that RFC 3339 can write.
const maxYear = 9999

// Days in UTC always have 24 hours.
const day = 24 * time.Hour

// IterationStarts returns the beginning of each iteration of a survey
// (management.md §9.8), or nil if the survey is not repeated. Iterations after
// the last year that RFC 3339 can write are left out.
func IterationStarts(start time.Time, count, days int) []time.Time {
	if count <= 0 || days <= 0 {
		return nil
	}
	var starts []time.Time
	for i := range min(count, MaxIterations) {
		next := start.UTC().AddDate(0, 0, i*days)
		if next.Year() > maxYear {
			break
		}
		starts = append(starts, next)
	}
	return starts
}

// CurrentIteration returns the number of the iteration at now, counted from 1.
// Each iteration lasts for the given number of days. The result is 0 before the
// first iteration, and if there are none. After the last one, it is the number
// of the last one, and over is true.
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
