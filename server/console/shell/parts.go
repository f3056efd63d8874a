package shell

import (
	"net/http"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var partsScreen = Screen{
	Title: "Parts", Scope: OfAccount, Pages: map[string]Page{"GET /parts": showParts},
}

// partsView has something for each part of pages to show.
type partsView struct {
	Layout
	forms.Checked
	Pager
	Tabs    []NavItem
	Options []forms.Option
	Rows    []partsRow
	Days    charts.Chart
	Counts  []partsCount
	Effect  Effect
	Changes []Change
	Entries []Entry
	Snippet struct{ Name, Code string }
	Confirm ConfirmView
}

// A partsRow is a row of the table, with a cell of each kind.
type partsRow struct {
	On       bool
	Key      string
	Class    string // of the tag
	Variants charts.Bar
	Usage    charts.Sparkline
	Count    string
	At       Moment
}

type partsCount struct{ Label, Class, Width, Count, Share string }

func showParts(q *Request) error {
	here := q.Config.Prefix + "/parts"
	v := &partsView{
		Confirm: ConfirmView{
			Layout: Layout{Title: "Delete dark-mode?"},
			Text:   []string{"The flag is deleted for everyone. " + CannotBeUndone}, Action: here, Cancel: here,
			Button: "Delete", Danger: true, Word: "dark-mode", Typed: "dark mod", Refusal: `Type "dark-mode".`,
		},
		Pager:   Pager{Newer: here, Older: here},
		Tabs:    []NavItem{{Name: "Current", URL: here, Current: true}, {Name: "Other", URL: here}},
		Options: forms.Selected(forms.Options("", "All kinds", "boolean", "Boolean", "multivariate", "Multivariate"), "boolean"),
		Changes: []Change{{"rollout percentage", "20 %", "40 %"}, {"description", "", "Dark colours"}, {"tag", "web", ""}},
	}
	v.Fail("wrong", "is 101, want a percentage from 0 to 100")
	v.Snippet.Name, v.Snippet.Code = "Go", `on := client.For(request).Bool("dark-mode", false)`
	now := q.Config.Now()
	for i, key := range []string{"dark-mode", "a-key-for-which-there-is-no-room" + strings.Repeat("-and-more", 9), "new-checkout"} {
		row := partsRow{On: i != 1, Key: key, Class: []string{"good", "warn", "bad"}[i], Count: forms.Number(12_345 * i)}
		row.At = q.Moment(now.AddDate(0, 0, -i))
		x := row.Variants.Add(0, 50, "hue-1", "control")
		x = row.Variants.Add(x, 30, "hue-2", "short")
		row.Variants.Add(x, 20, "hue-3", "long")
		row.Usage = charts.Line("42 evaluations in four days", []int64{3, 12, 7, int64(20 * i)})
		v.Rows = append(v.Rows, row)
		share := float64(60 - 20*i)
		v.Counts = append(v.Counts, partsCount{key[:8], "hue-1", charts.Decimal(share), row.Count, forms.Percent(share)})
	}
	var days []charts.Point
	for day := time.Monday; day <= time.Saturday; day++ {
		days = append(days, charts.Point{Label: day.String()[:3], Value: int(day) * 7 % 10})
	}
	v.Days = charts.Columns("Evaluations by day", days, len(days))
	v.Effect = Effect{
		Known: true, Summary: "The value changes for 30 of 200 persons.", Caveat: "Persons whom no event has named are not counted.",
		Moves: []Move{{From: "false", To: "true", Count: "30", Share: "15 %"}},
	}
	x := v.Effect.Bar.Add(0, 15, "gain", "gain the flag")
	v.Effect.Bar.Add(x, 85, "same", "keep their value")
	v.Entries = []Entry{{Who: "ada@example.com", What: "changed", At: q.Moment(now), Changes: v.Changes}}
	q.Layout.Done, q.Layout.Undo = "The flag is saved.", &UndoView{Action: here}
	return q.Render(http.StatusOK, "parts", v)
}
