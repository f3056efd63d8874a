package reldate_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// written has dates as people write them, in the order of the table in evaluation.md
// §4.9.
var written = []struct {
	text, want string // no instant: no date
}{
	{"2021-02-21 UTC", "2021-02-21T00:00:00Z"},
	{"2021-02-21 PST", "2021-02-21T08:00:00Z"},
	{"2021-02-21 pdt", "2021-02-21T07:00:00Z"},
	{"2020-07-20+08:00", "2020-07-19T16:00:00Z"},
	{"2020-07-20 -0330", "2020-07-20T03:30:00Z"},
	{"2020-07-20-08", ""},
	{"2020-07-20 XYZ", ""},
	{"2014-04-26 05:24:37 PM", "2014-04-26T17:24:37Z"},
	{"2014-04-26 12:24am", "2014-04-26T00:24:00Z"},
	{"2014-04-26 12:24 pM", "2014-04-26T12:24:00Z"},
	{"2014-04-26 13:24 PM", ""},
	{"2014-04-26 00:24 AM", ""},
	{"2014-04-26 05:24:37 XM", ""},
	{"2019-11-29 08:08-08", "2019-11-29T16:08:00Z"},
	{"2019-11-29 08:08:05-08", "2019-11-29T16:08:05Z"},
	{"2021-05-02 23:31:36.0741-07", "2021-05-03T06:31:36.0741Z"},
	{"2017-07-19 03:21:51+00:00", "2017-07-19T03:21:51Z"},
	{"2017-11-25 13:31:15 PST", "2017-11-25T21:31:15Z"},
	{"2017-11-25 13:31 EDT", "2017-11-25T17:31:00Z"},
	{"2014-12-16 06:20:00 GMT", "2014-12-16T06:20:00Z"},
	{"2014-04-26 13:13:43 +0800", "2014-04-26T05:13:43Z"},
	{"2015-09-30 18:48:56.35272715 UTC", "2015-09-30T18:48:56.35272715Z"},

	{"May 25, 2021", "2021-05-25T00:00:00Z"},
	{"oct 7, 1970", "1970-10-07T00:00:00Z"},
	{"oct 7, 70", "1970-10-07T00:00:00Z"},
	{"oct. 7, 69", "2069-10-07T00:00:00Z"},
	{"October 7, 1970", "1970-10-07T00:00:00Z"},
	{"OCTOBER. 07, 1970", "1970-10-07T00:00:00Z"},
	{"May  25,  2021", "2021-05-25T00:00:00Z"},
	{"Octo 7, 1970", ""},
	{"oct 7, 197", ""},
	{"oct 7,1970", ""},
	{"oct 7 1970", ""},
	{"oct 32, 1970", ""},
	{"feb 29, 2023", ""},
	{"feb 29, 2024", "2024-02-29T00:00:00Z"},
	{"Smarch 1, 2024", ""},
	{" May 25, 2021", ""},
	{"May 25, 2021 ", ""},
	{"May 8, 2009 5:57:51 PM", "2009-05-08T17:57:51Z"},
	{"September 17, 2012 10:09am", "2012-09-17T10:09:00Z"},
	{"September 17, 2012, 10:10:09", "2012-09-17T10:10:09Z"},
	{"May 02, 2021 15:51:31 UTC", "2021-05-02T15:51:31Z"},
	{"May 26, 2021, 12:49 AM PDT", "2021-05-26T07:49:00Z"},
	{"September 17, 2012 at 10:09am PST", "2012-09-17T18:09:00Z"},
	{"September 17, 2012 AT 10:09", "2012-09-17T10:09:00Z"},
	{"September 17, 12 10:09", ""},
	{"September 17, 2012at 10:09", ""},

	{"2021-Feb-21", "2021-02-21T00:00:00Z"},
	{"21-Feb-21", ""},
	{"12-Feb-2006", "2006-02-12T00:00:00Z"},
	{"14-October-2019", "2019-10-14T00:00:00Z"},
	{"12-Feb-2006, 19:17", "2006-02-12T19:17:00Z"},
	{"12-Feb-2006 19:17", "2006-02-12T19:17:00Z"},
	{"14-October-2019 19:11:40.164", "2019-10-14T19:11:40.164Z"},
	{"7 oct 70", "1970-10-07T00:00:00Z"},
	{"03 February 2013", "2013-02-03T00:00:00Z"},
	{"  1 July 2013", "2013-07-01T00:00:00Z"},
	{"12 Feb 2006, 19:17", "2006-02-12T19:17:00Z"},
	{"12 Feb 2006 19:17", "2006-02-12T19:17:00Z"},
	{"14 May 2019 19:11:40.164", "2019-05-14T19:11:40.164Z"},
	{"12 Feb 06 19:17", ""},

	{"3/31/2014", "2014-03-31T00:00:00Z"},
	{"08/21/71", "1971-08-21T00:00:00Z"},
	{"8/1/71", "1971-08-01T00:00:00Z"},
	{"31/3/2014", ""},
	{"3/31", ""},
	{"4/8/2014 22:05", "2014-04-08T22:05:00Z"},
	{"4/8/14 22:05", "2014-04-08T22:05:00Z"},
	{"8/8/1965 12:00:00 AM", "1965-08-08T00:00:00Z"},
	{"8/8/1965 1:00 PM", "1965-08-08T13:00:00Z"},
	{"03/19/2012 10:11:59.3186369", "2012-03-19T10:11:59.3186369Z"},
	{"2014/3/31", "2014-03-31T00:00:00Z"},
	{"2014/04/2 03:00:51", "2014-04-02T03:00:51Z"},
	{"2012/03/19 10:11:59.3186369", "2012-03-19T10:11:59.3186369Z"},
	{"2014/04", ""},
	{"3.31.2014", "2014-03-31T00:00:00Z"},
	{"08.21.71", "1971-08-21T00:00:00Z"},
	{"2014.03.30", "2014-03-30T00:00:00Z"},
	{"171113 14:14:20", "2017-11-13T14:14:20Z"},
	{"171113 14:14", ""},
	{"171313 14:14:20", ""},
	{"2014年04月08日11时25分18秒", "2014-04-08T11:25:18Z"},
	{"2014年4月8日", "2014-04-08T00:00:00Z"},
	{"2014年04月", ""},

	// These are of the year of now.
	{"May 6 at 9:24 PM", "2026-05-06T21:24:00Z"},
	{"May 27 02:45:27", "2026-05-27T02:45:27Z"},
	{"Feb 29 02:45:27", ""},
	{"May 27", ""},

	// Times without a day.
	{"01:06:06", ""},
	{"4:00pm", ""},
	{"6:00 AM PST", ""},
	{"6:00pm UTC", ""},

	// Numbers that are not padded, white space before them, and the second 60.
	{" 2024- 6- 1  7: 5: 9", "2024-06-01T07:05:09Z"},
	{"\u20032024-6-1T7:05Z", "2024-06-01T07:05:00Z"},
	{"2024 -6-1", ""},
	{"2024-06-01T06:59:60Z", "2024-06-01T07:00:00Z"},
	{"2024-06-01 06:59:60", "2024-06-01T07:00:00Z"},
	{"2024-06-01T06:59:61Z", ""},
	{"May 02, 2021 15:59:60", "2021-05-02T16:00:00Z"},
	{"2024-13-1", ""},
	{"2024-6-31", ""},
}

