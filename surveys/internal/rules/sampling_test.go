package rules_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// TestDailyLimits follows management.md §9.9.
func TestDailyLimits(t *testing.T) {
	start := time.Date(2026, 2, 27, 6, 30, 0, 0, time.UTC)
	type entry struct {
		Date       string
		Limit      int
		Percentage float64
	}
	for _, tt := range []struct {
		name     string
		interval int
		kind     string
		limit    int
		want     []entry
	}{
		{"the rest goes to the first days", 3, "day", 8, []entry{{"2026-02-27", 3, 33.33}, {"2026-02-28", 6, 66.67}, {"2026-03-01", 8, 100}}},
		{"even", 4, "day", 8, []entry{{"2026-02-27", 2, 25}, {"2026-02-28", 4, 50}, {"2026-03-01", 6, 75}, {"2026-03-02", 8, 100}}},
		{"fewer responses than days", 3, "day", 1, []entry{{"2026-02-27", 1, 33.33}, {"2026-02-28", 1, 66.67}, {"2026-03-01", 1, 100}}},
		{"one day", 1, "day", 5, []entry{{"2026-02-27", 5, 100}}},
		{"a week", 1, "week", 100, []entry{
			{"2026-02-27", 15, 14.29},
			{"2026-02-28", 30, 28.57},
			{"2026-03-01", 44, 42.86},
			{"2026-03-02", 58, 57.14},
			{"2026-03-03", 72, 71.43},
			{"2026-03-04", 86, 85.71},
			{"2026-03-05", 100, 100},
		}},
		{"no interval", 0, "day", 5, nil},
		{"no type", 1, "", 5, nil},
		{"no limit", 1, "day", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits, err := rules.NewDailyLimits(start, tt.interval, tt.kind, tt.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []entry
			for _, d := range limits {
				if h, m, _ := d.Date.Clock(); h != 6 || m != 30 || d.Date.Location() != time.UTC {
					t.Errorf("date %v, want 6:30 UTC", d.Date)
				}
				got = append(got, entry{d.Date.Format(time.DateOnly), d.Limit, d.Percentage})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("NewDailyLimits (-want +got)\n%s", diff)
			}
		})
	}
	if limits, err := rules.NewDailyLimits(time.Time{}, 1, "day", 5); limits != nil || err != nil {
		t.Errorf("NewDailyLimits without start = %v, %v; want none", limits, err)
	}
}

func TestDailyLimitErrors(t *testing.T) {
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		start          time.Time
		interval       int
		kind           string
		attr, code, in string
	}{
		{start, 1, "year", "response_sampling_interval_type", "invalid_choice", `"year" is not a valid choice.`},
		{start, 1831, "day", "response_sampling_interval", "invalid_input", "1830 days"},
		{start, 62, "month", "response_sampling_interval", "invalid_input", "1830 days"},
		{start, math.MaxInt, "week", "response_sampling_interval", "invalid_input", "1830 days"},
		{start.AddDate(7973, 0, 0), 1, "month", "", "", ""},
		{start.AddDate(7973, 10, 0), 1, "month", "response_sampling_start_date", "invalid_input", "9999"},
	} {
		limits, err := rules.NewDailyLimits(tt.start, tt.interval, tt.kind, 5)
		if tt.code == "" {
			if err != nil {
				t.Errorf("NewDailyLimits = %v, want no error", err)
			}
			continue
		}
		checkFault(t, "NewDailyLimits", err, tt.attr, tt.code, tt.in)
		if limits != nil {
			t.Errorf("NewDailyLimits = %v with an error", limits)
		}
	}
}

