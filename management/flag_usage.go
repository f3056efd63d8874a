package management

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The days of the usage of a flag. Stores count calls of the last maxUsageDays.
const (
	usualUsageDays = 30
	maxUsageDays   = 400
)

// A FlagUsage says what clients have reported of a flag, day by day (management.md
// §13.22).
type FlagUsage struct {
	Key          string       `json:"key"`
	From         string       `json:"date_from"` // the first day, in UTC, such as 2026-03-01
	To           string       `json:"date_to"`   // today
	Total        int64        `json:"total_count"`
	LastCalledAt *time.Time   `json:"last_called_at"`
	Values       []ValueUsage `json:"values"` // most often reported first
	SDKs         []SDKUsage   `json:"sdks"`   // in the same order
	Days         []DayUsage   `json:"days"`   // all from From to To
}

// A ValueUsage says how often a value was reported.
type ValueUsage struct {
	Value json.RawMessage `json:"value"` // as in a [storage.FlagCall]
	Count int64           `json:"count"`
}

// An SDKUsage says how often clients with an SDK have reported a value.
type SDKUsage struct {
	SDK   *string `json:"sdk"` // nil: the clients do not name theirs
	Count int64   `json:"count"`
}

// A DayUsage says what was reported on a day.
type DayUsage struct {
	Date   string       `json:"date"`
	Count  int64        `json:"count"`
	Values []ValueUsage `json:"values"` // most often reported first
}

// FlagUsage returns what clients have reported of a flag in a number of days, today
// included; "" is 30. An SDK selects what clients with it have reported; "" is all. It
// needs scope feature_flag:read.
func (s *Service) FlagUsage(ctx context.Context, p *Principal, ref, flag, days, sdk string) (*FlagUsage, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	shown := usualUsageDays
	if days != "" {
		if shown, err = strconv.Atoi(days); err != nil || shown < 1 || shown > maxUsageDays {
			return nil, invalid("days", "invalid_input", "Must be a number of days from 1 to %d, not %q.", maxUsageDays, check.Excerpt(days))
		}
	}
	f, err := w.flagByRef(ctx, flag)
	if err != nil {
		return nil, err
	}
	const day = 24 * time.Hour
	today := s.now().UTC().Truncate(day)
	first := today.Add(-time.Duration(shown-1) * day)
	counts, err := w.store.FlagUsage(ctx, f.Project, []string{f.Key}, first)
	if err != nil {
		return nil, err
	}
	if sdk != "" {
		counts = slices.DeleteFunc(counts, func(c storage.FlagCount) bool { return c.SDK != sdk })
	}
	u := usageOf(counts)
	u.Key, u.LastCalledAt = f.Key, f.LastCalled
	u.From, u.To = first.Format(time.DateOnly), today.Format(time.DateOnly)
	u.Days = make([]DayUsage, shown)
	for i := range u.Days {
		at, n := first.Add(time.Duration(i)*day), 0
		for n < len(counts) && counts[n].Day.Equal(at) {
			n++
		}
		part := usageOf(counts[:n])
		u.Days[i], counts = DayUsage{at.Format(time.DateOnly), part.Total, part.Values}, counts[n:]
	}
	return u, nil
}

// UsageOfFlags returns how often clients have reported flags with some keys on each of a number of
// days, the last of which is today, and 0 for days without; of nil, how often they have reported
// any flag, under the key "". It needs scope feature_flag:read.
func (s *Service) UsageOfFlags(ctx context.Context, p *Principal, ref string, keys []string, days int) (map[string][]int64, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	if days < 1 || days > maxUsageDays {
		return nil, invalid("days", "invalid_input", "Must be a number of days from 1 to %d, not %d.", maxUsageDays, days)
	}
	const day = 24 * time.Hour
	first := s.now().UTC().Truncate(day).Add(-time.Duration(days-1) * day)
	counts, err := w.store.FlagUsage(ctx, w.at.Project.ID, keys, first)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]int64)
	for _, c := range counts {
		at := int(c.Day.Sub(first) / day)
		if at >= days {
			continue // by the clock of another computer
		}
		if out[c.Key] == nil {
			out[c.Key] = make([]int64, days)
		}
		out[c.Key][at] += c.Count
	}
	return out, nil
}

// usageOf adds counts up.
func usageOf(counts []storage.FlagCount) *FlagUsage {
	u := new(FlagUsage)
	values, sdks := make(map[string]int64), make(map[string]int64)
	for i := range counts {
		c := &counts[i]
		u.Total += c.Count
		values[string(c.Value)] += c.Count
		sdks[c.SDK] += c.Count
	}
	u.Values = each(mostFirst(values), func(value *string) ValueUsage { return ValueUsage{json.RawMessage(*value), values[*value]} })
	u.SDKs = each(mostFirst(sdks), func(sdk *string) SDKUsage {
		if *sdk == "" {
			return SDKUsage{nil, sdks[""]}
		}
		return SDKUsage{sdk, sdks[*sdk]}
	})
	return u
}

// mostFirst returns what was counted, with the highest count first.
func mostFirst(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}
