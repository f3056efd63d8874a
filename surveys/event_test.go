package surveys_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/surveys"
)

const surveyUUID = "019c0a11-2f30-7000-8c4e-1a2b3c4d5e6f"

var ownUUID = uuid.MustParse("019c0a11-2f30-7000-8c4e-000000000001")

func surveyEventOf(name, properties string) (surveys.Event, bool) {
	return surveys.EventOf(&capture.Event{UUID: ownUUID, Name: name, Properties: json.RawMessage(properties)})
}

// TestRuling56SurveyEventOf is management.md §10.1, and rules 1, 2 and 6 of §10.2.
func TestRuling56SurveyEventOf(t *testing.T) {
	id, other := uuid.MustParse(surveyUUID), uuid.MustParse("019c0a11-2f30-7000-8c4e-0000000000aa")
	long := strings.Repeat("ü", 40_000)
	var many, tooMany strings.Builder
	for i := range 150 {
		fmt.Fprintf(&tooMany, `,"$survey_response_%03d":%d`, i, i)
	}
	for range 700 {
		fmt.Fprintf(&many, `,"%s"`, strings.Repeat("x", 98))
	}
	type answers = map[string]json.RawMessage
	type extra = map[string]string
	sent := func(submission uuid.UUID, a answers, x extra) surveys.Event {
		return surveys.Event{Kind: surveys.Sent, Survey: id, Submission: submission, Answers: a, Extra: x}
	}
	none := surveys.Event{}
	for _, tt := range []struct {
		name, event, properties string // besides $survey_id
		want                    surveys.Event
	}{
		{"shown", "survey shown", `"$survey_response":"a","$browser":"Safari"`, surveys.Event{Kind: surveys.Shown, Survey: id}},
		{"dismissed", "survey dismissed", `"$survey_response":"a"`, surveys.Event{Kind: surveys.Dismissed, Survey: id}},
		{"abandoned", "survey abandoned", `"$survey_partially_completed":false`, surveys.Event{Kind: surveys.Abandoned, Survey: id}},
		{"sent", "survey sent", ``, sent(ownUUID, nil, nil)},
		{"another event", "survey sen", ``, none},
		{"an event in other case", "Survey sent", ``, none},

		{"partially completed", "survey dismissed", `"$survey_partially_completed":true,"$survey_response":"a"`, surveys.Event{
			Kind: surveys.Dismissed, Survey: id, Partial: true, Submission: ownUUID, Answers: answers{"0": json.RawMessage(`"a"`)},
		}},
		{"abandoned so", "survey abandoned", `"$survey_partially_completed":true`, surveys.Event{
			Kind: surveys.Abandoned, Survey: id, Partial: true, Submission: ownUUID,
		}},
		{"shown so is not a response", "survey shown", `"$survey_partially_completed":true`, surveys.Event{
			Kind: surveys.Shown, Survey: id, Partial: true,
		}},
		{"not said as a boolean", "survey dismissed", `"$survey_partially_completed":"true"`, surveys.Event{Kind: surveys.Dismissed, Survey: id}},

		{"quotes too many", "survey shown", `"$survey_id":"\"` + surveyUUID + `\""`, surveys.Event{Kind: surveys.Shown, Survey: id}},
		{"upper case", "survey shown", `"$survey_id":"` + strings.ToUpper(surveyUUID) + `"`, surveys.Event{Kind: surveys.Shown, Survey: id}},
		{"no UUID", "survey shown", `"$survey_id":"7"`, none},
		{"a UUID in another form", "survey shown", `"$survey_id":"{` + surveyUUID + `}"`, none},
		{"without dashes", "survey shown", `"$survey_id":"` + strings.ReplaceAll(surveyUUID, "-", "") + `"`, none},
		{"36 characters that are none", "survey shown", `"$survey_id":"` + strings.Repeat("g", 36) + `"`, none},
		{"a number", "survey shown", `"$survey_id":7`, none},
		{"null", "survey shown", `"$survey_id":null`, none},
		{"an escaped name", "survey shown", `"$survey_\u0069d":null`, none},

		{"a submission", "survey sent", `"$survey_submission_id":"` + other.String() + `"`, sent(other, nil, nil)},
		{"an empty one", "survey sent", `"$survey_submission_id":""`, sent(ownUUID, nil, nil)},
		{"null", "survey sent", `"$survey_submission_id":null`, sent(ownUUID, nil, nil)},
		{"empty after all", "survey sent", `"$survey_submission_id":"` + other.String() + `","$survey_submission_id":""`, sent(ownUUID, nil, nil)},

		{
			"answers by ID", "survey sent", `"$survey_response_a-b":"x","$survey_response_c":["x","y",1],"$survey_response_d":7.50`,
			sent(ownUUID, answers{"a-b": json.RawMessage(`"x"`), "c": json.RawMessage(`["x","y",1]`), "d": json.RawMessage(`7.50`)}, nil),
		},
		{
			"answers by index", "survey sent", `"$survey_response":"first","$survey_response_1":"second"`,
			sent(ownUUID, answers{"0": json.RawMessage(`"first"`), "1": json.RawMessage(`"second"`)}, nil),
		},
		{
			"the last of two", "survey sent", `"$survey_response_a":"x","$survey_response_a":"y","$survey_response_a":""`,
			sent(ownUUID, answers{"a": json.RawMessage(`"y"`)}, nil),
		},
		{
			"empty answers", "survey sent", `"$survey_response_a":null,"$survey_response_b":"","$survey_response_c":[],"$survey_response_d":[""],"$survey_response_":"x"`,
			sent(ownUUID, nil, nil),
		},
		{
			"answers of other types", "survey sent", `"$survey_response_a":true,"$survey_response_b":{"a":1},"$survey_response_c":[null, {"a":1}, "x" , "", ["y"], false]`,
			sent(ownUUID, answers{"a": json.RawMessage(`"true"`), "c": json.RawMessage(`["x","false"]`)}, nil),
		},
		{"other properties are none", "survey sent", `"$survey_responses":"x","$survey_questions":[{"response":"x"}],"survey_response":"x"`, sent(ownUUID, nil, nil)},
		{"escapes", "survey sent", `"$survey_\u0072esponse_\u00fc":"\u00fc\u0000"`, sent(ownUUID, answers{"ü": json.RawMessage(`"\u00fc\u0000"`)}, nil)},
		{"a long text", "survey sent", `"$survey_response_a":"` + long + `"`, sent(ownUUID, answers{"a": json.RawMessage(`"` + long[:65530] + `[…]"`)}, nil)},
		{"a long text after ASCII", "survey sent", `"$survey_response_a":"x` + long + `"`, sent(ownUUID, answers{"a": json.RawMessage(`"x` + long[:65530] + `[…]"`)}, nil)},
		{"the longest text", "survey sent", `"$survey_response_a":"` + long[:65536] + `"`, sent(ownUUID, answers{"a": json.RawMessage(`"` + long[:65536] + `"`)}, nil)},
		{
			"a text that is only long because of escapes", "survey sent", `"$survey_response_a":"` + strings.Repeat(`\u0061`, 65536) + `"`,
			sent(ownUUID, answers{"a": json.RawMessage(`"` + strings.Repeat("a", 65536) + `"`)}, nil),
		},
		{"a long number", "survey sent", `"$survey_response_a":` + strings.Repeat("1", 70_000), sent(ownUUID, nil, nil)},
		{
			"a long list", "survey sent", `"$survey_response_a":["a"` + many.String() + `,"the last of them"]`,
			// Each of the others takes 101 bytes.
			sent(ownUUID, answers{"a": json.RawMessage(`["a"` + many.String()[:648*101] + `,"[…]"]`)}, nil),
		},
		{
			"a list of a long text", "survey sent", `"$survey_response_a":["` + long + `","b"]`,
			sent(ownUUID, answers{"a": json.RawMessage(`["[…]"]`)}, nil),
		},
		{"a long ID", "survey sent", `"$survey_response_` + strings.Repeat("x", 201) + `":"x"`, sent(ownUUID, nil, nil)},

		{
			"extra", "survey sent", `"$session_id":"s","$browser":"Safari","$os":"iOS","$device_type":"Mobile","$current_url":"https://shop.example",` +
				`"$geoip_country_code":"CH","$geoip_country_name":"Switzerland","$geoip_city_name":"Zürich","$survey_iteration":2,"$survey_completed":false,"$lib":"web"`,
			sent(ownUUID, nil, extra{
				"$session_id": "s", "$browser": "Safari", "$os": "iOS", "$device_type": "Mobile", "$current_url": "https://shop.example",
				"$geoip_country_code": "CH", "$geoip_country_name": "Switzerland", "$geoip_city_name": "Zürich", "$survey_iteration": "2", "$survey_completed": "false",
			}),
		},
		{"empty extra", "survey sent", `"$session_id":"","$browser":null,"$os":["x"],"$device_type":{}`, sent(ownUUID, nil, nil)},
		{"long extra", "survey sent", `"$current_url":"x` + long + `"`, sent(ownUUID, nil, extra{"$current_url": "x" + long[:998]})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := surveyEventOf(tt.event, strings.Replace(`{"$survey_id":"`+surveyUUID+`",`+tt.properties+`}`, ",}", "}", 1))
			if diff := cmp.Diff(tt.want, got, same); diff != "" || ok != (tt.want.Kind != 0) {
				t.Errorf("SurveyEventOf reports %v (-want +got)\n%s", ok, diff)
			}
		})
	}

	e, _ := surveyEventOf("survey sent", `{"$survey_id":"`+surveyUUID+`"`+tooMany.String()+`,"$survey_response_000":"new"}`)
	if len(e.Answers) != surveys.MaxAnswers || string(e.Answers["000"]) != `"new"` || e.Answers["099"] == nil {
		t.Errorf("of 150 answers there are %d, want the first %d", len(e.Answers), surveys.MaxAnswers)
	}
	for _, properties := range []string{"", "{}", "[]", "null"} {
		if e, ok := surveyEventOf("survey sent", properties); ok {
			t.Errorf("SurveyEventOf with properties %q = %+v, want none", properties, e)
		}
	}
}