// TestRuling39Written: all forms are read, by filters and for properties
// (evaluation.md §4.9). None of them depends on the zone.
func TestRuling39Written(t *testing.T) {
	for _, tt := range written {
		t.Run(tt.text, func(t *testing.T) {
			want := instant(t, tt.want)
			got, ok := reldate.Property(tt.text, now, time.UTC)
			if ok != (tt.want != "") || !got.Equal(want) {
				t.Errorf("Property(%q) = %v, %v, want %v", tt.text, got, ok, want)
			}
			d, ok := reldate.Parse(tt.text, time.UTC)
			if ok {
				got, ok = d.At(now, time.UTC)
			}
			if ok != (tt.want != "") || ok && !got.Equal(want) {
				t.Errorf("Parse(%q) = %v, %v, want %v", tt.text, got, ok, want)
			}
			if got, ok := reference.Date(tt.text, true, now, nil); ok != (tt.want != "") || !got.Equal(want) {
				t.Errorf("the reference: %v, %v, want %v", got, ok, want)
			}
		})
	}
}

// TestRuling39Zone: forms that people write are in UTC, whatever the zone of the
// project is (evaluation.md §4.9).
func TestRuling39Zone(t *testing.T) {
	for _, text := range []string{"May 25, 2021", "2014/3/31", "2014-04-26 05:24 PM", "12-Feb-2006 19:17", "May 6 at 9:24 PM"} {
		utc, ok := reldate.Property(text, now, nil)
		pacific, ok2 := reldate.Property(text, now, load(t, "US/Pacific"))
		if !ok || !ok2 || !utc.Equal(pacific) {
			t.Errorf("Property(%q) = %v, %v in UTC and %v, %v in US/Pacific", text, utc, ok, pacific, ok2)
		}
	}
}

