package console

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A flagUsageView is what programs have reported of a flag in the last days.
type flagUsageView struct {
	Total        string // in words
	Days         chart
	Values, SDKs []countRow
}

// usage returns what programs have reported of a flag, nil if that is nothing.
func (q *request) usage(f *management.FlagView, raw *flags.Filters) (*flagUsageView, error) {
	u, err := q.c.Service.FlagUsage(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), "", "")
	if err != nil || u.Total == 0 {
		return nil, err
	}
	total := int(u.Total)
	v := &flagUsageView{Total: count(total, "evaluation", "evaluations") + " reported in " + count(len(u.Days), "day", "days")}
	points := make([]point, len(u.Days))
	for i, d := range u.Days {
		points[i] = point{Label: d.Date, Value: int(d.Count)}
	}
	v.Days = columnChart(v.Total, points, 2)
	calls := make([]int, len(u.Values))
	for i, value := range u.Values {
		calls[i] = int(value.Count)
	}
	for i, share := range shares(total, calls) {
		name, class := reportedValue(u.Values[i].Value), "hue-1"
		if m := raw.Multivariate; m != nil {
			for i := range m.Variants {
				if m.Variants[i].Key == name {
					class = "hue-" + strconv.Itoa(i%hues)
				}
			}
		}
		v.Values = append(v.Values, callRow(name, calls[i], total, share, class))
	}
	calls = make([]int, len(u.SDKs))
	for i, sdk := range u.SDKs {
		calls[i] = int(sdk.Count)
	}
	for i, share := range shares(total, calls) {
		name := "not named"
		if sdk := u.SDKs[i].SDK; sdk != nil {
			name = *sdk
		}
		if name == storage.OtherCalls {
			name = "others"
		}
		v.SDKs = append(v.SDKs, callRow(name, calls[i], total, share, "hue-1"))
	}
	return v, nil
}

func callRow(name string, n, total int, share float64, class string) countRow {
	return countRow{Label: name, Count: number(n), Share: percent(share), Width: shareWidth(n, total), Class: class}
}

// reportedValue returns a value of a flag in words.
func reportedValue(value json.RawMessage) string {
	var key string
	switch {
	case slices.Equal(value, []byte("true")):
		return "on"
	case slices.Equal(value, []byte("false")):
		return "off"
	case json.Unmarshal(value, &key) != nil || key == "":
		return "no value"
	case key == storage.OtherCalls:
		return "others"
	}
	return key
}
