package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestFirstUser goes the way of a user who tries the program out: from an empty
// file to a survey that was answered, with requests as curl sends them. Between any
// two steps the server is restarted, and nothing is lost.
func TestFirstUser(t *testing.T) {
	t.Parallel()
	d := emptyStore(t, filepath.Join(t.TempDir(), "flagstaff.db"))
	s := d.run(t)
	keys := regexp.MustCompile(`(?s)(phc_\w+).*(phs_\w+).*(phx_\w+)`).FindStringSubmatch(s.stdout.String())
	if keys == nil {
		t.Fatalf("the first start printed %q, want three keys", s.stdout)
	}
	token, secret, key := keys[1], keys[2], keys[3]
	tryConsole(t, false, regexp.MustCompile(`console +(http://\S+/console)/join/(\S+)`).FindStringSubmatch(s.stdout.String()))
	// do sends a request and decodes the answer.
	do := func(bearer, call, body string) map[string]any {
		t.Helper()
		r, err := s.with(bearer).send(t.Context(), call, body, "User-Agent", "curl/8.5.0")
		if err != nil {
			t.Fatal(err)
		}
		if r.status == http.StatusNoContent {
			return nil
		}
		return r.ok(t)
	}
	// flags returns the values of all flags for a person.
	flags := func(distinctID string) map[string]any {
		t.Helper()
		return values(do("", "POST /flags?v=2", members("api_key", token, "distinct_id", distinctID)))
	}
	capture := func(event map[string]any) {
		t.Helper()
		event["api_key"] = token
		body, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if got := do("", "POST /i/v0/e/", string(body)); got["status"] != 1.0 {
			t.Errorf("capture: %v", got)
		}
	}
	check := func(what string, want, got any) {
		t.Helper()
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	restart := func() {
		t.Helper()
		if code := s.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		s = d.run(t)
	}
	const project = " /api/projects/@current/"

	// A flag, on for people at Acme.
	flag := do(key, "POST"+project+"feature_flags/", `{"key":"new-checkout","name":"New checkout",
		"filters":{"groups":[{"properties":[{"key":"email","value":"@acme.example","operator":"icontains","type":"person"}],"rollout_percentage":100}]}}`)
	check("the flag for somebody", map[string]any{"new-checkout": false}, flags("eve"))
	capture(map[string]any{"event": "$identify", "distinct_id": "ada", "properties": map[string]any{"$set": map[string]any{"email": "ada@acme.example"}}})
	check("the flag for Ada", map[string]any{"new-checkout": true}, flags("ada"))
	restart()
	check("the flag for Ada", map[string]any{"new-checkout": true}, flags("ada"))
	path := fmt.Sprintf("%sfeature_flags/%v/", project, flag["id"])
	if got := do(key, "GET"+path, ""); got["key"] != "new-checkout" || got["version"] != 1.0 {
		t.Errorf("flag %v", got)
	}
	definitions := do(secret, "GET /flags/definitions?token="+token, "")
	check("the key of a defined flag", "new-checkout", definitions["flags"].([]any)[0].(map[string]any)["key"])

	// A survey for persons who have the flag.
	survey := do(key, "POST"+project+"surveys/", members(
		"name", "Checkout", "type", "popover", "linked_flag_id", flag["id"],
		"questions", []any{map[string]any{"type": "rating", "question": "How was it?", "display": "number", "scale": 5}},
	))
	id := survey["id"].(string)
	internal := survey["internal_targeting_flag"].(map[string]any)["key"].(string)
	question := survey["questions"].([]any)[0].(map[string]any)["id"].(string)
	path = project + "surveys/" + id + "/"
	delivered := func() map[string]any {
		t.Helper()
		list := do("", "GET /api/surveys/?token="+token, "")["surveys"].([]any)
		if len(list) != 1 {
			t.Fatalf("surveys %v, want one", list)
		}
		return list[0].(map[string]any)
	}
	check("the start of a draft", nil, delivered()["start_date"])
	check("the flags before the launch", map[string]any{"new-checkout": true}, flags("ada"))
	restart()
	started := do(key, "POST"+path+"launch/", "")["start_date"]
	restart()
	got := delivered()
	for name, want := range map[string]any{"id": id, "start_date": started, "end_date": nil, "linked_flag_key": "new-checkout", "internal_targeting_flag_key": internal} {
		check(name, want, got[name])
	}
	for _, who := range []string{"ada", "eve"} {
		check("the flags of "+who, map[string]any{"new-checkout": who == "ada", internal: true}, flags(who))
	}

	// Ada answers it, and does not see it again.
	properties := func(more ...any) map[string]any {
		m := map[string]any{"$survey_id": id, "$survey_name": "Checkout"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	capture(map[string]any{"event": "survey shown", "distinct_id": "ada", "properties": properties()})
	capture(map[string]any{"event": "survey shown", "distinct_id": "eve", "properties": properties()})
	capture(map[string]any{"event": "survey sent", "distinct_id": "ada", "properties": properties(
		"$survey_response_"+question, "4", "$survey_completed", true, "$set", map[string]any{"$survey_responded/" + id: true},
	)})
	check("the flags of who has answered", map[string]any{"new-checkout": true, internal: false}, flags("ada"))
	check("the flags of who has not", map[string]any{"new-checkout": false, internal: true}, flags("eve"))
	restart()
	check("the flags of who has answered", map[string]any{"new-checkout": true, internal: false}, flags("ada"))

	stats := func(query string, sent float64) {
		t.Helper()
		got := do(key, "GET"+path+"stats/"+query, "")
		blocks := got["stats"].(map[string]any)
		total := func(event string) any { return blocks[event].(map[string]any)["total_count"] }
		check("totals"+query, []any{2.0, 0.0, sent}, []any{total("survey shown"), total("survey dismissed"), total("survey sent")})
		check("response rate"+query, sent*50, got["rates"].(map[string]any)["response_rate"])
	}
	stats("", 1)
	if got := do(key, "POST"+path+"summary_headline/", ""); !strings.Contains(got["headline"].(string), "4") || got["responses_sampled"] != 1.0 {
		t.Errorf("headline %v", got)
	}
	responses := do(key, "GET"+path+"responses/", "")["results"].([]any)
	if len(responses) != 1 {
		t.Fatalf("responses %v, want one", responses)
	}
	response := path + "responses/" + responses[0].(map[string]any)["uuid"].(string)

	// The answer is archived, and is not.
	do(key, "POST"+response+"/archive/", "")
	restart()
	stats("", 1)
	stats("?exclude_archived=true", 0)
	do(key, "POST"+response+"/unarchive/", "")
	restart()
	stats("?exclude_archived=true", 1)
	check("counts", map[string]any{id: 1.0}, do(key, "GET"+project+"surveys/responses_count/", ""))

	// So is the survey.
	do(key, "PATCH"+path, `{"archived":true}`)
	check("the list without an archived survey", []any{}, do("", "GET /api/surveys/?token="+token, "")["surveys"])
	check("the flags without an archived survey", map[string]any{"new-checkout": false}, flags("eve"))
	restart()
	check("the list without an archived survey", []any{}, do("", "GET /api/surveys/?token="+token, "")["surveys"])
	do(key, "PATCH"+path, `{"archived":false}`)
	restart()
	check("the survey that is back", id, delivered()["id"])
	check("the flags of who has answered", map[string]any{"new-checkout": true, internal: false}, flags("ada"))
	check("the flags of who has not", map[string]any{"new-checkout": false, internal: true}, flags("eve"))
	stats("", 1)
	if got := do(key, "GET"+project+"activity_log/", "")["total_count"]; got != 7.0 {
		t.Errorf("the log has %v entries, want 7: two made, one launched, four archived and back", got)
	}
}