// TestRuling39Filter: what only filters read, and what forms lack (evaluation.md §4.9).
func TestRuling39Filter(t *testing.T) {
	for _, tt := range []struct {
		text      string
		want      string
		year, day bool // lacking
		time      bool
	}{
		{"1511648546", "2017-11-25T22:22:26Z", false, false, false},
		{"1620021848429", "2021-05-03T06:04:08.429Z", false, false, false},
		{"1620024872717915000", "2021-05-03T06:54:32.717915Z", false, false, false},
		{"9999999999999999999", "", false, false, false},
		{"151164854", "", false, false, false},
		{"1620024872717915", "", false, false, false},
		{"2014.03", "2014-03-01T00:00:00Z", false, true, false},
		{"May 27 02:45:27", "2026-05-27T02:45:27Z", true, false, false},
		{"Feb 29 02:45:27", "", true, false, false},
		{"4:00pm", "", false, false, true},
		{"06:00:01.5 PST", "", false, false, true},
		{"25:00", "", false, false, true},
		{"soon", "", false, false, false},
		{"May 27, 2012", "2012-05-27T00:00:00Z", false, false, false},
	} {
		d, ok := reldate.Parse(tt.text, nil)
		if ok != (tt.want != "" || tt.year) || d.LacksYear() != tt.year || d.LacksDay() != tt.day || reldate.IsTime(tt.text) != tt.time {
			t.Errorf("Parse(%q) = %+v, %v, is a time: %v", tt.text, d, ok, reldate.IsTime(tt.text))
		}
		got, ok2 := d.At(now, nil)
		if want := instant(t, tt.want); ok && (ok2 != (tt.want != "") || ok2 && !got.Equal(want)) {
			t.Errorf("%q is %v, %v, want %v", tt.text, got, ok2, want)
		}
		if got, ok := reference.Date(tt.text, false, now, nil); ok != (tt.want != "") || !got.Equal(instant(t, tt.want)) {
			t.Errorf("the reference: %q is %v, %v, want %q", tt.text, got, ok, tt.want)
		}
	}
	// A leap year has a 29 February.
	d, _ := reldate.Parse("Feb 29 02:45:27", nil)
	if got, ok := d.At(time.Date(2028, 6, 1, 0, 0, 0, 0, time.UTC), nil); !ok || got.Year() != 2028 || got.Day() != 29 {
		t.Errorf("29 February in 2028 = %v, %v", got, ok)
	}
	if got, ok := d.At(time.Date(2028, 12, 31, 20, 0, 0, 0, load(t, "US/Pacific")), nil); ok {
		t.Errorf("29 February when it is 2029 in UTC = %v, want none", got)
	}
}

// TestRuling83Forms: forms that other systems do not read stay dates, and a second 60
// is one (evaluation.md §4.9).
func TestRuling83Forms(t *testing.T) {
	for _, text := range []string{"2024-06-01T07:00:00+0000", "2024-06-01T07:00:00 UTC", "2024-06-01T07:00Z", "2024-06-01T06:59:60Z"} {
		if got, ok := reldate.Property(text, now, load(t, "US/Pacific")); !ok || !got.Equal(instant(t, "2024-06-01T07:00:00Z")) {
			t.Errorf("Property(%q) = %v, %v, want 07:00 in UTC", text, got, ok)
		}
	}
}

func TestWrittenDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range written {
		if n := testing.AllocsPerRun(20, func() { reldate.Property(tt.text, now, time.UTC) }); n != 0 {
			t.Errorf("%q costs %v allocations, want 0", tt.text, n)
		}
	}
}
