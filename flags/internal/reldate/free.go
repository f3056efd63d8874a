package reldate

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The dates of evaluation.md §4.9 that people write, as far as instant.go does not read
// them faster: a table of forms, and a reader for them.

// A lack is what a form does not tell.
type lack uint8

const (
	lacksNothing lack = iota
	lacksYear         // the year of now is meant
	lacksDay          // the first of the month is meant
	lacksDate         // a time, which is not a date
)

// A form is a way to write a date. Its letters stand for:
//
//	C            a year of one to four digits
//	Y            a year of four digits
//	y            a year of two or four digits
//	m d H M S    a number of one or two digits
//	D            year, month and day of two digits each
//	B            the name of a month, or its first three letters
//	b            the same, and perhaps a dot
//	w            the first three letters of a weekday, a comma and blanks
//	t            a time: H:M, H:M:S or H:M:S with a fraction
//	I            the same, and perhaps AM or PM
//	z            a zone: its name or an offset
//	Z            the same, but no offset without minutes
//	a            perhaps "at" and blanks
//	;            perhaps a comma
//	_            perhaps blanks
//	(blank)      blanks
//
// All else stands for itself. Blanks may stand before each number.
type form struct {
	text    string
	lacks   lack
	project bool // without a zone, in the zone of the project; otherwise in UTC
}

// The forms by what follows the number or the name that comes first. Of several that
// match, the first one counts.
var (
	hyphenForms = []form{
		{text: "C-m-d", project: true},
		{text: "C-m-d t", project: true},
		{text: "C-m-dTt", project: true},
		{text: "C-m-d I"},
		{text: "C-m-d t_z"},
		{text: "C-m-dTt_z"},
		{text: "C-m-d_Z"},
		{text: "Y-B-d"},
		{text: "d-B-Y"},
		{text: "d-B-Y; t"},
	}
	blankForms = []form{
		{text: "d B Y t z"}, // RFC 2822 without a weekday
		{text: "d B y"},
		{text: "d B Y; t"},
		{text: "D H:M:S"},
	}
	nameForms = []form{
		{text: "b d, y"},
		{text: "b d, Y; aI"},
		{text: "b d, Y; aI z"},
		{text: "B d aI", lacks: lacksYear},
	}
	weekdayForms = []form{
		{text: "wd B Y t z"}, // RFC 2822
	}
	slashForms = []form{
		{text: "m/d/y"},
		{text: "m/d/y I"},
		{text: "Y/m/d"},
		{text: "Y/m/d t"},
	}
	dotForms = []form{
		{text: "m.d.y"},
		{text: "Y.m.d"},
		{text: "Y.m", lacks: lacksDay},
	}
	chineseForms = []form{
		{text: "Y年m月d日"},
		{text: "Y年m月d日H时M分S秒"},
	}
	timeForms = []form{
		{text: "I", lacks: lacksDate},
		{text: "I_z", lacks: lacksDate},
	}
)

// formsOf returns the forms that a text may have.
func formsOf(s string) []form {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	i := 0
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	rest := s[i:]
	switch {
	case rest == "":
		return nil
	case i == 0:
		switch {
		case len(s) < len("oct 7, 70"):
		case monthOf(s) > 0:
			return nameForms
		case isWeekday(s):
			return weekdayForms
		}
		return nil
	case rest[0] == '-':
		return hyphenForms
	case rest[0] == '/':
		return slashForms
	case rest[0] == '.':
		return dotForms
	case rest[0] == ':':
		return timeForms
	case strings.HasPrefix(rest, "年"):
		return chineseForms
	}
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsSpace(r) {
		return blankForms
	}
	return nil
}

// parseForm reads a date in one of the forms.
func parseForm(s string, zone *time.Location) (d Date, what lack, ok bool) {
	for _, f := range formsOf(s) {
		r := reader{rest: s}
		if !r.read(f.text) || r.rest != "" {
			continue
		}
		if f.lacks == lacksYear {
			r.year = leapYear // any day of a month may come in it
		}
		if f.lacks == lacksDay {
			r.day = 1
		}
		if f.lacks == lacksDate {
			return Date{}, lacksDate, false
		}
		var t time.Time
		if f.project {
			t, ok = r.in(zone)
		} else {
			t, ok = r.at(r.offset)
		}
		if !ok {
			return Date{}, 0, false
		}
		return Date{instant: t, lacks: f.lacks}, f.lacks, true
	}
	return Date{}, 0, false
}

// leapYear is the year of dates that have none.
const leapYear = 2000

// A reader reads the parts of a form one after the other.
type reader struct {
	wall
	offset int // of the zone, in seconds east of UTC
	rest   string
}

// read reads the parts of a form and reports whether all are there. The rest of the
// text is left.
func (r *reader) read(form string) bool {
	for _, part := range form {
		ok := true
		switch part {
		case 'C':
			r.year, ok = r.number(1, 4)
		case 'Y':
			r.year, ok = r.number(4, 4)
		case 'y':
			ok = r.readYear()
		case 'm':
			r.month, ok = r.number(1, 2)
		case 'd':
			r.day, ok = r.number(1, 2)
		case 'H':
			r.hour, ok = r.number(1, 2)
		case 'M':
			r.minute, ok = r.number(1, 2)
		case 'S':
			r.second, ok = r.number(1, 2)
		case 'D':
			n := 0
			n, ok = r.number(6, 6)
			r.year, r.month, r.day = century(n/10_000), n/100%100, n%100
		case 'B':
			ok = r.readMonth()
		case 'b':
			ok = r.readMonth()
			r.skip(".")
		case 'w':
			ok = r.readWeekday()
		case 't':
			ok = r.readTime()
		case 'I':
			ok = r.readTime() && r.readHalf()
		case 'z':
			ok = r.readZone(true)
		case 'Z':
			ok = r.readZone(false)
		case 'a':
			if len(r.rest) > 2 && strings.EqualFold(r.rest[:2], "at") {
				r.rest = r.rest[2:]
				ok = r.blanks()
			}
		case ';':
			r.skip(",")
		case '_':
			r.blanks()
		case ' ':
			ok = r.blanks()
		default:
			ok = r.skipRune(part)
		}
		if !ok {
			return false
		}
	}
	return true
}

