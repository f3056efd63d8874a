package quota

import "time"

// A Period is how long a counter counts before it begins anew. Days and months
// are those of UTC.
type Period uint8

// The periods. Total has no end: who has used up a limit gets nothing until it is
// raised.
const (
	Total Period = iota
	Month
	Day
)

// name is how a store calls the period that t is in.
func (p Period) name(t time.Time) string {
	switch p {
	case Month:
		return t.UTC().Format("2006-01")
	case Day:
		return t.UTC().Format(time.DateOnly)
	}
	return ""
}

// next returns when the period after that of t begins.
func (p Period) next(t time.Time) (time.Time, bool) {
	year, month, day := t.UTC().Date()
	switch p {
	case Month:
		return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC), true
	case Day:
		return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), true
	}
	return time.Time{}, false
}
