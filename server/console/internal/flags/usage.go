package flags

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A flagUsageView is what programs have reported of a flag in the last days.
type flagUsageView struct {
	Total        string // in words
	Days         charts.Chart
	Values, SDKs []charts.Row
}

// usage returns what programs have reported of a flag, nil if that is nothing.
func usage(q *shell.Request, f *management.FlagView, raw *flags.Filters) (*flagUsageView, error) {
	u, err := q.Service.FlagUsage(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), "", "")
	if err != nil || u.Total == 0 {
		return nil, err
	}
	total := int(u.Total)
	v := &flagUsageView{Total: forms.Count(total, "evaluation", "evaluations") + " reported in " + forms.Count(len(u.Days), "day", "days")}
	points := make([]charts.Point, len(u.Days))
	for i, d := range u.Days {
		points[i] = charts.Point{Label: d.Date, Value: int(d.Count)}
	}
	v.Days = charts.Columns(v.Total, points, 2)
	var values, sdks []charts.Point
	for _, value := range u.Values {
		name, class := reportedValue(value.Value), "hue-1"
		if m := raw.Multivariate; m != nil {
			for i := range m.Variants {
				if m.Variants[i].Key == name {
					class = "hue-" + strconv.Itoa(i%charts.Hues)
				}
			}
		}
		values = append(values, charts.Point{Label: name, Value: int(value.Count), Class: class})
	}
	for _, sdk := range u.SDKs {
		name := "not named"
		if sdk.SDK != nil {
			name = *sdk.SDK
		}
		if name == storage.OtherCalls {
			name = "others"
		}
		sdks = append(sdks, charts.Point{Label: name, Value: int(sdk.Count)})
	}
	v.Values, v.SDKs = charts.Rows(values, total), charts.Rows(sdks, total)
	return v, nil
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
