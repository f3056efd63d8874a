package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// surveyRows are the cases of management.md §15.3 that are about surveys, and the
// other promises of §9 to §11 about the operations of api.md §3.3. The events that
// they count are captured as SDKs send them.
var surveyRows = []accountRow{
	{"case 26", "two events of one submission", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.send(
			t,
			p.event("survey sent", id, "ada", "10:00:00", "$survey_submission_id", "one", "$survey_completed", false),
			p.event("survey sent", id, "ada", "10:00:30", "$survey_submission_id", "one", "$survey_completed", true),
			p.event("survey sent", id, "ada", "10:00:10", "$survey_submission_id", "one"), // arrives late
			p.event("survey sent", id, "ada", "10:01:00"),                                 // each a response of its own
			p.event("survey sent", id, "ada", "10:02:00", "$survey_submission_id", ""),
			p.event("survey sent", id, "eve", "10:03:00", "$survey_submission_id", "two"),
		)
		p.checkCounts(t, "", map[string]int{id: 4})
		want := zeroStats()
		want["survey sent"] = block(4, 2, "10:00:30", "10:03:00", 0, 0)
		p.checkStats(t, id, "", want, [4]float64{})
	}},
	{"case 27", "a dismissal of who had begun to answer", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.send(
			t,
			p.event("survey shown", id, "ada", "10:00:00"),
			p.event("survey sent", id, "ada", "10:00:10", "$survey_submission_id", "one", "$survey_completed", false),
			p.event("survey dismissed", id, "ada", "10:00:20", "$survey_submission_id", "one", "$survey_partially_completed", true),
			p.event("survey shown", id, "eve", "10:01:00"),
			p.event("survey dismissed", id, "eve", "10:01:10", "$survey_partially_completed", false),
			p.event("survey dismissed", id, "bob", "10:02:00"),
			p.event("survey abandoned", id, "cy", "10:03:00"),
		)
		p.checkStats(t, id, "", map[string]any{
			"survey shown":     block(2, 2, "10:00:00", "10:01:00", 0, 0),
			"survey dismissed": block(2, 2, "10:01:10", "10:02:00", 0, 0),
			"survey sent":      block(1, 1, "10:00:10", "10:00:10", 0, 0),
		}, [4]float64{50, 100, 50, 100})
		p.checkCounts(t, "", map[string]int{id: 1})
	}},
	{"case 28", "a person who dismisses and answers", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.send(
			t,
			p.event("survey shown", id, "ada", "10:00:00"),
			p.event("survey dismissed", id, "ada", "10:00:10"),
			p.event("survey shown", id, "ada", "11:00:00"),
			p.event("survey sent", id, "ada", "11:00:10"),
			p.event("survey shown", id, "eve", "11:30:00"),
			p.event("survey dismissed", id, "eve", "11:30:10"),
			p.event("survey shown", id, "bob", "12:00:00"),
		)
		p.checkStats(t, id, "", map[string]any{
			"survey shown":     block(4, 3, "10:00:00", "12:00:00", 1, 1),
			"survey dismissed": block(2, 1, "10:00:10", "11:30:10", 0, 0),
			"survey sent":      block(1, 1, "11:00:10", "11:00:10", 0, 0),
		}, [4]float64{25, 50, 33.33, 33.33})
	}},
	{"case 29", "statistics before any event", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.checkStats(t, id, "", zeroStats(), [4]float64{})
		p.checkProjectStats(t, "", zeroStats(), [4]float64{})
		p.checkCounts(t, "", map[string]int{})
	}},
	{"case 30", "statistics of a project without surveys", func(t *testing.T, s *site) {
		p := s.surveys(t)
		p.checkProjectStats(t, "", map[string]any{}, [4]float64{})
		p.checkCounts(t, "", map[string]int{})
		// An archived survey does not count, nor do events without a survey.
		id := p.create(t, "NPS", "archived", true)
		p.send(t, p.event("survey shown", id, "ada", "10:00:00"), p.event("survey sent", uuid.NewString(), "ada", "10:00:00"))
		p.checkProjectStats(t, "", map[string]any{}, [4]float64{})
	}},
	{"case 31", "bounds of time", boundsOfTime},
	{"case 32", "archived responses", archivedResponses},
	{"case 33", "unarchiving what was not archived", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		for range 2 {
			p.succeeds(t, "POST surveys/"+id+"/responses/"+uuid.NewString()+"/unarchive/")
		}
		if got := p.activities(t, id); !slices.Equal(got, []string{"created"}) {
			t.Errorf("activity %q, want nothing about responses", got)
		}
	}},
	{"case 34", "what is not a response", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		for _, action := range []string{"archive", "unarchive"} {
			for _, ref := range []string{"not-a-uuid", "1", strings.ReplaceAll(uuid.NewString(), "-", ""), uuid.NewString() + "0"} {
				detail := p.call(t, "POST surveys/"+id+"/responses/"+ref+"/"+action+"/", "").fails(t, 400, "invalid_input", "response_uuid")
				if detail != "Invalid UUID format" {
					t.Errorf("detail %q", detail)
				}
			}
			// The check of the survey comes first.
			for _, ref := range []string{uuid.NewString(), "not-a-uuid"} {
				p.call(t, "POST surveys/"+uuid.NewString()+"/responses/"+ref+"/"+action+"/", "").fails(t, 404, "not_found", "")
			}
		}
	}},
	{"case 35", "counts of some surveys", func(t *testing.T, s *site) {
		p := s.surveys(t)
		a, b, c, none := p.create(t, "A"), p.create(t, "B"), p.create(t, "C", "archived", true), p.create(t, "D")
		for _, id := range []string{a, a, b, c} {
			p.send(t, p.event("survey sent", id, "ada", "10:00:00"))
		}
		p.send(t, p.event("survey sent", uuid.NewString(), "ada", "10:00:00"), p.event("survey shown", none, "ada", "10:00:00"))
		for query, want := range map[string]map[string]int{
			"": {a: 2, b: 1, c: 1}, " " + a + " , ," + b: {a: 2, b: 1}, b: {b: 1}, none: {}, uuid.NewString() + "," + a: {a: 2}, " , ": {a: 2, b: 1, c: 1},
			strings.ToUpper(a): {a: 2},
		} {
			p.checkCounts(t, "?survey_ids="+url.QueryEscape(query), want)
		}
		p.call(t, "GET surveys/responses_count/?survey_ids=x", "").fails(t, 400, "invalid_input", "survey_ids")
	}},
	{"case 36", "a summary of nothing in particular", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.answer(t, id, "9", "8")
		for _, path := range []string{"summarize_responses", "summary_headline"} {
			got := p.call(t, "POST surveys/"+id+"/"+path+"/", members("name", "ignored", "questions", []any{})).ok(t)
			checkShape(t, path, shape{"headline": "string", "responses_sampled": "integer", "has_more": "boolean"}, got)
			if got["responses_sampled"] != 2.0 || got["has_more"] != false || !strings.Contains(got["headline"].(string), "8.5") {
				t.Errorf("%s = %v, want the average of two responses", path, got)
			}
		}
	}},
	{"case 37", "pages of activity", pagesOfActivity},

	{"rule 11", "HTML in surveys", htmlInSurveys},
	{"rule 15", "regular expressions", regularExpressions},

	{"survey 1", "of persons with several distinct IDs", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		p.send(
			t,
			map[string]any{"event": "$identify", "distinct_id": "ada", "properties": map[string]any{"$anon_distinct_id": "anon"}},
			p.event("survey shown", id, "anon", "10:00:00"),
			p.event("survey dismissed", id, "anon", "10:00:10"),
			p.event("survey shown", id, "ada", "10:01:00"),
			p.event("survey sent", id, "ada", "10:01:10"),
		)
		p.checkStats(t, id, "", map[string]any{
			"survey shown":     block(2, 1, "10:00:00", "10:01:00", 0, 0),
			"survey dismissed": block(1, 0, "10:00:10", "10:00:10", 0, 0),
			"survey sent":      block(1, 1, "10:01:10", "10:01:10", 0, 0),
		}, [4]float64{50, 50, 100, 0})
	}},
	{"survey 2", "events more than once", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		e := p.event("survey sent", id, "ada", "10:00:00", "$survey_submission_id", "one")
		e["uuid"] = uuid.NewString()
		p.send(t, e, e)
		p.send(t, e)
		want := zeroStats()
		want["survey sent"] = block(1, 1, "10:00:00", "10:00:00", 0, 0)
		p.checkStats(t, id, "", want, [4]float64{})
	}},
	{"survey 3", "answers to each question", answersToQuestions},
	{"survey 4", "responses one by one", listOfResponses},
	{"survey 5", "summaries of answers", summariesOfAnswers},
	{"survey 6", "statistics of a project", func(t *testing.T, s *site) {
		p := s.surveys(t)
		a, b, archived := p.create(t, "A"), p.create(t, "B"), p.create(t, "C", "archived", true)
		for _, id := range []string{a, b, archived} {
			p.send(
				t,
				p.event("survey shown", id, "ada", "10:00:00"), p.event("survey shown", id, "eve", "10:00:01"), p.event("survey shown", id, "bob", "10:00:02"),
				p.event("survey sent", id, "ada", "10:01:00"), p.event("survey dismissed", id, "eve", "10:02:00"),
			)
		}
		// Events before the start of a survey count here as well, unlike in the
		// survey's own statistics.
		p.send(t, p.eventAt("survey shown", b, "cy", "2024-01-31T10:00:00Z"))
		stats := map[string]any{
			"survey shown":     block(7, 4, "", "10:00:02", 2, 3),
			"survey dismissed": block(2, 1, "10:02:00", "10:02:00", 0, 0),
			"survey sent":      block(2, 1, "10:01:00", "10:01:00", 0, 0),
		}
		stats["survey shown"].(map[string]any)["first_seen"] = "2024-01-31T10:00:00Z"
		p.checkProjectStats(t, "", stats, [4]float64{28.57, 28.57, 25, 25})
		stats["survey shown"] = block(6, 3, "10:00:00", "10:00:02", 1, 2)
		p.checkProjectStats(t, "?date_from="+day, stats, [4]float64{33.33, 33.33, 33.33, 33.33})
		p.checkStats(t, b, "", map[string]any{
			"survey shown":     block(3, 3, "10:00:00", "10:00:02", 1, 1),
			"survey dismissed": block(1, 1, "10:02:00", "10:02:00", 0, 0),
			"survey sent":      block(1, 1, "10:01:00", "10:01:00", 0, 0),
		}, [4]float64{33.33, 33.33, 33.33, 33.33})
		p.checkStats(t, archived, "", map[string]any{ // which still answers
			"survey shown":     block(3, 3, "10:00:00", "10:00:02", 1, 1),
			"survey dismissed": block(1, 1, "10:02:00", "10:02:00", 0, 0),
			"survey sent":      block(1, 1, "10:01:00", "10:01:00", 0, 0),
		}, [4]float64{33.33, 33.33, 33.33, 33.33})
	}},
	{"survey 7", "events outlive a survey, and what is archived does not", func(t *testing.T, s *site) {
		p := s.surveys(t)
		id := p.create(t, "NPS")
		e := p.event("survey sent", id, "ada", "10:00:00")
		e["uuid"] = uuid.NewString()
		p.send(t, e)
		p.succeeds(t, "POST surveys/"+id+"/responses/"+e["uuid"].(string)+"/archive/")
		p.call(t, "DELETE surveys/"+id+"/", "").done(t)
		for _, call := range []string{"GET surveys/" + id + "/", "GET surveys/" + id + "/stats/", "POST surveys/" + id + "/summary_headline/"} {
			p.call(t, call, "").fails(t, 404, "not_found", "")
		}
		p.checkCounts(t, "", map[string]int{})
		events := 0
		for _, stored := range s.all(t, p.id) {
			if stored.Name == "survey sent" {
				events++
			}
		}
		if events != 1 {
			t.Errorf("%d events are left, want 1", events)
		}
	}},
}

