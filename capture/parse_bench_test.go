package capture_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// serverEvent is an event as posthog-node and posthog-python send it
// (wire.md §1.3, §1.7), about 700 bytes.
func serverEvent(i int) string {
	return fmt.Sprintf(`{"event":"order paid","distinct_id":"user-%d","uuid":"01a1fb72-4826-7af7-a165-3e5ec48e%04x",`+
		`"timestamp":"2026-11-21T00:12:13.%03dZ","type":"capture","library":"posthog-node","library_version":"5.70.0",`+
		`"send_feature_flags":false,"properties":{"amount":%d.50,"currency":"EUR","items":[{"sku":"A-17","n":2},{"sku":"B-4","n":1}],`+
		`"note":"für \"Ö\"","$feature/new-checkout":"blue","$feature/dark-mode":true,"$active_feature_flags":["new-checkout","dark-mode"],`+
		`"$groups":{"company":"acme-industries"},"$lib":"posthog-node","$lib_version":"5.70.0","$geoip_disable":true,"$is_server":true,`+
		`"$process_person_profile":true,"$session_id":"0190a000-4826-7af7-a165-3e5ec48ee45e"}}`, i%40, i, i%1000, i)
}

// serverBatch is a request of n such events.
func serverBatch(n int) []byte {
	list := make([]string, n)
	for i := range list {
		list[i] = serverEvent(i)
	}
	return []byte(`{"api_key":"phc_4sKvd7eBq3xGmYtLwZ2NcRaHjU8pFoE","batch":[` + strings.Join(list, ",") + `],"sent_at":"2026-11-21T00:12:14.000Z"}`)
}

// browserEvent is a single event of posthog-js (wire.md §1.4).
const browserEvent = `{"uuid":"01a1fb74-fbb6-73ab-a6e2-2019581e196c","event":"$pageview","properties":{"token":"phc_4sKvd7eBq3xGmYtLwZ2NcRaHjU8pFoE",` +
	`"distinct_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3","$os":"Linux","$browser":"Chrome","$device_type":"Desktop","$timezone":"Europe/Vienna",` +
	`"$current_url":"https://app.example/settings/billing?tab=1","$host":"app.example","$pathname":"/settings/billing","$browser_version":131,` +
	`"$screen_height":1080,"$screen_width":1920,"$viewport_height":900,"$viewport_width":1800,"$lib":"web","$lib_version":"1.449.2",` +
	`"$insert_id":"x1y2z3","$time":1795220110.99,"$device_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3","$referrer":"$direct",` +
	`"$session_id":"01a1fb74-fbb6-7000-9d8f-51ab0e27c9d3","$window_id":"01a1fb74-fbb6-7001-9d8f-51ab0e27c9d3","title":"Rechnungen – Österreich"},` +
	`"$set":{"plan":"pro"},"$set_once":{"$initial_referrer":"$direct"},"timestamp":"2026-11-21T00:15:10.990Z"}`

func BenchmarkParse(b *testing.B) {
	geo := []capture.Property{
		{Name: "$geoip_city_name", Value: `"Vienna"`},
		{Name: "$geoip_country_code", Value: `"AT"`},
		{Name: "$geoip_latitude", Value: `48.2`},
	}
	r := capture.Request{
		Now: time.Date(2026, 11, 21, 0, 12, 15, 0, time.UTC), IP: netip.MustParseAddr("198.51.100.7"),
		Agent: func() []capture.Property { return nil }, Geo: func() []capture.Property { return geo },
	}
	for _, bb := range []struct {
		name string
		body []byte
	}{
		{"server event", []byte(strings.Replace(serverEvent(1), `{`, `{"api_key":"phc_4sKvd7eBq3xGmYtLwZ2NcRaHjU8pFoE",`, 1))},
		{"browser event", []byte(browserEvent)},
		{"batch of 100", serverBatch(100)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.body)))
			for b.Loop() {
				var batch capture.Batch // events are given away, so nothing is reused
				if err := batch.Parse(bb.body, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
