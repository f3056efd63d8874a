package serve

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

var (
	//go:embed demo.json
	demoFlags []byte

	// demoRules has a flag with a rule set, which only clients know that say so.
	//
	//go:embed demo_rules.json
	demoRules []byte

	//go:embed demo_survey.json
	demoSurvey []byte
)

// Sizes of the demo.
const (
	demoPersons   = 200
	demoCompanies = 20
	demoDays      = 28 // in which its events lie; previews look at 30 days
)

// addDemo creates flags, a survey, persons and their events in the demo's project,
// unless it has flags.
func (s *settings) addDemo(ctx context.Context, store sqlstore.Storage, services *services, sink capture.Sink) error {
	if !s.demo {
		return nil
	}
	p, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	known, err := store.CalledFlags(ctx, p.ID)
	if err != nil || len(known) > 0 {
		return err
	}
	for _, document := range [][]byte{demoFlags, demoRules} {
		if _, err := services.accounts.Import(ctx, p.ID, document, management.ImportOptions{}); err != nil {
			return err
		}
	}
	owners, err := store.Memberships().List(ctx, storage.MembershipOrganization.Is(p.Organization))
	if err != nil || len(owners) == 0 {
		return err
	}
	owner, err := store.Users().Get(ctx, storage.UserID.Is(owners[0].User))
	if err != nil {
		return err
	}
	principal, err := services.accounts.PrincipalOf(ctx, owner.UUID)
	if err != nil {
		return err
	}
	if err := nameDemoCohorts(ctx, services.accounts, principal, fmt.Sprint(p.ID)); err != nil {
		return err
	}
	if err := addDemoThings(ctx, store, services.accounts, principal, p.ID); err != nil {
		return err
	}
	var patch surveys.Patch
	if err := json.Unmarshal(demoSurvey, &patch); err != nil {
		return err
	}
	created, err := services.surveys.Create(ctx, principal, fmt.Sprint(p.ID), patch)
	if err != nil {
		return err
	}
	return addDemoEvents(ctx, sink, p.ID, created, time.Now())
}

// demoCohorts are the names of the cohorts of the demo by their IDs in its definitions, which
// have no names for cohorts.
var demoCohorts = map[string]string{"Imported cohort 1": "Power users", "Imported cohort 2": "Trial users"}

func nameDemoCohorts(ctx context.Context, accounts *management.Service, by *management.Principal, project string) error {
	list, err := accounts.ListCohorts(ctx, by, project, management.CohortQuery{}, len(demoCohorts), 0)
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		patch := management.CohortPatch{Name: optional.Of(demoCohorts[c.Name])}
		if _, err := accounts.UpdateCohort(ctx, by, project, fmt.Sprint(c.ID), patch); err != nil {
			return err
		}
	}
	return nil
}

// What the demo has besides, so that the console shows every kind of thing: tags, a flag that is
// stale, a cohort with a warning that nothing uses, and an early access feature. The flags stay as
// the document has them.
var demoTags = map[string][]string{
	"bulk-export": {"api"}, "pricing-page": {"checkout"}, "checkout-button": {"checkout", "web"}, "new-dashboard": {"web"},
}

const (
	demoStale     = "animations" // which is on for everybody
	demoStaleDays = 60
	demoWarning   = `{"name":"Joined in spring","description":"With a warning: the date has no day.","filters":{"properties":{"type":"OR","values":[
		{"type":"AND","values":[{"key":"joined","type":"person","operator":"is_date_after","value":"2026.03"}]}]}}}`
)

func addDemoThings(ctx context.Context, store sqlstore.Storage, accounts *management.Service, by *management.Principal, project int64) error {
	ref := fmt.Sprint(project)
	known, err := store.CalledFlags(ctx, project)
	if err != nil {
		return err
	}
	var assistant int64
	for i := range known {
		f := &known[i]
		switch {
		case f.Key == "assistant":
			assistant = f.ID
		case f.Key == demoStale:
			f.Created = f.Created.AddDate(0, 0, -demoStaleDays)
			f.Updated = f.Created
		case demoTags[f.Key] == nil:
			continue
		}
		f.Tags = demoTags[f.Key]
		if err := store.Flags().Update(ctx, f); err != nil {
			return err
		}
	}
	var spring management.CohortPatch
	if err := json.Unmarshal([]byte(demoWarning), &spring); err != nil {
		return err
	}
	if _, err := accounts.CreateCohort(ctx, by, ref, spring); err != nil {
		return err
	}
	_, err = accounts.CreateEarlyAccessFeature(ctx, by, ref, management.EarlyAccessPatch{
		Name: optional.Of("Assistant"), Description: optional.Of("Answers questions about the documentation."), Stage: optional.Of("beta"),
		DocumentationURL: optional.Of("https://docs.example.com/assistant"), FlagID: optional.Of(assistant),
	})
	return err
}