// day is when the surveys of these tests begin, long ago on every clock.
const day = "2024-02-03"

// surveyProject is a project for surveys, with its owner.
type surveyProject struct {
	s     *site
	me    *caller
	id    int64
	token string
	sent  int
}

// surveys makes a project, and returns when it is served.
func (s *site) surveys(t *testing.T) *surveyProject {
	t.Helper()
	me := s.as(s.account(t))
	created := me.call(t, "POST /api/projects/", members("name", newName())).ok(t)
	return &surveyProject{s: s, me: me, id: int64(created["id"].(float64)), token: created["api_token"].(string)}
}

// call sends a request to a path below the project.
func (p *surveyProject) call(t *testing.T, call, body string) *answer {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	return p.me.call(t, fmt.Sprintf("%s /api/projects/%d/%s", method, p.id, path), body)
}

// succeeds does an operation whose answer says only that it succeeded.
func (p *surveyProject) succeeds(t *testing.T, call string) {
	t.Helper()
	if r := p.call(t, call, ""); r.status != http.StatusOK || r.body != `{"success":true}` {
		t.Errorf("%s = %d %s, want 200 {\"success\":true}", call, r.status, r.body)
	}
}

// The IDs of the questions that surveys have.
const (
	ratingID   = "7ce5b831-dc71-4648-b6b0-b583d48a0c11"
	singleID   = "7ce5b831-dc71-4648-b6b0-b583d48a0c12"
	multipleID = "7ce5b831-dc71-4648-b6b0-b583d48a0c13"
	openID     = "7ce5b831-dc71-4648-b6b0-b583d48a0c14"
)