// TestSubmissionKeys: texts are equal if and only if their keys are.
func TestSubmissionKeys(t *testing.T) {
	texts := []string{
		surveyUUID, strings.ToUpper(surveyUUID), "{" + surveyUUID + "}", "urn:uuid:" + surveyUUID, strings.ReplaceAll(surveyUUID, "-", ""), " " + surveyUUID,
		"a", "A", " ", strings.Repeat("a", 100_000), strings.Repeat("a", 100_001), "0", "true",
	}
	keys := make(map[uuid.UUID]string)
	for _, text := range texts {
		quoted, _ := json.Marshal(text)
		e, _ := surveyEventOf("survey sent", `{"$survey_id":"`+surveyUUID+`","$survey_submission_id":`+string(quoted)+`}`)
		if other, ok := keys[e.Submission]; ok || e.Submission == ownUUID {
			t.Errorf("%.50q has the key of %.50q", text, other)
		}
		keys[e.Submission] = text
	}
	if keys[uuid.MustParse(surveyUUID)] != surveyUUID {
		t.Error("a UUID is not its own key")
	}
	for _, raw := range []string{"0", "true"} { // which are these texts
		if e, _ := surveyEventOf("survey sent", `{"$survey_id":"`+surveyUUID+`","$survey_submission_id":`+raw+`}`); keys[e.Submission] != raw {
			t.Errorf("%s has the key of %.50q", raw, keys[e.Submission])
		}
	}
}

