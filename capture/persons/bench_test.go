package persons_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// benchmark passes a batch of 500 events of 100 known persons through a Unit.
func benchmark(b *testing.B, stored string, properties func(i int) string) {
	events := make([]capture.Event, 500)
	for i := range events {
		events[i] = event("page", fmt.Sprintf("user-%d", i%100), properties(i))
	}
	known := make(map[string]persons.Person)
	for i := range 100 {
		known[fmt.Sprintf("user-%d", i)] = persons.Person{ID: uuid.New(), Properties: json.RawMessage(stored), Created: now}
	}
	b.ReportAllocs()
	for b.Loop() {
		u := persons.NewUnit(events)
		for id := range u.DistinctIDs() {
			u.SetPerson(id, persons.Load(known[id.ID]))
		}
		for project := range u.Projects() {
			u.SetGroupType(persons.GroupType{Project: project, Name: "company"}, 0)
		}
		for i := range events {
			u.Apply(i)
		}
		u.Changes()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
}

func BenchmarkServerEvents(b *testing.B) {
	benchmark(b, `{"plan":"pro","email":"ann@example.com"}`, func(i int) string {
		return fmt.Sprintf(`{"$lib":"posthog-go","$lib_version":"1.6.2","$is_server":true,"$groups":{"company":"acme"},"order":%d,"total":12.5}`, i)
	})
}

func BenchmarkBrowserEvents(b *testing.B) {
	const stored = `{"plan":"pro","email":"ann@example.com","$initial_browser":"Chrome","$initial_os":"Windows","$browser":"Chrome","$os":"Windows"}`
	benchmark(b, stored, func(i int) string {
		return fmt.Sprintf(`{"$os":"Windows","$os_version":"10.0","$browser":"Chrome","$device_type":"Desktop","$timezone":"Europe/Zurich",`+
			`"$current_url":"https://shop.example.com/cart?step=%d","$host":"shop.example.com","$pathname":"/cart","$raw_user_agent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36",`+
			`"$browser_version":129,"$browser_language":"de-CH","$browser_language_prefix":"de","$screen_height":1080,"$screen_width":1920,"$viewport_height":937,"$viewport_width":1920,`+
			`"$lib":"web","$lib_version":"1.167.0","$insert_id":"x2rj4mqsyc8e1","$time":1730.37,"distinct_id":"user","$device_id":"0192","$search_engine":"google",`+
			`"$referrer":"https://www.google.com/","$referring_domain":"www.google.com","utm_source":"newsletter","utm_medium":"email","utm_campaign":null,"gclid":null,"fbclid":null,`+
			`"token":"phc_x","$session_id":"0192","$window_id":"0192","$session_entry_url":"https://shop.example.com/","$session_entry_pathname":"/","$session_entry_referrer":"https://www.google.com/",`+
			`"$is_identified":true,"$process_person_profile":true,"$lib_custom_api_host":"https://e.example.com","$pageview_id":"0192"}`, i)
	})
}