var questions = []any{
	map[string]any{"id": ratingID, "type": "rating", "question": "How likely are you to recommend us?", "display": "number", "scale": 10},
	map[string]any{"id": singleID, "type": "single_choice", "question": "Which plan?", "choices": []string{"Free", "Pro", "Other"}, "hasOpenChoice": true},
	map[string]any{"id": multipleID, "type": "multiple_choice", "question": "What for?", "choices": []string{"Flags", "Surveys", "Events"}},
	map[string]any{"id": openID, "type": "open", "question": "Why?"},
}

// create makes a survey that runs.
func (p *surveyProject) create(t *testing.T, name string, more ...any) (id string) {
	t.Helper()
	body := members(append([]any{"name", name, "type", "popover", "questions", questions, "start_date", day + "T00:00:00Z"}, more...)...)
	return p.call(t, "POST surveys/", body).ok(t)["id"].(string)
}

// event returns an event at a time of the day on which surveys begin.
func (p *surveyProject) event(name, survey, distinctID, at string, properties ...any) map[string]any {
	return p.eventAt(name, survey, distinctID, day+"T"+at+"Z", properties...)
}

func (p *surveyProject) eventAt(name, survey, distinctID, at string, properties ...any) map[string]any {
	m := map[string]any{"$survey_id": survey}
	for i := 0; i < len(properties); i += 2 {
		m[properties[i].(string)] = properties[i+1]
	}
	return map[string]any{"event": name, "distinct_id": distinctID, "timestamp": at, "properties": m}
}

// send captures events: the first of them alone, and the rest together.
func (p *surveyProject) send(t *testing.T, events ...map[string]any) {
	t.Helper()
	one := maps.Clone(events[0])
	one["api_key"] = p.token
	body, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	p.post(t, "/i/v0/e/", string(body))
	if len(events) > 1 {
		p.post(t, "/batch/", members("api_key", p.token, "batch", events[1:]))
	}
}

