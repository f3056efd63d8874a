package quota

import "time"

// A Period is the time that a counter covers before it starts from zero. Days and
// months are the calendar's in UTC.
type Period uint8

// The periods. Total never ends: an organization that has used up its limit is
// denied everything until the limit is raised.
const (
	Total Period = iota
	Month
	Day
)

// name returns the name by which the store knows the period that contains t.
func (p Period) name(t time.Time) string {
	switch p {
	case Month:
		return t.UTC().Format("2006-01")
	case Day:
		return t.UTC().Format(time.DateOnly)
	}
	return ""
}

// next returns the beginning of the period after the one that contains t. It
// reports false for Total, which has no end.
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
