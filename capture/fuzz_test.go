package capture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
)

// everything is a Request that adds whatever can be added.
var everything = capture.Request{
	Now: arrival, SentAt: arrival.Add(-time.Minute), Engage: true, IP: netip.MustParseAddr("2001:db8::1"),
	Agent: func() []capture.Property { return []capture.Property{{Name: "$browser", Value: `"Chrome"`}} },
	Geo:   func() []capture.Property { return []capture.Property{{Name: "$geoip_city_name", Value: `"Wien\n"`}} },
}

// checkProperties checks e.Properties against what encoding/json reads: they are
// sent, the members of an event's properties in the body, plus what is added.
func checkProperties(t *testing.T, e *capture.Event, want map[string]any) {
	t.Helper()
	var got map[string]any
	d := json.NewDecoder(bytes.NewReader(e.Properties))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("properties %q: %v", e.Properties, err)
	}
	for name, value := range want {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Fatalf("property %q (-sent +got):\n%s", name, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(browserEvent))
	f.Add(serverBatch(2))
	f.Add([]byte(`[{"token":"k","event":"e","distinct_id":17.5,"$set":{"a":1},"properties":{"$set":{"b":2},"\u0024ip":null}}]`))
	f.Add([]byte(`{"$token":"k","$distinct_id":{"a":[]},"$set_once":{},"offset":-1e5}`))
	f.Add([]byte(`{"api_key":"k","sent_at":"9999-01-01","batch":[{"event":"\ud83d\u0000","distinct_id":"\u0000","timestamp":"-0001-01-01","uuid":""}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		original := bytes.Clone(body)
		for _, r := range []capture.Request{{Now: arrival}, everything} {
			var b capture.Batch
			err := b.Parse(body, r)
			if !bytes.Equal(body, original) {
				t.Fatal("Parse changes the body")
			}
			if err != nil {
				e, ok := errors.AsType[*capture.RequestError](err)
				if !ok || len(b.Events) != 0 || len(e.Text) > 300 || strings.Contains(e.Text, "\n") {
					t.Fatalf("error %v (%T), %d events", err, err, len(b.Events))
				}
				continue
			}
			if key := b.APIKey; key == "" || len(key) > 64 || strings.TrimSpace(key) != key || strings.HasPrefix(key, "phx_") {
				t.Fatalf("APIKey %q", key)
			}
			for i := range b.Events {
				checkEvent(t, &b.Events[i])
				if !b.Events[i].Received.Equal(arrival) {
					t.Fatalf("Received = %v", b.Events[i].Received)
				}
			}
			checkSingle(t, body, &b)
		}
	})
}

// checkSingle checks the properties of a body that is one event with names that
// are spelled in one way only.
func checkSingle(t *testing.T, body []byte, b *capture.Batch) {
	t.Helper()
	var sent map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if len(b.Events) != 1 || d.Decode(&sent) != nil || sent["batch"] != nil {
		return
	}
	want, ok := sent["properties"].(map[string]any)
	if !ok {
		want = make(map[string]any)
	}
	for _, name := range []string{"$set", "$set_once"} {
		if v, ok := sent[name].(map[string]any); ok {
			want[name] = v
		}
	}
	checkProperties(t, &b.Events[0], want)
}

func FuzzAnalytics(f *testing.F) {
	f.Add([]byte(analyticsBody(analyticsEvent(1, ""), analyticsEvent(2, `"options":{"cookieless_mode":true},"session_id":["s"]`))))
	f.Add([]byte(analyticsBody(analyticsEvent(1, `"event":"\u0000","distinct_id":{},"properties":{"$lib":1},"timestamp":"12345-01-01"`))))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b capture.AnalyticsBatch
		err := b.Parse(body, capture.AnalyticsRequest{Request: everything, Library: "\xff\"", LibraryVersion: "1"})
		if err != nil {
			e, ok := errors.AsType[*capture.AnalyticsError](err)
			if !ok || e.Tag == "" || len(b.Events)+len(b.Results) != 0 {
				t.Fatalf("error %v (%T), %d events, %d results", err, err, len(b.Events), len(b.Results))
			}
			return
		}
		for i := range b.Events {
			checkEvent(t, &b.Events[i])
		}
		next := 0
		for _, r := range b.Results {
			id, err := capture.ParseUUID(r.UUID)
			if err != nil {
				t.Fatalf("result %+v: %v", r, err)
			}
			if (r.Result == "ok") != (r.Details == "") {
				t.Fatalf("result %+v", r)
			}
			if r.Event < 0 {
				continue
			}
			if r.Event != next || r.Result == "drop" || b.Events[next].UUID != id || b.Events[next].NoPerson != (r.Result == "warning") {
				t.Fatalf("result %+v, event %d is %+v", r, next, b.Events[next])
			}
			next++
		}
		if next != len(b.Events) || len(b.Results) == 0 {
			t.Fatalf("%d events, %d of them have results", len(b.Events), next)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-01-02T03:04:05.678901+03", "-000001-01-01", "9999-12-31 23:59:59-01", "2026-01-02"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := capture.ParseTime(s)
		if !ok {
			if want, err := time.Parse(time.RFC3339, s); err == nil && len(s) <= 64 {
				t.Fatalf("ParseTime(%q) fails, want %v", s, want)
			}
			return
		}
		if got.Location() != time.UTC {
			t.Fatalf("ParseTime(%q) = %v, not in UTC", s, got)
		}
		if want, err := time.Parse(time.RFC3339, s); err == nil && !got.Equal(want) {
			t.Fatalf("ParseTime(%q) = %v, want %v", s, got, want)
		}
		if got.Year() >= 0 && got.Year() <= 9999 {
			if again, ok := capture.ParseTime(got.Format(time.RFC3339Nano)); !ok || !again.Equal(got) {
				t.Fatalf("ParseTime(%q) = %v, which becomes %v", s, got, again)
			}
		}
	})
}

// TestParseMemory measures what hostile bodies make Parse allocate, against what
// doc.go says.
func TestParseMemory(t *testing.T) {
	if clientRace {
		t.Skip("the race detector allocates, and takes long")
	}
	const mebibyte = 1 << 20
	batch := func(first, event string) string {
		n := capture.MaxEvents - 1
		return `{"created_at":"2026-11-21","api_key":"k","batch":[` + first + strings.Repeat(","+event, n) + `]}`
	}
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	large := strings.Repeat("x", 4*mebibyte)
	escaped := strings.Repeat(`\u0041`, mebibyte)
	const small = `{"event":"e","distinct_id":"1"}`
	for _, tt := range []struct{ name, body string }{
		{"empty events", batch(`{}`, `{}`)},
		{"small events", batch(small, small)},
		{"small events after a large one", batch(`{"event":"e","distinct_id":"1","properties":{"x":"`+large+`"}}`, small)},
		{"a large event after small ones", `{"api_key":"k","batch":[` + many(100, small) + `,{"event":"e","distinct_id":"1","properties":{"x":"` + large + `"}}]}`},
		{"too many events", `[` + many(mebibyte, `{}`) + `]`},
		{"events that are not events", `[` + many(mebibyte, `0`) + `]`},
		{"large texts", `{"token":"k","event":"` + large + `","distinct_id":"` + large + `","timestamp":"` + large + `","uuid":""}`},
		{"large texts with escapes", `{"token":"k","event":"` + escaped + `","distinct_id":"` + escaped + `","timestamp":"` + escaped + `","uuid":"` + escaped + `"}`},
		{"a large distinct ID that is not text", `{"token":"k","event":"e","distinct_id":[` + many(mebibyte, `[]`) + `]}`},
		{"a large key", `{"token":"` + escaped + `","event":"e","distinct_id":"1"}`},
		{"large names", `{"` + escaped + `":1,"token":"k","event":"e","distinct_id":"1","properties":{"` + escaped + `":1,"$set":1},"$set":{}}`},
		{"many properties", `{"token":"k","event":"e","distinct_id":"1","properties":{` + many(mebibyte, `"a":1`) + `,"$set":{}},"$set":{}}`},
		{"many names with escapes", `{"token":"k","event":"e","distinct_id":"1",` + many(mebibyte, `"\u0041":1`) + `}`},
		{"deep", `{"token":"k","event":"e","distinct_id":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var b capture.Batch
			err := b.Parse(body, everything)
			runtime.ReadMemStats(&after)
			got, most := after.TotalAlloc-before.TotalAlloc, uint64(5*len(body)+24*mebibyte)
			t.Logf("%d kB of body, %d kB allocated, %v", len(body)>>10, got>>10, fmt.Sprintf("%.60v", err))
			if got > most {
				t.Errorf("%d bytes allocated for a body of %d, want at most %d", got, len(body), most)
			}
			for _, e := range b.Events {
				if len(e.Name) > 800 || len(e.DistinctID) > 800 {
					t.Errorf("name of %d bytes, distinct ID of %d", len(e.Name), len(e.DistinctID))
				}
			}

			var a capture.AnalyticsBatch
			runtime.ReadMemStats(&before)
			_ = a.Parse(body, capture.AnalyticsRequest{Request: everything})
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("AnalyticsBatch: %d bytes allocated for a body of %d, want at most %d", got, len(body), most)
			}
		})
	}
}
