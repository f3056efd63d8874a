package capture_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// analyticsUUID returns the uuid of the event with number i.
func analyticsUUID(i int) string { return fmt.Sprintf("01a1fb72-4826-7af7-a165-3e5ec48e%04x", i) }

// analyticsEvent is the event with number i. Members replace members of the same
// name that come before: {"event":"e"} says nothing of its own.
func analyticsEvent(i int, members string) string {
	all := fmt.Sprintf(`"event":"e","uuid":%q,"distinct_id":"u","timestamp":"2026-11-21T12:00:00Z"`, analyticsUUID(i))
	if members != "" {
		all += "," + members
	}
	return "{" + all + "}"
}

func analyticsBody(events ...string) string {
	return `{"created_at":"2026-11-21T12:05:00.123Z","batch":[` + strings.Join(events, ",") + `]}`
}

func parseAnalytics(t testing.TB, body string, r capture.AnalyticsRequest) *capture.AnalyticsBatch {
	t.Helper()
	r.Now = arrival
	b := new(capture.AnalyticsBatch)
	if err := b.Parse([]byte(body), r); err != nil {
		t.Fatalf("Parse(%.300s): %v", body, err)
	}
	for i := range b.Events {
		checkEvent(t, &b.Events[i])
	}
	return b
}

// TestAnalyticsRecorded is V01 with the request of wire.md §2.9.
func TestAnalyticsRecorded(t *testing.T) {
	const body = `{"created_at":"2026-11-21T00:12:13.522Z","historical_migration":true,"batch":[
 {"event":"page visited","uuid":"01A1FB72-4826-7af7-a165-3e5ec48ee45e","distinct_id":"n-anon","timestamp":"2026-11-21T12:00:00.221Z",
  "session_id":"0190a000-4826-7af7-a165-3e5ec48ee45e","options":{},"properties":{"n":1,"$is_server":true}}]}`
	b := parseAnalytics(t, body, capture.AnalyticsRequest{
		Request: capture.Request{SentAt: arrival.Add(-time.Minute), IP: netip.MustParseAddr("192.0.2.1")}, Library: "posthog-node", LibraryVersion: "5.70.0",
	})
	want := []capture.Event{{
		UUID: uuid.MustParse("01a1fb72-4826-7af7-a165-3e5ec48ee45e"), Name: "page visited", DistinctID: "n-anon",
		Time: time.Date(2026, 11, 21, 12, 1, 0, 221e6, time.UTC), Received: arrival,
		Properties: []byte(`{"n":1,"$is_server":true,"$lib":"posthog-node","$lib_version":"5.70.0",` +
			`"$session_id":"0190a000-4826-7af7-a165-3e5ec48ee45e","$ip":"192.0.2.1"}`),
	}}
	if diff := cmp.Diff(want, b.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	results := []capture.Result{{UUID: "01A1FB72-4826-7af7-a165-3e5ec48ee45e", Result: "ok"}}
	if diff := cmp.Diff(results, b.Results); diff != "" {
		t.Errorf("Results (-want +got):\n%s", diff)
	}
	if !b.Historical {
		t.Error("Historical = false")
	}
}

func TestAnalyticsRefuses(t *testing.T) {
	good := analyticsEvent(0, "")
	for _, tt := range []struct{ name, body, tag, text string }{
		{"V10 empty batch", analyticsBody(), "empty_batch", "The batch holds no event."},
		{"V10 empty batch comes before created_at", `{"batch":[]}`, "empty_batch", "The batch holds no event."},
		{"V11 no uuid", analyticsBody(good, `{"event":"e"}`), "missing_event_uuid", "Event 1 has no uuid."},
		{"V11 empty uuid", analyticsBody(analyticsEvent(0, `"uuid":""`)), "missing_event_uuid", "Event 0 has no uuid."},
		{"V11 bad uuid", analyticsBody(good, analyticsEvent(1, `"uuid":"x"`)), "invalid_event_uuid", "The uuid of event 1 is not a UUID."},
		{"V11 uuid of a wrong type", analyticsBody(analyticsEvent(0, `"uuid":17`)), "invalid_event_uuid", "The uuid of event 0 is not a UUID."},
		{"V11 uuid in braces", analyticsBody(analyticsEvent(0, `"uuid":"{`+analyticsUUID(0)+`}"`)), "invalid_event_uuid", "The uuid of event 0 is not a UUID."},
		{"V11 twice the same uuid", analyticsBody(good, analyticsEvent(1, ""), good), "duplicate_event_uuid", "The uuid of event 2 is that of an earlier one."},
		{"V11 twice the same uuid in upper case", analyticsBody(good, strings.ToUpper(good[len(`{"event":"e",`):])), "request_parsing_error", ""},
		{"V11 uuids are told apart as UUIDs", analyticsBody(good, analyticsEvent(1, `"uuid":"`+strings.ToUpper(analyticsUUID(0))+`"`)), "duplicate_event_uuid", "The uuid of event 1 is that of an earlier one."},
		{"V13 malformed JSON", `{"batch":`, "request_parsing_error", "The body is not JSON: offset 9: unexpected end of input where a value should begin"},
		{"V13 an array", `[` + good + `]`, "request_parsing_error", "The body must be an object, not an array."},
		{"V13 batch missing", `{"created_at":"2026-11-21T12:05:00Z"}`, "request_parsing_error", "The field batch must be an array of events, not nothing."},
		{"V13 batch an object", `{"created_at":"2026-11-21T12:05:00Z","batch":{}}`, "request_parsing_error", "The field batch must be an array of events, not an object."},
		{"V13 an event that is a string", analyticsBody(`"phc_secret"`), "request_parsing_error", "An event must be an object, not a string."},
		{"§2.9 not UTF-8", "{\"batch\":\"\xff\"}", "request_decoding_error", "The body is not UTF-8."},
		{"§2.9 no created_at", `{"batch":[` + good + `]}`, "invalid_batch", "The field created_at must be a time such as 2026-01-02T15:04:05.999Z."},
		{"§2.9 created_at garbage", `{"created_at":"now","batch":[` + good + `]}`, "invalid_batch", "The field created_at must be a time such as 2026-01-02T15:04:05.999Z."},
		{"§2.9 created_at a number", `{"created_at":1795262710123,"batch":[` + good + `]}`, "invalid_batch", "The field created_at must be a time such as 2026-01-02T15:04:05.999Z."},
		{"too many events", analyticsBody(strings.Repeat("{},", capture.MaxEvents) + "{}"), "invalid_batch", "The batch has more than 20000 events."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b capture.AnalyticsBatch
			err := b.Parse([]byte(tt.body), capture.AnalyticsRequest{Request: capture.Request{Now: arrival}})
			e, ok := errors.AsType[*capture.AnalyticsError](err)
			if !ok || !errors.Is(err, capture.ErrMalformed) || e.Tag != tt.tag || tt.text != "" && err.Error() != tt.text {
				t.Errorf("Parse = %v (%+v), want %s: %s", err, e, tt.tag, tt.text)
			}
			if len(b.Events) != 0 || len(b.Results) != 0 {
				t.Errorf("%d events, %d results beside an error", len(b.Events), len(b.Results))
			}
		})
	}
}

