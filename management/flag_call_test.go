package management_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

func TestFlagCalls(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	long := strings.Repeat("k", 400)
	event := func(project int64, name string, at time.Duration, properties string) capture.Event {
		return capture.Event{Project: project, Name: name, Time: now.Add(at), Received: now, Properties: []byte(properties)}
	}
	const called = "$feature_flag_called"
	got := management.FlagCalls([]capture.Event{
		event(2, called, -time.Hour, `{"$feature_flag":"beta"}`),
		event(1, called, -time.Hour, `{"$feature_flag":"beta","$feature_flag_response":true}`),
		event(1, called, -time.Minute, `{"a":{"$feature_flag":"x"},"$feature_flag":"beta"}`),
		event(1, called, -2*time.Hour, `{"$feature_flag":"beta"}`),
		event(1, called, time.Hour, `{"$feature\u005fflag":"\u0061lpha"}`),
		event(1, called, 0, `{"$feature_flag":"x","$feature_flag":"last"}`),
		event(1, called, 0, `{"$feature_flag":"`+long+`"}`),
		event(1, called, 0, `{"$feature_flag":"`+long+`k"}`),
		event(1, called, 0, `{"$feature_flag":""}`),
		event(1, called, 0, `{"$feature_flag":"\u0000"}`),
		event(1, called, 0, `{"$feature_flag":7}`),
		event(1, called, 0, `{"$feature_flag":"x","$feature_flag":null}`),
		event(1, called, 0, `{}`),
		event(1, "page", 0, `{"$feature_flag":"page"}`),
	})
	want := []management.FlagCall{
		{Project: 1, Key: "alpha", At: now},
		{Project: 1, Key: "beta", At: now.Add(-time.Minute)},
		{Project: 1, Key: long, At: now},
		{Project: 1, Key: "last", At: now},
		{Project: 2, Key: "beta", At: now.Add(-time.Hour)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FlagCalls (-want +got)\n%s", diff)
	}
}