// A demoWriter makes up the persons of the demo and what they do. But for the times,
// which are relative to its start, all of it is the same each time.
type demoWriter struct {
	events *capture.Client
	flags  *flags.Snapshot
	survey *surveys.View
	now    time.Time
	err    error // the first one
}

// addDemoEvents writes the events of the demo, which make its persons and companies.
func addDemoEvents(ctx context.Context, sink capture.Sink, project int64, v *surveys.View, now time.Time) error {
	d, err := flags.Decode(bytes.NewReader(demoFlags))
	if err != nil {
		return err
	}
	w := &demoWriter{survey: v, now: now}
	if w.flags, err = flags.Compile(d, flags.CompileOptions{}); err != nil {
		return err
	}
	var lost error
	if w.events, err = capture.NewClient(capture.ClientConfig{
		Sink: sink, Project: project, MaxBatch: 500, MaxRetries: -1,
		OnError: func(err error) { lost = errors.Join(lost, err) },
	}); err != nil {
		return err
	}
	for n := range demoCompanies {
		w.company(n + 1)
	}
	for n := range demoPersons {
		w.person(n + 1)
	}
	if err := w.events.Close(ctx); err != nil {
		return fmt.Errorf("write the events of the demo: %w", errors.Join(err, lost))
	}
	return w.err
}

func (w *demoWriter) capture(e capture.ClientEvent) {
	if err := w.events.Capture(e); err != nil && w.err == nil {
		w.err = fmt.Errorf("write the events of the demo: %w", err)
	}
}

// demoSeats returns the size of a company, of which some are large.
func demoSeats(n int) int { return n * n * 2 }

func demoCompany(n int) string { return fmt.Sprintf("company-%02d", n) }

func demoPerson(n int) string { return fmt.Sprintf("user-%03d", n) }

// company makes up a company, about which one of the persons tells.
func (w *demoWriter) company(n int) {
	key := demoCompany(n)
	w.capture(capture.ClientEvent{
		Name: "$groupidentify", DistinctID: demoPerson(n), Time: w.now.AddDate(0, 0, -demoDays),
		Properties: map[string]any{
			"$group_type": "company", "$group_key": key,
			"$group_set": map[string]any{"name": fmt.Sprintf("Company %02d", n), "seats": demoSeats(n)},
		},
	})
}

// person makes up one person: a sign-up, some pages, the flags that were shown on the
// way, perhaps an order, and perhaps the survey.
func (w *demoWriter) person(n int) {
	random := rand.New(rand.NewPCG(2, uint64(n)))
	id := demoPerson(n)
	domain := "example.org"
	if n%20 == 1 {
		domain = "example.com" // of testers
	}
	plan := []string{"free", "free", "free", "free", "free", "pro", "pro", "team", "team", "trial"}[random.IntN(10)]
	properties := map[string]any{
		"email": id + "@" + domain, "plan": plan, "logins": int(random.ExpFloat64() * 60),
		"joined":              w.now.AddDate(0, 0, -random.IntN(365)).UTC().Format(time.DateOnly),
		"$app_version":        fmt.Sprintf("2.%d.%d", random.IntN(7), random.IntN(4)),
		"$geoip_country_code": []string{"DE", "FR", "GB", "JP", "US"}[random.IntN(5)],
	}
	if n%13 == 0 {
		properties["$feature_enrollment/assistant"] = true
	}
	company := 1 + random.IntN(demoCompanies)
	groups := map[string]string{"company": demoCompany(company)}
	request := &flags.Request{
		DistinctID: id, PersonProperties: properties, Groups: groups,
		GroupProperties: map[string]map[string]any{"company": {"seats": demoSeats(company)}},
	}
	at := w.now.Add(-time.Duration(1+random.IntN(demoDays*24-1)) * time.Hour)
	later := func() time.Time { // each event a while after the one before
		at = at.Add(time.Duration(1+random.IntN(40)) * time.Second)
		return at
	}
	event := func(name string, properties map[string]any) {
		w.capture(capture.ClientEvent{Name: name, DistinctID: id, Groups: groups, Time: later(), Properties: properties})
	}

	event("signed up", map[string]any{"$set": properties})
	for range 1 + random.IntN(3) {
		event("page viewed", map[string]any{"path": []string{"/", "/pricing", "/docs", "/checkout"}[random.IntN(4)]})
	}
	seen := make(map[string]any)
	for _, key := range []string{"new-dashboard", "checkout-button", "pricing-page"} {
		value := w.flags.Variant(key, request, "false")
		called := capture.FlagProperties(nil, key, value, false)
		called["$feature_flag"], called["$feature_flag_response"] = key, called["$feature/"+key]
		event("$feature_flag_called", called)
		seen = capture.FlagProperties(seen, key, value, false)
	}
	// What a person sees has an effect that can be found.
	chance := map[any]int{"control": 20, "blue": 30, "green": 45}[seen["$feature/checkout-button"]]
	if random.IntN(100) < chance {
		seen["amount"] = 10 + random.IntN(90)
		event("order paid", seen)
	}
	w.answer(random, event)
}

