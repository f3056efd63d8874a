// Package reldate reads the dates of flag filters and of properties.
//
// The value of a filter is parsed once, into a [Date] that is either an instant
// or a span before now, such as -7d. [Date.At] returns the instant for each
// request:
//
//	d, ok := reldate.Parse("-7d", zone)
//	bound, ok := d.At(now, zone)
//
// The value of a property becomes an instant directly: [Property] reads a text,
// and [FromSeconds] a number. The two instants are then compared by the methods
// Before, After and Equal of time.Time.
//
// # Forms
//
// These are the forms of evaluation.md §4.9, in the order in which they are
// tried.
//
//	7d -7d            1 before now: hours, days, weeks, months, years; below 10000
//	2024-06-01T07:00:00Z
//	2024-06-01T09:00:00.5+02:00
//	                  2 RFC 3339; t and z may be lower case
//	2024-06-01        3 midnight in the zone
//	2024-06-01 07:00
//	2024-06-01T07:00:00.5
//	                  4 wall time in the zone
//	2024-06-01 07:00 UTC
//	2024-06-01T07:00:00+0200
//	                  5 form 4, perhaps blanks, then the name of a zone or an offset
//	Sat, 01 Jun 2024 09:00:00 +0200
//	1 Jun 2024 07:00:00 GMT
//	                  5 RFC 2822
//	1717225200        6 seconds, milliseconds or nanoseconds; only [Parse] reads them
//	May 25, 2021
//	3/31/2014 1:00 PM
//	2014年04月08日    7 what people write, in UTC; free.go has the list
//
// The zone is the time zone of the project. A nil zone is UTC. If a wall time
// occurs twice, in autumn, the earlier instant counts; if it does not occur, in
// spring, it is not a date. This includes midnight. Fractions of a second are
// cut after nine digits. Second 60 is the second after 59, and the name of a
// weekday need not be correct.
//
// # Spans
//
// Spans go into the past, whatever their sign. All units are taken off the wall clock
// of the zone, hours too, and the result is a wall time as above. Months move one by
// one. If a month does not have the day, its last day replaces the day from there on:
// two months before 31 March is 28 January, or 29 January in a leap year. Years keep
// the month and the day, but 29 February becomes 28 February.
//
// This package does not allocate. All functions are pure, and their time is
// linear in the length of the text. All values are safe for concurrent use.
package reldate