func (p *surveyProject) post(t *testing.T, path, body string) {
	t.Helper()
	r, err := p.s.stranger().send(t.Context(), "POST "+path, body)
	if err != nil || r.status != http.StatusOK || r.body != `{"status":1}` {
		t.Fatalf("POST %s = %s, %v; want 200 {\"status\":1}", path, statusOf(r), err)
	}
}

// answer sends a response with each of the ratings, and returns the UUIDs.
func (p *surveyProject) answer(t *testing.T, survey string, ratings ...string) (ids []string) {
	t.Helper()
	for _, text := range ratings {
		p.sent++
		e := p.event("survey sent", survey, fmt.Sprint("person", p.sent), fmt.Sprintf("10:00:%02d", p.sent), "$survey_response_"+ratingID, text)
		e["uuid"] = uuid.NewString()
		p.send(t, e)
		ids = append(ids, e["uuid"].(string))
	}
	return ids
}

// block are the statistics of events on the day on which surveys begin. An empty
// time is null.
func block(total, persons int, first, last string, onlyPersons, onlyTotal int) map[string]any {
	at := func(text string) any {
		if text == "" {
			return nil
		}
		return day + "T" + text + "Z"
	}
	return map[string]any{
		"total_count": float64(total), "unique_persons": float64(persons), "first_seen": at(first), "last_seen": at(last),
		"unique_persons_only_seen": float64(onlyPersons), "total_count_only_seen": float64(onlyTotal),
	}
}

// zeroStats are the statistics of no events.
func zeroStats() map[string]any {
	return map[string]any{
		"survey shown": block(0, 0, "", "", 0, 0), "survey dismissed": block(0, 0, "", "", 0, 0), "survey sent": block(0, 0, "", "", 0, 0),
	}
}

func rates(r [4]float64) map[string]any {
	return map[string]any{"response_rate": r[0], "dismissal_rate": r[1], "unique_users_response_rate": r[2], "unique_users_dismissal_rate": r[3]}
}

// checkStats compares the statistics of a survey, which has no end.
func (p *surveyProject) checkStats(t *testing.T, id, query string, stats map[string]any, r [4]float64) {
	t.Helper()
	want := map[string]any{"stats": stats, "rates": rates(r), "survey_id": id, "start_date": day + "T00:00:00Z", "end_date": nil}
	if diff := gocmp.Diff(want, p.call(t, "GET surveys/"+id+"/stats/"+query, "").ok(t)); diff != "" {
		t.Errorf("stats%s (-want +got):\n%s", query, diff)
	}
}

func (p *surveyProject) checkProjectStats(t *testing.T, query string, stats map[string]any, r [4]float64) {
	t.Helper()
	want := map[string]any{"stats": stats, "rates": rates(r)}
	if diff := gocmp.Diff(want, p.call(t, "GET surveys/stats/"+query, "").ok(t)); diff != "" {
		t.Errorf("stats%s of the project (-want +got):\n%s", query, diff)
	}
}

func (p *surveyProject) checkCounts(t *testing.T, query string, counts map[string]int) {
	t.Helper()
	want := make(map[string]any)
	for id, n := range counts {
		want[id] = float64(n)
	}
	if diff := gocmp.Diff(want, p.call(t, "GET surveys/responses_count/"+query, "").ok(t)); diff != "" {
		t.Errorf("responses_count%s (-want +got):\n%s", query, diff)
	}
}

// activities returns what happened to a survey, the oldest first.
func (p *surveyProject) activities(t *testing.T, id string) []string {
	t.Helper()
	list := []string{}
	for _, entry := range p.call(t, "GET surveys/"+id+"/activity/?limit=100", "").ok(t)["results"].([]any) {
		list = append(list, entry.(map[string]any)["activity"].(string))
	}
	slices.Reverse(list)
	return list
}