// TestAnalyticsResults covers V12, V14 and the table of results in wire.md §2.9.
func TestAnalyticsResults(t *testing.T) {
	long := strings.Repeat("é", 201)
	for _, tt := range []struct {
		name, members   string
		result, details string
		want            stored // if it is stored
	}{
		{"V12 good", ``, "ok", "", stored{"e", "u", `{}`}},
		{"V12 no name", `"event":null,"event":""`, "drop", "missing_event_name", stored{}},
		{"blank name", `"event":" "`, "drop", "missing_event_name", stored{}},
		{"name of a wrong type", `"event":17`, "drop", "missing_event_name", stored{}},
		{"V12 long name", `"event":"` + long + `"`, "drop", "event_name_too_long", stored{}},
		{"name of 200 characters", `"event":"` + long[:400] + `"`, "ok", "", stored{long[:400], "u", `{}`}},
		{"V12 no distinct ID", `"distinct_id":""`, "drop", "missing_distinct_id", stored{}},
		{"blank distinct ID", `"distinct_id":" "`, "drop", "missing_distinct_id", stored{}},
		{"V12 long distinct ID", `"distinct_id":"` + long + `"`, "drop", "distinct_id_too_large", stored{}},
		{"200 blanks and more", `"distinct_id":"` + strings.Repeat(" ", 200) + `x"`, "drop", "distinct_id_too_large", stored{}},
		{"distinct ID of 200 characters", `"distinct_id":"` + long[:400] + `"`, "ok", "", stored{"e", long[:400], `{}`}},
		{"distinct ID that is a list", `"distinct_id":["u"]`, "drop", "missing_distinct_id", stored{}},
		{"distinct ID of many digits", `"distinct_id":1` + strings.Repeat("0", 200), "ok", "", stored{"e", "1e200", `{}`}},
		{"NUL in both", `"event":"a\u0000","distinct_id":"b\u0000"`, "ok", "", stored{"a\uFFFD", "b\uFFFD", `{}`}},
		{"V12 bad timestamp", `"timestamp":"soon"`, "drop", "invalid_event_timestamp", stored{}},
		{"timestamp of a wrong type", `"timestamp":17`, "drop", "invalid_event_timestamp", stored{}},
		{"properties an array", `"properties":[]`, "drop", "malformed_event_properties", stored{}},
		{"properties null", `"properties":null`, "ok", "", stored{"e", "u", `{}`}},
		{"performance", `"event":"$performance_event"`, "drop", "dropped_performance_event", stored{}},
		{"recordings", `"event":"$snapshot"`, "ok", "", stored{}},
		{"V14 nobody", `"distinct_id":"undefined"`, "warning", "person_processing_disabled", stored{"e", "undefined", `{}`}},
		{"nobody in quotes", `"distinct_id":"'NaN'"`, "warning", "person_processing_disabled", stored{"e", "'NaN'", `{}`}},
		{"nil UUID", `"distinct_id":"00000000-0000-0000-0000-000000000000"`, "warning", "person_processing_disabled", stored{"e", "00000000-0000-0000-0000-000000000000", `{}`}},
		{"0", `"distinct_id":0`, "warning", "person_processing_disabled", stored{"e", "0", `{}`}},
		{"system", `"distinct_id":"System"`, "warning", "person_processing_disabled", stored{"e", "System", `{}`}},
		{"anonymous-user", `"distinct_id":"anonymous-user"`, "warning", "person_processing_disabled", stored{"e", "anonymous-user", `{}`}},

		{"$set in properties only", `"$set":{"a":1},"properties":{"$set":{"b":2}}`, "ok", "", stored{"e", "u", `{"$set":{"b":2}}`}},
		{"session and window", `"session_id":"s","window_id":"w"`, "ok", "", stored{"e", "u", `{"$session_id":"s","$window_id":"w"}`}},
		{"session in both places", `"session_id":"s","properties":{"$session_id":"p"}`, "ok", "", stored{"e", "u", `{"$session_id":"p"}`}},
		{
			"options", `"options":{"process_person_profile":false,"cookieless_mode":true,"disable_skew_correction":false,"product_tour_id":"p","x":1}`,
			"ok", "",
			stored{"e", "u", `{"$process_person_profile":false,"$cookieless_mode":true,"$product_tour_id":"p"}`},
		},
		{"options null", `"options":null`, "ok", "", stored{"e", "u", `{}`}},
		{"options of null", `"options":{"process_person_profile":null}`, "ok", "", stored{"e", "u", `{}`}},
		{"options of which properties say more", `"options":{"process_person_profile":false},"properties":{"$process_person_profile":true}`, "ok", "", stored{"e", "u", `{"$process_person_profile":true}`}},
		{"options an array", `"options":[]`, "drop", "invalid_options", stored{}},
		{"process_person_profile of a wrong type", `"options":{"process_person_profile":"no"}`, "drop", "invalid_options", stored{}},
		{"cookieless_mode of a wrong type", `"options":{"cookieless_mode":1}`, "drop", "invalid_options", stored{}},
		{"disable_skew_correction of a wrong type", `"options":{"disable_skew_correction":{}}`, "drop", "invalid_options", stored{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Between two good ones, so that indexes are worth something.
			b := parseAnalytics(t, analyticsBody(analyticsEvent(1, ""), analyticsEvent(2, tt.members), analyticsEvent(3, "")), capture.AnalyticsRequest{})
			want := []stored{{"e", "u", `{}`}, {"e", "u", `{}`}}
			results := []capture.Result{
				{UUID: analyticsUUID(1), Result: "ok", Event: 0},
				{UUID: analyticsUUID(2), Result: tt.result, Details: tt.details, Event: -1},
				{UUID: analyticsUUID(3), Result: "ok", Event: 1},
			}
			if tt.want != (stored{}) {
				want = []stored{want[0], tt.want, want[1]}
				results[1].Event, results[2].Event = 1, 2
				if got, want := b.Events[1].NoPerson, tt.result == "warning"; got != want {
					t.Errorf("NoPerson = %v, want %v", got, want)
				}
			}
			if diff := cmp.Diff(want, storedOf(b.Events)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(results, b.Results); diff != "" {
				t.Errorf("Results (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnalyticsSkew covers PostHog-Request-Timestamp and how to turn it off.
func TestAnalyticsSkew(t *testing.T) {
	b := parseAnalytics(t, analyticsBody(
		analyticsEvent(1, ""),
		analyticsEvent(2, `"options":{"disable_skew_correction":true}`),
		analyticsEvent(3, `"properties":{"$ignore_sent_at":true}`),
		analyticsEvent(4, `"timestamp":"12000-01-01T00:00:00Z"`),
		analyticsEvent(5, `"timestamp":"2026-12-01"`),
	), capture.AnalyticsRequest{Request: capture.Request{SentAt: arrival.Add(-time.Minute)}})
	var got []time.Time
	for _, e := range b.Events {
		got = append(got, e.Time)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	want := []time.Time{noon.Add(time.Minute), noon, noon, time.Unix(0, 0).UTC(), arrival}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Times (-want +got):\n%s", diff)
	}
}

// TestAnalyticsAdds covers the library, and that events do not share what is
// added to them.
func TestAnalyticsAdds(t *testing.T) {
	asked := 0
	geo := func() []capture.Property {
		asked++
		return []capture.Property{{Name: "$geoip_city_name", Value: `"Vienna"`}}
	}
	body := analyticsBody(
		analyticsEvent(1, `"session_id":"s","properties":{"x":1}`),
		analyticsEvent(2, `"window_id":"w","properties":{"$lib":"mine"}`),
		analyticsEvent(3, `"properties":{"$geoip_disable":true}`),
		analyticsEvent(4, ``),
	)
	b := parseAnalytics(t, body, capture.AnalyticsRequest{Request: capture.Request{Geo: geo}, Library: `a"b`})
	want := []stored{
		{"e", "u", `{"x":1,"$lib":"a\"b","$session_id":"s","$geoip_city_name":"Vienna"}`},
		{"e", "u", `{"$lib":"mine","$window_id":"w","$geoip_city_name":"Vienna"}`},
		{"e", "u", `{"$geoip_disable":true,"$lib":"a\"b"}`},
		{"e", "u", `{"$lib":"a\"b","$geoip_city_name":"Vienna"}`},
	}
	if diff := cmp.Diff(want, storedOf(b.Events)); diff != "" || asked != 1 {
		t.Errorf("asked %d times; Events (-want +got):\n%s", asked, diff)
	}
	again := parseAnalytics(t, body, capture.AnalyticsRequest{})
	if err := again.Parse([]byte(body), capture.AnalyticsRequest{Request: capture.Request{Now: arrival, Geo: geo}, Library: `a"b`}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("second Parse (-want +got):\n%s", diff)
	}
}
