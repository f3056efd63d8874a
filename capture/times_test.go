package capture_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// TestEventTimes covers wire.md §2.6, including its table, and T01 to T10.
func TestEventTimes(t *testing.T) {
	const epoch = "1970-01-01T00:00:00Z"
	ago := func(d time.Duration) time.Time { return arrival.Add(-d) }
	for _, tt := range []struct {
		name     string
		event    string // its members
		envelope string // likewise
		query    time.Time
		want     string
	}{
		{"T01 skew", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"2026-11-21T12:00:10Z"`, time.Time{}, "2026-11-21T12:05:00Z"},
		{"T01 skew with fractions", `"timestamp":"2026-11-21T12:00:00.25Z"`, `"sent_at":"2026-11-21T12:00:10.5Z"`, time.Time{}, "2026-11-21T12:04:59.75Z"},
		{"no sent_at", `"timestamp":"2026-11-21T12:00:00Z"`, ``, time.Time{}, "2026-11-21T12:00:00Z"},
		{"sent_at garbage", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"soon"`, time.Time{}, "2026-11-21T12:00:00Z"},
		{"sent_at of a wrong type", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":17`, time.Time{}, "2026-11-21T12:00:00Z"},
		{"sent_at of the year 12000", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"12000-01-01T00:00:00Z"`, time.Time{}, "2026-11-21T12:00:00Z"},
		{"sent_at zero", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"0001-01-01T00:00:00Z"`, time.Time{}, "2026-11-21T12:00:00Z"},
		{"T02 $ignore_sent_at", `"timestamp":"2026-11-21T12:00:00Z","properties":{"$ignore_sent_at":true}`, `"sent_at":"2026-11-21T12:00:10Z"`, time.Time{}, "2026-11-21T12:00:00Z"},
		{"$ignore_sent_at false", `"timestamp":"2026-11-21T12:00:00Z","properties":{"$ignore_sent_at":false}`, `"sent_at":"2026-11-21T12:00:10Z"`, time.Time{}, "2026-11-21T12:05:00Z"},
		{"T03 no timestamp", ``, `"sent_at":"2026-11-21T03:00:00Z"`, time.Time{}, "2026-11-21T12:05:10Z"},
		{"timestamp null", `"timestamp":null`, `"sent_at":"2026-11-21T03:00:00Z"`, time.Time{}, "2026-11-21T12:05:10Z"},
		{"T04 offset", `"offset":5000,"timestamp":"2026-01-01T00:00:00Z"`, `"sent_at":"2026-11-21T03:00:00Z"`, time.Time{}, "2026-11-21T12:05:05Z"},
		{"offset as a float", `"offset":5e3`, ``, time.Time{}, "2026-11-21T12:05:05Z"},
		{"offset null", `"offset":null,"timestamp":"2026-11-21T12:00:00Z"`, ``, time.Time{}, "2026-11-21T12:00:00Z"},
		{"offset in the future", `"offset":-5000`, ``, time.Time{}, "2026-11-21T12:05:15Z"},
		{"offset far in the future", `"offset":-90000000`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"offset of 300 years", `"offset":9467280000000`, ``, time.Time{}, "1726-11-19T12:05:10Z"},
		{"offset of 3000 years", `"offset":94672800000000`, ``, time.Time{}, epoch},
		{"offset beyond int64", `"offset":1e300`, ``, time.Time{}, epoch},
		{"offset beyond int64, in the future", `"offset":-1e300`, ``, time.Time{}, epoch},
		{"T05 query", `"timestamp":"2026-11-21T12:00:00Z"`, ``, ago(2 * time.Minute), "2026-11-21T12:02:00Z"},
		{"sent_at wins over query", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"2026-11-21T12:00:10Z"`, ago(2 * time.Minute), "2026-11-21T12:05:00Z"},
		{"T06 query before 2020", `"timestamp":"2026-11-21T12:00:00Z"`, ``, capture.SentAt(1000), "2026-11-21T12:00:00Z"},
		{"T07 two days ahead", `"timestamp":"2026-11-23T12:00:00Z"`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"23 h ahead", `"timestamp":"2026-11-22T11:05:10Z"`, ``, time.Time{}, "2026-11-22T11:05:10Z"},
		{"just over 23 h ahead", `"timestamp":"2026-11-22T11:05:10.000001Z"`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"T08 no zone", `"timestamp":"2026-01-02T03:04:05.678901"`, ``, time.Time{}, "2026-01-02T03:04:05.678901Z"},
		{"T09 short zone", `"timestamp":"2026-01-02T03:04:05+03"`, ``, time.Time{}, "2026-01-02T00:04:05Z"},
		{"T10 year 12000", `"timestamp":"12000-01-01T00:00:00Z"`, ``, time.Time{}, epoch},
		{"T10 year 12000 with skew", `"timestamp":"12000-01-01T00:00:00Z"`, `"sent_at":"2026-11-21T12:00:10Z"`, time.Time{}, epoch},
		{"T10 negative year", `"timestamp":"-0044-03-15T12:00:00Z"`, ``, time.Time{}, epoch},
		{"T10 out of range only in UTC", `"timestamp":"9999-12-31T23:59:59-01:00"`, ``, time.Time{}, epoch},
		{"T10 before year 0 only in UTC", `"timestamp":"0000-01-01T00:00:00+01:00"`, ``, time.Time{}, epoch},
		{"year 0", `"timestamp":"0000-01-01T00:00:00Z"`, ``, time.Time{}, "0000-01-01T00:00:00Z"},
		{"year 9999", `"timestamp":"9999-12-31T23:59:59Z"`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"the zero time of programs", `"timestamp":"0001-01-01T00:00:00Z"`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"a clock at the epoch", `"timestamp":"1970-01-01T00:00:05Z"`, `"sent_at":"1970-01-01T00:00:15Z"`, time.Time{}, "2026-11-21T12:05:00Z"},
		{"a clock at the end", `"timestamp":"9999-01-01T00:00:05Z"`, `"sent_at":"9999-01-01T00:00:15Z"`, time.Time{}, "2026-11-21T12:05:00Z"},
		{"skew of millennia", `"timestamp":"2026-11-21T12:00:00Z"`, `"sent_at":"9999-01-01T00:00:15Z"`, time.Time{}, epoch},
		{"garbage", `"timestamp":"yesterday evening"`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"empty", `"timestamp":""`, ``, time.Time{}, "2026-11-21T12:05:10Z"},
		{"escapes", `"timestamp":"2026-01-02\u005403:04:05Z"`, ``, time.Time{}, "2026-01-02T03:04:05Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			members := func(list ...string) string {
				var all []string
				for _, s := range list {
					if s != "" {
						all = append(all, s)
					}
				}
				return "{" + strings.Join(all, ",") + "}"
			}
			event := members(`"event":"e","distinct_id":"1"`, tt.event)
			b := parse(t, members(`"api_key":"k","batch":[`+event+`]`, tt.envelope), capture.Request{SentAt: tt.query})
			if got := b.Events[0].Time.Format(time.RFC3339Nano); got != tt.want {
				t.Errorf("Time = %s, want %s", got, tt.want)
			}
			if !b.Events[0].Received.Equal(arrival) {
				t.Errorf("Received = %v, want %v", b.Events[0].Received, arrival)
			}
		})
	}
}

// TestEventTimeWithoutEnvelope says that an event's own sent_at is ignored
// (wire.md §2.3).
func TestEventTimeWithoutEnvelope(t *testing.T) {
	const event = `{"token":"k","event":"e","distinct_id":"1","timestamp":"2026-11-21T12:00:00Z","sent_at":"2026-11-21T12:00:10Z"}`
	for _, body := range []string{event, "[" + event + "]"} {
		b := parse(t, body, capture.Request{SentAt: arrival.Add(-time.Minute)})
		if got, want := b.Events[0].Time, time.Date(2026, 11, 21, 12, 1, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("%s: Time = %v, want %v, by the query", body, got, want)
		}
	}
	now := time.Date(2026, 11, 21, 13, 5, 10, 123456789, time.FixedZone("CET", 3600))
	e := parse(t, event, capture.Request{Now: now}).Events[0]
	if want := arrival.Add(123456 * time.Microsecond); e.Received != want {
		t.Errorf("Received = %v, want %v", e.Received, want)
	}
}

func TestSentAt(t *testing.T) {
	for ms, want := range map[int64]string{
		1795262710123:  "2026-11-21T12:05:10.123Z",
		1577836800000:  "2020-01-01T00:00:00Z",
		1577836799999:  "0001-01-01T00:00:00Z",
		0:              "0001-01-01T00:00:00Z",
		-1:             "0001-01-01T00:00:00Z",
		1795262710:     "0001-01-01T00:00:00Z", // seconds
		1 << 62:        "0001-01-01T00:00:00Z",
		-1 << 63:       "0001-01-01T00:00:00Z",
		1<<63 - 1:      "0001-01-01T00:00:00Z",
		253402300799e3: "9999-12-31T23:59:59Z",
		253402300800e3: "0001-01-01T00:00:00Z",
	} {
		if got := capture.SentAt(ms).Format(time.RFC3339Nano); got != want {
			t.Errorf("SentAt(%d) = %s, want %s", ms, got, want)
		}
	}
}

// TestParseTime covers the forms of wire.md §2.6 and §9 C52. want is empty for what
// is not a time.
func TestParseTime(t *testing.T) {
	const far = "100000-01-01T00:00:00Z" // stands for what is out of range
	for _, tt := range []struct{ text, want string }{
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05z", "2026-01-02T03:04:05Z"},
		{"2026-01-02t03:04:05Z", "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04:05", "2026-01-02T03:04:05Z"},
		{" 2026-01-02T03:04:05Z\n", "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.1Z"},
		{"2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789Z"},
		{"2026-01-02T03:04:05.12345678999999Z", "2026-01-02T03:04:05.123456789Z"},
		{"2026-01-02T03:04:05.123+00:00", "2026-01-02T03:04:05.123Z"},
		{"2026-01-02T03:04:05+03:00", "2026-01-02T00:04:05Z"},
		{"2026-01-02T03:04:05+0300", "2026-01-02T00:04:05Z"},
		{"2026-01-02T03:04:05-03", "2026-01-02T06:04:05Z"},
		{"2026-01-02T03:04:05.5-03", "2026-01-02T06:04:05.5Z"},
		{"2026-01-02T03:04:05,5", "2026-01-02T03:04:05.5Z"},
		{"2026-01-02T03:04", "2026-01-02T03:04:00Z"},
		{"2026-01-02T03:04+01:00", "2026-01-02T02:04:00Z"},
		{"2026-01-02", "2026-01-02T00:00:00Z"},
		{"12000-01-01", far},
		{"+275760-09-13T00:00:00.000Z", far},
		{"-000001-01-01T00:00:00.000Z", far},
		{"-0001-01-01", far},
		{"", ""},
		{"2026", ""},
		{"20260102T030405Z", ""},
		{"2026-13-02T03:04:05Z", ""},
		{"2026-02-30", ""},
		{"2026-01-02T25:04:05Z", ""},
		{"2026-01-02T03:04:05 UTC", ""},
		{"1795262710990", ""},
		{"12345-67890", ""},
		{"12345-ab-cd", ""},
		{"Fri, 02 Jan 2026 03:04:05 GMT", ""},
		{"----------", ""},
		{"+---------", ""},
		{"-01-02-03-04", ""},
		{"2026-01-02T03:04:05." + strings.Repeat("1", 60) + "Z", ""},
		{strings.Repeat("9", 1000) + "-01-01", ""},
	} {
		got, ok := capture.ParseTime(tt.text)
		text := ""
		if ok {
			text = got.Format(time.RFC3339Nano)
		}
		if text != tt.want {
			t.Errorf("ParseTime(%q) = %s, want %s", tt.text, text, tt.want)
		}
	}
}

// TestParseTimeAgreesWithRFC3339 writes random times in random forms.
func TestParseTimeAgreesWithRFC3339(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		at := time.Date(random.IntN(10_000), 1, 1, 0, 0, random.IntN(366*24*3600), random.IntN(1e9), time.UTC)
		if at.Year() > 9999 {
			continue
		}
		zone := time.FixedZone("", (random.IntN(29)-14)*3600+random.IntN(2)*1800)
		digits := random.IntN(12)
		text := at.In(zone).Format("2006-01-02T15:04:05")
		if digits > 0 {
			text += "." + fmt.Sprintf("%09d000", at.Nanosecond())[:digits]
		}
		text += at.In(zone).Format([]string{"Z07:00", "-07:00"}[random.IntN(2)])
		want, err := time.Parse(time.RFC3339, text)
		if err != nil { // of years that have more or less than four digits in the zone
			continue
		}
		if random.IntN(2) == 0 {
			text = strings.Replace(text, "T", " ", 1)
		}
		if got, ok := capture.ParseTime(text); !ok || !got.Equal(want) {
			t.Fatalf("ParseTime(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}
