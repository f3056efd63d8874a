package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// moment parses a point in time.
func moment(t *testing.T, s string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIterationStarts follows management.md §9.8.
func TestIterationStarts(t *testing.T) {
	for _, tt := range []struct {
		name        string
		start       string
		count, days int
		want        []string
	}{
		{"no count", "2026-02-03T09:00:00Z", 0, 7, nil},
		{"no frequency", "2026-02-03T09:00:00Z", 3, 0, nil},
		{"negative", "2026-02-03T09:00:00Z", -1, -1, nil},
		{"once", "2026-02-03T09:00:00Z", 1, 7, []string{"2026-02-03T09:00:00Z"}},
		{"over a leap day", "2028-02-22T09:00:00.5Z", 3, 7, []string{"2028-02-22T09:00:00.5Z", "2028-02-29T09:00:00.5Z", "2028-03-07T09:00:00.5Z"}},
		{"over the end of a year", "2026-12-31T23:59:59Z", 2, 1, []string{"2026-12-31T23:59:59Z", "2027-01-01T23:59:59Z"}},
		{"in UTC", "2026-03-28T23:30:00-05:00", 2, 1, []string{"2026-03-29T04:30:00Z", "2026-03-30T04:30:00Z"}},
		{"to the last year of JSON", "9999-12-25T00:00:00Z", 5, 5, []string{"9999-12-25T00:00:00Z", "9999-12-30T00:00:00Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, start := range rules.IterationStarts(moment(t, tt.start), tt.count, tt.days) {
				got = append(got, start.Format(time.RFC3339Nano))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("IterationStarts (-want +got)\n%s", diff)
			}
		})
	}
	if got := len(rules.IterationStarts(moment(t, "2026-02-03T09:00:00Z"), 501, 1)); got != 500 {
		t.Errorf("of 501 iterations %d start, want 500", got)
	}
}

// Days have 24 hours, also where clocks change (here at 2026-03-29T01:00Z).
func TestIterationStartsIgnoreSummerTime(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	starts := rules.IterationStarts(time.Date(2026, 3, 28, 12, 0, 0, 0, vienna), 3, 1)
	for i := range 2 {
		if d := starts[i+1].Sub(starts[i]); d != 24*time.Hour {
			t.Errorf("iteration %d lasts %v, want 24h", i+1, d)
		}
	}
}

// The current iteration is the first with 0 ≤ now − start ≤ frequency
// (management.md §9.8).
func TestCurrentIteration(t *testing.T) {
	starts := rules.IterationStarts(moment(t, "2026-02-03T09:00:00Z"), 3, 7)
	for _, tt := range []struct {
		now  string
		want int
		over bool
	}{
		{"2026-02-03T08:59:59.999999Z", 0, false},
		{"2026-02-03T09:00:00Z", 1, false},
		{"2026-02-03T12:00:00+02:00", 1, false},
		{"2026-02-10T09:00:00Z", 1, false},
		{"2026-02-10T09:00:00.000001Z", 2, false},
		{"2026-02-17T08:00:00Z", 2, false},
		{"2026-02-17T10:00:00Z", 3, false},
		{"2026-02-24T09:00:00Z", 3, false},
		{"2026-02-24T09:00:00.000001Z", 3, true},
		{"2030-01-01T00:00:00Z", 3, true},
	} {
		if n, over := rules.CurrentIteration(starts, 7, moment(t, tt.now)); n != tt.want || over != tt.over {
			t.Errorf("CurrentIteration at %s = %d, %v; want %d, %v", tt.now, n, over, tt.want, tt.over)
		}
	}
	if n, over := rules.CurrentIteration(nil, 7, moment(t, "2026-02-03T09:00:00Z")); n != 0 || over {
		t.Errorf("CurrentIteration of none = %d, %v; want 0, false", n, over)
	}
}
