package console

import (
	"cmp"
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
	var values, sdks []point
	for _, value := range u.Values {
		name, class := reportedValue(value.Value), "hue-1"
		if m := raw.Multivariate; m != nil {
			for i := range m.Variants {
				if m.Variants[i].Key == name {
					class = "hue-" + strconv.Itoa(i%hues)
				}
			}
		}
		values = append(values, point{Label: name, Value: int(value.Count), Class: class})
	}
	for _, sdk := range u.SDKs {
		name := "not named"
		if sdk.SDK != nil {
			name = *sdk.SDK
		}
		if name == storage.OtherCalls {
			name = "others"
		}
		sdks = append(sdks, point{Label: name, Value: int(sdk.Count)})
	}
	v.Values, v.SDKs = countRows(values, total), countRows(sdks, total)
	return v, nil
}

// countRows returns the rows of a table of counts, each of which has its share of a whole.
func countRows(points []point, whole int) (rows []countRow) {
	for i, share := range pointShares(points, whole) {
		p := points[i]
		rows = append(rows, countRow{p.Label, number(p.Value), percent(share), shareWidth(p.Value, whole), cmp.Or(p.Class, "hue-1")})
	}
	return rows
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
