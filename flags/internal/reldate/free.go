package reldate

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// parseFree reads forms 3 to 5 where they have other white space and fewer digits than
// instant.go reads.
func parseFree(s string, zone *time.Location) (time.Time, bool) {
	r := reader{rest: s}
	if w := r.mail(); w != nil && r.readZone() {
		return w.at(r.offset)
	}
	r = reader{rest: s}
	if !(r.number(&r.year, 1, 4) && r.skip("-") && r.number(&r.month, 1, 2) && r.skip("-") && r.number(&r.day, 1, 2)) {
		return time.Time{}, false
	}
	if r.rest == "" {
		return r.in(zone)
	}
	if !(r.blanks() || r.skip("T")) || !r.time() {
		return time.Time{}, false
	}
	if r.rest == "" {
		return r.in(zone)
	}
	r.blanks()
	if !r.readZone() {
		return time.Time{}, false
	}
	return r.at(r.offset)
}

// A reader reads the parts of a date one after the other.
type reader struct {
	wall
	offset int // of the zone, in seconds east of UTC
	rest   string
}

// mail reads form 5 of RFC 2822 up to its zone. It returns nil if it is not there.
func (r *reader) mail() *wall {
	if len(r.rest) > 3 && slices.Contains(weekdayLetters, threeLetters(r.rest)) { // it need not be the right one
		if r.rest = r.rest[3:]; !r.skip(",") || !r.blanks() {
			return nil
		}
	}
	if r.number(&r.day, 1, 2) && r.blanks() && r.readMonth() && r.blanks() && r.number(&r.year, 4, 4) && r.blanks() && r.time() && r.blanks() {
		return &r.wall
	}
	return nil
}

// skip passes over a text if it comes next.
func (r *reader) skip(s string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, s)
	return ok
}

// blanks passes over white space and reports whether there is some.
func (r *reader) blanks() bool {
	before := len(r.rest)
	r.rest = strings.TrimLeftFunc(r.rest, unicode.IsSpace)
	return len(r.rest) < before
}

// number reads a number with at least low digits, and no more than high. Blanks may
// stand before it.
func (r *reader) number(n *int, low, high int) bool {
	r.blanks()
	i := 0
	for *n = 0; i < len(r.rest) && i < high && r.rest[i]-'0' <= 9; i++ {
		*n = *n*10 + int(r.rest[i]-'0')
	}
	r.rest = r.rest[i:]
	return i >= low
}

// time reads the time of a day.
func (r *reader) time() (ok bool) {
	if !r.number(&r.hour, 1, 2) || !r.skip(":") || !r.number(&r.minute, 1, 2) {
		return false
	}
	if r.skip(":") {
		if !r.number(&r.second, 1, 2) {
			return false
		}
		if r.skip(".") {
			r.nanosecond, r.rest, ok = fraction(r.rest)
			return ok
		}
	}
	return true
}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// threeLetters returns the first three bytes of a text as a number, without the bit
// that tells small letters from capitals.
func threeLetters(s string) uint32 {
	return uint32(s[0]|0x20)<<16 | uint32(s[1]|0x20)<<8 | uint32(s[2]|0x20)
}

var (
	monthLetters   = lettersOf(monthNames[:]...)
	weekdayLetters = lettersOf("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
)

func lettersOf(names ...string) []uint32 {
	var list []uint32
	for _, name := range names {
		list = append(list, threeLetters(name))
	}
	return list
}

// readMonth reads the name of a month, or its first three letters.
func (r *reader) readMonth() bool {
	if len(r.rest) < 3 {
		return false
	}
	if r.month = 1 + slices.Index(monthLetters, threeLetters(r.rest)); r.month == 0 {
		return false
	}
	n, name := 3, monthNames[r.month-1]
	if len(r.rest) >= len(name) && strings.EqualFold(r.rest[:len(name)], name) {
		n = len(name)
	}
	r.rest = r.rest[n:]
	return true
}

// zones are the zones that have a name, with their hours east of UTC.
var zones = [...]struct {
	name  string
	hours int
}{
	{"UTC", 0}, {"GMT", 0}, {"UT", 0}, {"Z", 0}, {"EST", -5}, {"EDT", -4}, {"CST", -6}, {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7},
}

// readZone reads the name of a zone or an offset, such as -08, at the end of the text.
func (r *reader) readZone() (ok bool) {
	for _, z := range zones {
		if strings.EqualFold(r.rest, z.name) {
			r.offset = z.hours * 3600
			return true
		}
	}
	if len(r.rest) == len("-08") && (r.rest[0] == '+' || r.rest[0] == '-') {
		hours := twoDigits(r.rest, 1)
		if r.offset = hours * 3600; r.rest[0] == '-' {
			r.offset = -r.offset
		}
		return uint(hours) <= 23
	}
	r.offset, ok = parseOffset(r.rest)
	return ok
}
