package flags

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A flagUsageView is what programs have reported of a flag in the last days.
type flagUsageView struct {
	Total        string // in words
	Chart        charts.Chart
	Days         []dayView
	Values, SDKs []charts.Row
}

// A dayView is a day on which something was reported, with the number of each value.
type dayView struct {
	Date   string
	Counts []string
}

// usage returns what programs have reported of a flag, nil if that is nothing.
func usage(q *shell.Request, f *management.FlagView, raw *flags.Filters) (*flagUsageView, error) {
	u, err := q.Service.FlagUsage(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), "", "")
	if err != nil || u.Total == 0 {
		return nil, err
	}
	total := int(u.Total)
	v := &flagUsageView{Total: forms.Count(total, "evaluation", "evaluations") + " reported in " + forms.Count(len(u.Days), "day", "days")}
	values := coloured(u.Values, raw)
	v.Values = charts.Rows(values, total)
	stacks := make([]charts.Stack, len(u.Days))
	for i, d := range u.Days {
		of := make(map[string]int, len(d.Values))
		for _, value := range d.Values {
			of[reportedValue(value.Value)] += int(value.Count)
		}
		day := dayView{Date: d.Date}
		stacks[i].Label = d.Date
		for _, p := range values {
			n := of[p.Label]
			day.Counts = append(day.Counts, forms.Number(n))
			if n > 0 {
				stacks[i].Parts = append(stacks[i].Parts, charts.Point{
					Value: n, Class: p.Class, Title: d.Date + ", " + p.Label + ": " + forms.Number(n),
				})
			}
		}
		if d.Count > 0 {
			v.Days = append(v.Days, day)
		}
	}
	slices.Reverse(v.Days)
	v.Chart = charts.Stacks(v.Total, stacks, 2)
	var sdks []charts.Point
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
	v.SDKs = charts.Rows(sdks, total)
	return v, nil
}

// coloured returns how often each value was reported. A variant has the colour that it has in the
// bar of the variants; off is grey.
func coloured(reported []management.ValueUsage, raw *flags.Filters) (values []charts.Point) {
	hues := map[string]int{"on": 1}
	for i, part := range splitParts(raw) {
		hues[part.name] = i
	}
	at := make(map[string]int)
	for _, r := range reported {
		name := reportedValue(r.Value)
		if i, seen := at[name]; seen { // null and what cannot be read are no value
			values[i].Value += int(r.Count)
			continue
		}
		if _, known := hues[name]; !known {
			hues[name] = len(hues) + 1
		}
		class := "hue-" + strconv.Itoa(hues[name]%charts.Hues)
		if name == "off" {
			class = "same"
		}
		at[name] = len(values)
		values = append(values, charts.Point{Label: name, Value: int(r.Count), Class: class})
	}
	return values
}

// reportedValue returns a value of a flag in words.
func reportedValue(value json.RawMessage) string {
	var key string
	switch {
	case slices.Equal(value, []byte("true")):
		return "on"
	case slices.Equal(value, []byte("false")):
		return "off"
	case len(value) > 0 && (value[0] == '{' || value[0] >= '-' && value[0] <= '9'): // of a rule set
		return words.RuleValue(value)
	case json.Unmarshal(value, &key) != nil || key == "":
		return "no value"
	case key == storage.OtherCalls:
		return "others"
	}
	return key
}