func boundsOfTime(t *testing.T, s *site) {
	p := s.surveys(t)
	id := p.create(t, "NPS")
	for _, path := range []string{"surveys/stats/", "surveys/" + id + "/stats/"} {
		for _, query := range []string{
			"date_from=2024-02-04&date_to=2024-02-03", "date_from=2024-02-03T10:00:01Z&date_to=2024-02-03T12:00:00%2B02:00", "date_from=yesterday", "date_to=x",
			"date_from=2024-02-30", "date_to=2024-13-01T00:00:00Z", "date_from=2024-02-03T25:00:00Z", "date_from=1706918400",
		} {
			p.call(t, "GET "+path+"?"+query, "").fails(t, 400, "invalid_input", "")
		}
	}
	p.send(
		t,
		p.event("survey sent", id, "a", "09:59:59.999999"), p.event("survey sent", id, "b", "10:00:00"), p.event("survey sent", id, "c", "11:00:00"),
		p.event("survey sent", id, "d", "11:00:00.000001"),
		p.eventAt("survey sent", id, "e", "2024-02-02T23:59:59Z"), p.eventAt("survey sent", id, "f", "2024-02-04T00:00:00Z"),
	)
	for query, want := range map[string]float64{
		"": 5, "?date_from=" + day: 5, "?date_to=" + day: 4, "?date_from=" + day + "&date_to=" + day: 4, "?date_from=2024-02-04": 1, "?date_to=2024-02-04": 5, "?date_from=2020-01-01T00:00:00Z": 5,
		"?date_from=2024-02-03T10:00:00Z&date_to=2024-02-03T11:00:00Z": 2, "?date_from=2024-02-03T10:00:00&date_to=2024-02-03T11:00:00": 2,
		"?date_from=2024-02-03T12:00:00%2B02:00&date_to=2024-02-03T13:00:00+02:00": 2, "?date_from=&date_to=": 5,
		"?date_from=2024-02-03T10:00:00.000001Z": 3, "?date_from=2030-01-01": 0,
	} {
		got := p.call(t, "GET surveys/"+id+"/stats/"+query, "").ok(t)["stats"].(map[string]any)["survey sent"].(map[string]any)["total_count"]
		if got != want {
			t.Errorf("stats%s has %v responses, want %v", query, got, want)
		}
	}
	// A survey that has ended counts events until its end.
	ended := p.call(t, "PATCH surveys/"+id+"/", `{"end_date":"2024-02-03T11:00:00Z"}`).ok(t)
	stats := p.call(t, "GET surveys/"+id+"/stats/?date_to=2024-02-05", "").ok(t)
	if got := stats["stats"].(map[string]any)["survey sent"].(map[string]any)["total_count"]; got != 3.0 || stats["end_date"] != ended["end_date"] || stats["end_date"] != "2024-02-03T11:00:00Z" {
		t.Errorf("stats of a survey with an end: %v", stats)
	}
}

func archivedResponses(t *testing.T, s *site) {
	p := s.surveys(t)
	id, other := p.create(t, "NPS"), p.create(t, "CSAT")
	responses := p.answer(t, id, "9", "7", "1")
	archived := func(want ...string) {
		t.Helper()
		var got []string
		if err := json.Unmarshal([]byte(p.call(t, "GET surveys/"+id+"/archived-response-uuids/", "").body), &got); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := gocmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("archived responses (-want +got):\n%s", diff)
		}
		left := 3 - len(want)
		p.checkCounts(t, "", map[string]int{id: 3})
		p.checkCounts(t, "?exclude_archived=true", map[string]int{id: left})
		for query, n := range map[string]int{"": 3, "?exclude_archived=True": left, "?exclude_archived=TRUE": left, "?exclude_archived=1": left, "?exclude_archived=false": 3} {
			stats := p.call(t, "GET surveys/"+id+"/stats/"+query, "").ok(t)["stats"].(map[string]any)["survey sent"].(map[string]any)
			if stats["total_count"] != float64(n) || stats["unique_persons"] != float64(n) {
				t.Errorf("stats%s: %v, want %d responses", query, stats, n)
			}
		}
	}
	archived()
	for range 2 { // the second time does nothing
		p.succeeds(t, "POST surveys/"+id+"/responses/"+responses[0]+"/archive/")
		archived(responses[0])
	}
	p.succeeds(t, "POST surveys/"+id+"/responses/"+strings.ToUpper(responses[1])+"/archive/")
	archived(responses[0], responses[1])
	p.succeeds(t, "POST surveys/"+other+"/responses/"+responses[0]+"/unarchive/") // not that survey's
	archived(responses[0], responses[1])
	for range 2 {
		p.succeeds(t, "POST surveys/"+id+"/responses/"+responses[0]+"/unarchive/")
		archived(responses[1])
	}
	p.succeeds(t, "POST surveys/"+id+"/responses/"+responses[1]+"/unarchive")
	archived()
	if diff := gocmp.Diff([]string{"created", "response_archived", "response_archived", "response_unarchived", "response_unarchived"}, p.activities(t, id)); diff != "" {
		t.Errorf("activity (-want +got):\n%s", diff)
	}
	newest := p.call(t, "GET surveys/"+id+"/activity/?limit=1", "").ok(t)["results"].([]any)[0].(map[string]any)
	if name := newest["detail"].(map[string]any)["name"]; name != "Response "+responses[1] || newest["item_id"] != id {
		t.Errorf("entry %v", newest)
	}
}