// answer lets a person see the survey of the demo, or not.
func (w *demoWriter) answer(random *rand.Rand, event func(string, map[string]any)) {
	if random.IntN(100) >= 60 {
		return
	}
	about := func(done string) map[string]any {
		p := map[string]any{"$survey_id": w.survey.ID.String(), "$survey_name": w.survey.Name}
		if done != "" {
			p["$set"] = map[string]any{"$survey_" + done + "/" + w.survey.ID.String(): true}
		}
		return p
	}
	event("survey shown", about(""))
	switch fate := random.IntN(10); {
	case fate < 5:
		p := about("responded")
		p["$survey_completed"] = true
		rating := 10 - min(int(random.ExpFloat64()*2.5), 10)
		p["$survey_response_"+demoRating] = fmt.Sprint(rating)
		if remarks := []string{"Faster exports.", "A dark mode.", "Fewer mails.", "Nothing, it is fine."}; random.IntN(2) == 0 {
			p["$survey_response_"+demoRemark] = remarks[random.IntN(len(remarks))]
		}
		event("survey sent", p)
	case fate < 7:
		event("survey dismissed", about("dismissed"))
	}
}

// IDs of the questions in demo_survey.json.
const (
	demoRating = "7ce5b831-dc71-4648-b6b0-b583d48a0c11"
	demoRemark = "0b6c7b8e-7a0e-4b8e-9a55-0d7f3cf1f0aa"
)

// welcome prints the keys of the demo, and what can be tried with them. It prints
// nothing if the store was made with other keys.
func (s *settings) welcome(ctx context.Context, w io.Writer, url string, accounts *management.Service) error {
	if _, err := accounts.Authenticate(ctx, demoPersonal, "the Authorization header"); err != nil {
		if errors.Is(err, management.ErrUnauthenticated) {
			return nil
		}
		return err
	}
	fmt.Fprintf(w, `
  project API key     %s   for flags and events; public
  project secret key  %s   for the definitions of flags
  personal API key    %s   for the management API, with all rights
`, s.projectKey, demoSecret, demoPersonal)
	if s.flagsFile == "" {
		fmt.Fprintf(w, `
Three things to try in another terminal. Which flags does one of the %d persons get?

  curl -s '%[2]s/flags?v=2' -H 'Content-Type: application/json' \
    -d '{"api_key": "%[3]s", "distinct_id": "user-001"}'

Why is one of them what it is?

  curl -s -X POST %[2]s/api/projects/@current/feature_flags/checkout-button/explain/ \
    -H 'Authorization: Bearer %[4]s' -H 'Content-Type: application/json' -H 'Accept: text/plain' \
    -d '{"distinct_id": "user-001"}'

For whom would new-dashboard change with a rollout of 60 percent instead of 50?

  curl -s %[2]s/api/projects/@current/feature_flags/preview/ \
    -H 'Authorization: Bearer %[4]s' -H 'Content-Type: application/json' \
    -d '{"id": 1, "filters": {"groups": [
      {"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro", "team"]}]},
      {"rollout_percentage": 60}]}}'
`, demoPersons, url, s.projectKey, demoPersonal)
	}
	fmt.Fprintln(w)
	return nil
}