// TestOtherEventsAreCheap: all events pass SurveyEventOf.
func TestOtherEventsAreCheap(t *testing.T) {
	e := &capture.Event{Name: "$pageview", Properties: json.RawMessage(`{"$survey_id":"` + surveyUUID + `"}`)}
	n := testing.AllocsPerRun(100, func() {
		if _, ok := surveys.EventOf(e); ok {
			t.Error("an event is taken for one about a survey")
		}
	})
	if n != 0 {
		t.Errorf("SurveyEventOf of another event allocates %v times, want 0", n)
	}
}

// FuzzSurveyEventOf compares with what encoding/json reads, and checks what is
// promised of answers.
func FuzzSurveyEventOf(f *testing.F) {
	for _, properties := range []string{
		`{"$survey_id":"` + surveyUUID + `","$survey_response":"a","$survey_response_1":[1,"b"],"$survey_submission_id":"x","$session_id":7}`,
		`{"$survey_id":"'` + surveyUUID + `'","$survey_partially_completed":true,"$survey_response_q":"\ud800\u0000"}`,
		`{"$survey_id":"` + surveyUUID + `","$survey_response_q":["` + strings.Repeat("é", 10) + `",1e999,null,[[]]]}`,
		`{"$survey_id":7}`, `[]`, `{"$survey_id":`,
	} {
		for kind := range byte(5) {
			f.Add(kind, []byte(properties))
		}
	}
	names := []string{"survey shown", "survey dismissed", "survey sent", "survey abandoned", "page"}
	f.Fuzz(func(t *testing.T, kind byte, properties []byte) {
		name := names[int(kind)%len(names)]
		e, ok := surveys.EventOf(&capture.Event{UUID: ownUUID, Name: name, Properties: properties})
		if !ok {
			if diff := cmp.Diff(surveys.Event{}, e, same); diff != "" {
				t.Errorf("there is no event, but (-want +got)\n%s", diff)
			}
			return
		}
		if name == "page" || names[e.Kind-1] != name {
			t.Fatalf("%q is of kind %d", name, e.Kind)
		}
		if e.OfResponse() != (e.Submission != uuid.Nil) || !e.OfResponse() && len(e.Answers)+len(e.Extra) > 0 {
			t.Errorf("response %v, but %+v", e.OfResponse(), e)
		}
		if len(e.Answers) > surveys.MaxAnswers {
			t.Errorf("%d answers", len(e.Answers))
		}
		for question, raw := range e.Answers {
			var v any
			if len(raw) > 6*8192+2 || len(question) > 200 || json.Unmarshal(raw, &v) != nil && !strings.ContainsAny(string(raw), "eE") {
				t.Errorf("answer to %q is %.100q", question, raw)
			}
			switch v := v.(type) {
			case string:
				if v == "" {
					t.Errorf("answer to %q is empty", question)
				}
			case []any:
				if len(v) == 0 {
					t.Errorf("answer to %q is empty", question)
				}
			case float64, nil: // nil: too large for encoding/json
			default:
				t.Errorf("answer to %q is %.100q", question, raw)
			}
		}
		for name, value := range e.Extra {
			if value == "" || len(value) > 1000 || !utf8.ValidString(value) {
				t.Errorf("%s is %q", name, value)
			}
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(properties, &all) != nil {
			return // not what is captured
		}
		if partial := string(all["$survey_partially_completed"]) == "true"; e.Partial != partial {
			t.Errorf("partially completed %v, want %v", e.Partial, partial)
		}
		var id string
		if err := json.Unmarshal(all["$survey_id"], &id); err != nil || !strings.EqualFold(strings.Trim(id, `"'`), e.Survey.String()) {
			t.Errorf("survey %v of %q", e.Survey, id)
		}
		for question := range maps.Keys(e.Answers) {
			_, byID := all["$survey_response_"+question]
			_, first := all["$survey_response"]
			if !byID && !(first && question == "0") {
				t.Errorf("nobody answered %q", question)
			}
		}
	})
}
