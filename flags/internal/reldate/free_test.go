package reldate_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// written has dates with other white space and fewer digits than instant.go reads, and
// those of RFC 2822 (evaluation.md §4.9).
var written = []struct {
	text, want string // no instant: no date
}{
	{"2019-11-29 08:08-08", "2019-11-29T16:08:00Z"},
	{"2019-11-29 08:08:05-08", "2019-11-29T16:08:05Z"},
	{"2021-05-02 23:31:36.0741-07", "2021-05-03T06:31:36.0741Z"},
	{"2017-07-19 03:21:51+00:00", "2017-07-19T03:21:51Z"},
	{"2017-11-25 13:31:15 PST", "2017-11-25T21:31:15Z"},
	{"2017-11-25 13:31 edt", "2017-11-25T17:31:00Z"},
	{"2014-12-16 06:20:00 GMT", "2014-12-16T06:20:00Z"},
	{"2014-04-26 13:13:43 +0800", "2014-04-26T05:13:43Z"},
	{"2015-09-30 18:48:56.35272715 UTC", "2015-09-30T18:48:56.35272715Z"},
	{"2014-04-26 13:13 XYZ", ""},
	{"2014-04-26 13:13-24", ""},
	{"2014-04-26 13:13-2400", ""},
	{"Sat, 1 June 2024 7:00 pst", "2024-06-01T15:00:00Z"},
	{"mon,  01 JUN 2024 07:00:00 -0130", "2024-06-01T08:30:00Z"},
	{"1 Jun 24 07:00 GMT", ""},
	{"1 Juni 2024 07:00 GMT", ""},
	{"1 Jun 2024 07:00", ""},
	{"Sat 1 Jun 2024 07:00 GMT", ""},

	// Numbers that are not padded, white space before them, and the second 60.
	{" 2024- 6- 1  7: 5: 9", "2024-06-01T07:05:09Z"},
	{"\u20032024-6-1T7:05Z", "2024-06-01T07:05:00Z"},
	{"2024 -6-1", ""},
	{"2024-06-01T06:59:60Z", "2024-06-01T07:00:00Z"},
	{"2024-06-01 06:59:60", "2024-06-01T07:00:00Z"},
	{"2024-06-01T06:59:61Z", ""},
	{"2024-13-1", ""},
	{"2024-6-31", ""},

	// Forms that programs do not write are not dates.
	{"2021-02-21 UTC", ""},
	{"2014-04-26 05:24:37 PM", ""},
	{"May 25, 2021", ""},
	{"May 6 at 9:24 PM", ""},
	{"2021-Feb-21", ""},
	{"12-Feb-2006", ""},
	{"12 Feb 2006", ""},
	{"3/31/2014", ""},
	{"2014/3/31", ""},
	{"2014.03.30", ""},
	{"171113 14:14:20", ""},
	{"2014年04月08日", ""},
	{"4:00pm", ""},
}

// TestRuling39Written: filters and properties read the same forms.
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

// TestDigits: digits alone are a date on the side of the filter (evaluation.md §4.9,
// form 6).
func TestDigits(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"1511648546", "2017-11-25T22:22:26Z"},
		{"1620021848429", "2021-05-03T06:04:08.429Z"},
		{"1620024872717915000", "2021-05-03T06:54:32.717915Z"},
		{"9999999999999999999", ""},
		{"151164854", ""},
		{"1620024872717915", ""},
	} {
		d, ok := reldate.Parse(tt.text, nil)
		got, _ := d.At(now, nil)
		if ok != (tt.want != "") || ok && !got.Equal(instant(t, tt.want)) {
			t.Errorf("Parse(%q) = %v, %v", tt.text, got, ok)
		}
		if got, ok := reference.Date(tt.text, false, now, nil); ok != (tt.want != "") || !got.Equal(instant(t, tt.want)) {
			t.Errorf("the reference: %q is %v, %v, want %q", tt.text, got, ok, tt.want)
		}
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