// For any numbers, limits and percentages rise to the whole, the responses per
// day differ by at most one, and later days have no more of them than earlier
// ones.
func TestDailyLimitsAddUp(t *testing.T) {
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	for days := 1; days <= 400; days++ {
		for _, limit := range []int{1, days - 1, days, days + 1, 999, 1_000_003} {
			limits, err := rules.NewDailyLimits(start, days, "day", limit)
			if err != nil || limit > 0 && len(limits) != days {
				t.Fatalf("%d responses in %d days: %d entries, %v", limit, days, len(limits), err)
			}
			total, share, last := 0, 0.0, limit
			for i, d := range limits {
				today := d.Limit - total
				if exact := float64(i+1) * 100 / float64(days); math.Abs(d.Percentage-exact) > 0.0050001 || d.Percentage < share {
					t.Fatalf("day %d of %d has %v %%, want about %v", i+1, days, d.Percentage, exact)
				}
				if today > last || today < limit/days || today > limit/days+1 || !d.Date.Equal(start.Add(time.Duration(i)*24*time.Hour)) {
					t.Fatalf("day %d of %d with %d responses in all: %d, after %d; %v", i+1, days, limit, today, last, d.Date)
				}
				total, share, last = d.Limit, d.Percentage, today
			}
			if limits != nil && (total != limit || share != 100) {
				t.Fatalf("%d responses in %d days end with %d and %v %%", limit, days, total, share)
			}
		}
	}
}

func TestDailyLimitsOn(t *testing.T) {
	limits, err := rules.NewDailyLimits(time.Date(2026, 2, 27, 18, 0, 0, 0, time.UTC), 3, "day", 3)
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]int{
		"2026-02-26T23:59:59Z":      0,
		"2026-02-27T00:00:00Z":      1,
		"2026-02-27T23:59:59.9Z":    1,
		"2026-02-28T05:00:00Z":      2,
		"2026-02-28T23:30:00-05:00": 3,
		"2026-03-02T00:00:00Z":      0,
	} {
		if d, ok := limits.On(moment(t, now)); d.Limit != want || ok != (want > 0) {
			t.Errorf("On(%s) = %+v, %v; want a limit of %d", now, d, ok, want)
		}
	}
}

// The JSON form is a string, and lists are read as well (management.md §9.9,
// §15.1 A17).
func TestDailyLimitsJSON(t *testing.T) {
	limits, err := rules.NewDailyLimits(time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC), 2, "day", 3)
	if err != nil {
		t.Fatal(err)
	}
	const (
		list = `[{"date":"2026-02-27T00:00:00Z","daily_response_limit":2,"rollout_percentage":50},{"date":"2026-02-28T00:00:00Z","daily_response_limit":3,"rollout_percentage":100}]`
		text = `"[{\"date\":\"2026-02-27T00:00:00Z\",\"daily_response_limit\":2,\"rollout_percentage\":50},{\"date\":\"2026-02-28T00:00:00Z\",\"daily_response_limit\":3,\"rollout_percentage\":100}]"`
	)
	for want, l := range map[string]rules.DailyLimits{text: limits, `null`: nil, `"[]"`: {}} {
		got, err := json.Marshal(l)
		if string(got) != want || err != nil {
			t.Errorf("JSON of %d days is %s, %v; want %s", len(l), got, err, want)
		}
	}
	for _, raw := range []string{list, text, `[{"date":"2026-02-27T01:00:00+01:00","daily_response_limit":2,"rollout_percentage":50.0},{"date":"2026-02-28T00:00:00Z","daily_response_limit":3,"rollout_percentage":100.0}]`} {
		var got rules.DailyLimits
		if err := json.Unmarshal([]byte(raw), &got); err != nil {
			t.Errorf("reading %s: %v", raw, err)
		}
		if diff := cmp.Diff(limits, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", raw, diff)
		}
	}
	for _, raw := range []string{`null`, `"null"`} {
		got := rules.DailyLimits{{}}
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got != nil {
			t.Errorf("reading %s: %v, %v; want nil", raw, got, err)
		}
	}
	for _, raw := range []string{`""`, `"x"`, `{}`, `[1]`, `5`} {
		var got rules.DailyLimits
		if err := json.Unmarshal([]byte(raw), &got); err == nil || got != nil {
			t.Errorf("reading %s: %v, %v; want an error", raw, got, err)
		}
	}
}

func FuzzDailyLimits(f *testing.F) {
	f.Add(`"[{\"date\":\"2026-02-27T00:00:00Z\",\"daily_response_limit\":2,\"rollout_percentage\":50}]"`)
	f.Add(`[{"date":"2026-02-27T00:00:00+01:00"}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		var l, again rules.DailyLimits
		if json.Unmarshal([]byte(raw), &l) != nil {
			return
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s, written as %s: %v", raw, b, err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("%s (-want +got)\n%s", raw, diff)
		}
	})
}
