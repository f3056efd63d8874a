package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// newLargeSite returns a site whose project has 10,000 flags more, 100,000 persons and
// 1,000,000 events of a survey, whose ID it returns; with -short it is a five-hundredth of
// all.
func newLargeSite(b *testing.B, database string) (*site, string) {
	b.Helper()
	share := 1
	if testing.Short() {
		share = 500
	}
	var store sqlstore.Storage
	var err error
	if database == "PostgreSQL" {
		store, err = postgres.Open(b.Context(), postgrestest.Open(b), sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
	} else {
		store, err = sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "large.db"), sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
	}
	consoletest.Fatal(b, err)
	b.Cleanup(func() { consoletest.Fatal(b, store.Close()) })
	consoletest.Fill(b, store)
	s := newSiteOn(b, store, surveys.Config{})

	demo, err := store.Flags().Get(b.Context(), storage.FlagProject.Is(1), storage.FlagID.Is(s.Flag("checkout-button").ID))
	consoletest.Fatal(b, err)
	var list []*storage.Flag
	for i := range 10_000 / share {
		f := storage.NewFlag(1, time.Now())
		f.Key, f.Name, f.Filters, f.Tags = fmt.Sprintf("flag-%05d", i), "One of many.", demo.Filters, []string{fmt.Sprintf("team-%d", i%20)}
		list = append(list, f)
	}
	consoletest.Fatal(b, store.Atomic(b.Context(), func(store storage.Store) error { return store.Flags().Create(b.Context(), list...) }))

	raw, err := os.ReadFile(consoletest.File(b, "cmd/flagstaff/serve/demo_survey.json"))
	consoletest.Fatal(b, err)
	var patch surveys.Patch
	consoletest.Fatal(b, json.Unmarshal(raw, &patch))
	v, err := s.surveys.Create(b.Context(), s.Owner, "1", patch)
	consoletest.Fatal(b, err)

	persons := 100_000 / share
	var events []capture.Event
	flush := func() {
		consoletest.Fatal(b, store.Write(b.Context(), events))
		events = events[:0]
	}
	event := func(n int, name, properties string) {
		at := time.Now().UTC().Add(-time.Duration(n%(30*24*60)) * time.Minute).Truncate(time.Microsecond)
		events = append(events, capture.Event{
			Project: 1, UUID: capture.NewUUID(at), Name: name, DistinctID: fmt.Sprintf("person-%06d", n%persons), Time: at, Received: at,
			Properties: json.RawMessage(properties),
		})
		if len(events) == 5000 {
			flush()
		}
	}
	for n := range persons {
		event(n, "signed up", fmt.Sprintf(`{"$set":{"plan":%q,"logins":%d,"email":"person-%06d@example.org","name":"Ada Number %d"}}`,
			[]string{"free", "pro", "team", "trial"}[n%4], n%300, n, n))
	}
	answers := []string{"Faster exports.", "A dark mode.", "Fewer mails.", "Nothing, it is fine."}
	for n := range 1_000_000 / share {
		properties := fmt.Sprintf(`{"$survey_id":%q`, v.ID)
		switch n % 4 {
		case 0, 1:
			event(n, "survey shown", properties+"}")
		case 2:
			event(n, "survey sent", properties+fmt.Sprintf(`,"$survey_completed":true,
				"$survey_response_7ce5b831-dc71-4648-b6b0-b583d48a0c11":"%d",
				"$survey_response_0b6c7b8e-7a0e-4b8e-9a55-0d7f3cf1f0aa":%q}`, n/4%11, answers[n/4%len(answers)]))
		default:
			event(n, "survey dismissed", properties+"}")
		}
	}
	flush()
	consoletest.Fatal(b, s.Served.Refresh(b.Context()))
	return s, v.ID.String()
}

// BenchmarkPages is the time of each page of a large project, as the median and the 99th
// percentile of the times.
func BenchmarkPages(b *testing.B) {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		b.Run(database, func(b *testing.B) { benchmarkPages(b, database) })
	}
}

func benchmarkPages(b *testing.B, database string) {
	s, id := newLargeSite(b, database)
	survey := "/projects/1/surveys/" + id
	flag := s.FlagPath("flag-00007")
	found, err := s.Service.ListPersons(b.Context(), s.Owner, "1", storage.PersonFilter{DistinctID: "person-000042"}, 1, 0)
	consoletest.Fatal(b, err)
	for _, page := range []struct{ name, path string }{
		{"projects", "/projects"},
		{"overview", "/projects/1/overview"},
		{"find", "/projects/1/find?q=flag-0000"},
		{"flags", "/projects/1/flags"},
		{"flags sorted, page 3", "/projects/1/flags?sort=key&page=3"},
		{"flags searched", "/projects/1/flags?q=flag-0000"},
		{"flags stale", "/projects/1/flags?state=stale"},
		{"flag", flag},
		{"flag as a form", flag + "/edit"},
		{"new flag", "/projects/1/flags/new"},
		{"flag history", flag + "/history"},
		{"persons", "/projects/1/persons"},
		{"persons searched", "/projects/1/persons?q=person-000042"},
		{"persons searched by name", "/projects/1/persons?q=ada+number+4711"},
		{"persons searched in vain", "/projects/1/persons?q=nobody+is+called+so"},
		{"persons searched by many", "/projects/1/persons?q=e"},
		{"persons searched by a property", "/projects/1/persons?property=plan&operator=exact&value=pro"},
		{"persons searched by a property in vain", "/projects/1/persons?property=plan&operator=exact&value=none"},
		{"person", fmt.Sprintf("/projects/1/persons/%s", found.Items[0].UUID)},
		{"cohorts", "/projects/1/cohorts"},
		{"new cohort", "/projects/1/cohorts/new"},
		{"early access", "/projects/1/features"},
		{"surveys", "/projects/1/surveys"},
		{"new survey", "/projects/1/surveys/new"},
		{"survey", survey},
		{"survey results", survey + "/results"},
		{"survey answers", survey + "/answers?question=0b6c7b8e-7a0e-4b8e-9a55-0d7f3cf1f0aa"},
		{"survey answers searched", survey + "/answers?question=0b6c7b8e-7a0e-4b8e-9a55-0d7f3cf1f0aa&q=dark"},
		{"why, all flags", "/projects/1/explain?person=person-000042"},
		{"why, one flag", "/projects/1/explain?person=person-000042&flag=flag-00007"},
		{"why, nobody", "/projects/1/explain?person=nobody+is+called+so&flag=flag-00007"},
		{"activity", "/projects/1/audit-log"},
		{"problems", "/projects/1/problems"},
		{"import", consoletest.ImportPath},
		{"export", "/projects/1/export"},
	} {
		b.Run(page.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				begun := time.Now()
				a := s.Get(page.path)
				times = append(times, time.Since(begun))
				a.Want(http.StatusOK)
			}
			slices.Sort(times)
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			b.ReportMetric(ms(times[len(times)/2]), "ms-median")
			b.ReportMetric(ms(times[len(times)*99/100]), "ms-99th")
			b.ReportMetric(0, "ns/op")
		})
	}
}
