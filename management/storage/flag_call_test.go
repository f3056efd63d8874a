package storage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestFlagCalls(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	long := strings.Repeat("k", 400)
	var events []capture.Event
	var want []storage.FlagCall
	add := func(at time.Duration, properties string, call *storage.FlagCall) {
		e := capture.Event{Project: 1 + int64(len(events)%2), Name: "$feature_flag_called", Time: now.Add(at), Received: now, Properties: []byte(properties)}
		if call != nil {
			call.Event, call.Project, call.At = len(events), e.Project, now.Add(min(at, 0))
			want = append(want, *call)
		}
		events = append(events, e)
	}
	call := func(key, value, sdk string) *storage.FlagCall {
		return &storage.FlagCall{Key: key, Value: value, SDK: sdk}
	}
	add(-time.Hour, `{"$feature_flag":"beta"}`, call("beta", "null", ""))
	add(-time.Hour, `{"$feature_flag":"beta","$feature_flag_response":true,"$lib":"web"}`, call("beta", "true", "web"))
	add(-time.Minute, `{"a":{"$feature_flag":"x"},"$feature_flag_response": false ,"$feature_flag":"beta"}`, call("beta", "false", ""))
	add(time.Hour, `{"$feature\u005fflag":"\u0061lpha","$feature_flag_response":"t\u0065st \"","$lib":"\u0077eb"}`, call("alpha", `"test \""`, "web"))
	add(0, `{"$feature_flag":"x","$feature_flag":"last","$feature_flag_response":1,"$feature_flag_response":null,"$lib":"x","$lib":null}`, call("last", "null", ""))
	add(0, `{"$feature_flag":"`+long+`","$feature_flag_response":7,"$lib":7}`, call(long, `7`, "$other"))
	add(0, `{"$feature_flag":"a","$feature_flag_response":-1.50e1}`, call("a", `-15`, ""))
	add(0, `{"$feature_flag":"a","$feature_flag_response":{"b":1}}`, call("a", `"$other"`, ""))
	add(0, `{"$feature_flag":"a","$feature_flag_response":"`+long[:200]+`","$lib":"`+long[:100]+`"}`, call("a", fmt.Sprintf("%q", long[:200]), long[:100]))
	add(0, `{"$feature_flag":"a","$feature_flag_response":"`+long[:201]+`","$lib":"`+long[:101]+`"}`, call("a", `"$other"`, "$other"))
	add(0, `{"$feature_flag":"a","$feature_flag_response":["b"],"$lib":{}}`, call("a", `"$other"`, "$other"))
	add(0, `{"$feature_flag":"a","$feature_flag_response":"","$lib":""}`, call("a", `""`, ""))
	for _, none := range []string{`"` + long + `k"`, `""`, `"\u0000"`, `7`, `["beta"]`, `"x","$feature_flag":null`} {
		add(0, `{"$feature_flag":`+none+`}`, nil)
	}
	add(0, `{}`, nil)
	add(0, `{"$feature_flag":"page"}`, nil)
	events[len(events)-1].Name = "page"
	if diff := cmp.Diff(want, storage.FlagCalls(events)); diff != "" {
		t.Errorf("FlagCalls (-want +got)\n%s", diff)
	}
}
