package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// maxSamplingDays is five years.
const maxSamplingDays = 5 * 366

// A DailyLimit has the number of responses that a survey should have by the end
// of a day, and the share of people who are asked until then (management.md
// §9.9).
type DailyLimit struct {
	Date       time.Time `json:"date"`
	Limit      int       `json:"daily_response_limit"` // since the first day
	Percentage float64   `json:"rollout_percentage"`
}

// DailyLimits has one entry for each day of a cycle. In JSON it is a string
// that contains JSON (§15.1, A17), or null; a plain list is read as well.
type DailyLimits []DailyLimit

// NewDailyLimits spreads a limit of responses over the days from start. The
// interval is a number of days, weeks, or months of 30 days. If the limit, the
// interval, its type or start is zero, there are no daily limits.
func NewDailyLimits(start time.Time, interval int, intervalType string, limit int) (DailyLimits, error) {
	if start.IsZero() || interval <= 0 || intervalType == "" || limit <= 0 {
		return nil, nil
	}
	unit, ok := map[string]int{"day": 1, "week": 7, "month": 30}[intervalType]
	if !ok {
		return nil, judge.New("response_sampling_interval_type", "invalid_choice", "%q is not a valid choice.", excerpt(intervalType))
	}
	if interval > maxSamplingDays/unit {
		return nil, judge.Invalid("response_sampling_interval", "Ensure this value is no more than %d days.", maxSamplingDays)
	}
	if start.UTC().AddDate(0, 0, interval*unit).Year() > maxYear {
		return nil, judge.Invalid("response_sampling_start_date", "Ensure that the sampling ends before the year %d.", maxYear)
	}
	limits := make(DailyLimits, interval*unit)
	each, rest := limit/len(limits), limit%len(limits)
	for i := range limits {
		limits[i] = DailyLimit{
			Date:       start.UTC().AddDate(0, 0, i),
			Limit:      each*(i+1) + min(i+1, rest),
			Percentage: percentage(i+1, len(limits)),
		}
	}
	return limits, nil
}

// percentage returns n/total in percent, with two decimals. Formatting rounds
// the exact value, where arithmetic would round twice.
func percentage(n, total int) float64 {
	p, _ := strconv.ParseFloat(strconv.FormatFloat(float64(n)*100/float64(total), 'f', 2, 64), 64)
	return p
}

// On returns the entry of the day in UTC that contains t.
func (l DailyLimits) On(t time.Time) (DailyLimit, bool) {
	for _, d := range l {
		if d.Date.UTC().Truncate(day).Equal(t.UTC().Truncate(day)) {
			return d, true
		}
	}
	return DailyLimit{}, false
}

// MarshalJSON implements [json.Marshaler].
func (l DailyLimits) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("null"), nil
	}
	list, err := json.Marshal([]DailyLimit(l))
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(list))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *DailyLimits) UnmarshalJSON(b []byte) error {
	if s, ok := jsonscan.Value(b).AppendString(nil); ok {
		b = s
	}
	var list []DailyLimit
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("survey: daily limits: %w", err)
	}
	*l = list
	return nil
}