// skip passes over a text if it comes next.
func (r *reader) skip(s string) bool {
	rest, ok := strings.CutPrefix(r.rest, s)
	r.rest = rest
	return ok
}

func (r *reader) skipRune(c rune) bool {
	next, n := utf8.DecodeRuneInString(r.rest)
	if next != c {
		return false
	}
	r.rest = r.rest[n:]
	return true
}

// blanks passes over white space and reports whether there is some.
func (r *reader) blanks() bool {
	before := len(r.rest)
	r.rest = strings.TrimLeftFunc(r.rest, unicode.IsSpace)
	return len(r.rest) < before
}

// number reads a number with at least low digits, and no more than high. Blanks may
// stand before it.
func (r *reader) number(low, high int) (n int, ok bool) {
	r.blanks()
	i := 0
	for i < len(r.rest) && i < high && r.rest[i]-'0' <= 9 {
		n = n*10 + int(r.rest[i]-'0')
		i++
	}
	r.rest = r.rest[i:]
	return n, i >= low
}

// readYear reads a year of two or four digits.
func (r *reader) readYear() bool {
	r.blanks()
	before := len(r.rest)
	n, ok := r.number(2, 4)
	switch before - len(r.rest) {
	case 2:
		n = century(n)
	case 3:
		return false
	}
	r.year = n
	return ok
}

// century returns the year that two digits mean: one from 1970 to 2069.
func century(n int) int {
	if n < 70 {
		return 2000 + n
	}
	return 1900 + n
}

// readTime reads the time of a day.
func (r *reader) readTime() bool {
	if !r.read("H:M") {
		return false
	}
	if !r.skip(":") {
		return true
	}
	if !r.read("S") {
		return false
	}
	if r.skip(".") {
		var ok bool
		r.nanosecond, r.rest, ok = fraction(r.rest)
		return ok
	}
	return true
}

// readHalf reads AM or PM, if one of them comes next.
func (r *reader) readHalf() bool {
	before := r.rest
	r.blanks()
	if len(r.rest) < 2 || !strings.EqualFold(r.rest[1:2], "m") || !strings.EqualFold(r.rest[:1], "a") && !strings.EqualFold(r.rest[:1], "p") {
		r.rest = before
		return true
	}
	if r.hour < 1 || r.hour > 12 {
		return false
	}
	r.hour %= 12
	if strings.EqualFold(r.rest[:1], "p") {
		r.hour += 12
	}
	r.rest = r.rest[2:]
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

// monthOf returns the number of the month whose name begins with the first three
// letters of a text, or 0.
func monthOf(s string) int { return 1 + slices.Index(monthLetters, threeLetters(s)) }

// isWeekday reports whether the name of a day begins with the first three letters of a
// text.
func isWeekday(s string) bool { return slices.Contains(weekdayLetters, threeLetters(s)) }

// readMonth reads the name of a month.
func (r *reader) readMonth() bool {
	if len(r.rest) < 3 {
		return false
	}
	if r.month = monthOf(r.rest); r.month == 0 {
		return false
	}
	name := monthNames[r.month-1]
	n := 3
	if len(r.rest) >= len(name) && strings.EqualFold(r.rest[:len(name)], name) {
		n = len(name)
	}
	r.rest = r.rest[n:]
	return r.rest == "" || !isLetter(r.rest[0])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// readWeekday reads a weekday with what separates it from the day. It need not be the
// right one.
func (r *reader) readWeekday() bool {
	if len(r.rest) < 3 || !isWeekday(r.rest) {
		return false
	}
	r.rest = r.rest[3:]
	return r.skip(",") && r.blanks()
}

// zones are the zones that have a name, with their hours east of UTC.
var zones = [...]struct {
	name  string
	hours int
}{
	{"UTC", 0},
	{"GMT", 0},
	{"UT", 0},
	{"Z", 0},
	{"EST", -5},
	{"EDT", -4},
	{"CST", -6},
	{"CDT", -5},
	{"MST", -7},
	{"MDT", -6},
	{"PST", -8},
	{"PDT", -7},
}

// readZone reads the name of a zone or an offset, which may have no minutes if hours
// alone are enough. It is the end of the text.
func (r *reader) readZone(hours bool) bool {
	s := r.rest
	for _, z := range zones {
		if strings.EqualFold(s, z.name) {
			r.offset, r.rest = z.hours*3600, ""
			return true
		}
	}
	if hours && len(s) == len("-08") {
		return r.readOffset(s[:1], s[1:], "00")
	}
	if len(s) == len("-08:00") && s[3] == ':' {
		return r.readOffset(s[:1], s[1:3], s[4:])
	}
	return len(s) == len("-0800") && r.readOffset(s[:1], s[1:3], s[3:])
}

func (r *reader) readOffset(sign, hours, minutes string) bool {
	h, m := twoDigits(hours, 0), twoDigits(minutes, 0)
	if uint(h) > 23 || uint(m) > 59 {
		return false
	}
	r.offset, r.rest = (h*60+m)*60, ""
	if sign == "-" {
		r.offset = -r.offset
	}
	return sign == "+" || sign == "-"
}