// pagesOfActivity is case 37, and the shape of entries (management.md §11.7).
func pagesOfActivity(t *testing.T, s *site) {
	p := s.surveys(t)
	id := p.create(t, "NPS", "start_date", nil)
	p.call(t, "PATCH surveys/"+id+"/", members("name", "NPS Q1", "start_date", day+"T00:00:00Z", "description", "")).ok(t)
	p.call(t, "PATCH surveys/"+id+"/", members("name", "NPS Q1")).ok(t) // changes nothing
	p.call(t, "POST surveys/"+id+"/stop/", "").ok(t)
	other := p.create(t, "CSAT")
	p.call(t, "DELETE surveys/"+other+"/", "").done(t)

	address := fmt.Sprintf("%s/api/projects/%d/surveys/activity/?limit=2&page=", s.url, p.id)
	user := p.me.me(t)
	var seen []string
	for page, want := range []struct{ previous, next any }{{nil, address + "2"}, {address + "1", address + "3"}, {address + "2", nil}} {
		got := p.call(t, fmt.Sprintf("GET surveys/activity/?page=%d&limit=2", page+1), "").ok(t)
		results := got["results"].([]any)
		if got["previous"] != want.previous || got["next"] != want.next || got["total_count"] != 5.0 || len(got) != 4 || len(results) > 2 {
			t.Errorf("page %d: %v, want previous %v and next %v", page+1, got, want.previous, want.next)
		}
		for _, entry := range results {
			entry := entry.(map[string]any)
			checkShape(t, "entry", shape{
				"id": "uuid", "user": shape{"first_name": "string", "email": "string"}, "activity": "string", "scope": "string", "item_id": "uuid",
				"detail":     shape{"changes": "list?", "trigger": "any", "name": "string", "short_id": "any", "type": "any"},
				"created_at": "time",
			}, entry)
			if entry["scope"] != "Survey" || entry["user"].(map[string]any)["email"] != user["email"] {
				t.Errorf("entry %v", entry)
			}
			seen = append(seen, entry["activity"].(string)+" "+entry["detail"].(map[string]any)["name"].(string))
			if entry["activity"] != "updated" {
				continue
			}
			changes := []any{
				map[string]any{"type": "Survey", "action": "changed", "field": "name", "before": "NPS", "after": "NPS Q1"},
				map[string]any{"type": "Survey", "action": "created", "field": "start_date", "before": nil, "after": day + "T00:00:00Z"},
			}
			got := entry["detail"].(map[string]any)["changes"].([]any)
			for _, change := range changes {
				if !slices.ContainsFunc(got, func(c any) bool { return gocmp.Equal(c, change) }) {
					t.Errorf("changes %v, want %v among them", got, change)
				}
			}
		}
	}
	if diff := gocmp.Diff([]string{"deleted CSAT", "created CSAT", "stopped NPS Q1", "updated NPS Q1", "created NPS"}, seen); diff != "" {
		t.Errorf("entries, newest first (-want +got):\n%s", diff)
	}
	for query, attr := range map[string]string{"page=0": "page", "page=x": "page", "page=-1": "page", "limit=0": "limit", "limit=x": "limit"} {
		p.call(t, "GET surveys/activity/?"+query, "").fails(t, 400, "invalid_input", attr)
	}
	p.call(t, "GET surveys/activity/?page=4&limit=2", "").fails(t, 404, "not_found", "")
	empty := s.surveys(t).call(t, "GET surveys/activity/", "").ok(t)
	if want := map[string]any{"results": []any{}, "next": nil, "previous": nil, "total_count": 0.0}; !gocmp.Equal(want, empty) {
		t.Errorf("activity of nothing: %v", empty)
	}
}

