package management_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

// management.md §13.22: what clients have reported of a flag.
func TestFlagUsage(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	ctx, now := t.Context(), w.clock.Now()
	const day = 24 * time.Hour
	date := func(ago time.Duration) string { return now.Add(-ago).UTC().Format(time.DateOnly) }
	empty := must(w.FlagUsage(ctx, w.as(w.ada), ref(w.web), id, "", ""))(t)
	if len(empty.Days) != 30 || empty.Total != 0 || empty.LastCalledAt != nil || empty.Values == nil || empty.SDKs == nil || empty.From != date(29*day) {
		t.Errorf("usage of a flag that was never called: %+v", empty)
	}
	var events []capture.Event
	for i, call := range []struct {
		ago        time.Duration
		value, sdk string
	}{{0, "true", "web"}, {0, "false", "web"}, {0, "false", "posthog-go"}, {0, "null", ""}, {2 * day, `"a"`, "web"}, {2 * day, `"a"`, ""}, {3 * day, "true", "web"}} {
		properties := fmt.Sprintf(`{"$feature_flag":"k","$feature_flag_response":%s,"$lib":%q}`, call.value, call.sdk)
		at := now.Add(-call.ago)
		events = append(events, capture.Event{
			Project: w.web.ID, UUID: capture.NewUUID(at), Name: "$feature_flag_called", DistinctID: fmt.Sprint("u", i), Time: at, Received: now, Properties: []byte(properties),
		})
	}
	if err := w.store.Write(ctx, events); err != nil {
		t.Fatal(err)
	}
	for _, evaluated := range []bool{true, false} {
		page := must(w.ListFlags(ctx, w.as(w.ada), ref(w.web), management.FlagQuery{Evaluated: &evaluated}, 10, 0))(t)
		if page.Total == 1 != evaluated {
			t.Errorf("evaluated %t lists %d flags, of which the only one was", evaluated, page.Total)
		}
	}
	value := func(value string, n int64) management.ValueUsage {
		return management.ValueUsage{Value: json.RawMessage(value), Count: n}
	}
	for _, tt := range []struct {
		days, sdk string
		want      management.FlagUsage
	}{
		{"3", "", management.FlagUsage{
			Total: 6, Values: []management.ValueUsage{value(`"a"`, 2), value("false", 2), value("null", 1), value("true", 1)},
			SDKs: []management.SDKUsage{{SDK: new("web"), Count: 3}, {Count: 2}, {SDK: new("posthog-go"), Count: 1}},
			Days: []management.DayUsage{
				{Date: date(2 * day), Count: 2, Values: []management.ValueUsage{value(`"a"`, 2)}},
				{Date: date(day), Values: []management.ValueUsage{}},
				{Date: date(0), Count: 4, Values: []management.ValueUsage{value("false", 2), value("null", 1), value("true", 1)}},
			},
		}},
		{"1", "web", management.FlagUsage{
			Total: 2, Values: []management.ValueUsage{value("false", 1), value("true", 1)}, SDKs: []management.SDKUsage{{SDK: new("web"), Count: 2}},
			Days: []management.DayUsage{{Date: date(0), Count: 2, Values: []management.ValueUsage{value("false", 1), value("true", 1)}}},
		}},
	} {
		got := must(w.FlagUsage(ctx, w.as(w.ada), ref(w.web), "k", tt.days, tt.sdk))(t)
		tt.want.Key, tt.want.From, tt.want.To, tt.want.LastCalledAt = "k", tt.want.Days[0].Date, date(0), &now
		if diff := cmp.Diff(&tt.want, got, same); diff != "" {
			t.Errorf("FlagUsage(%q, %q) (-want +got)\n%s", tt.days, tt.sdk, diff)
		}
	}
	other := w.flag(w.web, `{"key":"other","filters":`+everybody+`}`)
	byKey := must(w.UsageOfFlags(ctx, w.as(w.ada), ref(w.web), []string{"k", "other"}, 4))(t)
	if diff := cmp.Diff(map[string][]int64{"k": {1, 2, 0, 4}}, byKey); diff != "" {
		t.Errorf("UsageOfFlags with %s, which was never called (-want +got)\n%s", other, diff)
	}
	if inAll := must(w.UsageOfFlags(ctx, w.as(w.ada), ref(w.web), nil, 3))(t); !cmp.Equal(inAll, map[string][]int64{"": {2, 0, 4}}) {
		t.Errorf("UsageOfFlags of the project = %v", inAll)
	}
	for _, days := range []int{0, 401} {
		_, err := w.UsageOfFlags(ctx, w.as(w.ada), ref(w.web), nil, days)
		checkFault(t, fmt.Sprintf("UsageOfFlags of %d days", days), err, "invalid invalid_input days")
	}
	for _, days := range []string{"0", "401", "x", "-1", "1.5"} {
		_, err := w.FlagUsage(ctx, w.as(w.ada), ref(w.web), id, days, "")
		checkFault(t, "FlagUsage of "+days+" days", err, "invalid invalid_input days")
	}
	if got := must(w.FlagUsage(ctx, w.as(w.ada), ref(w.web), id, "400", ""))(t); got.Total != 7 {
		t.Errorf("%d calls in 400 days, want 7", got.Total)
	}
}