// htmlInSurveys: texts that people are shown are cleaned when they are written
// (management.md §9.3), and text without markup does not change.
func htmlInSurveys(t *testing.T, s *site) {
	p := s.surveys(t)
	const dirty = `<b>Hi</b> & <script>alert(1)</script><a href="javascript:alert(1)" onclick="alert(1)">x</a><iframe src="https://example.com"></iframe>`
	id := p.create(t, "HTML", "questions", []any{
		map[string]any{"type": "open", "question": dirty, "description": dirty, "descriptionContentType": "html"},
		map[string]any{"type": "open", "question": "R&D: is 1 < 2?"},
	}, "appearance", map[string]any{"thankYouMessageHeader": dirty, "thankYouMessageDescription": dirty, "thankYouMessageDescriptionContentType": "html"})
	list, err := s.stranger().send(t.Context(), "GET /api/surveys/?token="+p.token, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, body := range map[string]string{"the survey": p.call(t, "GET surveys/"+id+"/", "").body, "its delivery": list.body} {
		text := fmt.Sprint(object(t, []byte(body)))
		if m := regexp.MustCompile(`(?i)<script|javascript|onclick|<iframe|alert`).FindString(text); m != "" {
			t.Errorf("%s has %q: %s", what, m, text)
		}
		if !strings.Contains(text, "<b>Hi</b>") || !strings.Contains(text, "question:R&D: is 1 < 2?") {
			t.Errorf("%s has lost text: %s", what, text)
		}
	}
}

// regularExpressions have at most 1000 bytes, and need not be in the syntax of RE2.
func regularExpressions(t *testing.T, s *site) {
	p := s.surveys(t)
	for pattern, status := range map[string]int{
		`^a+$`: 201, `(a+)+$`: 201, `(?=x)y`: 201, `(a)\1`: 201, `(`: 400, strings.Repeat("z", 1001): 400, strings.Repeat("z", 1000): 201,
	} {
		r := p.call(t, "POST feature_flags/", members("key", newName(), "filters", where(property("email", "regex", pattern))))
		if r.status != status {
			t.Errorf("a flag with %.20q = %d %s, want %d", pattern, r.status, r.body, status)
		}
		if status == http.StatusBadRequest {
			r.fails(t, 400, "invalid_value", "filters")
		}
	}
}

// answersToQuestions are the statistics of each question, with all names that SDKs
// give a question (management.md §10.1).
func answersToQuestions(t *testing.T, s *site) {
	p := s.surveys(t)
	id := p.create(t, "NPS")
	const r = "$survey_response"
	p.send(
		t,
		p.event("survey sent", id, "a", "10:00:00", r+"_"+ratingID, 9, r+"_"+singleID, "Pro", r+"_"+multipleID, []string{"Flags", "Events"}, r+"_"+openID, "docs"),
		p.event("survey sent", id, "b", "10:00:01", r, "6", r+"_1", "Something else", r+"_2", []string{"Flags"}, r+"_3", nil),
		p.event("survey sent", id, "c", "10:00:02", r, "1", r+"_"+ratingID, "9", r+"_"+singleID, ""),
		// One response in two parts: the latest answer to each question counts.
		p.event("survey sent", id, "d", "10:00:03", "$survey_submission_id", "x", r+"_"+ratingID, "2", r+"_"+openID, "slow"),
		p.event("survey sent", id, "d", "10:00:04", "$survey_submission_id", "x", r+"_"+ratingID, "4", r+"_"+openID, nil),
	)
	got := p.call(t, "GET surveys/"+id+"/stats/?include_per_question_stats=true", "").ok(t)
	want := []any{
		map[string]any{
			"question_id": ratingID, "question_index": 0.0, "question_text": "How likely are you to recommend us?", "question_type": "rating",
			"response_count": 4.0, "distribution": map[string]any{"9": 2.0, "6": 1.0, "4": 1.0}, "average": 7.0,
		},
		map[string]any{
			"question_id": singleID, "question_index": 1.0, "question_text": "Which plan?", "question_type": "single_choice",
			"response_count": 2.0, "distribution": map[string]any{"Pro": 1.0, "<other>": 1.0}, "average": nil,
		},
		map[string]any{
			"question_id": multipleID, "question_index": 2.0, "question_text": "What for?", "question_type": "multiple_choice",
			"response_count": 2.0, "distribution": map[string]any{"Flags": 2.0, "Events": 1.0}, "average": nil,
		},
		map[string]any{
			"question_id": openID, "question_index": 3.0, "question_text": "Why?", "question_type": "open",
			"response_count": 2.0, "distribution": map[string]any{}, "average": nil,
		},
	}
	if diff := gocmp.Diff(want, got["per_question_stats"]); diff != "" {
		t.Errorf("per_question_stats (-want +got):\n%s", diff)
	}
}

// listOfResponses: the list has the UUIDs of responses (management.md §11.8).
func listOfResponses(t *testing.T, s *site) {
	p := s.surveys(t)
	id := p.create(t, "NPS")
	first, last := p.event("survey sent", id, "ada", "10:00:00", "$survey_response_"+ratingID, "9", "$session_id", "s1", "$browser", "Firefox", "$os", "Linux"),
		p.event("survey sent", id, "eve", "11:00:00", "$survey_response_"+ratingID, "3", "$survey_response_"+multipleID, []string{"Flags"}, "$survey_response_"+openID, "=1+1")
	for _, e := range []map[string]any{first, last} {
		e["uuid"] = uuid.NewString()
		properties := e["properties"].(map[string]any)
		properties["$current_url"], properties["$survey_iteration"] = "https://example.com/pricing", 2
	}
	p.send(t, first, last)
	answers := func(values ...any) []any {
		list := []any{}
		for i, q := range questions {
			q := q.(map[string]any)
			list = append(list, map[string]any{
				"question_id": q["id"], "question_index": float64(i), "question_text": q["question"], "question_type": q["type"], "answer": values[i],
			})
		}
		return list
	}
	extra := func(browser, os any) map[string]any {
		return map[string]any{
			"device_type": nil, "browser": browser, "os": os, "geoip_country_code": nil, "geoip_country_name": nil, "geoip_city_name": nil,
			"current_url": "https://example.com/pricing", "iteration": "2",
		}
	}
	all := []any{
		map[string]any{
			"uuid": last["uuid"], "distinct_id": "eve", "session_id": nil, "submitted_at": day + "T11:00:00Z",
			"answers": answers("3", nil, []any{"Flags"}, "=1+1"), "extra": extra(nil, nil),
		},
		map[string]any{
			"uuid": first["uuid"], "distinct_id": "ada", "session_id": "s1", "submitted_at": day + "T10:00:00Z",
			"answers": answers("9", nil, nil, nil), "extra": extra("Firefox", "Linux"),
		},
	}
	page := func(query string, limit, offset int, more bool, want ...any) {
		t.Helper()
		body := map[string]any{"results": append([]any{}, want...), "has_more": more, "limit": float64(limit), "offset": float64(offset)}
		got := p.call(t, "GET surveys/"+id+"/responses/"+query, "").ok(t)
		if diff := gocmp.Diff(body, got); diff != "" {
			t.Errorf("responses%s (-want +got):\n%s", query, diff)
		}
	}
	page("", 100, 0, false, all...)
	page("?limit=1", 1, 0, true, all[0])
	page("?limit=1&offset=1", 1, 1, false, all[1])
	page("?question_id="+ratingID+"&score_gte=9", 100, 0, false, all[1])
	page("?question_id="+ratingID+"&score_lte=8", 100, 0, false, all[0])
	page("?since=2024-02-03T10:30:00Z", 100, 0, false, all[0])
	page("?until=2024-02-03T10:30:00Z", 100, 0, false, all[1])
	p.succeeds(t, "POST surveys/"+id+"/responses/"+last["uuid"].(string)+"/archive/")
	page("?exclude_archived=true", 100, 0, false, all[1])
	for _, query := range []string{"score_gte=9", "limit=0", "limit=501", "limit=x", "offset=-1", "question_id=none", "since=x", "question_id=" + ratingID + "&score_gte=x"} {
		if r := p.call(t, "GET surveys/"+id+"/responses/?"+query, ""); r.status != http.StatusBadRequest {
			t.Errorf("responses?%s = %d %s, want 400", query, r.status, r.body)
		}
	}
	csv, err := p.me.send(t.Context(), fmt.Sprintf("GET /api/projects/%d/surveys/%s/responses/?format=csv", p.id, id), "")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(csv.body), "\n")
	if !strings.HasPrefix(csv.header.Get("Content-Type"), "text/csv") || len(lines) != 3 || !strings.Contains(lines[1], "'=1+1") || !strings.Contains(lines[2], ",9,") {
		t.Errorf("as CSV: %v\n%s", csv.header, csv.body)
	}
}

// summariesOfAnswers are the summaries of management.md §11.5 and §11.6.
func summariesOfAnswers(t *testing.T, s *site) {
	p := s.surveys(t)
	id := p.create(t, "NPS")
	path := "POST surveys/" + id + "/summarize_responses/"
	summary := func(query, body string) map[string]any {
		t.Helper()
		r := p.me.fetch(t, fmt.Sprintf("POST /api/projects/%d/surveys/%s/summarize_responses/%s", p.id, id, query), body)
		got := r.ok(t)
		if cached := got["cached"].(bool); cached == (r.header.Get("Cache-Control") == "max-age=15") && got["response_count"] != 0.0 {
			t.Errorf("a summary that is cached %v has Cache-Control %q", cached, r.header.Get("Cache-Control"))
		}
		return got
	}
	none := summary("?question_id="+ratingID, "")
	if none["content"] != "No responses to analyze." || none["response_count"] != 0.0 || none["cached"] != false || none["generated_at"] == nil {
		t.Errorf("summary of nothing: %v", none)
	}
	headline := p.call(t, "POST surveys/"+id+"/summary_headline/", "").ok(t)
	if want := map[string]any{"headline": "No responses yet", "responses_sampled": 0.0, "has_more": false}; !gocmp.Equal(want, headline) {
		t.Errorf("headline %v, want %v", headline, want)
	}

	responses := p.answer(t, id, "10", "9", "8", "1")
	p.succeeds(t, "POST surveys/"+id+"/responses/"+responses[3]+"/archive/")
	first := summary("?question_id="+ratingID, `{"name":"ignored"}`)
	checkShape(t, "summary", shape{"content": "string", "response_count": "integer", "generated_at": "string", "trace_id": "uuid", "cached": "boolean"}, first)
	content := first["content"].(string)
	if first["cached"] != false || first["response_count"] != 3.0 || !strings.Contains(content, "Overview") || !strings.Contains(content, "9.0") {
		t.Errorf("summary %v, want one of three responses with the average 9.0", first)
	}
	again := summary("?question_index=0", "") // the same question
	if again["cached"] != true || again["content"] != content || again["trace_id"] != first["trace_id"] || again["generated_at"] != first["generated_at"] {
		t.Errorf("summary %v, want that of before, %v", again, first)
	}
	fresh := summary("?question_id="+ratingID, `{"force_refresh":true}`)
	if fresh["cached"] != false || fresh["content"] != content || fresh["trace_id"] == first["trace_id"] {
		t.Errorf("summary %v, want the same words made anew", fresh)
	}
	for _, query := range []string{"?question_id=none", "?question_index=4", "?question_index=-1", "?question_index=x"} {
		p.call(t, path+query, "").fails(t, 400, "invalid_input", "")
	}
	p.call(t, path+"?question_id="+ratingID, `{"force_refresh":"perhaps"}`).fails(t, 400, "invalid_input", "force_refresh")

	made := p.call(t, "POST surveys/"+id+"/summary_headline/", "").ok(t)
	text := made["headline"].(string)
	if made["has_more"] != false || made["responses_sampled"].(float64) < 3 || len(strings.Fields(text)) > 20 || !strings.Contains(text, "of 10") {
		t.Errorf("headline %v", made)
	}
	if again := p.call(t, "POST surveys/"+id+"/summary_headline/", `{"force_refresh":true}`).ok(t); !gocmp.Equal(made, again) {
		t.Errorf("headline %v made anew, want the same as %v", again, made)
	}
	bare := p.call(t, "POST surveys/", members("name", "bare", "type", "api")).ok(t)["id"].(string)
	headline = p.call(t, "POST surveys/"+bare+"/summary_headline/", "").ok(t)
	if want := map[string]any{"headline": "No questions in survey", "responses_sampled": 0.0, "has_more": false}; !gocmp.Equal(want, headline) {
		t.Errorf("headline %v, want %v", headline, want)
	}
}
